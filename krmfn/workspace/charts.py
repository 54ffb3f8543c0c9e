"""Charts of the repository as Argo CD, Flux and kustomize name them, with the values that they give.

Sources: Argo CD 3.1 user guide, "Helm" (order of values: valueFiles, values or valuesObject, parameters); Flux 2.7,
HelmRelease API v2 (valuesFrom in order, then values) and HelmChart (valuesFiles replace the chart's own values.yaml);
kustomize 5.8, api/types/helmchartargs.go. Charts of repositories and registries are none of these, and passed over.
"""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Iterable, Iterator, Sequence

from krmfn.krm import Item, Unreadable
from krmfn.model.values import Fields, Value, as_list, as_mapping, as_text
from krmfn.workspace.deployers import Repository, list_applications, locate
from krmfn.workspace.helm import Chart
from krmfn.workspace.overlays import Overlay, list_entries
from krmfn.workspace.trees import CHARTS, NotRendered, Tree, is_chart

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
        if item.ref.group == _FLUX and item.kind == "HelmRelease":
            if chart := _read_release(tree, item, known):
                yield str(item.ref), chart
        elif item.ref.group == _ARGO:
            try:
                applications = list(list_applications(repository, item))
            except NotRendered:  # said with the folders
                continue
            for name, spec in applications:
                sources = [as_mapping(each) for each in (spec.get("source"), *as_list(spec, "sources"))]
                namespace = as_text(spec, "destination", "namespace")
                for source in sources:
                    if names_chart(tree, source):
                        yield str(item.ref), _read_source(tree, name, namespace, source)


def names_chart(tree: Tree, source: Value) -> bool:
    """Whether a source of Argo CD is a chart of the tree."""
    path = as_text(source, "path")
    return bool(path) and source.keys().isdisjoint(_NO_CHART) and is_chart(tree, locate(tree, path))


def _read_source(tree: Tree, name: str, namespace: str, source: Value) -> Chart | NotRendered:
    folder, helm = locate(tree, as_text(source, "path")), as_mapping(source, "helm")
    values: list[str | bytes | Value] = []
    for file in map(as_text, as_list(helm, "valueFiles")):
        if "://" in file:
            return NotRendered(f"uses {file}", _FETCHED)
        # `$name/…` is in the source of that name: here, if it is there.
        path = locate(tree, file.partition("/")[2]) if file.startswith("$") else posixpath.join(folder, file)
        path = locate(tree, file) if file.startswith("/") else posixpath.normpath(path)
        if tree.kind(path) == "file" or helm.get("ignoreMissingValueFiles") is not True:
            values.append(path)
    if given := as_mapping(helm, "valuesObject") or as_text(helm, "values"):
        values.append(given.encode("utf-8", "replace") if isinstance(given, str) else given)
    settings = []
    for each in map(as_mapping, as_list(helm, "parameters")):
        option = "--set-string" if each.get("forceString") is True else "--set"
        settings.append(f"{option}={as_text(each, 'name')}={_escape(as_text(each, 'value'))}")
    files = [
        (as_text(each, "name"), posixpath.normpath(posixpath.join(folder, as_text(each, "path"))))
        for each in map(as_mapping, as_list(helm, "fileParameters"))
    ]
    switches = [*(() if helm.get("skipCrds") is True else ("--include-crds",)), "--skip-tests"]
    switches += ["--skip-schema-validation"] if helm.get("skipSchemaValidation") is True else []
    return Chart(
        folder,
        as_text(helm, "releaseName") or name,
        as_text(helm, "namespace") or namespace,
        tuple(values),
        tuple(settings),
        tuple(files),
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
    folder = locate(tree, as_text(chart, "chart"))
    is_fetched = as_mapping(chart, "sourceRef").get("kind") == "HelmRepository"
    if not as_text(chart, "chart") or is_fetched or not is_chart(tree, folder):
        return None
    files = [locate(tree, each) for each in list_entries(chart, "valuesFiles")]
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
    words = [*(() if crds == "Skip" else ("--include-crds",))]
    words += () if as_mapping(spec, "test").get("enable") is True else ("--skip-tests",)
    return Chart(
        folder,
        as_text(spec, "releaseName") or (f"{target}-{item.name}" if target else item.name),
        target or item.namespace,
        tuple(values),
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


def read_inflated(tree: Tree, overlay: Overlay, namespace: str) -> Iterator[tuple[str, Chart | NotRendered]]:
    """The charts that a kustomization inflates, with names. `namespace` is its own, or that of what builds on it."""
    home = as_text(overlay.value, "helmGlobals", "chartHome") or "charts"
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
        values: list[str | Value] = [inline if merge == "replace" and inline else file]
        if inline and merge != "replace":
            try:
                read = as_mapping(Item.parse(tree.find(file) or b"{}", file).value)
            except Unreadable as error:
                yield name, NotRendered(f"uses {file}, which cannot be read: {error.message}")
                continue
            values = [_merge(inline, read) if merge == "merge" else _merge(read, inline)]
        others = [
            posixpath.normpath(posixpath.join(overlay.folder, more))
            for more in list_entries(each, "additionalValuesFiles")
        ]
        switches = [word for field, word in _SWITCHES.items() if each.get(field) is True]
        yield (
            name,
            Chart(
                folder,
                as_text(each, "releaseName") or "release-name",
                as_text(each, "namespace") or namespace,
                (*values, *others),
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
