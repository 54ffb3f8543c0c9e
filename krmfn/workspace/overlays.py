"""Kustomizations as the files say: which there are, what each uses, and which functions it would have kustomize run.

Reads, and renders nothing. What is decided here (whether a function is ours, what leaves the machine) decides what
`staging` lets kustomize see.

Kustomizations that only list files, and perhaps name a namespace, are read without kustomize: most of the first ones
that somebody writes. Their objects keep their lines, and they are checked where kustomize is not installed.
"""

from __future__ import annotations

import json
import os
import posixpath
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from krmfn.krm import Item, Stream, Unreadable
from krmfn.krm.paths import walk_values
from krmfn.krm.results import FileRef
from krmfn.krm.stream import TEMPLATE
from krmfn.model.patterns import Pattern, is_inside
from krmfn.model.values import Fields, Names, Value, as_list, as_mapping, as_text
from krmfn.releases import schemastore
from krmfn.workspace.trees import KUSTOMIZATIONS, LeftOut, ManifestFile, NotRendered, Tree, join_path

#: Lists of files and folders that become objects, and of those that become functions.
USES = ("resources", "bases", "components")
PLUGINS = ("generators", "transformers", "validators")
#: All lists of what a kustomization builds on.
BUILDS_ON = (*USES, *PLUGINS)
#: Lists of ConfigMaps and Secrets to make.
GENERATORS = ("configMapGenerator", "secretGenerator")
#: Levels of kustomizations. Deeper than any real repository; kustomize itself would run until the stack ends.
DEEPEST = 64
CONFIG_KIND = "GangScheduling"
CONFIG_GROUP = "krmfn.dev"
#: Where kustomize finds what to run for an object of PLUGINS.
_MARKS = ("config.kubernetes.io/function", "config.k8s.io/function")
_FLUX = "kustomize.toolkit.fluxcd.io"
_NOT_FETCHED = "krmfn fetches nothing. Keep a copy in the repository, or check the output of kustomize build."
HELM = ("helmCharts", "helmChartInflationGenerator")
#: We read and write the fields of a kustomization by the names of the table, which kustomize reads in any case of
#: letters: any other one might mean one thing there and another here.
_TEXTS = (*USES, *PLUGINS, "configurations", "crds", "buildMetadata")
_TABLE = "kustomize.json"
#: The fields that are understood here. configurations: matter when names change, for which there are other fields.
_LISTING = {"apiVersion", "kind", "metadata", "resources", "configurations", "sortOptions"}
_HARMLESS = {*_LISTING, "namespace", "transformers"}
_BREAKS = re.compile("[\x7f-\x9f\u2028\u2029\ufeff]")
_FETCHED = re.compile(r"([^\n=]*=)?\s*https?:", re.IGNORECASE)


class Overlay(NamedTuple):
    """A kustomization in a tree, which spells `folder` and `path` (its file)."""

    tree: Tree
    folder: str
    path: str
    value: Value

    @property
    def is_component(self) -> bool:
        """Whether it is a part for others, which cannot be rendered alone."""
        return self.value.get("kind") == "Component"

    def with_components(self, components: Sequence[str]) -> Overlay:
        """The kustomization with components that another program adds, as Flux does."""
        listed = [*list_entries(self.value, "components"), *components]
        return self._replace(value={**self.value, "components": listed}) if components else self

    def follow(self, entry: str) -> tuple[str, str]:
        """Where an entry leads, empty for what is no path, and what is there: a "file", a "folder", or nothing."""
        path = join_path(self.folder, entry) if is_path(entry) else ""
        return path, self.tree.kind(path) if path else ""

    def follow_all(self, fields: Sequence[str]) -> Iterator[tuple[str, str]]:
        """Where the entries in lists lead, and what is there."""
        for field in fields:
            yield from map(self.follow, list_entries(self.value, field))

    def list_uses(self, fields: Sequence[str] = BUILDS_ON) -> Iterator[str]:
        """The folders that it builds on, without links; those that are not there are left out."""
        yield from (self.tree.resolve(path) for path, kind in self.follow_all(fields) if kind == "folder")

    def list_named(self, value: object) -> Iterator[str]:
        """The files that any text in `value` names: patches, sources of ConfigMaps, replacements."""
        for text in (each for each in walk_values(value) if isinstance(each, str)):
            for name in {text, text.partition("=")[2]}:
                path, kind = self.follow(name)
                if kind == "file":
                    yield path

    def list_files(self) -> set[str]:
        """The files that it is made of itself, without links."""
        return set(map(self.tree.resolve, (self.path, *self.list_named(self.value))))


#: Kustomizations by their folders.
Overlays: TypeAlias = Mapping[str, Overlay]


class Plain(NamedTuple):
    """What a kustomization lists: files, the namespace that it puts them into (empty: none), and functions of ours."""

    files: Names
    namespace: str
    configurations: Sequence[Fields]


class Function(NamedTuple):
    """What kustomize would run for an object. `ours` is krmfn, `program` a path or name, `image` a container's."""

    ours: bool
    program: str = ""
    image: str = ""


def list_kustomizations(tree: Tree, folder: str) -> list[str]:
    """The files in a folder that kustomize would take for its kustomization. It accepts only one."""
    return [path for path in (os.path.join(folder, name) for name in KUSTOMIZATIONS) if tree.kind(path) == "file"]


def find_overlay(tree: Tree, folder: str) -> Overlay | None:
    """The kustomization in a folder, None when there is none: Flux has a kind of this name for objects, which people
    write into such a file. Raises NotRendered when it cannot be read."""
    found = list_kustomizations(tree, folder)
    if not found:
        return None
    if len(found) > 1:
        names = " and ".join(path.rpartition("/")[2] for path in found)
        raise NotRendered(f"contains {names}, but kustomize accepts only one of them")
    path = posixpath.normpath(found[0])
    try:
        item = Item.parse(tree.read(path), path)
        if item.group == _FLUX:
            return None
        return Overlay(tree, posixpath.normpath(folder), path, _read_fields(item))
    except Unreadable as error:
        place = FileRef(path, 0, error.line, error.column)
        if re.search(TEMPLATE, tree.read(path)):
            raise NotRendered("is a template", place=FileRef(path), sort="templates") from None
        raise NotRendered(f"cannot be read: {error.message}", place=place) from None
    except (LeftOut, FileNotFoundError) as error:
        raise NotRendered(f"cannot be read: {error}") from None


def find_used(tree: Tree, folder: str) -> Overlay | None:
    """The kustomization in a folder that another one builds on. Raises NotRendered, which names the folder."""
    try:
        return find_overlay(tree, folder)
    except NotRendered as reason:
        name = reason.place.path if reason.place else posixpath.normpath(folder)
        built = f"builds on {name.removeprefix(tree.here + os.sep)}, which {reason}"
        raise NotRendered(built, reason.hint, sort=reason.sort) from None


def _read_fields(item: Item) -> Fields:
    """The fields of a kustomization by the names of the table. Raises NotRendered where kustomize reads otherwise."""
    found: Fields = {}
    for field, value in item.value.items():
        name = schemastore.load(_TABLE)["fields"].get(str(field).casefold())
        is_list = isinstance(value, list) and all(isinstance(each, str) for each in value)
        reason = ""
        if name is None:
            reason = f"has an unknown field, {field}"
        elif name in found:
            reason = f"has {name} twice"
        elif name in _TEXTS and value is not None and not is_list:
            reason = f"must have a list of strings in {field}"
        if reason:
            raise NotRendered(reason, place=item.locate((field,)))
        found[name] = value
    return found


def list_entries(value: Value, field: str) -> list[str]:
    """The texts in a list of a kustomization."""
    return [entry for entry in as_list(value, field) if isinstance(entry, str)]


def list_folders(files: Iterable[ManifestFile]) -> list[str]:
    """The folders of those files that are kustomizations."""
    return [posixpath.dirname(file.path) or "." for file in files if posixpath.basename(file.path) in KUSTOMIZATIONS]


def find_below(
    tree: Tree, folders: Iterable[str], fields: Sequence[str] = BUILDS_ON, excluded: Sequence[Pattern] = ()
) -> dict[str, Overlay]:
    """The kustomizations in folders, and those that they build on, wherever these are, by their folders."""
    found: dict[str, Overlay] = {}
    waiting = list(folders)
    seen = {tree.resolve(folder) for folder in waiting}
    for folder in waiting:  # it grows
        try:
            overlay = find_overlay(tree, folder)
        except NotRendered:
            continue
        if overlay is None:
            continue
        found[folder] = overlay
        for path, kind in overlay.follow_all(fields):
            if kind == "folder" and tree.resolve(path) not in seen:
                seen.add(tree.resolve(path))
                if not is_inside(excluded, posixpath.join(path, KUSTOMIZATIONS[0])):
                    waiting.append(path)
    return found


def index_uses(overlays: Overlays, fields: Sequence[str] = BUILDS_ON) -> dict[str, set[str]]:
    """The folders of kustomizations, each with those among them that it builds on."""
    places = {overlay.tree.resolve(folder): folder for folder, overlay in overlays.items()}
    return {
        folder: {places[place] for place in overlay.list_uses(fields) if place in places}
        for folder, overlay in overlays.items()
    }


def reach(folders: Iterable[str], uses: Mapping[str, Iterable[str]]) -> set[str]:
    """The folders, and all that lie on the ways from them."""
    found = set()
    waiting = list(folders)
    while waiting:
        here = waiting.pop()
        if here not in found:
            found.add(here)
            waiting += uses.get(here, ())
    return found


def list_sources(value: Value) -> Iterator[str]:
    """The paths of the files with a kustomization's patches."""
    for field in ("patches", "patchesJson6902", "replacements"):
        paths = (each.get("path") for each in map(as_mapping, as_list(value, field)))
        yield from (path for path in paths if isinstance(path, str) and is_path(path))
    yield from (each for each in list_entries(value, "patchesStrategicMerge") if is_path(each) and ": " not in each)


def list_generated(value: Value) -> Iterator[tuple[str, str]]:
    """The paths of the files that a kustomization makes ConfigMaps and Secrets of, each with what a message calls it.
    Those of Secrets are not told: somebody may have written a secret there."""
    for field in GENERATORS:
        for path in (path for generator in map(as_mapping, as_list(value, field)) for path in _list_files(generator)):
            yield path, path if field == "configMapGenerator" else ""


def _list_files(generator: Value) -> Iterator[str]:
    files = (entry.partition("=")[2] or entry for entry in list_entries(generator, "files"))
    alone = [generator["env"]] if isinstance(generator.get("env"), str) else []
    yield from filter(is_path, (*files, *list_entries(generator, "envs"), *alone))


def is_ours(value: Value) -> bool:
    """Whether an object is a configuration of krmfn."""
    return str(value.get("apiVersion")).partition("/")[0] == CONFIG_GROUP and value.get("kind") == CONFIG_KIND


def is_path(entry: str) -> bool:
    """Whether an entry can be a path at all: not a text of several lines, and nothing with a scheme."""
    return bool(entry) and "\n" not in entry and "\0" not in entry and "://" not in entry and len(entry) < 4096


def is_remote(entry: str) -> bool:
    """Whether kustomize would fetch an entry that is no path in the tree."""
    host = entry.partition("/")[0]
    return "\n" not in entry and (
        "://" in entry
        or "?ref=" in entry
        or "git::" in entry
        or "@" in host
        or ("." in host.strip(".") and "/" in entry)
    )


def is_words(field: object) -> bool:
    """Whether kustomize never takes the texts below a field for paths."""
    return str(field).casefold() in schemastore.load(_TABLE)["words"]


def find_fetched(value: object) -> str:
    """A text in a kustomization or an object of PLUGINS that kustomize would fetch as a file, empty for none."""
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, dict):
            waiting += [child for key, child in each.items() if not is_words(key)]
        elif isinstance(each, list):
            waiting += each
        elif isinstance(each, str) and _FETCHED.match(each):
            return each
    return ""


def refuse_charts(charts: str, sort: str = "") -> NotRendered:
    """Why the charts of a kustomization, or of a function, are not rendered."""
    hint = "With --allow-helm krmfn renders charts of the repository. Or check the output of kustomize and helm."
    return NotRendered("inflates Helm charts", hint, part=charts, sort=sort)


def refuse_address(entry: str, part: str = "") -> NotRendered:
    """Why what is somewhere else is not used."""
    return NotRendered(f"uses {entry}", _NOT_FETCHED, part=part, sort="remote files")


def refuse_fetching(value: object) -> None:
    """Raises NotRendered for a value with the address of something else."""
    fetched = find_fetched(value)
    if fetched:
        raise refuse_address(fetched)


def find_charts(value: Value) -> str:
    """The Helm charts that a kustomization, or a generator, inflates, in words; empty where it inflates none."""
    if all(value.get(field) in (None, []) for field in HELM) and value.get("kind") != "HelmChartInflationGenerator":
        return ""
    charts = [chart for field in HELM for chart in as_list(value, field) if isinstance(chart, dict)] or [dict(value)]
    names = (str(chart.get("chartName") or chart.get("name") or "without a name") for chart in charts)
    return " and ".join(f"the Helm chart {name}" for name in dict.fromkeys(names))


def read_function(value: Value) -> Function | None:
    """What kustomize would run for an object in one of PLUGINS, None for what is built into it.

    Raises NotRendered for a declaration that cannot be understood, and for what kustomize would look for elsewhere.
    """
    kind = value.get("kind")
    if "items" in value and isinstance(kind, str) and kind.endswith("List"):
        raise NotRendered(f"lists functions in a {kind} inside another list")
    metadata = as_mapping(value, "metadata")
    annotations = as_mapping(metadata, "annotations")
    declared = [metadata["configFn"]] if "configFn" in metadata else []
    declared += [annotations[mark] for mark in _MARKS if mark in annotations]
    if not declared:
        if value.get("apiVersion") == "builtin" and kind in schemastore.load(_TABLE)["builtIn"]:
            return None
        reason, sort = f"needs the kustomize plugin {kind}, which krmfn does not run", "kustomize plugins"
        hint = "Render it with kustomize and the plugin, and check the output."
        if str(value.get("apiVersion")).partition("/")[0] == CONFIG_GROUP:
            reason, sort = f"lists a {kind} as a function without the annotation that makes it one", ""
            hint = "The annotation config.kubernetes.io/function says what is run; krmfn init writes it for krmfn."
        raise NotRendered(reason, hint, part=f"what the {kind} generates", sort=sort)
    if is_ours(value):
        return Function(True)
    if len(declared) > 1:
        raise NotRendered("declares its function twice")
    return _read_declaration(declared[0])


def _read_declaration(declared: object) -> Function:
    if isinstance(declared, str):
        try:
            declared = Item.parse(declared.encode()).value
        except Unreadable:
            declared = None
    if isinstance(declared, dict):
        runs, holds = declared.get("exec"), declared.get("container")
        if (path := as_text(runs, "path")) and not holds:
            return Function(os.path.basename(path) == "krmfn", program=path)
        if (image := as_text(holds, "image")) and not runs:
            name = image.partition("@")[0].rpartition("/")[2].partition(":")[0]
            return Function(name == "krmfn", image=image)
    raise NotRendered("declares a function in a way that krmfn does not understand")


def with_program(value: Value, program: str) -> Fields:
    """The object, for which kustomize runs `program` and nothing else."""
    metadata = as_mapping(value, "metadata")
    annotations = as_mapping(metadata, "annotations")
    kept = {key: each for key, each in annotations.items() if key not in _MARKS}
    declared = {_MARKS[0]: json.dumps({"exec": {"path": program}})}
    others = {key: each for key, each in metadata.items() if key != "configFn"}
    return {**value, "metadata": {**others, "annotations": {**kept, **declared}}}


def read_objects(data: bytes, path: str) -> list[Fields]:
    """The objects of a text in one of PLUGINS, as plain values. Raises NotRendered."""
    try:
        stream = Stream.parse(data, path)
        if stream.skipped:
            raise NotRendered(f"lists {path}, which is a template")
        return [dict(item.value) for item in stream.items]
    except Unreadable as error:
        raise NotRendered(f"lists {path}, which cannot be read: {error.message}") from None


def spell_json(value: object) -> bytes:
    """JSON that is also YAML with the same meaning: astral characters as they are, line ends of YAML escaped."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return _BREAKS.sub(lambda found: f"\\u{ord(found[0]):04x}", text).encode("utf-8", "replace")


def read_plain(overlay: Overlay) -> Plain | None:
    """What a kustomization lists, None when it does more than that. Raises NotRendered for what it cannot list."""
    configurations = _read_configurations(overlay)
    files = list_resources(overlay, _HARMLESS)
    if configurations is None or files is None or len(set(files)) < len(files):
        return None
    namespace = overlay.value.get("namespace", "")
    return Plain(tuple(sorted(files)), namespace, configurations) if isinstance(namespace, str) else None


def list_resources(
    overlay: Overlay, fields: Collection[str] = _LISTING, seen: set[str] | None = None, depth: int = 0
) -> list[str] | None:
    """The files in resources:, those of kustomizations below included, in their order; None where other `fields` are
    used. kustomize is asked about what is used twice and what is not below the folder, which it may refuse, and about
    more levels than it is given."""
    if overlay.is_component or not overlay.value.keys() <= set(fields):
        return None
    files = []
    seen = {overlay.folder} if seen is None else seen
    for entry in list_entries(overlay.value, "resources"):
        path, kind = overlay.follow(entry)
        if kind == "file" and not posixpath.relpath(path, overlay.folder).startswith("../"):
            files.append(path)
            continue
        below = find_used(overlay.tree, path) if kind == "folder" and path not in seen and depth < DEEPEST else None
        seen.add(path)
        inner = list_resources(below, seen=seen, depth=depth + 1) if below else None
        if inner is None:
            return None
        files += inner
    return files


def _read_configurations(overlay: Overlay) -> list[Fields] | None:
    """The functionConfigs of ours, None when something else is listed too."""
    found = []
    for entry in list_entries(overlay.value, "transformers"):
        path, kind = overlay.follow(entry)
        if kind != "file":
            return None
        values = read_objects(overlay.tree.find(path) or b"", path)
        if not values or not all(map(is_ours, values)):
            return None
        found += values
    return found
