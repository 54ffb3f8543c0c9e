"""The worlds of a folder: its kustomizations, and what Argo CD and Flux deploy from it.

What is in none of them is the rest, which `worlds` splits by folders.
"""

from __future__ import annotations

import os
import posixpath
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from typing import NamedTuple

from krmfn.krm import FileRef, Item, Result
from krmfn.krm.results import Severity
from krmfn.model.kept import find, is_used, keep
from krmfn.model.marks import KIND_KIND, is_local
from krmfn.model.placeholders import is_placeholder
from krmfn.model.values import Names, group_by, identify
from krmfn.model.wording import count, join
from krmfn.workspace.deployers import (
    MOST_DEPLOYMENTS,
    Deployment,
    Placing,
    copy_file,
    find_deployments,
    put_into,
    substitute,
)
from krmfn.workspace.disk import is_below
from krmfn.workspace.helm import Helm
from krmfn.workspace.loose import TEMPLATES, has_copies
from krmfn.workspace.manifests import NOT_RENDERED, Inputs, load, read_tree, tell
from krmfn.workspace.overlays import (
    USES,
    Overlay,
    Overlays,
    Plain,
    find_overlay,
    index_uses,
    list_entries,
    list_folders,
    list_kustomizations,
    reach,
    read_plain,
)
from krmfn.workspace.rendering import Rendered, render_all
from krmfn.workspace.sharding import decides, defines
from krmfn.workspace.trees import CHARTS, SUFFIXES, ManifestFile, NotRendered, Tree, find_around, join_path
from krmfn.workspace.world import Rendering, Sources, World, find_sources, read_origins, read_rendered

#: What a file of a deployer holds somewhere.
_DEPLOYERS = (b"argoproj.io/", b".toolkit.fluxcd.io/")

#: That are made by deployers and kustomizations, as copies of what the files hold.
_MOST_OBJECTS = 200_000


class _Intent(NamedTuple):
    """A world to be, still without objects, of the kustomization in a folder or of its files. One of which this shard
    needs no objects has neither."""

    world: World
    overlay: Overlay | None = None
    deployment: Deployment | None = None


class Gathering:
    """The worlds below a folder of a tree. Of other shards what decides nothing here is empty; `ranks` has all."""

    def __init__(self, tree: Tree, path: str, rendering: Rendering) -> None:
        """Finds them all."""
        self.worlds: list[World] = []
        self.problems: list[Result] = []
        self.missing: set[str] = set()  # the keys of worlds that could not be rendered
        self.sources = Sources(tree)
        self._tree = tree
        self._path = path
        self._rendering = rendering
        self._severity: Severity = "error" if rendering.required else "warning"
        self._deployed = 0  # objects, those that are deployed to several places each time
        self._rendered: dict[str, Rendered | NotRendered] = {}  # by folder; what is deployed to many places once
        self._covered: set[str] = set()  # files that are in a world, without links
        self._kinds: dict[str, list[Item]] = {}  # of each file of a kustomization that was looked into
        self.files = read_tree(tree, path).files
        self.folders = set(list_folders(self.files))  # those with a kustomization
        overlays = self._find_overlays()
        deployments = self._limit(self._expand(self._find_deployments(), overlays))
        added = _find_components(deployments, overlays)
        overlays |= {folder: overlays[folder].with_components(components) for folder, components in added.items()}
        steps = [*self._plan(overlays, deployments, added)]
        self.ranks = len(steps)
        self._free = {each.folder for each in deployments if each.builds}  # Flux lets them use all of the repository
        found = {step.overlay.folder: step.overlay for step in steps if step.overlay}
        self._plain = {folder: self._read_plain(overlay) for folder, overlay in found.items()}
        wanted = [folder for folder, plain in self._plain.items() if plain is None]
        self._queue = render_all(tree, wanted, rendering, self._free, added)
        try:
            for world, overlay, deployment in steps:
                if overlay:
                    self._add(world, overlay, deployment.placing if deployment else Placing())
                elif deployment:
                    self._add_folder(world, deployment)
                else:
                    self.worlds.append(world)
        finally:
            self._queue.close()
        if rendering.helm is not None:
            self._add_charts(rendering.helm)

    @property
    def rest(self) -> Inputs:
        """The manifests that are in no world."""
        tree = self._tree
        files = [file for file in self.files if tree.resolve(file.path) not in self._covered]
        # A chart that something deploys is rendered.
        left_out = [
            left for left in tree.left_out if left.sort != CHARTS or tree.resolve(left.path) not in self._covered
        ]
        return Inputs(files, left_out)

    def _limit(self, deployments: Iterator[Deployment]) -> list[Deployment]:
        """As many as are looked at, and a word about the rest."""
        found = list(islice(deployments, MOST_DEPLOYMENTS + 1))
        if len(found) > MOST_DEPLOYMENTS:
            reason = f"has more than {MOST_DEPLOYMENTS:,} deployments of folders by Argo CD and Flux"
            self._tell(self._path, NotRendered(reason), "checked only in part: it")
            found.pop()
        return found

    def _plan(
        self, overlays: Overlays, deployments: Sequence[Deployment], added: Mapping[str, Sequence[str]]
    ) -> Iterator[_Intent]:
        """The worlds of kustomizations that nobody uses or deploys, and of what is deployed, with components that are
        `added`."""
        tree = self._tree
        self._covered.update(*(each.list_files() for each in overlays.values()))
        roots = _find_roots(tree, overlays, {tree.resolve(each.folder) for each in deployments})
        loose = {tree.resolve(file.path) for file in self.files if self._rendering.shard} - self._covered
        named: list[tuple[str, str, Deployment | None]] = [(folder, folder, None) for folder in roots]
        named += [(name, each.folder, each) for name, each in self._name(deployments)]
        shard = self._rendering.shard
        for rank, (name, folder, deployment) in enumerate(named):
            overlay = overlays.get(folder)
            path = overlay.path if overlay else folder
            key = posixpath.relpath(folder, self._path) + name.removeprefix(folder)
            world = World(name, key, (), tree, folder, (), path, rank=rank)
            if shard and not shard.owns(key):
                world = world._replace(elsewhere=True)
                runs = bool(self._rendering.allowed)
                if overlay and not (shard.number and decides(overlay, loose, runs)):
                    yield _Intent(world)
                    continue
            if deployment:
                seen = {f"the component {each}" for each in added.get(folder, ())}
                world = world._replace(beside=tuple(each for each in deployment.beside if each not in seen))
            elif deployments:
                world = world._replace(base="undeployed")
            elif not overlays[folder].value.get("namespace"):
                world = world._replace(base="base")
            yield _Intent(world, overlay, deployment)

    def _find_overlays(self) -> dict[str, Overlay]:
        found = {}
        for folder in sorted(self.folders):
            try:
                overlay = find_overlay(self._tree, folder)
            except NotRendered as reason:
                self._tell(folder, reason)
                self.missing.add(posixpath.relpath(folder, self._path))
                self._covered.update(map(self._tree.resolve, list_kustomizations(self._tree, folder)))
                continue
            if overlay is not None:
                found[folder] = overlay
        return found

    def _expand(self, deployments: Sequence[Deployment], overlays: Overlays) -> Iterator[Deployment]:
        """The deployments, and those of kustomizations in folders that have none themselves, which Flux adds up."""
        for each in deployments:
            yield each
            if each.builds and each.folder not in overlays:
                for folder in _find_topmost(each.folder, overlays):
                    if not overlays[folder].is_component:
                        yield each._replace(folder=folder, components=())

    def _name(self, deployments: Sequence[Deployment]) -> Iterator[tuple[str, Deployment]]:
        """The deployments, each with a name that no other one has: two clusters may have objects of one name."""
        folders = Counter(each.folder for each in deployments)
        names = Counter((each.folder, each.name) for each in deployments)
        seen: Counter[str] = Counter()
        for each in deployments:
            words = each.name
            if names[each.folder, each.name] > 1:
                words += f" in {posixpath.relpath(each.source, self._path)}"
            seen[f"{each.folder} {words}"] += 1
            if (number := seen[f"{each.folder} {words}"]) > 1:  # of a list
                words += f", {number}"
            yield each.folder if folders[each.folder] == 1 else f"{each.folder} ({words})", each

    def _read_deployers(self, files: Iterable[ManifestFile]) -> list[Item]:
        """The objects of files that can say what is deployed, or with which values."""
        items = []
        marks = [*_DEPLOYERS]
        if any(b"substituteFrom" in data or b"valuesFrom" in data for _, data in self.files):
            marks.append(b"ConfigMap")
        for path, data in files:
            if any(mark in data for mark in marks):
                try:
                    items += self.sources.read(path).stream.items
                except NotRendered:
                    continue
        return items

    def _find_deployments(self) -> list[Deployment]:
        """Those of folders below the one that was named."""
        items = self._read_deployers(self.files)
        here = os.path.abspath(self._tree.resolve(self._path))
        found = find_deployments(self._tree, items, self._tell)
        kept = (each for each in found if not (self._rendering.helm and each.is_chart))
        return [each for each in kept if is_below(os.path.abspath(self._tree.resolve(each.folder)), here)]

    def _add_charts(self, helm: Helm) -> None:
        """The worlds of charts that the objects deploy, of those that are judged here."""
        from krmfn.workspace.inflating import ChartWorlds  # which few runs want

        loose = self._read_deployers(file for file in self.files if self._tree.resolve(file.path) not in self._covered)
        made = ChartWorlds(self._tree, self._path, self.sources, helm)
        for world in made.render(
            [*self.worlds, World("", "", loose, self._tree, self._path, rank=self.ranks)], self._tell
        ):
            self._allow(len(world.items))
            self.worlds.append(world)
            if world.left_out:
                self._tell(world.overlay, NotRendered(join(world.left_out)), "checked without")
        self.ranks += 1
        self.missing |= made.missing
        self._covered |= made.covered

    def _add(self, world: World, overlay: Overlay, placing: Placing) -> None:
        """The world of a kustomization."""
        try:
            plain = self._plain[overlay.folder]
            if isinstance(plain, NotRendered):
                raise plain
            if plain is None:
                self._render(world, placing)
                return
            if plain.namespace and not (placing.overrides and placing.namespace):
                placing = placing._replace(namespace=plain.namespace, overrides=True)
            self._list(world._replace(configurations=plain.configurations), plain.files, placing)
        except NotRendered as reason:
            self._tell(
                overlay.path,
                NotRendered(f"is a template ({reason})", sort="templates")
                if _is_template(overlay, world.key, reason)
                else reason,
            )
            self.missing.add(world.key)
            used = [overlay.value.get("resources"), overlay.value.get("bases")]
            paths = overlay.list_named(used)
            files = [ManifestFile(path, self._tree.find(path) or b"") for path in paths if path.endswith(SUFFIXES)]
            # A manifest that is no YAML is perhaps the reason.
            self.problems += [problem for problem in load(sorted(files)).problems if problem.severity == "error"]

    def _add_folder(self, world: World, deployment: Deployment) -> None:
        """The world of a folder without kustomization. What cannot be read in it is told with the rest."""
        start = "" if deployment.folder == "." else deployment.folder + "/"
        files = []
        built = _find_topmost(deployment.folder, self.folders) if deployment.builds else ()
        for path, _ in self.files:
            if any(path.startswith(folder + "/") for folder in built):
                continue
            name = path[len(start) :]
            if path.startswith(start) and (deployment.recurses or "/" not in name) and deployment.takes(name):
                try:
                    self.sources.read(path)
                except NotRendered:
                    continue
                files.append(path)
        if deployment.builds and has_copies([self.sources.read(path) for path in files]):
            return  # Flux refuses an object that is there twice: the path is one in another repository
        self._covered |= set(map(self._tree.resolve, files))
        if world.elsewhere and not any(defines(self.sources.read(path).data) for path in files):
            self.worlds.append(world)
            return
        try:
            self._list(world, files, deployment.placing)
        except NotRendered as reason:
            self._tell(deployment.folder, reason)
            self.missing.add(world.key)

    def _list(self, world: World, files: Sequence[str], placing: Placing) -> None:
        """A world of files, as they are or copied to where they are deployed."""
        items = []
        sources: dict[int, Item] = {}
        for path in files:
            file = self.sources.read(path)
            # What our function edits is not what somebody wrote.
            if placing == Placing() and not world.configurations and self.sources.take(path):
                items += file.stream.items
                continue
            self._allow(len(file.stream.items))
            copies = copy_file(placing, file.data, path)
            items += copies
            if len(copies) == len(file.stream.items):
                sources |= {id(own): item for own, item in zip(copies, file.stream.items, strict=True)}
        put_into(placing, items)
        self.worlds.append(world._replace(items=items, sources=sources))

    def _allow(self, objects: int) -> None:
        """Raises NotRendered where a few lines deploy so many objects that memory or time would end."""
        self._deployed += objects
        if self._deployed > _MOST_OBJECTS:
            raise NotRendered(f"brings the deployments of this folder to more than {_MOST_OBJECTS:,} objects")

    def _read_plain(self, overlay: Overlay) -> Plain | NotRendered | None:
        """What a kustomization lists, None where kustomize has to be asked."""
        try:
            plain = read_plain(overlay)
            return None if plain and self._is_refused(plain) else plain
        except NotRendered as reason:
            return reason

    def _is_refused(self, plain: Plain) -> bool:
        """Whether kustomize would not list these objects, because one is there twice or has no name."""
        found = [identify(item.ref) for path in plain.files for item in self.sources.read(path).stream.items]
        if plain.namespace:
            found = [each._replace(namespace=plain.namespace) for each in found]
        return len(set(found)) < len(found) or not all(each.name for each in found)

    def _render(self, world: World, placing: Placing) -> None:
        """The world of what kustomize makes of a folder. Raises NotRendered."""
        while world.folder not in self._rendered:
            folder, result = next(self._queue)
            self._rendered[folder] = result
        rendered = self._rendered[world.folder]
        if isinstance(rendered, NotRendered):
            raise rendered
        self._covered.update(rendered.copied)
        items, sources = _compose(rendered.data, placing, world.folder, self.sources)
        if rendered.left_out and not items:
            raise rendered.left_out[0]
        self._allow(len(items))
        templates = {join_path(world.folder, path) for path in rendered.templates}
        origins = read_origins(items, world.folder) if templates else {}
        self._tell_parts(world.overlay, rendered.left_out)
        if rendered.brought and world.folder not in self._free:
            others = f" and {count(len(rendered.brought) - 1, 'other')}" if len(rendered.brought) > 1 else ""
            message = (
                f"checked with {rendered.brought[0]}{others}, not below its folder: kustomize build needs "
                "--load-restrictor LoadRestrictionsNone"
            )
            self.problems.append(tell("not-rendered", message, FileRef(world.overlay), "info"))
        self.worlds.append(
            world._replace(
                items=[*items, *self._find_kinds(rendered.copied)],
                sources=sources,
                configurations=rendered.configurations,
                ran_in=rendered.ran_in,
                templates={item.ref: origin for item in items if (origin := origins.get(id(item))) in templates},
                left_out=tuple(each.part for each in rendered.left_out),
            )
        )

    def _find_kinds(self, copied: Collection[str]) -> Iterator[Item]:
        """The kinds in files that were rendered which kustomize gives to our function, and prints nowhere."""
        tree, new = self._tree, {*copied} - self._kinds.keys()
        self._kinds |= {path: [] for path in new}
        wanted = sorted(path for path in new if KIND_KIND.encode() in (tree.find(path) or b""))
        # A file is read once, by the path that others know it by.
        named = (*self.sources.loaded, *(path for path, _ in self.files)) if wanted else ()
        known = {tree.resolve(path): path for path in named}
        for path in wanted:
            whole = os.path.join(tree.here, path)
            spelled = whole if os.path.isabs(self._path) else os.path.relpath(whole, tree.here)
            with suppress(NotRendered):
                items = self.sources.read(known.get(path, spelled)).stream.items
                self._kinds[path] = [item for item in items if item.kind == KIND_KIND and is_local(item)]
        return (kind for path in sorted(copied) for kind in self._kinds[path])

    def _tell_parts(self, path: str, parts: Iterable[NotRendered]) -> None:
        """What a kustomization is checked without. It is told of the one with the entry, however many build on that."""
        causes = group_by(lambda each: (each.place or FileRef(path), each.sort), parts)
        for (place, sort), reasons in causes.items():
            hint = " ".join(dict.fromkeys(each.hint for each in reasons if each.hint))
            whole = NotRendered(join(each.part for each in reasons), hint, place, sort=sort)
            self._tell(path, whole, "checked without")

    def _tell(self, path: str, reason: NotRendered, start: str = NOT_RENDERED) -> None:
        hint = {"hint": reason.hint} if reason.hint else {}
        place = reason.place or FileRef(path)
        if reason.sort and self._severity == "warning":
            self.problems.append(tell("skipped", f"{start} {reason}", place, sort=reason.sort))
            return
        self.problems.append(tell("not-rendered", f"{start} {reason}", place, self._severity, **hint))


def _compose(data: bytes, placing: Placing, folder: str, sources: Sources) -> tuple[list[Item], dict[int, Item]]:
    """The objects of what was rendered in a folder where they are deployed, and the sources of some, by their id():
    as an earlier run made them of the same texts. Raises NotRendered."""
    data = substitute(data, placing.variables)
    named = repr((placing, folder)).encode("utf-8", "surrogatepass") + data
    known = find("composed", named)
    if known is None or any(sources.digest(path) != digest for path, digest in known[1].items()):
        stream = read_rendered(data)
        origins = read_origins(stream.items, folder)
        found = find_sources(stream.items, origins, sources)
        put_into(placing, stream.items)
        if not is_used():
            return stream.items, found
        edited = stream.render() if any(item.touched for item in stream.items) else b""
        paths = {origins[item] for item in found}
        numbers = {id(item): at for path in paths for at, item in enumerate(sources.read(path).stream.items)}
        places = [
            (place, origins[id(item)], numbers[id(found[id(item)])])
            for place, item in enumerate(stream.items)
            if id(item) in found
        ]
        known = edited, {path: sources.digest(path) for path in origins.values()}, places
        keep("composed", named, known)
    edited, _, places = known
    items = read_rendered(edited or data).items
    return items, {id(items[place]): sources.read(path).stream.items[number] for place, path, number in places}


def _is_template(overlay: Overlay, key: str, reason: NotRendered) -> bool:
    """Whether a kustomization that is not rendered for a `reason` is one that a program fills in, or copies to where
    the files are that it uses."""
    if any(is_placeholder(entry) for field in USES for entry in list_entries(overlay.value, field)):
        return True
    if not reason.entry:
        return False
    # The entry may be one of a kustomization that this one builds on.
    is_filled = is_placeholder(reason.entry) or (reason.entry.isupper() and reason.entry.isidentifier())
    return is_filled or not TEMPLATES.isdisjoint(re.split("[^a-z]+", key.lower()))


def _find_components(deployments: Iterable[Deployment], overlays: Overlays) -> dict[str, Names]:
    """The folders with a kustomization to which Flux adds components, which are here, and the same for all."""
    wanted: dict[str, set[Names]] = {}
    for each in deployments:
        wanted.setdefault(each.folder, set()).add(each.components)
    return {
        folder: components
        for folder, (components, *others) in wanted.items()
        if folder in overlays
        and components
        and not others
        and all(overlays[folder].follow(each)[1] == "folder" for each in components)
    }


def _find_roots(tree: Tree, overlays: Overlays, deployed: set[str]) -> list[str]:
    """The folders of the kustomizations that no other one uses and nobody deploys, and of one in each circle."""
    uses = index_uses(overlays)
    named = {folder for folder in overlays if tree.resolve(folder) in deployed}
    heads = overlays.keys() - named.union(*uses.values())
    reached = reach({*heads, *named}, uses)
    for folder in sorted(overlays.keys() - reached):
        if folder not in reached:
            heads.add(folder)
            reached |= reach([folder], uses)
    return sorted(folder for folder in heads if not overlays[folder].is_component)


def _find_topmost(above: str, folders: Iterable[str]) -> list[str]:
    """Those of the folders below one that are in no other of them."""
    below = {folder for folder in folders if folder != "." and (above == "." or folder.startswith(above + "/"))}
    return [folder for folder in sorted(below) if find_around(folder, below) is None]
