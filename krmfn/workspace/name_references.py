"""The `configurations:` file for kustomize: which fields hold names of scheduling objects, so that prefixes reach them.

kustomize renames objects of kinds it does not know, and leaves the references to them as they were. Written from one
table; knows no manifest. Source: kustomize 5.8.1, `api/internal/plugins/builtinconfig`, nameReference.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from krmfn.model.kinds import list_linked
from krmfn.model.schedulers import SCHEDULERS
from krmfn.releases.groups import read_limits
from krmfn.releases.release import GROUP, find_release, list_releases
from krmfn.releases.spelling import GROUP_LINKS

_NATIVE: Final = ("PodGroup", "CompositePodGroup")
_PARENT: Final = "parentCompositePodGroupName"
_COMPOSITES: Final = "compositePodGroupTemplates"
_BRIDGED: Final = r"metadata/annotations/krmfn.dev\/pod-group"


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


def list_pod_templates() -> Iterator[NameField]:
    """The pod templates of every kind that can become a gang. A list on the way is walked element by element."""
    plain = list(_list_plain())
    yield from plain
    for path in dict.fromkeys(template.path for template in plain):  # an AppWrapper holds objects of any kind
        wrapped = f"spec/components/template/{path}".rstrip("/")
        yield NameField("workload.codeflare.dev", "AppWrapper", wrapped)


def _list_plain() -> Iterator[NameField]:
    """The same without wrappers of other objects."""
    for kind in list_linked():
        for template in (each for each in kind.templates if not each.spec):
            path = template.path.removeprefix("/")
            for role in template.roles or ("",):
                spelled = path.replace("*", role).replace("//", "/")
                yield NameField(kind.group, kind.name, spelled)


def _list_apart() -> Iterator[NameField]:
    """Where the bridge's annotation stands in kinds without pod templates: in the entry that pods take theirs from."""
    for kind in list_linked():
        for template in (each for each in kind.templates if each.spec):
            path = template.path.replace("/*", "")
            yield NameField(kind.group, kind.name, f"{path}/{_BRIDGED.removeprefix('metadata/')}")


def _list_users_of_templates() -> Iterator[NameField]:
    """Where groups name the Workload of their template: the newest spelling first."""
    releases = [find_release(name) for name in reversed(list_releases())]
    users = [(one.kinds, ("spec", *one.template[:-1], one.call("workloadName"))) for one in releases if one.template]
    for place in dict.fromkeys(place for _, place in users):
        for kind in _NATIVE:
            if any(kind in kinds and path == place for kinds, path in users):
                yield NameField(GROUP, kind, "/".join(place))


def list_references() -> Iterator[Reference]:
    """Every kind whose name is written somewhere, with the places."""
    templates = sorted(list_pod_templates())
    apart = list(_list_apart())
    owners = sorted({(each.group, each.kind) for each in (*templates, *apart)} - {("", "PodTemplate")})
    for group, kind in owners:
        fields = (NameField(GROUP, "Workload", f"spec/{word}/name") for (word,) in _call("controllerRef"))
        yield Reference(group, kind, tuple(fields))
    users = (*_list_users_of_templates(), *_in_pods(templates, "spec/workloadRef/name"))
    yield Reference(GROUP, "Workload", users)
    parents = tuple(NameField(GROUP, kind, f"spec/{word}") for (word,) in _call(_PARENT) for kind in _NATIVE)
    yield Reference(GROUP, "CompositePodGroup", parents)
    links = [
        field
        for path in (*("/".join(("spec", *path)) for path in GROUP_LINKS), _BRIDGED)
        for field in _in_pods(templates, path)
    ]
    yield Reference(GROUP, "PodGroup", (*links, *apart))
    for row in SCHEDULERS.values():
        place, key = row.link
        written = key.replace("/", r"\/")
        yield Reference(row.group, "PodGroup", tuple(_in_pods(templates, f"metadata/{place}/{written}")))
    theirs = (NameField(row.group, "PodGroup", "spec/priorityClassName") for row in SCHEDULERS.values())
    custom = [template for template in templates if "." in template.group]  # kustomize knows it for its own kinds
    classes = (*_in_groups("priorityClassName"), *_in_pods(custom, "spec/priorityClassName"), *theirs)
    yield Reference(GROUP, "PriorityClass", classes)
    for kind, field in (("ResourceClaim", "resourceClaimName"), ("ResourceClaimTemplate", "resourceClaimTemplateName")):
        groups = (entry for entry in _in_groups(f"resourceClaims/{field}") if _holds_claims(entry))
        yield Reference("resource.k8s.io", kind, (*groups, *_in_pods(templates, f"spec/resourceClaims/{field}")))
    for kind, paths in _CONFIGURATION.items():
        ray = [template for template in templates if template.group == "ray.io"]
        yield Reference("", kind, tuple(field for path in paths for field in _in_pods(ray, f"spec/{path}")))
    for group in sorted({row.group for row in SCHEDULERS.values() if row.queue}):
        yield Reference(group, "Queue", (NameField(group, "PodGroup", "spec/queue"),))


def _mounted(volume: str, source: str, key: str, environment: str) -> Iterator[str]:
    """Where the spec of a pod names a ConfigMap or a Secret."""
    yield f"volumes/{volume}"
    yield f"volumes/projected/sources/{source}/name"
    for containers in ("containers", "initContainers"):
        yield f"{containers}/env/valueFrom/{key}/name"
        yield f"{containers}/envFrom/{environment}/name"


#: What pods of Ray mount and read, in their spec; kustomize knows it for its own kinds only.
_CONFIGURATION: Final = {
    "ConfigMap": (*_mounted("configMap/name", "configMap", "configMapKeyRef", "configMapRef"),),
    "PersistentVolumeClaim": ("volumes/persistentVolumeClaim/claimName",),
    "Secret": (*_mounted("secret/secretName", "secret", "secretKeyRef", "secretRef"), "imagePullSecrets/name"),
    "ServiceAccount": ("serviceAccountName",),
}


def _in_pods(templates: Iterable[NameField], path: str) -> Iterator[NameField]:
    for group, kind, template in templates:
        yield NameField(group, kind, f"{template}/{path}".lstrip("/"))


def _in_groups(path: str) -> Iterator[NameField]:
    """A field of every group, and of every template of a Workload, at each depth that a tree can have."""
    name, *rest = path.split("/")
    newest = map(find_release, reversed(list_releases()))
    levels = next(read_limits(one).levels for one in newest if not one.preview and "Workload" in one.kinds)
    for field in ("/".join((*word, *rest)) for word in _call(name)):
        for kind in _NATIVE:
            yield NameField(GROUP, kind, f"spec/{field}")
        for leaf, composite in _call("podGroupTemplates", _COMPOSITES):
            for depth in range(levels + 1):
                above = f"{composite}/" * depth
                yield NameField(GROUP, "Workload", f"spec/{above}{leaf}/{field}")
                if depth:
                    yield NameField(GROUP, "Workload", f"spec/{above}{field}")


def _call(*names: str) -> list[tuple[str, ...]]:
    """How the releases with PodGroups call these fields."""
    releases = map(find_release, list_releases())
    return list(dict.fromkeys(tuple(map(each.call, names)) for each in releases if each.has("pod-groups")))


def _holds_claims(field: NameField) -> bool:
    """Composites have no claims."""
    return field.kind != "CompositePodGroup" and (field.path.split("/")[-3],) not in _call(_COMPOSITES)


def write_names() -> str:
    """The file, ready to be listed under `configurations:`."""
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
