"""A copy of what a kustomization builds from, in which kustomize can be let loose on files that nobody has reviewed.

kustomize reads the copy alone, which is on the disk only while it is at work. Every kustomization and every function's
configuration in it was written here, as JSON from the values that were checked, so kustomize cannot read them in
another way than we did. A function of ours is replaced by a program of ours, whatever the file says; others have to be
allowed by name; nothing is fetched. Only files that a kustomization names are copied.
"""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from krmfn.krm import FileRef, Unreadable
from krmfn.krm.errors import HOLDS_ITSELF
from krmfn.model.values import Fields, Value, as_list, as_mapping, as_text
from krmfn.workspace.disk import is_below
from krmfn.workspace.helm import Helm, inflate, read_inflated
from krmfn.workspace.manifests import read_whole
from krmfn.workspace.overlays import (
    BUILDS_ON,
    DEEPEST,
    GENERATORS,
    HELM,
    PLUGINS,
    USES,
    Overlay,
    find_charts,
    find_fetched,
    find_overlay,
    find_used,
    is_ours,
    is_path,
    is_remote,
    is_words,
    list_entries,
    list_generated,
    list_resources,
    list_sources,
    read_function,
    read_objects,
    refuse_address,
    refuse_charts,
    refuse_fetching,
    spell_json,
    with_program,
)
from krmfn.workspace.processes import find_program
from krmfn.workspace.trees import CHARTS, KUSTOMIZATIONS, MISSING, LeftOut, NotRendered, Tree, join_path, lack

#: kustomize builds a folder again for each use: 20 folders, each using the next one twice, are a million builds.
_MOST_BUILDS = 1_000
#: What kustomize 5.8 writes to what helm rendered, so that its own namespace is not put on it.
_INFLATED = "internal.config.kubernetes.io/helm-generated"
#: A word that is in no file, in the names of files that only the copy has; the same in the copies of all states.
_WORD = os.urandom(8).hex()
#: What a replacement or a variable reads of a ConfigMap.
_VALUE = re.compile(rb"""fieldPath["']?:\s*["']?data\.([\w.-]+)""", re.IGNORECASE)


class Stage:
    """The copy below `root`, an empty folder. After `add` and `finish`, `files` are its files by path,
    `configurations` are ours, `makes_secrets` says whether kustomize makes Secrets, which it quotes when it fails, and
    `left_out` what the copy does without."""

    def __init__(
        self, tree: Tree, root: str, ours: str, allowed: Mapping[str, str], free: bool, partly: bool, helm: Helm | None
    ) -> None:
        """`ours` is the program that replaces krmfn. `allowed` maps the real paths of programs that may be run to
        themselves. `free`: a kustomization may use files that are not below its folder, as with `--load-restrictor
        LoadRestrictionsNone`. That option lets kustomize read the whole disk, so such a file is copied to where it may
        be: `brought` has its own path, by that of the copy. `partly`: what cannot be had and only adds objects is left
        out. `helm` renders charts of the tree; `templates` is as `brought`, for what it rendered."""
        self.tree = tree
        self.left_out: list[NotRendered] = []
        self.brought: dict[str, str] = {}
        self.runs = False
        self.runs_others = False
        self.makes_secrets = False
        self.copied: set[str] = set()
        self.configurations: list[Fields] = []
        self.ran_in: list[str] = []  # the folders of the kustomizations that list these
        self.templates: dict[str, str] = {}
        self._helm = helm
        self._namespace = ""  # of the kustomization that is copied, or else of those that build on it
        self._emptied: list[str] = []  # files of the copy whose text is not known
        self._partly = partly
        self._free = free
        self._root = root
        self._ours = ours
        self._allowed = allowed
        self._here = tree.here
        self.files: dict[str, bytes] = {}
        self._kustomizations: dict[str, Fields] = {}  # by folder of the copy
        self._builds: dict[str, int] = {}  # how often kustomize builds something for a folder of the copy
        self._number = 0
        self._first = ""  # the kustomization that builds on all others

    def finish(self) -> None:
        """Adds the kustomizations, when it is known what is left out: a patch for one object, which kustomize would
        miss, becomes one for those that its target names. Values of files that are not there are placeholders."""
        for place, value in self._kustomizations.items():
            self._write(posixpath.join(place, KUSTOMIZATIONS[0]), self._aim(value, place) if self.left_out else value)
        # Somebody may call a file that is missing as a kustomization that was checked.
        emptied = [place for place in self._emptied if os.path.basename(place) not in KUSTOMIZATIONS]
        names = {name for data in self.files.values() for name in _VALUE.findall(data)} if emptied else set()
        for place in emptied:
            self._write(place, b"".join(b"%b=${%b}\n" % (name, name) for name in sorted(names)))

    def _aim(self, value: Value, place: str) -> Fields:
        """A kustomization whose strategic merge patches change what they are for, and nothing where that is missing."""
        aimed = []
        listed = [*as_list(value, "patchesStrategicMerge"), *as_list(value, "patches")]
        for patch in (each if isinstance(each, dict) else {"path": each} for each in listed):
            text = str(patch.get("patch") or patch.get("path"))
            if patch.get("target"):
                aimed.append(patch)
                continue
            path = os.path.normpath(os.path.join(place, text))
            data = text.encode("utf-8", "replace")
            if is_path(text):
                data = self.files.get(path, data)
            others = {key: each for key, each in patch.items() if key not in ("path", "patch")}
            for each in read_objects(data, text):
                aimed.append({**others, "patch": spell_json(each).decode(), "target": _find_target(each)})
        kept = {key: each for key, each in value.items() if key != "patchesStrategicMerge"}
        return {**kept, "patches": aimed} if aimed else kept

    def place(self, path: str) -> str:
        """Where a path of the tree is in the copy."""
        return os.path.join(self._root, os.path.normpath(os.path.join(self._here, path)).lstrip(os.sep))

    def add(self, folder: str, depth: int = 0, components: Sequence[str] = ()) -> str:
        """Copies the kustomization in `folder` and everything that it builds on, with `components` besides its own; its
        folder in the copy. The output of the one at the top says where each object comes from. Raises NotRendered."""
        try:
            real = self.tree.resolve(folder)
        except LeftOut as left:
            raise NotRendered(f"uses {left}") from None
        except FileNotFoundError:
            raise lack(folder) from None
        place = self.place(real)
        if place in self._builds:
            return place
        overlay = find_used(self.tree, real) if depth else find_overlay(self.tree, real)
        if overlay is None:
            named = folder.removeprefix(self._here + os.sep)
            sort = self.tree.find_sort(posixpath.join(folder, KUSTOMIZATIONS[0]))
            raise NotRendered(f"uses {named}, a folder without a kustomization.yaml", sort=sort).of_whole()
        if depth > DEEPEST:
            raise NotRendered(f"builds on more than {DEEPEST} levels of kustomizations")
        overlay = overlay.with_components(components)
        self._first = self._first or overlay.path
        self._note(overlay.path)
        self._builds[place] = 1
        self._kustomizations[place] = self._spell(overlay, place, depth)
        if self._builds[place] > _MOST_BUILDS:
            raise NotRendered(f"makes kustomize build kustomizations more than {_MOST_BUILDS} times")
        return place

    def _spell(self, overlay: Overlay, place: str, depth: int) -> Fields:
        """The kustomization as kustomize will read it, with all that it names copied."""
        charts = find_charts(overlay.value)
        value = {key: each for key, each in overlay.value.items() if key not in HELM}
        above = self._namespace
        self._namespace = as_text(value, "namespace") or above
        inflated = []
        if charts:
            inflated = self._inflate(overlay, place, charts)
            value.setdefault("resources", [])  # kustomize refuses one without any field
        self.makes_secrets |= "secretGenerator" in value
        for field in GENERATORS:
            if self._partly and isinstance(value.get(field), list):
                value[field] = [self._leave_files_out(each, overlay) for each in value[field]]
        refuse_fetching({key: each for key, each in value.items() if key not in BUILDS_ON})
        for field in USES:
            if field in value:
                uses = (self._use(overlay, field, entry, place, depth) for entry in list_entries(value, field))
                value[field] = [entry for entry in uses if entry]
        self._namespace = above
        if inflated:  # kustomize adds them behind the resources
            value["resources"] = [*value["resources"], *inflated]
        for field in PLUGINS:
            if field in value:
                value[field] = self._list_plugins(overlay, field, place)
        for name in list_sources(value):
            self._find(name, overlay.folder)
        for name, told in list_generated(overlay.value):
            if self._misses(name, overlay.folder, told or "a secret file"):
                reason = f"uses {told}" if told else "creates a Secret from a file"
                part = f"{told or 'a file of a Secret'}, {MISSING}"
                sort = self.tree.find_sort(posixpath.join(overlay.folder, name))
                self._leave_out(NotRendered(f"{reason}, {MISSING}", part=part, sort=sort), overlay)
                self._emptied.append(self.place(posixpath.join(overlay.folder, name)))
                self._write(self._emptied[-1], b"")  # only its ConfigMap is another
        named = {key: each for key, each in value.items() if key not in BUILDS_ON}
        value |= self._bring_named(named, overlay) if self._free else {}
        self._copy_named({key: named.pop(key) for key in GENERATORS if key in named}, overlay, is_read=False)
        self._copy_named(named, overlay)
        if not depth:
            value["buildMetadata"] = [*list_entries(value, "buildMetadata"), "originAnnotations"]
        return value

    def _inflate(self, overlay: Overlay, place: str, charts: str) -> list[str]:
        """The files from which the charts of a kustomization render, as kustomize marks them; not those left out."""
        found = [*read_inflated(overlay, self._namespace)]
        if self._helm is None or overlay.value.get("helmChartInflationGenerator"):
            is_here = any(not isinstance(chart, NotRendered) for _, chart in found)
            self._leave_out(refuse_charts(charts, "" if is_here else CHARTS), overlay)
            return []
        names = []
        for name, chart in found:
            try:
                if isinstance(chart, NotRendered):
                    raise chart
                texts = inflate(self.tree, chart, self._helm, self._root)
            except NotRendered as reason:
                reason.part, reason.entry = f"the Helm chart {name}", ""  # what it lacks may be no entry of this one
                self._leave_out(reason, overlay)
                continue
            for path, text in texts:
                objects = read_objects(text, path)
                for each in objects:
                    metadata = as_mapping(each, "metadata")
                    marks = {**as_mapping(metadata, "annotations"), _INFLATED: "true"}
                    each["metadata"] = {**metadata, "annotations": marks}
                self._number += 1
                names.append(f"krmfn-{_WORD}-{self._number}.yaml")
                file = posixpath.join(place, names[-1])
                self.templates[file] = self.place(self.tree.resolve(path))
                self._write(file, b"\n---\n".join(map(spell_json, objects)))
        return names

    def _leave_out(self, reason: NotRendered, overlay: Overlay) -> None:
        """Does without a part of a kustomization that cannot be had. Raises `reason` where that would change what the
        others are."""
        if not (self._partly and reason.part):
            raise reason.of_whole()
        if self._first != overlay.path:
            reason.place = reason.place or FileRef(os.path.relpath(overlay.path, self._here))
        if (reason.part, reason.place) not in ((each.part, each.place) for each in self.left_out):
            self.left_out.append(reason)

    def _use(self, overlay: Overlay, field: str, entry: str, place: str, depth: int) -> str:
        """What to write for an entry, empty for one that is left out."""
        path, kind = overlay.follow(entry)
        part = "" if field == "components" else entry  # a component may change what others list
        if kind == "folder":
            below = self.add(path, depth + 1)
            self._builds[place] += self._builds[below]
            return os.path.relpath(below, place)
        if kind == "file":
            if self._copy(path, overlay):
                return entry
            if brought := self._bring(path, overlay):
                return brought
            raise NotRendered(f"uses {entry}, which is not below its folder: kustomize refuses that")
        if is_remote(entry):
            self._leave_out(refuse_address(entry, part), overlay)
            return ""
        if not path:
            raise NotRendered("has a text of several lines where a path is expected")
        try:
            self._find(entry, overlay.folder, part)
        except NotRendered as reason:
            self._leave_out(reason, overlay)
            return ""
        raise lack(entry)

    def _leave_files_out(self, generator: object, overlay: Overlay) -> object:
        """What makes a ConfigMap or Secret, without the files that kustomize would fetch."""
        if not isinstance(generator, dict):
            return generator
        files = list_entries(generator, "files")
        for entry in filter(find_fetched, files):
            address = entry[entry.lower().index("http") :]
            self._leave_out(refuse_address(entry, address), overlay)
        return {**generator, "files": [each for each in files if not find_fetched(each)]} if files else generator

    def _find(self, entry: str, folder: str, part: str = "") -> None:
        """Raises NotRendered for a path that is not in the tree."""
        if self._misses(entry, folder, entry):
            sort = self.tree.find_sort(posixpath.join(folder, entry))
            lacking = lack(entry, f"{part}, {MISSING}" if part and sort else "", sort)
            raise lacking if part else lacking.of_whole()

    def _misses(self, entry: str, folder: str, told: str) -> bool:
        """Whether nothing is where a path leads. Raises NotRendered, which names it as `told`, where it leads away."""
        try:
            self.tree.resolve(join_path(folder, entry))
        except LeftOut as left:
            raise NotRendered(f"uses {told}, which {left.reason}") from None
        except FileNotFoundError:
            return True
        return False

    def _list_plugins(self, overlay: Overlay, field: str, place: str) -> list[str]:
        """The functions' configurations, one file each, in the order in which they run."""
        names = []
        for entry in list_entries(overlay.value, field):
            for value in self._read_plugins(overlay, field, entry):
                if field == "generators" and is_ours(value):
                    raise NotRendered(
                        "lists krmfn under generators, where kustomize passes no resources and the build fails",
                        "List krmfn under transformers: of the outermost kustomization.",
                    )
                try:
                    permitted = self._permit(overlay, value)
                except NotRendered as reason:
                    if field != "generators":
                        raise reason.of_whole() from None
                    self._leave_out(reason, overlay)
                    continue
                self._number += 1
                name = f"krmfn-{_WORD}-{self._number}.json"
                self._write(posixpath.join(place, name), permitted)
                names.append(name)
        return names

    def _read_plugins(self, overlay: Overlay, field: str, entry: str) -> Iterator[Fields]:
        path, kind = overlay.follow(entry)
        if kind == "folder":
            below = find_used(self.tree, path)
            files = list_resources(below) if below else None
            if files is None:
                reason = f"lists {entry} among its functions, a kustomization that does more than list files"
                raise NotRendered(reason, "Check the output of kustomize build.")
            for each in files:
                yield from self._read_plugins(overlay, field, posixpath.relpath(each, overlay.folder))
        elif kind == "file":
            self._note(path)
            yield from read_objects(self._read(path), path)
        elif "\n" in entry or "{" in entry:
            yield from read_objects(entry.encode(), overlay.path)
        elif is_remote(entry):
            self._leave_out(refuse_address(entry, entry if field == "generators" else ""), overlay)
        else:
            raise lack(entry)

    def _permit(self, overlay: Overlay, value: Fields) -> Fields:
        """The configuration, changed so that what is run for it is ours or allowed. Raises NotRendered."""
        if charts := find_charts(value):
            raise refuse_charts(charts)
        function = read_function(value)
        if self._free:
            value = self._bring_named(value, overlay)
        self._copy_named(value, overlay)
        if function is None:
            refuse_fetching(value)
            self.makes_secrets |= value.get("kind") == "SecretGenerator"
            return value
        self.runs = True
        if function.ours:
            self.configurations.append(value)
            self.ran_in.append(os.path.relpath(overlay.folder, self._here))
            return with_program(value, self._ours)
        if function.image:
            hint = "krmfn starts no containers. Check the output of kustomize build."
            part = f"what the container image {function.image} generates"
            raise NotRendered(f"runs the container image {function.image}", hint, part=part)
        program = self._find_allowed(overlay, function.program)
        if not program:
            named = function.program
            if os.sep in named:  # the kustomization's paths begin in its folder, those of the option where krmfn runs
                named = os.path.relpath(os.path.join(overlay.folder, named))
                named = named if os.sep in named else f"./{named}"
            hint = f"If you trust it: --allow-exec {named}"
            part = f"what the program {function.program} generates"
            raise NotRendered(f"runs the program {function.program}", hint, part=part)
        self.runs_others = True
        return with_program(value, program)

    def _find_allowed(self, overlay: Overlay, program: str) -> str:
        """The real path of a program that may be run, empty when it may not."""
        if "\0" in program:
            return ""
        found = os.path.join(overlay.folder, program) if os.sep in program else find_program(program)
        return self._allowed.get(os.path.realpath(found), "") if found else ""

    def _copy_named(self, value: object, overlay: Overlay, is_read: bool = True) -> None:
        for path in overlay.list_named(value):
            self._copy(path, overlay, is_read)

    def _copy(self, path: str, overlay: Overlay, is_read: bool = True) -> bool:
        """Copies a file; False where kustomize would not open it. `is_read`: as YAML."""
        # A kustomization is written by _spell or not at all: a copy would be read as it is.
        if path.rpartition("/")[2] in KUSTOMIZATIONS:
            return False
        try:
            real = self.tree.resolve(path)
        except (LeftOut, FileNotFoundError):
            return False
        # As for kustomize: a file may be a link, and lies below the folder of the kustomization all the same.
        if not is_below(self.place(real), self.place(overlay.folder)):
            return False
        if self.place(path) not in self.files or is_read:
            self._note(path)
            self._write(self.place(path), self._read(path, is_read))
        return True

    def _bring(self, path: str, overlay: Overlay) -> str:
        """Copies a file from elsewhere below the folder of a kustomization; what to write for it there."""
        if not self._free or path.rpartition("/")[2] in KUSTOMIZATIONS or self.tree.kind(path) != "file":
            return ""
        self._number += 1
        name = f"krmfn-{_WORD}-{self._number}/{posixpath.basename(path)}"
        place = posixpath.join(self.place(overlay.folder), name)
        self.brought[place] = self.place(self.tree.resolve(path))
        self._note(path)
        self._write(place, self._read(path))
        return name

    def _bring_named(self, value: Any, overlay: Overlay) -> Any:
        """A value in which the files that are not below the folder are called as their copies are."""
        if isinstance(value, dict):
            return {key: each if is_words(key) else self._bring_named(each, overlay) for key, each in value.items()}
        if isinstance(value, list):
            return [self._bring_named(each, overlay) for each in value]
        if not isinstance(value, str) or "../" not in value:
            return value
        for name in (value, value.partition("=")[2]):
            path, kind = overlay.follow(name)
            if kind == "file" and not self._copy(path, overlay):
                return value.removesuffix(name) + self._bring(path, overlay)
        return value

    def _note(self, path: str) -> None:
        self.copied.add(self.tree.resolve(path))

    def _read(self, path: str, is_read: bool = True) -> bytes:
        data = self.tree.use(path)
        if is_read:
            _refuse_circles(data, path.removeprefix(self._here + os.sep))
        return data

    def _write(self, place: str, content: bytes | Value) -> None:
        self.files[place] = content if isinstance(content, bytes) else spell_json(content)


def _refuse_circles(data: bytes, path: str) -> None:
    """Raises NotRendered for YAML in which an anchor is used in its own value: kustomize would never come to an end."""
    anchors, aliases = ({*re.findall(rb"%b(?=([\w-]+|\S))" % sign, data)} for sign in (b"&", rb"\*"))
    if b"\0" not in data and anchors.isdisjoint(aliases):  # in UTF-16 nobody sees them
        return
    try:
        read_whole(path, data)
    except Unreadable as error:
        if error.message.endswith(HOLDS_ITSELF):
            place = FileRef(path, 0, error.line, error.column)
            raise NotRendered(f"uses {path}, which cannot be read: {error.message}", place=place) from None


def _find_target(patch: Value) -> dict[str, str]:
    """The target of a strategic merge patch, as regular expressions."""
    group, _, version = as_text(patch, "apiVersion").rpartition("/")
    metadata = as_mapping(patch, "metadata")
    named = {"group": group, "version": version, "kind": as_text(patch, "kind")}
    named |= {key: as_text(metadata, key) for key in ("name", "namespace")}
    return {key: re.escape(text) for key, text in named.items() if text}
