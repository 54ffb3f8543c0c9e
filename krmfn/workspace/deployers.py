"""What Argo CD and Flux deploy, as far as their objects in the repository say: which folder, into which namespace.

Sources: Argo CD 3.1 user guide, "Directory", "Kustomize", ApplicationSet generators "List", "Git", "Matrix";
Flux 2.7, Kustomization API v1 (`path`, `targetNamespace`, `postBuild`). Of other generators only the template is known;
charts and other repositories name no folder that is here, and are passed over.
"""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import cached_property
from itertools import islice
from pathlib import PurePosixPath
from typing import NamedTuple, TypeAlias

from krmfn.krm import EditRefused, Item, Stream, Unreadable
from krmfn.krm.paths import Path
from krmfn.model.patterns import is_ignored, read_patterns
from krmfn.model.values import Fields, Key, Names, Value, as_list, as_mapping, as_text
from krmfn.releases import schemastore
from krmfn.workspace.trees import LeftOut, NotRendered, Tree, is_chart, join_path

_ARGO, _FLUX = "argoproj.io", "kustomize.toolkit.fluxcd.io"
_FLUX_SOURCES = "source.toolkit.fluxcd.io"
_PARAMETER = re.compile(r"\{\{-?\s*\.?([\w.\[\]-]+)\s*-?\}\}")
#: A default can name variables whose defaults name some.
_DEFAULT = rb"[^${}]*"
for _ in range(2):
    _DEFAULT = rb"[^${}]*(?:\$\{[A-Za-z_]\w*(?:(?::?=|:-)" + _DEFAULT + rb")?\}[^${}]*)*"
_VARIABLE = re.compile(rb"(?<!\$)\$\{([A-Za-z_]\w*)(?:(?::?=|:-)(" + _DEFAULT + rb"))?\}")

#: Of one object, and of all; more than any cluster has of one kind. A list in a list is millions in a few lines.
MOST_DEPLOYMENTS = 10_000
#: Of all objects together, about ten seconds: characters of paths that patterns are compared with, and of templates.
_MOST_STEPS = 30_000_000
#: What it takes to join two sets of parameters.
_STEPS_OF_PAIR = 500
#: Folders around a file in which a path of Flux is looked for.
_MOST_ABOVE = 16
#: The fields of a source that is no folder of manifests.
_RENDERERS = ("chart", "helm", "plugin")
_GENERATORS = {"list", "git", "matrix", "selector"}
#: Argo CD allows a matrix in another one, and no further.
_DEEPEST = 2
_LONGEST = 200
_MOST_FILLED = 64 * 2**20
#: What is filled into a text, by name.
Parameters: TypeAlias = Mapping[str, str]


class Placing(NamedTuple):
    """What a deployer does to the objects of a folder: fills in a namespace, or sets it for all; fills in variables."""

    namespace: str = ""
    overrides: bool = False
    variables: Mapping[str, str] = {}


class Deployment(NamedTuple):
    """A folder (as the tree spells it) that something deploys. `name` is the object that says so, in the file `source`;
    `beside` is what else it deploys, or what it says is deployed before. Of files, those are deployed that `included`
    names and `excluded` does not, seen from the folder (empty: all, and none). `repository` is where Argo CD finds the
    folder, as it is written."""

    name: str
    source: str
    folder: str
    placing: Placing
    recurses: bool
    builds: bool = False  # the kustomizations below a folder that has none itself, as Flux does
    beside: Names = ()
    included: str = ""
    excluded: str = ""
    repository: str = ""
    components: Names = ()  # which Flux adds to the kustomization in the folder, seen from there
    is_chart: bool = False  # for Argo CD

    def takes(self, path: str) -> bool:
        """Whether a file, seen from the folder, is deployed."""
        taken = not self.included or _is_either(path, self.included)
        return taken and not (self.excluded and _is_either(path, self.excluded))


class Repository:
    """A tree as generators of ApplicationSets see it: what several of them look up is read once."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self.top = tree.locate(".")
        self._left = _MOST_STEPS
        self._values: dict[str, Parameters | None] = {}

    def spend(self, steps: int) -> None:
        """Raises NotRendered where all together take too long."""
        self._left -= steps
        if self._left < 0:
            raise NotRendered("compares too many patterns with too many paths, together with all other ApplicationSets")

    @cached_property
    def files(self) -> list[str]:
        """The files from the top."""
        told = len(self.tree.left_out)
        found = [posixpath.relpath(path, self.top) for path in self.tree.walk(self.top)]
        del self.tree.left_out[told:]  # what matters of it is told of the folder that was named
        return found

    def match(self, pattern: str, paths: Iterable[str]) -> Iterator[str]:
        """The paths that a pattern of a git generator names: `*` within a folder, `**` over several."""
        patterns = read_patterns("/" + posixpath.normpath(pattern), ".")
        for path in paths:
            self.spend(len(path))
            if is_ignored(patterns, path, False):
                yield path

    def read(self, path: str) -> Parameters | None:
        """The values in a file, seen from the top, None where it cannot be read."""
        if path not in self._values:
            try:
                place = posixpath.join(self.top, path)
                values = dict(_flatten(Item.parse(self.tree.find(place) or b"", place).value))
                self._values[path] = values | _name_folder(posixpath.dirname(path) or ".")
            except Unreadable:
                self._values[path] = None
        return self._values[path]


def find_deployments(tree: Tree, items: Sequence[Item], tell: Callable[[str, NotRendered], None]) -> list[Deployment]:
    """The deployments of folders that are in the tree; equal ones once. `tell` gets the path of an object that names
    too many, of which none are given, and why."""
    found = []
    foreign = _list_foreign(items)
    repository = Repository(tree)
    for item in items:
        if item.group == _FLUX and _name_source(item) in foreign:
            continue
        generators = as_list(item.value, "spec", "generators") if item.kind == "ApplicationSet" else ()
        if item.group == _ARGO and (unknown := {*_list_unknown(generators)}):
            reason = f"has generators that depend on more than the repository ({', '.join(sorted(unknown))})"
            tree.left_out.append(LeftOut(item.file.path, reason, sort="generators of ApplicationSets"))
        try:
            listed = list(islice(_list_deployments(repository, item, items), MOST_DEPLOYMENTS + 1))
            if len(listed) > MOST_DEPLOYMENTS:
                raise NotRendered(f"names more than {MOST_DEPLOYMENTS:,} deployments in {item.ref}")
        except NotRendered as reason:
            tell(item.file.path, reason)
            continue
        found += [each for each in listed if "{{" not in each.folder and tree.kind(each.folder) == "folder"]
    unique: dict[tuple[str, str], Deployment] = {}
    for each in _drop_foreign_tops(found, repository.top):
        unique.setdefault((each.folder, repr(each.placing)), each)
    return list(unique.values())


def substitute(data: bytes, variables: Parameters) -> bytes:
    """The text with `${name}` and `${name:=default}` replaced, as Flux does after a build (fluxcd/pkg, envsubst): a
    value as it is, a default also for an empty one. What is not known stays.

    Raises NotRendered for a text that would get too large.
    """
    if not variables:
        return data
    left = _MOST_FILLED

    def fill(found: re.Match[bytes]) -> bytes:
        nonlocal left
        value = variables.get(found[1].decode())
        if not value and found[2] is not None:
            return _VARIABLE.sub(fill, found[2])
        if value is None:
            return found[0]
        text = value.encode("utf-8", "replace")
        left -= len(text)
        if left < 0:
            raise NotRendered(f"gets more than {_MOST_FILLED // 2**20} MiB of variables filled in")
        return text

    return _VARIABLE.sub(fill, data)


def _list_deployments(repository: Repository, item: Item, items: Sequence[Item]) -> Iterator[Deployment]:
    tree, group = repository.tree, item.group
    if group == _FLUX and item.kind == "Kustomization":
        spec = as_mapping(item.value, "spec")
        if not as_text(spec, "path") and not _name_source(item)[1]:  # a patch completes it
            return
        variables = _read_variables(as_mapping(spec, "postBuild"), items)
        placing = Placing(as_text(spec, "targetNamespace"), True, variables)
        folder = _find_folder(tree, as_text(spec, "path"), item.file.path)
        before = tuple(_list_before(spec))
        components = tuple(filter(None, map(as_text, as_list(spec, "components"))))
        yield Deployment(str(item.ref), item.file.path, folder, placing, True, True, before, components=components)
    elif group == _ARGO:
        for _, spec in list_applications(repository, item):
            yield from _list_sources(tree, item, spec)


def list_applications(repository: Repository, item: Item) -> Iterator[tuple[str, Value]]:
    """The name and the spec of an Application, or of each one that an ApplicationSet makes. Raises NotRendered."""
    spec = as_mapping(item.value, "spec")
    if item.kind == "Application":
        yield item.name, spec
    elif item.kind == "ApplicationSet":
        template = as_mapping(spec, "template")
        steps = len(repr(template))
        for parameters in _list_parameters(repository, spec.get("generators")):
            repository.spend(steps)
            filled = as_mapping(_fill(template, parameters))
            yield as_text(filled, "metadata", "name"), as_mapping(filled, "spec")


def _find_folder(tree: Tree, path: str, named_in: str) -> str:
    """The folder of a path of Flux. An artifact (OCIRepository) can have a part of the repository at its top: its paths
    are seen from a folder around the file that names them."""
    folder = tree.locate(path or ".")
    above = posixpath.dirname(named_in)
    for _ in range(_MOST_ABOVE):
        if not (path and above) or tree.kind(folder) == "folder":
            break
        folder = join_path(above, path.lstrip("/"))
        above = posixpath.dirname(above)
    return folder


def _list_foreign(items: Sequence[Item]) -> set[Key]:
    """The sources of Flux that are other repositories: a path in them means nothing here.

    No object says which repository it is in. Flux's bootstrap calls its own flux-system; where no Kustomization names
    that, it is the source that most of them name. A source that is not defined here can be this repository.
    """
    kustomizations = [item for item in items if item.group == _FLUX and item.kind == "Kustomization"]
    named = Counter(map(_name_source, kustomizations))
    own = {source for source in named if source[1] == "flux-system"} or {source for source, _ in named.most_common(1)}
    defined = {(item.kind, item.name) for item in items if item.group == _FLUX_SOURCES}
    return defined & (named.keys() - own)


def _drop_foreign_tops(deployments: Collection[Deployment], top: str) -> list[Deployment]:
    """The deployments without those of the top of another repository: each has one. This one is what another folder is
    found in, or else the only one that is named."""
    named = {each.repository for each in deployments if each.folder != top and each.repository}
    tops = {each.repository for each in deployments if each.folder == top and each.repository}
    own = named or (tops if len(tops) == 1 else set())
    return [each for each in deployments if each.folder != top or not each.repository or each.repository in own]


def _name_source(item: Item) -> Key:
    reference = as_mapping(item.value, "spec", "sourceRef")
    return as_text(reference, "kind"), as_text(reference, "name")


def _list_sources(tree: Tree, item: Item, spec: Value) -> Iterator[Deployment]:
    """The folders of an Application's spec; charts have none."""
    namespace = as_text(spec, "destination", "namespace")
    values = [as_mapping(source) for source in [spec.get("source"), *as_list(spec, "sources")]]
    called = [as_text(value, "chart") or as_text(value, "path") for value in values]
    for index, value in enumerate(values):
        path = as_text(value, "path")
        if not path or not value.keys().isdisjoint(_RENDERERS):
            continue
        folder = tree.locate(path)
        directory = as_mapping(value, "directory")
        beside = tuple(f"the source {each} of {item.ref}" for each in (*called[:index], *called[index + 1 :]) if each)
        yield Deployment(
            str(item.ref),
            item.file.path,
            folder,
            Placing(namespace),
            directory.get("recurse") is True,
            beside=beside,
            included=as_text(directory, "include"),
            excluded=as_text(directory, "exclude"),
            repository="/".join(re.split("[/:]+", as_text(value, "repoURL").removesuffix(".git"))[-2:]).lower(),
            is_chart="directory" not in value and is_chart(tree, folder),
        )


def _list_before(spec: Value) -> Iterator[str]:
    """What a Flux Kustomization adds to its folder, and what has to be deployed before it."""
    for field, words in (("components", "the component"), ("dependsOn", "the Kustomization")):
        for each in as_list(spec, field):
            if name := as_text(each, "name") or as_text(each):
                yield f"{words} {name}"


def _is_either(path: str, pattern: str) -> bool:
    """Whether a path is named by a pattern of Argo CD: `*` for anything, `{a,b}` for one of several."""
    patterns = [pattern]
    while len(pattern) < _LONGEST and len(patterns) < _LONGEST and (found := re.search(r"\{([^{}]*)\}", patterns[0])):
        # All have the same braces after the first ones.
        words = [word.strip() for word in found[1].split(",")]
        patterns = [each.replace(found[0], word, 1) for each in patterns for word in words]
    return any(fnmatchcase(path, each) for each in patterns)


def _list_parameters(repository: Repository, generators: object, depth: int = 0) -> Iterator[Parameters]:
    """The parameters of generators of an ApplicationSet. Of one that depends on more than the repository nothing is
    known: that is one set without any."""
    for generator in map(as_mapping, as_list(generators)):
        if generator.keys() - _GENERATORS:
            yield {}
        for element in as_list(generator, "list", "elements"):
            yield dict(_flatten(element))
        git = as_mapping(generator, "git")
        yield from map(_name_folder, _list_folders(repository, git.get("directories")))
        for pattern in map(as_mapping, as_list(git, "files")):
            named = repository.match(as_text(pattern, "path"), repository.files)
            yield from filter(None, map(repository.read, named))
        if depth < _DEEPEST:
            yield from _multiply(repository, as_mapping(generator, "matrix"), depth + 1)


def _multiply(repository: Repository, matrix: Value, depth: int) -> Iterator[Parameters]:
    """The parameters of a matrix: its second generator can use those of the first."""
    generators = as_list(matrix, "generators")
    for outer in _list_parameters(repository, generators[:1], depth):
        for inner in _list_parameters(repository, _fill(generators[1:2], outer), depth):
            repository.spend(_STEPS_OF_PAIR)
            yield {**outer, **inner}


def _list_unknown(generators: object, depth: int = 0) -> Iterator[str]:
    """The generators of an ApplicationSet that depend on more than the repository."""
    for generator in map(as_mapping, as_list(generators)):
        yield from map(str, generator.keys() - _GENERATORS)
        if depth < _DEEPEST:
            yield from _list_unknown(as_mapping(generator, "matrix").get("generators"), depth + 1)


def _list_folders(repository: Repository, patterns: object) -> list[str]:
    """The folders with manifests that a git generator's patterns name, from the repository's top; `exclude` wins."""
    given = [(as_text(each, "path"), each.get("exclude") is True) for each in map(as_mapping, as_list(patterns))]
    folders = {str(above) for path in repository.files if given for above in PurePosixPath(path).parents} - {"."}
    found = {folder for path, excluded in given if not excluded for folder in repository.match(path, folders)}
    for path, excluded in given:
        found -= set(repository.match(path, found)) if excluded else set()
    return sorted(found)


def _name_folder(path: str) -> dict[str, str]:
    """The parameters of a folder, in both ways of writing templates."""
    base = posixpath.basename(path)
    normal = re.sub(r"[^a-z0-9.-]", "-", base.lower())
    named = {"path": path, "path.path": path, "path.basename": base, "path.basenameNormalized": normal}
    return named | {f"path[{number}]": part for number, part in enumerate(path.split("/"))}


def _flatten(value: object, prefix: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for key, child in value.items():
            yield from _flatten(child, f"{prefix}.{key}" if prefix else str(key))
    elif isinstance(value, str | int | float) and prefix:
        yield prefix, str(value)


def _fill(value: object, parameters: Parameters) -> object:
    """The value with the parameters filled in wherever a template names one that is known."""
    if isinstance(value, dict):
        return {key: _fill(child, parameters) for key, child in value.items()}
    if isinstance(value, list):
        return [_fill(child, parameters) for child in value]
    if isinstance(value, str):
        return _PARAMETER.sub(lambda found: parameters.get(found[1], found[0]), value)
    return value


def _read_variables(build: Value, items: Iterable[Item]) -> dict[str, str]:
    """The variables of a Flux Kustomization that stand in the repository: in itself, and in ConfigMaps."""
    variables: Fields = {}
    for named in map(as_mapping, as_list(build, "substituteFrom")):
        for other in items:
            if named.get("kind") == other.kind == "ConfigMap" and named.get("name") == other.name:
                variables |= as_mapping(other.value, "data")
    variables |= as_mapping(build, "substitute")
    return {key: str(text).replace("\n", "") for key, text in variables.items()}


def copy_file(placing: Placing, data: bytes, path: str) -> list[Item]:
    """The objects of a file again, with a deployer's variables. Raises NotRendered."""
    try:
        return Stream.parse(substitute(data, placing.variables), path).items
    except Unreadable as error:
        raise NotRendered(f"uses {path}, which cannot be read after variables are filled in: {error}") from None


def put_into(placing: Placing, items: Sequence[Item]) -> None:
    """Sets the namespace of the objects of a world. Raises NotRendered where the text cannot be edited."""
    accounts = {item.name for item in items if item.kind == "ServiceAccount"}
    for item in items if placing.namespace else ():
        for path in list(_list_places(placing, item, accounts)):
            try:
                item.set(path, placing.namespace)
            except EditRefused as refusal:
                raise NotRendered(f"cannot put {item.ref} into the namespace {placing.namespace}: {refusal}") from None


def _list_places(placing: Placing, item: Item, accounts: Collection[str]) -> Iterator[Path]:
    """The fields of an object that a namespace is written into. Where it overrides, that is kustomize's transformer: a
    Namespace gets it as its name, and so do the subjects of bindings that are called as one of the `accounts`."""
    if item.kind not in schemastore.load("cluster.json")["withoutNamespace"]:
        if item.namespace != placing.namespace and (placing.overrides or not item.namespace):
            yield ("metadata", "namespace")
    elif placing.overrides and item.kind == "Namespace" and item.name != placing.namespace:
        yield ("metadata", "name")
    if placing.overrides and item.kind in ("RoleBinding", "ClusterRoleBinding"):
        for number, subject in enumerate(map(as_mapping, as_list(item.value, "subjects"))):
            is_default = subject.get("kind") == "ServiceAccount" and subject.get("name") == "default"
            if (is_default or subject.get("name") in accounts) and not subject.get("namespace"):
                yield ("subjects", number, "namespace")
