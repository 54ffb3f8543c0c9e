"""The files of a folder that nothing renders: which are manifests, and in which parts they are applied together.

Some only look like manifests: patches that no kustomization lists any more, pod templates for other programs, templates
without marks, and what configures functions of kpt. The API server would refuse most of them, and nobody sends it one.

Nobody says which of the others are applied together. An object that is there twice tells that not all of them are:
copies in two folders are for two clusters or teams, and files in one folder that define an object differently are
alternatives, as in a folder of examples.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection, Iterator, Sequence
from pathlib import PurePosixPath
from typing import NamedTuple, TypeAlias

from krmfn.krm import FileRef, Item, Result, Unreadable
from krmfn.krm.paths import dig, walk_values
from krmfn.krm.results import ABSENT
from krmfn.model.kinds import find_kind
from krmfn.model.marks import LOCAL_CONFIG, TOOL_GROUPS
from krmfn.model.patterns import PATCH, is_called, is_inside, read_patterns
from krmfn.model.placeholders import is_name_placeholder
from krmfn.model.values import Identity, as_list, as_mapping, as_text, identify
from krmfn.reconcile.placement import beside
from krmfn.releases.release import GROUP
from krmfn.workspace.manifests import LoadedFile, tell
from krmfn.workspace.trees import Tree, find_around, join_path

SORT = "patches and parts of manifests"
#: The kinds of this group have to have a selector.
_APPS = "apps"
_DEFINITIONS = "apiextensions.k8s.io"
#: One of these is in the spec of each whole object of a kind.
_NEEDED = {
    (_DEFINITIONS, "CustomResourceDefinition"): {"group", "names", "scope"},
    ("helm.toolkit.fluxcd.io", "HelmRelease"): {"chart", "chartRef"},
    ("kustomize.toolkit.fluxcd.io", "Kustomization"): {"path", "sourceRef"},
}
#: What a test of Chainsaw or KUTTL expects: some fields of objects, and expressions in place of fields.
_EXPECTED = {"assert", "asserts"}
#: What it expects not to be there, in a file with the number of a step: `01-errors.yaml`.
_UNEXPECTED = {"error", "errors"}
_EXPRESSION = rb"(?m)^[ \t-]*\(.+\):( |$)"
#: In such a file `sed` replaces `service_name`, which is the name of no object.
TEMPLATES = {"template", "templates", "tmpl", "tpl"}
_NO_NAME = r"[_A-Z]"
#: What tools write without a value, and what people do.
_MAY_BE_EMPTY = ("creationTimestamp", "status", "emptyDir")
_KPTFILE = "Kptfile"
#: `name: ##NAME##`, and what ytt reads, such as `name: #@ data.values.name`: comments in YAML.
_COMMENTED = rb"(?m):[ \t]+##[A-Z_]+##[ \t\r]*$|(?:^|[ \t])#@(?: |[a-z]+/[a-z])"
Files: TypeAlias = Sequence[LoadedFile]
_Known: TypeAlias = dict[Identity, Item]


def leave_out_fragments(
    files: Files, folders: Collection[str], tree: Tree | None
) -> tuple[list[LoadedFile], list[Result]]:
    """The files of a tree that are manifests, and what to say of the others. `folders` have a kustomization."""
    kept, told = [], []
    configs = {
        path for folder in {posixpath.dirname(each.path) for each in files} for path in _list_configs(tree, folder)
    }
    tested = {path for file in files for path in _list_cases(file)}
    embedded = _find_embedded(files, tree) if tree else set()
    for file in files:
        path = posixpath.normpath(file.path)
        if file.path in embedded:
            message = "a Go program contains it, and can change it before anything applies it"
            sort = "files in Go programs"
        elif path in tested:
            message, sort = "gator tests a policy with it, and nobody applies it", "data of tests"
        elif path in configs and all(map(_is_config, file.stream.items)):
            message = "it configures a function of a Kptfile, and kpt does not apply it"
            sort = "configurations of kpt functions"
        elif _is_template(file):
            message, sort = "it is a template", "templates"
        elif _is_part(file, beside=find_around(file.path, folders) is not None):
            message, sort = "it is part of a manifest, such as a patch, and no kustomization lists it", SORT
        else:
            kept.append(file)
            continue
        told.append(tell("skipped", f"not checked: {message}", FileRef(file.path), sort=sort))
    return kept, told


def _is_template(file: LoadedFile) -> bool:
    names = (item.name or dig(item.value, "metadata", "generateName") for item in file.stream.items)
    is_meant = is_called(file.path, TEMPLATES) or not any(names)
    return (is_meant and any(map(_is_to_fill, file.stream.items))) or re.search(_COMMENTED, file.data) is not None


def _is_part(file: LoadedFile, beside: bool) -> bool:
    """Whether a file has no whole objects; `beside` a kustomization."""
    items, called = file.stream.items, is_called(file.path, PATCH)
    return bool(items) and (
        (called and (beside or not any(item.name for item in items)))
        or re.search(rb"(?m)^\$patch:", file.data) is not None
        or all(map(_adds, items))
        or _has_fragments(items, beside, called)
        or _is_expected(file)
    )


def _has_fragments(items: Sequence[Item], beside: bool, called: bool) -> bool:
    """Whether what makes pods is incomplete everywhere, or, `beside` a kustomization, something else that it fills in.

    Beside a patch, or a pattern that only names an object, there may be what it needs, such as a ConfigMap; never a
    group.
    """
    pods = [item for item in items if find_kind(item.ref) is not None]
    if not pods:
        return beside and any(map(_lacks_namespace, items))
    is_open = beside or all("spec" not in item.value for item in pods)
    is_alone = len(pods) == len(items) or (is_open and all(item.group != GROUP for item in items))
    return is_alone and all(_is_fragment(item, beside, called) for item in pods)


def _is_expected(file: LoadedFile) -> bool:
    """Whether a file is what a test of Chainsaw or KUTTL expects."""
    is_step = posixpath.basename(file.path)[:1].isdigit()
    if is_called(file.path, _EXPECTED) or (is_step and is_called(file.path, _UNEXPECTED)):
        return True
    if re.search(_EXPRESSION, file.data) is None:
        return False
    # It may also be in a text. No field is called `(…)`.
    values = (each for item in file.stream.items for each in walk_values(item.value))
    fields = (str(field) for each in values if isinstance(each, dict) for field in each)
    return any(field.startswith("(") and field.endswith(")") for field in fields)


def _list_configs(tree: Tree | None, folder: str) -> Iterator[str]:
    """The files that the Kptfile of a folder names as configurations of its functions."""
    try:
        data = tree.find(posixpath.join(folder, _KPTFILE)) if tree else None
        pipeline = as_mapping(Item.parse(data, _KPTFILE).value, "pipeline") if data else {}
    except Unreadable:
        return
    for function in (*as_list(pipeline, "mutators"), *as_list(pipeline, "validators")):
        yield join_path(folder, as_text(function, "configPath"))


def _list_cases(file: LoadedFile) -> Iterator[str]:
    """The files with objects that a Suite of Gatekeeper gives to a policy. Some break rules on purpose."""
    suites = [item.value for item in file.stream.items if item.group == "test.gatekeeper.sh"]
    for test in (each for suite in suites for each in as_list(suite, "tests")):
        for case in map(as_mapping, as_list(test, "cases")):
            for path in (case.get("object"), *as_list(case, "inventory")):
                yield join_path(posixpath.dirname(file.path), as_text(path))


def _find_embedded(files: Files, tree: Tree) -> set[str]:
    """The files that Go programs of their folder or of one above embed, or that tests beside them or in the folder
    above name. Without those with groups, and with definitions, which hold for the objects in other files."""
    folders = {str(above) for file in files for above in PurePosixPath(file.path).parents}
    patterns = []
    for folder in folders:
        for name in (each.name for each in tree.entries(folder) if each.name.endswith(".go")):
            data = (tree.find(posixpath.join(folder, name)) or b"").decode("utf-8", "replace")
            read = re.findall(r'"(\w[\w.-]*\.(?:ya?ml|json))"', data) if name.endswith("_test.go") else []
            named = [*read, *(f"*/{each}" for each in read if folder != ".")]
            for line in re.findall(r"(?m)^[ \t]*//go:embed (.+)", data):
                named += line.replace("all:", "").replace('"', "").split()
            patterns += read_patterns("".join(f"/{each}\n" for each in named), folder)
    return {
        file.path
        for file in files
        if not any(item.group in (GROUP, _DEFINITIONS) for item in file.stream.items)
        and is_inside(patterns, posixpath.normpath(file.path))
    }


def _is_config(item: Item) -> bool:
    """Whether kpt keeps an object of such a file back (kpt 1.0, pkg/live/rgpath.go). Ours are checked all the same."""
    return item.group not in TOOL_GROUPS and item.annotations.get(LOCAL_CONFIG) != "false"


def _is_to_fill(item: Item) -> bool:
    """Whether the name of an object is a word that names cannot be (those of roles can), or one of its values is empty
    (`storage:`). What has placeholders is checked without them."""
    pairs = (pair for each in walk_values(item.value) if isinstance(each, dict) for pair in each.items())
    if any(each is None and field not in _MAY_BE_EMPTY for field, each in pairs):
        return True
    is_odd = re.search(_NO_NAME, item.name) is not None and item.group != "rbac.authorization.k8s.io"
    return is_odd and not is_name_placeholder(item.name)


def _lacks_namespace(item: Item) -> bool:
    """Whether kustomize would have to write the namespace of a subject of a role, or the name of a Namespace."""
    if item.kind == "Namespace" and not item.group:
        return set(item.name) == {"_"}
    subjects = map(as_mapping, as_list(item.value, "subjects"))
    return any(each.get("kind") == "ServiceAccount" and not each.get("namespace") for each in subjects)


def _is_fragment(item: Item, beside: bool, called: bool) -> bool:
    """Whether no container of an object has an image; `beside` a kustomization, whether anything else is missing. What
    is `called` a patch may have no containers at all, and so may a Pod: a template for Spark. Without selector and
    containers, an object is the beginning of one."""
    lists = (each.get("containers") for each in walk_values(item.value) if isinstance(each, dict))
    images = ["image" in as_mapping(each) for listed in lists for each in as_list(listed)]
    selector = dig(item.value, "spec", "selector") or {}
    if not beside:
        is_empty = item.group == _APPS and isinstance(selector, dict) and not any(selector.values())
        return (bool(images) or called or item.kind == "Pod" or is_empty) and not any(images)
    lacks_selector = item.group == _APPS and dig(item.value, "spec", "selector", default=ABSENT) is ABSENT
    return not images or not all(images) or lacks_selector


def _adds(item: Item) -> bool:
    """Whether an object only names another one, or adds to one, of a kind in _NEEDED."""
    needed, spec = _NEEDED.get(item.group_kind), item.value.get("spec")
    return needed is not None and isinstance(spec, dict) and not needed & spec.keys()


#: More alternatives of one file than that are checked without the files beside them.
_MOST = 100


class AppliedFiles(NamedTuple):
    """Files that are applied together. `label` tells alternatives of one folder apart, empty for the first."""

    label: str
    files: list[LoadedFile]


def split(files: Files, complete: bool = False) -> list[AppliedFiles]:
    """The files, each in one part; if it is to be `complete`, in every part that it could be applied with."""
    found = []
    for folder in _split_folders(files, 0):
        parts = _list_alternatives(folder)
        if complete and len(parts) <= _MOST:
            parts = [part._replace(files=_add(part.files, parts)) if part.label else part for part in parts]
        found += parts
    return found


def tell_alternatives(files: Files) -> list[Result]:
    """What to say about files that are not checked together with the others of their folder."""
    message = "checked separately: another file in the folder defines one of its objects differently"
    alternatives = (file for part in split(files) if part.label for file in part.files)
    return [tell("alternatives", message, FileRef(file.path)) for file in alternatives]


def _split_folders(files: Files, depth: int) -> list[list[LoadedFile]]:
    """When an object is in two folders, each folder is for itself."""
    folders: dict[str, list[LoadedFile]] = {}
    for file in files:
        parts = file.path.split("/")
        folders.setdefault(parts[depth] if depth < len(parts) - 1 else "", []).append(file)
    if "" not in folders and len(folders) == 1:
        return _split_folders(files, depth + 1)
    if len(folders) <= 1 or not has_copies(files):
        return [list(files)] if files else []
    return [part for folder, own in folders.items() for part in (_split_folders(own, depth + 1) if folder else [own])]


def has_copies(files: Files) -> bool:
    """Whether an object is in two folders."""
    seen: dict[Identity, str] = {}
    for file in files:
        folder = file.path.rpartition("/")[0]
        for item in file.stream.items:
            if item.name and seen.setdefault(identify(item.ref), folder) != folder:
                return True
    return False


def _list_alternatives(files: Files) -> list[AppliedFiles]:
    """Each file in the first part in which it meets no other version of one of its objects; what krmfn generated from a
    file in the part of that file, if it can."""
    places = {id(file): place for place, file in enumerate(files)}
    homes: dict[str, int | None] = {beside(file.path): None for file in files}
    parts: list[tuple[_Known, list[LoadedFile]]] = []
    for file in sorted(files, key=lambda file: file.path in homes):
        own = _index(file)
        numbers = range(min(len(parts), _MOST))
        home = homes.get(file.path)
        for number in numbers if home is None else (home, *numbers):
            known, part = parts[number]
            if not _differ(known, own):
                break
        else:
            number, known, part = len(parts), {}, []
            parts.append((known, part))
        known.update(own)
        part.append(file)
        homes[beside(file.path)] = number
    labels = [part[0].path if number else "" for number, (_, part) in enumerate(parts)]
    ordered = [sorted(part, key=lambda file: places[id(file)]) for _, part in parts]
    return [AppliedFiles(label, part) for label, part in zip(labels, ordered, strict=True)]


def _add(part: Files, parts: Sequence[AppliedFiles]) -> list[LoadedFile]:
    known = {identity: item for file in part for identity, item in _index(file).items()}
    chosen = {id(file) for file in part}
    for file in (file for other in parts for file in other.files):
        own = _index(file)
        if id(file) not in chosen and not _differ(known, own):
            known.update(own)
            chosen.add(id(file))
    return [file for other in parts for file in other.files if id(file) in chosen]


def _index(file: LoadedFile) -> _Known:
    return {identify(item.ref): item for item in file.stream.items if item.name}


def _differ(known: _Known, own: _Known) -> bool:
    """Whether an object is in both and cannot be: it makes pods, or is not the same."""
    for identity, item in own.items():
        other = known.get(identity)
        if other is not None and (_counts(item) or other.value != item.value):
            return True
    return False


def _counts(item: Item) -> bool:
    """Whether two equal objects are more than one: pods, and groups of pods."""
    return item.group.startswith("scheduling.") or find_kind(item.ref) is not None
