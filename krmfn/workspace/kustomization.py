"""Edits a hand-kept kustomization.yaml, and prepares a folder for the function. Plans files, writes none.

Entries are appended in the style of their neighbours; everything else stays byte for byte. Knows what a kustomization
is and which files of ours it lists: the configuration, and name references, because kustomize renames objects of kinds
that it does not know, and leaves the references to them as they were.
"""

from __future__ import annotations

import os
import posixpath
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from krmfn.krm import Stream
from krmfn.krm.errors import EditRefused, Unreadable
from krmfn.krm.item import Item
from krmfn.krm.results import FileRef
from krmfn.model.kinds import list_linked
from krmfn.model.values import as_list
from krmfn.model.wording import count
from krmfn.releases import schemastore
from krmfn.releases.release import GROUP
from krmfn.workspace.disk import Disk
from krmfn.workspace.overlays import CONFIG_KIND, list_entries, list_kustomizations, list_sources
from krmfn.workspace.replacing import FileChange
from krmfn.workspace.trees import KUSTOMIZATIONS, SUFFIXES, InputMissing, LeftOut, WriteFailed, is_chart

CONFIG_FILE = "krmfn.yaml"
NAMES_FILE = "krmfn-names.yaml"
#: Beside a configuration that names it for editors. Hidden: it is no manifest. See docs/decisions/072.
SCHEMA_FILE = ".krmfn.schema.json"
MODELINE = f"# yaml-language-server: $schema={SCHEMA_FILE}\n"
FUNCTION = ("metadata", "annotations", "config.kubernetes.io/function")
EXEC = "exec: {path: krmfn}\n"

_NEW_CONFIG = """\
apiVersion: krmfn.dev/v1alpha1
kind: GangScheduling
metadata:
  name: gangs
  annotations:
    config.kubernetes.io/function: |
      exec: {{path: krmfn}}
    config.kubernetes.io/local-config: "true"
spec:
  kubernetes:
    version: "{release}"
    # What the cluster has. Without it, a note names the feature gates that the groups need.
    # featureGates: {{GenericWorkload: true}}
  # OptIn: resources with the annotation krmfn.dev/gang: "true". All: every resource of a supported kind.
  select: OptIn
"""
_NEW_KUSTOMIZATION = """\
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
"""


class NameField(NamedTuple):
    """A field of a kind: one that holds a name, or a pod template, with the `metadata` and `spec` of its pods."""

    group: str
    kind: str
    path: str


class Reference(NamedTuple):
    """A kind, and the fields that hold names of its objects."""

    group: str
    kind: str
    fields: tuple[NameField, ...]


def find_kustomization(folder: str) -> str | None:
    """The path of the kustomization in `folder`, None when there is none. Raises WriteFailed when there are several."""
    found = list_kustomizations(Disk(folder), folder)
    if len(found) > 1:
        names = " and ".join(map(os.path.basename, found))
        raise WriteFailed(f"{folder}: {names}: kustomize accepts one of them only")
    return found[0] if found else None


def add_entries(data: bytes, path: str, entries: Mapping[str, Iterable[str]]) -> bytes:
    """The kustomization with `entries` (list name to entries) appended where they are missing.

    `./a.yaml` and `a.yaml` are the same entry. Raises Unreadable for text that is no YAML and WriteFailed where the
    place cannot be edited (a list behind an alias, a field that is no list).
    """
    text = data or _NEW_KUSTOMIZATION.encode()
    kustomization = Item.parse(text, path)
    for field, wanted in entries.items():
        listed = kustomization.get((field,))
        if listed is not None and not isinstance(listed, list):
            line = kustomization.locate((field,)).line
            raise WriteFailed(f"{os.path.normpath(path)}:{line}: {field} is not a list")
        known = {_normalize(each) for each in listed or ()}
        added = []
        for entry in wanted:
            if posixpath.normpath(entry) not in known:
                known.add(posixpath.normpath(entry))
                added.append(entry)
        try:
            if added:
                kustomization.set((field,), [*(listed or ()), *added])
        except EditRefused as refusal:
            raise WriteFailed(f"{path}: {field}: {', '.join(added)} cannot be added: {refusal}") from None
    return kustomization.text.encode() if kustomization.changed else text


def remove_entries(data: bytes, path: str, entries: Mapping[str, Iterable[str]]) -> bytes:
    """The kustomization without `entries` (list name to entries). Raises Unreadable and WriteFailed."""
    kustomization = Item.parse(data, path)
    for field, unwanted in entries.items():
        gone = {posixpath.normpath(entry) for entry in unwanted}
        listed = kustomization.get((field,))
        kept = [entry for entry in as_list(listed) if _normalize(entry) not in gone]
        try:
            if listed and not kept:
                kustomization.remove((field,))
            elif len(kept) < len(as_list(listed)):
                kustomization.set((field,), kept)
        except EditRefused as refusal:
            raise WriteFailed(f"{path}: {field}: entries cannot be removed: {refusal}") from None
    return kustomization.text.encode() if kustomization.changed else data


def list_patches(data: bytes, path: str) -> list[str]:
    """The files that the kustomization at `path` lists as patches or replacements, normalized; none when it cannot be
    read."""
    try:
        value = Item.parse(data, path).value
    except Unreadable:
        return []
    return [os.path.normpath(os.path.join(os.path.dirname(path), entry)) for entry in list_sources(value)]


def plan_init(folder: str, release: str, function: bool = True, config: bytes | None = None) -> list[FileChange]:
    """The files that make `folder` a kustomization which runs the function: configuration, name references, and itself.

    What exists is kept: an existing configuration only gets the annotation that runs it. Without a kustomization, one
    is made that lists the manifests of the folder. Without `function` only the name references are added: for rendered
    manifests that Flux or an outer kustomization renames. `config` is the text of a new configuration, None for the
    usual one. Raises WriteFailed, and InputMissing for a missing folder.
    """
    if Disk(folder).kind(folder) != "folder":
        raise Disk(folder).miss(folder, "folder")
    target = find_kustomization(folder) or os.path.join(folder, KUSTOMIZATIONS[0])
    old = _read(target)
    entries = {"configurations": [NAMES_FILE]}
    if not old:
        entries = {"resources": _list_resources(folder), **entries}
        if not entries["resources"]:
            raise WriteFailed(f"{folder}: {_lead_elsewhere(folder)}")
    value = _parse(old, target).value if old else {}
    if value.get("kind") == "Component":
        reason = "a component, which kustomize builds only with those that list it: give the folder of one of these"
        raise WriteFailed(f"{target}: {reason}")
    if any(_normalize(entry) == CONFIG_FILE for entry in list_entries(value, "generators")):
        # A generator does not see the resources, so nothing could be generated for them.
        reason = f"{CONFIG_FILE} is listed under generators:, which receive no resources; remove it from there"
        raise WriteFailed(f"{target}: {reason}")
    if function and not _list_ours(target, list_entries(value, "transformers")):
        entries["transformers"] = [CONFIG_FILE]
    fresh = config or (MODELINE + _NEW_CONFIG.format(release=release)).encode()
    configs = [_plan_config(os.path.join(folder, CONFIG_FILE), fresh)] if function else []
    if any(MODELINE.encode() in (change.new or b"") for change in configs):
        place = os.path.join(folder, SCHEMA_FILE)
        configs.append(
            FileChange(place, _read(place), schemastore.read_text("krmfn/v1alpha1/gangscheduling.json").encode())
        )
    names = os.path.join(folder, NAMES_FILE)
    return [
        *configs,
        FileChange(names, _read(names), write_names().encode()),
        FileChange(target, old, add_entries(old or b"", target, entries)),
    ]


def _lead_elsewhere(folder: str) -> str:
    """What somebody may have meant by a folder that has neither a kustomization nor manifests for one."""
    tree = Disk(folder)
    if is_chart(tree, folder):
        return (
            "a Helm chart. Call helm with --post-renderer krmfn, or list the chart under helmCharts: of a "
            "kustomization, and give the folder of that"
        )
    below = [posixpath.dirname(path) for path in tree.walk(folder) if posixpath.basename(path) in KUSTOMIZATIONS]
    if below:
        more = f" and {count(len(below) - 3, 'more folder')}" if len(below) > 3 else ""
        return f"no kustomization.yaml. Give the folder of one: {', '.join(below[:3])}{more}"
    return "neither a kustomization.yaml nor manifests for one; put the manifests there first"


def list_configurations(path: str) -> list[str]:
    """The transformers of the kustomization at `path` that are configurations of ours. Raises WriteFailed."""
    return _list_ours(path, list_entries(_parse(_read(path) or b"", path).value, "transformers"))


def _plan_config(path: str, fresh: bytes) -> FileChange:
    old = _read(path)
    data = fresh if old is None else old
    config = _parse(data, path)
    if config.kind != CONFIG_KIND:
        raise WriteFailed(f"{path}: is a {config.kind or 'file without a kind'}, not a {CONFIG_KIND}; move it away")
    if config.get(FUNCTION) is None:
        config.set(FUNCTION, EXEC)
    return FileChange(path, old, config.text.encode() if config.changed else data)


def _list_ours(path: str, entries: Iterable[str]) -> list[str]:
    """Those of the transformers that are our configuration as text, or name a file of this folder with it."""
    found = []
    for entry in entries:
        name = path if "\n" in entry else os.path.join(os.path.dirname(path), entry)
        text = entry.encode() if "\n" in entry else _read(name)
        if text and _parse(text, name).kind == CONFIG_KIND:
            found.append(entry)
    return found


def _parse(data: bytes, path: str) -> Item:
    """The only object of a file. Raises WriteFailed, with the place in the file."""
    item = Item.parse(data, path)
    try:
        item.value  # noqa: B018 # it is read now
    except Unreadable as error:
        place = FileRef(os.path.normpath(path), 0, error.line, error.column).spell()
        raise WriteFailed(f"{place}: cannot be read: {error.message}") from None
    return item


def _normalize(entry: object) -> str:
    return posixpath.normpath(entry) if isinstance(entry, str) and "\n" not in entry else ""


def _list_resources(folder: str) -> list[str]:
    """The manifest files of a folder, and the folders in it that are kustomizations."""
    found = []
    tree = Disk(folder)
    for name in sorted(entry.name for entry in tree.entries(folder)):
        path = os.path.join(folder, name)
        if name.startswith(".") or name in (CONFIG_FILE, NAMES_FILE):
            continue
        if tree.kind(path) == "folder":
            if find_kustomization(path):
                found.append(name)
        elif name.endswith(SUFFIXES):
            data = tree.find(path)
            items = Stream.parse(data, path).items if data else ()
            if items and all(item.name for item in items):  # kustomize refuses objects without a name
                found.append(name)
    return found


def _read(path: str) -> bytes | None:
    """A file's bytes, None when there is none. Raises InputMissing for one that is there and not read."""
    try:
        return Disk(path).read(path)
    except FileNotFoundError:
        return None
    except LeftOut as left:
        raise InputMissing(str(left)) from None


def list_pod_templates() -> Iterator[NameField]:
    """The pod templates of every kind that can become a gang. A list on the way is walked element by element."""
    plain = [
        NameField(kind.group, kind.name, template.path.replace(".", "/").replace("*", role).replace("//", "/"))
        for kind in list_linked()
        for template in kind.templates
        if not template.spec
        for role in template.roles or ("",)
    ]
    yield from plain
    for path in dict.fromkeys(template.path for template in plain):  # an AppWrapper holds objects of any kind
        wrapped = f"spec/components/template/{path}".rstrip("/")
        yield NameField("workload.codeflare.dev", "AppWrapper", wrapped)


def list_references() -> Iterator[Reference]:
    """Every kind whose name is written somewhere, with the places."""
    templates = sorted(list_pod_templates())
    # In kinds without pod templates, pods take their annotations from an entry.
    entries = [
        NameField(kind.group, kind.name, template.path.replace(".*", "").replace(".", "/"))
        for kind in list_linked()
        for template in kind.templates
        if template.spec
    ]
    owners = sorted({(each.group, each.kind) for each in (*templates, *entries)} - {("", "PodTemplate")})
    for group, kind in owners:
        yield Reference(group, kind, (NameField(GROUP, "Workload", "spec/controllerRef/name"),))
    for row in schemastore.load("names.json")["references"]:
        fields = []
        for field in row["fields"]:
            path, of = field.get("pods") or field.get("entries"), field.get("of")
            if "kind" in field:
                fields.append(NameField(field.get("group", GROUP), field["kind"], field["path"]))
                continue
            for each in templates if "pods" in field else entries:
                if of in (None, each.group) or (of == "custom" and "." in each.group):
                    fields.append(each._replace(path=f"{each.path}/{path}".lstrip("/")))
        yield Reference(row["group"], row["kind"], tuple(fields))


def write_names() -> str:
    """The file for `configurations:` of kustomize: which fields refer to names, so that prefixes reach them."""
    lines = [
        "# Names of scheduling objects, for kustomize: list this file under configurations: wherever a layer",
        "# adds a namePrefix or nameSuffix, so that pods, groups and Workloads still find each other.",
        "nameReference:",
    ]
    for group, kind, fields in list_references():
        lines += [f"- kind: {kind}", *([f"  group: {group}"] if group else []), "  fieldSpecs:"]
        for field in fields:
            place = f", group: {field.group}" if field.group else ""
            lines.append(f"  - {{path: {field.path}, kind: {field.kind}{place}}}")
    return "\n".join(lines) + "\n"
