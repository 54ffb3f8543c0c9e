"""Charts of the repository as Argo CD, Flux and kustomize name them, with the values that they give, and as helm
renders them, of the work tree or of a revision. Charts of repositories and registries are passed over.

A chart is a program's input: helm gets a copy of it, and no plugin, repository, registry, cluster or network.
Sources: Helm 4.3, `helm template` and its environment; charts v2 (`dependencies`, `crds`, `# Source:` in the output);
Argo CD 3.1 user guide, "Helm" (order of values: valueFiles, values or valuesObject, parameters); Flux 2.7, HelmRelease
API v2 (valuesFrom in order, then values) and HelmChart (valuesFiles replace the chart's own values.yaml); kustomize
5.8, api/types/helmchartargs.go.
"""

from __future__ import annotations

import hashlib
import json
import os
import posixpath
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from krmfn.krm import FileRef, Item, Unreadable
from krmfn.model.kept import Printed
from krmfn.model.values import Fields, Names, Value, as_list, as_mapping, as_text
from krmfn.workspace.deployers import Repository, list_applications
from krmfn.workspace.overlays import Overlay, list_entries, spell_json
from krmfn.workspace.processes import Background, Failed, find_program, hold_signals
from krmfn.workspace.sandbox import isolate
from krmfn.workspace.trees import CHART, CHARTS, NotRendered, Tree, is_chart, join_path
from krmfn.workspace.witness import spell_program

#: Of a chart with its subcharts; the largest public ones have a few hundred files and print 5 MB.
_MOST_ENTRIES = 10_000
_MOST_COPIED = 64 * 2**20
_MOST_PRINTED = 32 * 2**20
_MOST_SECONDS = 60.0
_MOST_MEMORY = 4 * 2**30
_DEEPEST = 32
_INSTALL = "Install Helm 3.8 or newer, or check the output of helm template."
_VENDOR = "Keep them in the repository: helm dependency build writes them into the chart."
_LACKS = re.compile(r"missing in charts/ directory: (.*)")
_SOURCE = re.compile(rb"^---\n# Source: (.*)\n", re.MULTILINE)


class Chart(NamedTuple):
    """A chart in a folder of the tree, and what is given to it: values (a path in the tree, a text, or the values
    themselves; later ones win), the options of helm that set one value, and others. `lacking` are values that are not
    in the repository."""

    folder: str
    release: str
    namespace: str = ""
    values: Sequence[str | bytes | Value] = ()
    settings: Names = ()
    files: Sequence[tuple[str, str]] = ()  # a value's name, and the path of its text
    words: Names = ("--include-crds",)
    replaces: bool = False  # the values of the chart itself do not count
    lacking: Names = ()


class Helm(NamedTuple):
    """How charts are rendered: `find_release` gives the exact version of Kubernetes for a folder; `done` is what helm
    printed for other states, by the digest of all that it was given."""

    find_release: Callable[[Tree, str], str]
    done: Printed


def inflate(tree: Tree, chart: Chart, helm: Helm, root: str) -> list[tuple[str, bytes]]:
    """What a chart renders: texts, each with the path of its template (of Chart.yaml where the template is in no file
    of the tree). The copy is made below `root`, and stays. Raises NotRendered."""
    program = find_program("helm")
    if not program:
        raise NotRendered("needs helm, which is not on the PATH", _INSTALL)
    try:
        copy = _ChartCopy(tree, tempfile.mkdtemp(dir=root))
        words = [program, *_spell(copy, chart, helm.find_release(tree, chart.folder))]
        spelled = repr((spell_program(program), [word.replace(copy.root, "") for word in words])).encode()
        digest = hashlib.sha256(spelled + copy.digest.digest()).digest()
        if digest not in helm.done:
            helm.done[digest] = _run(words, root, copy)
    except OSError as error:
        raise NotRendered(f"cannot be copied: {error.strerror}") from None
    parts = _SOURCE.split(helm.done[digest])
    return [
        (copy.find(name.decode("utf-8", "replace")), text) for name, text in zip(parts[1::2], parts[2::2], strict=True)
    ]


class _ChartCopy:
    """A chart as helm reads it, below an empty folder."""

    def __init__(self, tree: Tree, root: str) -> None:
        self.root = root
        self.digest = hashlib.sha256()
        self._tree = tree
        self._folder = ""
        self._moved: dict[str, str] = {}  # subcharts that the chart names in another folder, by their place in it
        self._entries = 0
        self._size = 0

    def add_chart(self, folder: str, *, empty: bool) -> str:
        """Copies the chart, without its own values if they are `empty`; where it is."""
        self._folder = folder
        self._add(folder, "chart", 0)
        if empty:
            self.write("chart/values.yaml", b"")
        return os.path.join(self.root, "chart")

    def add_file(self, path: str, name: str) -> str:
        """Copies one file; where it is."""
        return self.write(name, self._tree.use(path))

    def write(self, name: str, data: bytes) -> str:
        self._size += len(data)
        if self._size > _MOST_COPIED:
            raise NotRendered(f"is a chart of more than {_MOST_COPIED // 2**20} MiB")
        self.digest.update(repr((name, len(data))).encode() + data)
        place = os.path.join(self.root, name)
        os.makedirs(os.path.dirname(place), exist_ok=True)
        with open(place, "wb") as stream:
            stream.write(data)
        return place

    def find(self, source: str) -> str:
        """The path in the tree of a template, as helm calls it: the name of the chart, and the path in it."""
        inner = posixpath.normpath(source.partition("/")[2])
        for place, folder in self._moved.items():
            if inner.startswith(place + "/"):
                return posixpath.join(folder, inner[len(place) + 1 :])
        path = posixpath.join(self._folder, inner)
        is_here = not inner.startswith("../") and self._tree.kind(path) == "file"
        return path if is_here else posixpath.join(self._folder, CHART)

    def _add(self, folder: str, place: str, depth: int) -> None:
        for name, _ in self._tree.entries(folder):
            path = posixpath.join(folder, name)
            kind = self._tree.kind(path)
            self._entries += 1
            if depth > _DEEPEST or self._entries > _MOST_ENTRIES:
                raise NotRendered(f"is a chart of more than {_MOST_ENTRIES:,} files, or {_DEEPEST} levels of folders")
            if kind == "folder" and not name.startswith("."):
                self._add(path, f"{place}/{name}", depth + 1)
            elif kind != "folder":
                self.add_file(path, f"{place}/{name}")
        for name, path in self._list_neighbours(folder):
            if self._tree.kind(f"{folder}/charts/{name}") != "folder" and is_chart(self._tree, path):
                self._moved[f"{place}/charts/{name}".removeprefix("chart/")] = path
                self._add(path, f"{place}/charts/{name}", depth + 1)

    def _list_neighbours(self, folder: str) -> Iterator[tuple[str, str]]:
        """The subcharts of a chart that are elsewhere in the repository, as `file://` says: names and folders."""
        data = self._tree.find(f"{folder}/{CHART}")
        try:
            head = Item.parse(data, CHART).value if data else {}
        except Unreadable:  # helm says so
            return
        for each in map(as_mapping, as_list(head, "dependencies")):
            name, where = as_text(each, "name"), as_text(each, "repository")
            if where.startswith("file://") and re.fullmatch(r"[\w-]+", name):
                yield name, join_path(folder, where.removeprefix("file://"))


def _spell(copy: _ChartCopy, chart: Chart, release: str) -> Iterator[str]:
    """The words of helm. A name that begins with a dash is none of its options."""
    folder = copy.add_chart(chart.folder, empty=chart.replaces)
    yield from ("template", f"--kube-version={release}", f"--namespace={chart.namespace or 'default'}", *chart.words)
    for number, given in enumerate(chart.values):
        name = f"values/{number}.yaml"
        place = (
            copy.add_file(given, name)
            if isinstance(given, str)
            else copy.write(name, given if isinstance(given, bytes) else spell_json(given))
        )
        yield f"--values={place}"
    yield from chart.settings
    for number, (key, path) in enumerate(chart.files):
        if re.search("[,=]", key):  # behind these, helm reads the name and the file of another value
            raise NotRendered(f"gives a file to {key}, which is not the name of one value")
        yield f"--set-file={key}={copy.add_file(path, f'files/{number}')}"
    yield from ("--", chart.release, folder)


def _run(words: list[str], root: str, copy: _ChartCopy) -> bytes:
    homes = [f"HELM_{each}" for each in ("CACHE_HOME", "CONFIG_HOME", "DATA_HOME", "PLUGINS")]
    environment = {**isolate(root, homes), "KUBECONFIG": os.devnull}
    with hold_signals():
        running = Background(words, environment, copy.root, root, _MOST_MEMORY, offline=True)
    try:
        data = running.end(_MOST_SECONDS)
    except Failed as failure:
        raise _explain(failure, copy) from None
    if len(data) > _MOST_PRINTED:
        raise NotRendered(f"is rendered to more than {_MOST_PRINTED // 2**20} MiB")
    return data


def _explain(failure: Failed, copy: _ChartCopy) -> NotRendered:
    """What helm said, with the names of the user's files."""
    begin = next((number for number, line in enumerate(failure.lines) if line.startswith("Error:")), -1)
    said, *more = failure.lines[begin:] or [str(failure)]
    said = said.removeprefix("Error: ") + (" " + " ".join(more[:2]) if said.endswith(":") else "")
    if found := _LACKS.search(said):
        return NotRendered(f"depends on charts that are not in its folder charts: {found[1]}", _VENDOR)
    said = said.replace(copy.root + os.sep, "")
    place = None
    for word in said.replace("(", " ").split():
        path, _, line = word.partition(":")
        number = line.partition(":")[0]
        if "/templates/" in path and number.isdecimal() and len(number) < 9:
            place = place or FileRef(copy.find(path), 0, int(number))
    return NotRendered(f"cannot be rendered by helm: {said}", place=place)


_FLUX = "helm.toolkit.fluxcd.io"
_ARGO = "argoproj.io"
#: With these, Argo CD does not look whether the folder has a chart.
_NO_CHART = ("directory", "kustomize", "plugin", "chart")
_FETCHED = "krmfn fetches nothing. Keep a copy of the values in the repository."
#: The switches of kustomize and Argo CD, by the names of helm's.
_SWITCHES = {"includeCRDs": "--include-crds", "skipHooks": "--no-hooks", "skipTests": "--skip-tests"}
_PATH = re.compile(r"[\w-]+(?:\.[\w-]+)*")
_CONSTANT = re.compile("true|false|null|-?(?:0|[1-9][0-9]{0,17})")


def list_charts(
    repository: Repository, items: Iterable[Item], known: Sequence[Item]
) -> Iterator[tuple[str, Chart | NotRendered]]:
    """The charts of the tree that objects deploy, each with what deploys it. `known` are all objects, among which
    ConfigMaps with values are looked up."""
    tree = repository.tree
    for item in items:
        if item.group == _FLUX and item.kind == "HelmRelease":
            if chart := _read_release(tree, item, known):
                yield str(item.ref), chart
        elif item.group == _ARGO:
            try:
                applications = list(list_applications(repository, item))
            except NotRendered:  # said with the folders
                continue
            for name, spec in applications:
                sources = [as_mapping(each) for each in (spec.get("source"), *as_list(spec, "sources"))]
                namespace = as_text(spec, "destination", "namespace")
                for source in sources:
                    path = as_text(source, "path")
                    if path and source.keys().isdisjoint(_NO_CHART) and is_chart(tree, tree.locate(path)):
                        yield str(item.ref), _read_source(tree, name, namespace, source)


def _read_source(tree: Tree, name: str, namespace: str, source: Value) -> Chart | NotRendered:
    folder, helm = tree.locate(as_text(source, "path")), as_mapping(source, "helm")
    values: list[str | bytes | Value] = []
    for file in map(as_text, as_list(helm, "valueFiles")):
        if "://" in file:
            return NotRendered(f"uses {file}", _FETCHED)
        # `$name/…` is in the source of that name: here, if it is there.
        path = tree.locate(file.partition("/")[2]) if file.startswith("$") else posixpath.join(folder, file)
        path = tree.locate(file) if file.startswith("/") else posixpath.normpath(path)
        if tree.kind(path) == "file" or helm.get("ignoreMissingValueFiles") is not True:
            values.append(path)
    if given := as_mapping(helm, "valuesObject") or as_text(helm, "values"):
        values.append(given.encode("utf-8", "replace") if isinstance(given, str) else given)
    settings = []
    for each in map(as_mapping, as_list(helm, "parameters")):
        option = "--set-string" if each.get("forceString") is True else "--set"
        settings.append(f"{option}={as_text(each, 'name')}={_escape(as_text(each, 'value'))}")
    files = [
        (as_text(each, "name"), join_path(folder, as_text(each, "path")))
        for each in map(as_mapping, as_list(helm, "fileParameters"))
    ]
    switches = [*(() if helm.get("skipCrds") is True else ("--include-crds",)), "--skip-tests"]
    switches += ["--skip-schema-validation"] if helm.get("skipSchemaValidation") is True else []
    return Chart(
        folder,
        as_text(helm, "releaseName") or name,
        as_text(helm, "namespace") or namespace,
        values,
        tuple(settings),
        files,
        (*switches, *_spell_capabilities(helm)),
    )


def _escape(value: str) -> str:
    """The value of a parameter: a comma is one, but in a list (Argo CD 3.1, util/helm/cmd.go)."""
    return value if re.fullmatch(r"\{.*\}", value, re.DOTALL) else re.sub(r"(?<!\\),", r"\\,", value)


def _spell_capabilities(given: Value) -> Iterator[str]:
    if version := as_text(given, "kubeVersion"):
        yield f"--kube-version={version}"
    yield from (f"--api-versions={each}" for each in list_entries(given, "apiVersions"))


def _read_release(tree: Tree, item: Item, known: Sequence[Item]) -> Chart | None:
    spec = as_mapping(item.value, "spec")
    chart = as_mapping(spec, "chart", "spec")
    if reference := as_mapping(spec, "chartRef"):
        named = ("HelmChart", as_text(reference, "name"))
        found = (as_mapping(each.value, "spec") for each in known if (each.kind, each.name) == named)
        chart = next(found, {}) if reference.get("kind") == "HelmChart" else {}
    folder = tree.locate(as_text(chart, "chart"))
    is_fetched = as_mapping(chart, "sourceRef").get("kind") == "HelmRepository"
    if not as_text(chart, "chart") or is_fetched or not is_chart(tree, folder):
        return None
    files = [tree.locate(each) for each in list_entries(chart, "valuesFiles")]
    values: list[str | bytes | Value] = [*files]
    lacking = ["the postRenderers"] if spec.get("postRenderers") else []
    for each in map(as_mapping, as_list(spec, "valuesFrom")):
        found_value = _find_value(item, each, known)
        if found_value is not None:
            values.append(found_value)
        elif each.get("optional") is not True:
            lacking.append(f"the values of the {as_text(each, 'kind')} {as_text(each, 'name')}")
    values.append(as_mapping(spec, "values"))
    target, crds = as_text(spec, "targetNamespace"), as_mapping(spec, "install").get("crds")
    words = [] if crds == "Skip" else ["--include-crds"]
    words += [] if as_mapping(spec, "test").get("enable") is True else ["--skip-tests"]
    return Chart(
        folder,
        as_text(spec, "releaseName") or (f"{target}-{item.name}" if target else item.name),
        target or item.namespace,
        values,
        words=tuple(words),
        replaces=bool(files),
        lacking=tuple(lacking),
    )


def _find_value(item: Item, named: Value, known: Sequence[Item]) -> bytes | Value | None:
    """The values in a ConfigMap of the repository, None where there is none: as a text, or one value at its place."""
    for other in known:
        is_same = named.get("kind") == other.kind == "ConfigMap" and named.get("name") == other.name
        if is_same and other.namespace in ("", item.namespace or other.namespace):
            text = as_mapping(other.value, "data").get(as_text(named, "valuesKey") or "values.yaml")
            path = as_text(named, "targetPath")
            if not isinstance(text, str) or (path and not _PATH.fullmatch(path)):
                return None
            return _put(path, text) if path else text.encode("utf-8", "replace")
    return None


def _put(path: str, text: str) -> Fields:
    """One value at its place, as `helm --set` reads it; between quotes a text (Flux, HelmRelease, `targetPath`)."""
    value: object = json.loads(text) if _CONSTANT.fullmatch(text) else text
    if found := re.fullmatch(r"""(["'])(.*)\1""", text, re.DOTALL):
        value = found[2]
    first, *others = path.split(".")
    for key in reversed(others):
        value = {key: value}
    return {first: value}


def read_inflated(overlay: Overlay, namespace: str) -> Iterator[tuple[str, Chart | NotRendered]]:
    """The charts that a kustomization inflates, with names. `namespace` is its own, or that of what builds on it."""
    tree, home = overlay.tree, as_text(overlay.value, "helmGlobals", "chartHome") or "charts"
    for each in map(as_mapping, as_list(overlay.value, "helmCharts")):
        name, version = as_text(each, "name"), as_text(each, "version")
        below = f"{name}-{version}" if version and each.get("repo") else ""
        folder = posixpath.normpath(posixpath.join(overlay.folder, home, below, name))
        if not is_chart(tree, folder):
            hint = "krmfn fetches nothing. Keep the chart in the repository, or check the output of kustomize build."
            yield name, NotRendered(f"inflates the Helm chart {name}, which is not in {folder}", hint, sort=CHARTS)
            continue
        given = as_text(each, "valuesFile")
        file = posixpath.normpath(posixpath.join(overlay.folder, given) if given else f"{folder}/values.yaml")
        inline, merge = as_mapping(each, "valuesInline"), as_text(each, "valuesMerge")
        value: str | Value = inline or file
        if inline and merge != "replace":
            try:
                read = as_mapping(Item.parse(tree.find(file) or b"{}", file).value)
            except Unreadable as error:
                yield name, NotRendered(f"uses {file}, which cannot be read: {error.message}")
                continue
            value = _merge(inline, read) if merge == "merge" else _merge(read, inline)
        others = [join_path(overlay.folder, more) for more in list_entries(each, "additionalValuesFiles")]
        switches = [word for field, word in _SWITCHES.items() if each.get(field) is True]
        yield (
            name,
            Chart(
                folder,
                as_text(each, "releaseName") or "release-name",
                as_text(each, "namespace") or namespace,
                (value, *others),
                words=(*switches, *_spell_capabilities(each)),
            ),
        )


def _merge(values: Value, others: Value) -> Fields:
    """Values with others on top, as kustomize merges them: a null takes a key away."""
    merged = dict(values)
    for key, each in others.items():
        if each is None:
            merged.pop(key, None)
        else:
            below = merged.get(key)
            merged[key] = _merge(below, each) if isinstance(below, dict) and isinstance(each, dict) else each
    return merged
