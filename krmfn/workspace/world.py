"""What is applied together, and the lines that somebody wrote for it.

kustomize notes for every object which file it comes from. The source is the object of the same kind in that file whose
name is part of the rendered name. Findings are on the source where it has the field, and else on the kustomization.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Container, Iterable, Mapping, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias, TypeVar

from krmfn.krm import FileRef, Item, Stream, Unreadable
from krmfn.krm.paths import Path
from krmfn.krm.results import ABSENT, ResourceRef, Result
from krmfn.model.findings import Finding
from krmfn.model.kept import Printed
from krmfn.model.marks import list_sources
from krmfn.model.placeholders import is_placeholder
from krmfn.model.values import Key, Names, Value
from krmfn.workspace.manifests import RENDERED, LoadedFile, load, read_whole
from krmfn.workspace.trees import CHART, ManifestFile, NotRendered, Tree, join_path

if TYPE_CHECKING:
    from krmfn.workspace.helm import Helm
    from krmfn.workspace.sharding import Shard

#: The annotation in which kustomize notes where an object comes from.
_ORIGIN = "config.kubernetes.io/origin"
#: No name is longer.
_LONGEST = 253
#: What a variable begins with that Flux fills in, after kustomize has written the text again.
_VARIABLE = "${"
#: Rules that compare a group with pods which something may have changed since, and propose no value.
_COUNTED = ("min-count-below-pods", "min-count-one")
_IN_HELM = (
    "Call helm with --post-renderer krmfn, or list the chart under helmCharts: of a kustomization that lists krmfn "
    "under transformers:."
)
_QUOTES = "kustomize drops quotes around a variable: write them in its value, as in '\"true\"'."
_Place = TypeVar("_Place")
#: By group and kind: items by name, and the lengths of the names.
_Index: TypeAlias = dict[Key, tuple[dict[str, list[Item]], set[int]]]


class Sources:
    """The files of a tree from which objects are rendered, and those that deploy them, each read once: `loaded`."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self.loaded: dict[str, LoadedFile] = {}
        self._indexes: dict[str, _Index] = {}
        self._taken: set[str] = set()

    def find(self, path: str, item: Item, rendered: Container[Key]) -> Item | None:
        """The object in a file from which `item` was rendered, None when that is not clear. `rendered` are the kinds
        and names of all that was rendered with it."""
        if path not in self._indexes:
            try:
                self._indexes[path] = _index(self.read(path).stream.items)
            except NotRendered:
                self._indexes[path] = {}
        by_name, lengths = self._indexes[path].get(item.group_kind, ({}, set()))
        found = [each for each in by_name.get(item.name, ()) if each.namespace in ("", item.namespace)]
        if len(found) != 1:
            name = item.name[:_LONGEST]
            parts = {name[at : at + length] for length in lengths for at in range(len(name) - length + 1)}
            found = [each for part in parts for each in by_name.get(part, ())]
            if len(found) > 1:
                found = [each for each in found if _is_affixed(item, each, found, rendered)]
        if not found:  # Flux filled in the name
            found = [each for listed in by_name.values() for each in listed if is_placeholder(each.name)]
        return found[0] if len(found) == 1 else None

    def digest(self, path: str) -> str:
        """The SHA-256 of a file; that of an empty one where there is none."""
        return sha256(self._tree.find(path) or b"").hexdigest()

    def take(self, path: str) -> bool:
        """Whether no other world has the objects of a file yet: edits in one world would show in the other."""
        is_free = path not in self._taken
        self._taken.add(path)
        return is_free

    def read(self, path: str) -> LoadedFile:
        """A file with its objects. Raises NotRendered."""
        if path not in self.loaded:
            try:
                file = read_whole(path, self._tree.use(path))
            except Unreadable as error:
                raise NotRendered(f"uses {path}, which cannot be read: {error}") from None
            if file.stream.skipped:
                raise NotRendered(f"uses {path}, which is a template")
            self.loaded[path] = file
        return self.loaded[path]


def _is_affixed(item: Item, source: Item, others: Iterable[Item], rendered: Container[Key]) -> bool:
    """Whether `others` were rendered with the prefix and suffix that `item` has if it comes from `source`."""
    before, _, behind = item.name.partition(source.name)
    return all((item.kind, before + other.name + behind) in rendered for other in others)


def _index(items: Iterable[Item]) -> _Index:
    """Items by group, kind and name; those without a name are left out."""
    found: _Index = {}
    for item in items:
        if item.name:
            names, lengths = found.setdefault(item.group_kind, ({}, set()))
            names.setdefault(item.name, []).append(item)
            lengths.add(len(item.name))
    return found


class Rendering(NamedTuple):
    """How kustomizations are rendered."""

    wanted: bool = True  # they are rendered at all
    allowed: Names = ()  # the programs that they may run
    required: bool = False  # one that cannot be rendered is an error
    excluded: Names = ()  # patterns of files in folders that are passed over
    done: Printed | None = None  # what other states were rendered to: see render_all (rendering)
    unsaved: Mapping[str, bytes] = {}  # what an editor has instead of files, by their real paths
    shard: Shard | None = None  # the part of the worlds that is checked
    helm: Helm | None = None  # renders charts of the repository, which are passed over without


class World(NamedTuple):
    """Objects that are applied together. Worlds of two states with the same `key` are the same world."""

    name: str  # a folder, empty for what was named one by one
    key: str
    items: Sequence[Item]
    tree: Tree | None
    folder: str  # where its configuration is looked for, in `tree`
    files: Sequence[LoadedFile] = ()  # with the objects as they were read
    overlay: str = ""  # the path of its kustomization if it was rendered: its objects are in no file
    sources: Mapping[int, Item] = {}  # the objects that somebody wrote, by the id() of the rendered ones
    configurations: Sequence[Value] = ()  # the functionConfigs that it was rendered with
    left_out: Names = ()  # what could not be rendered
    beside: Names = ()  # what is deployed with it or before it
    base: Literal["", "base", "undeployed"] = ""  # who builds on it may add a namespace; more if it is undeployed
    ran_in: Names = ()  # the folders of the kustomizations that ran krmfn when it was rendered
    rank: int = 0  # its place among all worlds
    elsewhere: bool = False  # another shard checks it: it may lack its objects
    templates: Mapping[ResourceRef, str] = {}  # the files of charts that objects come from

    def trace(self, finding: Finding) -> Finding:
        """The finding on the object that somebody wrote, if that has the value, or a variable of Flux in its place."""
        if finding.rule == "function-skipped" and posixpath.basename(self.overlay) == CHART:
            finding = finding._replace(hint=_IN_HELM)
        source = self.sources.get(id(finding.item))
        if source is None:
            return self._blame_order(finding)
        written, value = ((item.get(finding.path, ABSENT) if finding.path else "") for item in (source, finding.item))
        if written != value:
            if not (isinstance(written, str) and _VARIABLE in written):
                return finding
            hint = finding.hint if isinstance(value, str) else _QUOTES
            finding = finding._replace(proposed=ABSENT, hint=hint)
        message, hint = (_rename(text, finding.item.ref, source.ref) for text in (finding.message, finding.hint))
        if isinstance(finding.proposed, str) and finding.item.name != source.name:  # a name that only one world has
            finding = finding._replace(proposed=ABSENT)
        return finding._replace(item=source, message=message, hint=hint)

    def _blame_order(self, finding: Finding) -> Finding:
        """The finding on a generated object, with what to do where krmfn ran in a base: something between that and this
        kustomization has changed what was counted. Nobody wrote the object, so an edit is not the fix."""
        is_early = self.ran_in and self.folder not in self.ran_in
        counts = finding.is_mendable or finding.rule in _COUNTED
        if not is_early or not counts or not list_sources(finding.item):
            return finding
        hint = (
            f"krmfn ran in {self.ran_in[0]}, before {self.folder} changed what it had counted. List it in "
            f"{self.folder} instead: krmfn init --move {self.ran_in[0]}"
        )
        return finding._replace(hint=hint, proposed=ABSENT, mend=())

    def find_file(self, item: Item) -> FileRef:
        """The file that an object is in, or else the kustomization."""
        own = self.sources.get(id(item), item).file
        return FileRef(self.templates.get(item.ref, self.overlay)) if self.overlay and own.path == RENDERED else own

    def place(self, item: Item) -> FileRef:
        """The line where an object begins, or else the kustomization that it is in."""
        own = self.sources.get(id(item), item)
        return own.locate(()) if self.overlay and own.file.path != RENDERED else self.find_file(item)

    def locate(self, item: Item, path: Path) -> FileRef:
        """Where a field of an object stands, or else the object, or the kustomization that it is in."""
        found = self.trace(Finding(item, path, "")).item.locate(path)
        return self.place(item) if found.path == RENDERED else found

    def rename(self, results: Iterable[Result]) -> Iterable[Result]:
        """The results, with the names that objects have in their files where the lines of those are reported."""
        refs = {item.ref: self.sources[id(item)].ref for item in self.items if id(item) in self.sources}
        for result in results:
            ref, own = result.ref, refs.get(result.ref) if result.ref else None
            if ref and own and result.file and result.file.path != RENDERED:
                yield result._replace(ref=own, message=_rename(result.message, ref, own))
            else:
                yield result

    def settle(self, result: Result) -> Result:
        """The result without places in rendered text, which nobody can open."""
        if not self.overlay:
            return result
        known = result.file is not None and result.file.path != RENDERED
        message = re.sub(rf" \({re.escape(RENDERED)}:\d+\)", "", result.message)
        made = FileRef(self.templates.get(result.ref, self.overlay) if result.ref else self.overlay)
        return result._replace(message=message, file=result.file if known else made)


def read_rendered(data: bytes, place: str = "") -> Stream:
    """The objects of what a kustomization or a template of a chart was rendered to. Raises NotRendered."""
    read = load([ManifestFile(RENDERED, data)])
    for problem in read.problems:
        place = place or f"line {problem.file.line if problem.file else 0} of what was rendered"
        raise NotRendered(f"is rendered to text that cannot be read: {problem.message} ({place})")
    return read.files[0].stream


def find_sources(items: Iterable[Item], origins: Mapping[int, str], sources: Sources) -> dict[int, Item]:
    """The sources of rendered objects, and `origins` the files that these are in, both by the id() of the object."""
    rendered = {(item.kind, item.name) for item in items}
    found = {id(item): sources.find(origins[id(item)], item, rendered) for item in items if id(item) in origins}
    return {key: source for key, source in found.items() if source is not None}


def read_origins(items: Iterable[Item], folder: str) -> dict[int, str]:
    """The files of what was rendered in `folder`, by the id() of the object, from the annotations that kustomize wrote.
    What kustomize or a function generated has no file."""
    found: dict[int, str] = {}
    for item in items:
        for line in item.annotations.get(_ORIGIN, "").splitlines():
            if line.startswith("path: "):
                found.setdefault(id(item), join_path(folder, line.removeprefix("path: ").strip().strip("'\"")))
    return found


def _rename(text: str, ref: ResourceRef, source: ResourceRef) -> str:
    """A text about an object with its name in the file: so it is the same for every world that is rendered from it."""
    for name, own in ((str(ref), str(source)), (f"{ref.kind} {ref.name}", f"{source.kind} {source.name}")):
        if name != own:
            text = own.join(re.split(rf"(?<![\w.-]){re.escape(name)}(?![\w-]|\.\w)", text))
    return text


def merge(results: Iterable[tuple[str, Result]]) -> list[Result]:
    """The results of several worlds, each given with the name of its world: what is the same in several is one."""
    return [name_worlds(result, list(filter(None, names))) for result, names in collect(results)]


def collect(results: Iterable[tuple[_Place, Result]]) -> Iterable[tuple[Result, list[_Place]]]:
    """Each result once, with all places that it was given with."""
    found: dict[str, tuple[Result, list[_Place]]] = {}
    for place, result in results:
        _, places = found.setdefault(repr(result), (result, []))
        if place not in places:
            places.append(place)
    return found.values()


def name_worlds(result: Result, names: Sequence[str]) -> Result:
    """The result with the names of its worlds in the tag `world`, unless its file is in the folder of the only one."""
    place = result.file.path if result.file else ""
    if not names or (len(names) == 1 and (posixpath.dirname(place) or ".") == names[0]):
        return result
    return result._replace(tags={**result.tags, "world": ", ".join(names)})
