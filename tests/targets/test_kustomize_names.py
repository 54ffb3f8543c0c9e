"""The shipped kustomize configuration, by real kustomize: every reference follows the prefixes of two layers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from krmfn.fields.lines import list_described, walk
from krmfn.model.kinds import KINDS
from krmfn.model.schedulers import SCHEDULERS
from krmfn.releases.release import GROUP, find_release, list_releases
from krmfn.workspace.kustomization import NameField, Reference, list_pod_templates, list_references, write_names
from tests.targets.programs import build, write

LISTS = {
    "workerGroupSpecs", "replicatedJobs", "podGroupTemplates", "compositePodGroupTemplates", "resourceClaims",
    "volumes", "containers", "initContainers", "env", "envFrom", "sources", "imagePullSecrets",
}  # fmt: skip


def parts_of(path: str) -> list[str]:
    return [part.replace("\0", "/") for part in path.replace(r"\/", "\0").split("/")]


def put(value: dict[str, Any], parts: list[str], name: str) -> None:
    """Set `name` at the path, with one element in every list on the way."""
    head, *rest = parts
    if not rest:
        value[head] = name
    elif head in LISTS:
        put(value.setdefault(head, [{}])[0], rest, name)
    else:
        put(value.setdefault(head, {}), rest, name)


def get(value: Any, parts: list[str]) -> Any:
    for part in parts:
        value = (value[0] if isinstance(value, list) else value)[part]
    return value


def object_of(group: str, kind: str, name: str) -> dict[str, Any]:
    version = f"{group}/v1" if group else "v1"
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name}}


def referrers(reference: Reference) -> dict[tuple[str, str], dict[str, Any]]:
    """One object per kind that refers to the reference's kind, with all of its fields set."""
    objects: dict[tuple[str, str], dict[str, Any]] = {}
    for field in reference.fields:
        name = f"{field.kind}-to-{target(reference)}".lower()
        value = objects.setdefault((field.group, field.kind), object_of(field.group, field.kind, name))
        put(value, parts_of(field.path), target(reference))
    return objects


def target(reference: Reference) -> str:
    return f"{reference.kind}.{reference.group}".lower().rstrip(".")


def test_references_follow(tmp_path: Path) -> None:
    references = list(list_references())
    targets = [object_of(entry.group, entry.kind, target(entry)) for entry in references]
    sent = {entry: referrers(entry) for entry in references}
    resources = [*targets, *(value for objects in sent.values() for value in objects.values())]
    base = {"resources": ["objects.yaml"], "configurations": ["names.yaml"], "namePrefix": "b-"}
    write(tmp_path / "base", kustomization=base, objects=resources, names=write_names())
    write(tmp_path / "overlay", kustomization={"resources": ["../base"], "namePrefix": "o-", "nameSuffix": "-z"})
    built = {
        (value["kind"], value["apiVersion"], value["metadata"]["name"]): value for value in build(tmp_path / "overlay")
    }
    stale = [
        (reference.kind, field)
        for reference, objects in sent.items()
        for field in reference.fields
        if follow(built, objects, field) != f"o-b-{target(reference)}-z"
    ]
    assert stale == []


def follow(built: Any, objects: Any, field: NameField) -> Any:
    value = objects[field.group, field.kind]
    return get(built[value["kind"], value["apiVersion"], f"o-b-{value['metadata']['name']}-z"], parts_of(field.path))


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_every_source_is_covered(kind: tuple[str, str]) -> None:
    """A kind whose pods can be linked has its pod templates in the table, or entries that have their annotations."""
    (links,) = (each for each in list_references() if (each.group, each.kind) == ("scheduling.k8s.io", "PodGroup"))
    linked = {(field.group, field.kind) for field in links.fields}
    known = linked | {(template.group, template.kind) for template in list_pod_templates()}
    assert kind in known or not KINDS[kind].has_gangs


#: The fields of native groups that hold names of objects which a kustomization may rename, by what ends their path.
NAMES = {
    "workloadName": "Workload",
    "controllerRef.name": "",  # of any kind that makes pods
    "parentCompositePodGroupName": "CompositePodGroup",
    "priorityClassName": "PriorityClass",
    "resourceClaimName": "ResourceClaim",
    "resourceClaimTemplateName": "ResourceClaimTemplate",
}


@pytest.mark.parametrize("release", list_releases())
def test_every_name_in_a_native_group_is_covered(release: str) -> None:
    """By the types of the release: a field that one of them adds or calls otherwise is in the table."""
    known = {(field.kind, field.path, each.kind) for each in list_references() for field in each.fields}
    found = set()
    for kind in {"Workload", "PodGroup", "CompositePodGroup"} & {*find_release(release).kinds}:
        gates = dict.fromkeys(find_release(release).gates, True)
        described = next(each for each in list_described(kind, release, gates, "", []) if GROUP in each.api_version)
        for line in walk(described.root):
            path = line.path.removeprefix(f"{kind}.").replace("[]", "").replace(".", "/")
            target = next((each for end, each in NAMES.items() if path.endswith("/" + end.replace(".", "/"))), None)
            if target is not None and path.startswith("spec/"):
                found.add((kind, path, target or "Job"))
    assert found <= known
    assert found


def test_what_schedulers_name_is_covered() -> None:
    known = {(each.group, each.kind): {*each.fields} for each in list_references()}
    for row in SCHEDULERS.values():
        place, key = row.link
        link = f"metadata/{place}/{key}".replace(key, key.replace("/", r"\/"))
        assert NameField("", "Pod", link) in known.get((row.group, "PodGroup"), ()), (
            f"schemas/names.json has no row of the PodGroup of {row.group} with the link of pods: {link}"
        )
        for name, kind, group in (("queue", "Queue", row.group), ("priorityClassName", "PriorityClass", GROUP)):
            if name in row.writes:
                assert NameField(row.group, "PodGroup", f"spec/{name}") in known[group, kind]


def test_is_plain_yaml() -> None:
    value = yaml.safe_load(write_names())
    assert list(value) == ["nameReference"]
    assert all(entry["fieldSpecs"] for entry in value["nameReference"])
