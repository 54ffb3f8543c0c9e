"""The rows of `schemas/kubernetes/fields.json` are about fields that there are, in keywords that are read."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from conformance.versions import read_releases
from krmfn.releases import schemastore
from krmfn.releases.served import read_kinds
from krmfn.server import answer
from krmfn.server.formats import find_format
from krmfn.server.others import find_shape
from krmfn.server.schema import Kind, Type, find_function, find_kind
from krmfn.server.spell import spell_path

ROOT = Path(__file__).parents[2]
RELEASES = sorted(read_releases())

PARTS: dict[str, list[dict[str, Any]]] = schemastore.load("kubernetes/parts.json")
TABLE: dict[str, dict[str, dict[str, Any]]] = schemastore.load("kubernetes/fields.json")
ROWS = [
    pytest.param(group, name, field, row, id=f"{group}-{name}-{field}")
    for group, types in TABLE.items()
    for names, rows in types.items()
    for name in names.split()
    for field, row in rows.items()
]
CODE = "".join((ROOT / f"krmfn/server/{name}.py").read_text() for name in ("cases", "conditions"))
KNOWN = {"default", "x-kubernetes-feature-gate", *re.findall(r'(?:row\.get\(|^    )"(\w+)"', CODE, re.M)}


def find_field(release: str, group: str, name: str, field: str) -> bool:
    try:
        types = schemastore.load(f"kubernetes/{release}/others/{group}.json")["$defs"]
    except schemastore.SchemaMissing:
        return False
    return any(
        each.get("x-kubernetes-go-type", "").rpartition(".")[2] == name and field in each["properties"]
        for each in types.values()
    )


@pytest.mark.parametrize(("group", "name", "field", "row"), ROWS)
def test_a_row_is_about_a_field_and_has_known_keywords(group: str, name: str, field: str, row: dict[str, Any]) -> None:
    assert any(find_field(release, group, name, field) for release in RELEASES)
    rows = [row, row.get("items", {})]
    rows += [case for of in rows for case in of.get("cases", ())]
    for each in rows:
        assert each.keys() <= KNOWN
        assert "format" not in each or callable(find_format(each["format"]))
        assert "check" not in each or callable(find_function(each["check"]))


def test_a_part_has_known_keywords_and_is_looked_at_somewhere() -> None:
    code = "".join(path.read_text() for path in (ROOT / "krmfn/server").rglob("*.py"))
    tables = "".join((ROOT / f"schemas/kubernetes/{name}.json").read_text() for name in ("parts", "fields", "plain"))
    code += "".join(re.findall(r'"(?:part|each|changes)": ("[^"]+")', tables))
    code += (ROOT / "conformance/schemas/handwritten.json").read_text()
    code += (ROOT / "schemas/kubernetes/named.json").read_text()  # the sources of volumes
    assert [name for name in PARTS if f'"{name}"' not in code] == []
    for row in (row for rows in PARTS.values() for row in rows):
        assert row.keys() <= KNOWN
        assert "format" not in row or callable(find_format(row["format"]))
        assert "check" not in row or callable(find_function(row["check"]))
        assert {row[word] for word in ("part", "each") if word in row} <= PARTS.keys()


def test_the_readme_says_what_every_keyword_means() -> None:
    text = (ROOT / "schemas/kubernetes/README.md").read_text()
    assert [
        word
        for word in sorted(KNOWN)
        if f"`{word}`" not in text and f"`{word.removeprefix('x-kubernetes')}`" not in text
    ] == []


@pytest.mark.parametrize("release", RELEASES)
def test_kinds_without_rules_only_lack_what_is_required(release: str) -> None:
    """Nobody knows their gates: what a row asks of them must not speak of any."""
    plain, served = schemastore.load("kubernetes/plain.json"), read_kinds(release)["served"]
    names = [(f"{version.rpartition('/')[0]}/{kind}", version, kind) for version in served for kind in served[version]]
    roots = [find_shape(version, kind, release) for key, version, kind in names if key not in plain]
    rows = [field.row for root in roots if root for of in list_types(root) for field in of.fields.values() if field.row]
    assert len(rows) > 10
    assert all(row.keys() == {"required"} for row in rows)


def list_types(root: Type) -> set[Type]:
    """The types of structs in a type."""
    found, waiting = set[Type](), [root]
    while waiting:
        of = waiting.pop()
        if of not in found:
            found.add(of)
            waiting += [each for field in of.fields.values() if (each := find_struct(field.type)) is not None]
    return found


def find_struct(of: Type) -> Type | None:
    while of.kind in ("list", "map") and of.item:
        of = of.item
    return of if of.kind == "struct" else None


def test_every_release_has_the_rows() -> None:
    for release in RELEASES:
        kind = find_kind("storage.k8s.io", "StorageClass", release, {})
        assert isinstance(kind, Kind)
        assert kind.root.fields["reclaimPolicy"].default == "Delete"
        assert kind.root.fields["reclaimPolicy"].row["enum"] == ["Delete", "Retain"]


def test_a_field_whose_gate_is_off_is_dropped_and_told() -> None:
    tolerations = [{"operator": "Exists"}]
    request = {"name": "a", "exactly": {"deviceClassName": "gpu.example.com", "tolerations": tolerations}}
    metadata, spec = {"name": "a"}, {"devices": {"requests": [request]}}
    claim = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": metadata, "spec": spec}
    path = ("spec", "devices", "requests", 0, "exactly", "tolerations")
    for gates, dropped in (({}, ((path, "DRADeviceTaints"),)), ({"DRADeviceTaints": True}, ())):
        verdict = answer(claim, "1.35", gates)
        assert verdict is not None
        assert (verdict.accepted, verdict.dropped) == (True, dropped)


def ask_of_pod(container: dict[str, Any], **spec: Any) -> list[tuple[str, str, str]]:
    """What 1.37 with all gates says of a pod: type, place and the beginning of the text."""
    whole = {"containers": [{"name": "c", "image": "i", **container}], **spec}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "namespace": "b"}, "spec": whole}
    gates = dict.fromkeys(("ContainerStopSignals", "UserNamespacesSupport"), True)
    verdict = answer(pod, "1.37", gates)
    assert verdict is not None
    return [(cause.type, spell_path(cause.path), cause.message[:70]) for cause in verdict.causes]


def test_a_signal_is_one_of_the_system_of_the_pod() -> None:
    """validateStopSignal of pkg/apis/core/validation: no signal without `os`, two for Windows, 65 for Linux."""
    container = {"lifecycle": {"stopSignal": "SIGFOO"}}
    place = "spec.containers[0].lifecycle.stopSignal"
    [none] = ask_of_pod(container)
    assert none == ("Forbidden", place, "Forbidden: may not be set for containers with empty `spec.os.name`")
    [linux] = ask_of_pod(container, os={"name": "linux"})
    assert linux == ("NotSupported", place, 'Unsupported value: "SIGFOO": supported values: "SIGABRT", "SIGALRM", "')
    [windows] = ask_of_pod(container, os={"name": "windows"})
    assert windows[2] == 'Unsupported value: "SIGFOO": supported values: "SIGKILL", "SIGTERM"'
    for name, signal in (("linux", "SIGRTMIN+15"), ("linux", "SIGRTMAX-14"), ("windows", "SIGTERM")):
        assert ask_of_pod({"lifecycle": {"stopSignal": signal}}, os={"name": name}) == []
    rows = next(row["enum"] for row in PARTS["running"] if "@linux" in row.get("when", {}))
    assert (len(rows), rows) == (65, sorted(rows))


def test_a_pod_with_users_of_its_own_has_no_devices_of_the_host() -> None:
    """validateHostUsers: `volumeDevices` of every container is forbidden when `hostUsers` is false."""
    claim = {"name": "v", "persistentVolumeClaim": {"claimName": "d"}}
    devices = {"volumeDevices": [{"name": "v", "devicePath": "/dev/a"}]}
    forbidden = ("Forbidden", "spec.containers[0].volumeDevices", "Forbidden: when `hostUsers` is false")
    assert ask_of_pod(devices, hostUsers=False, volumes=[claim]) == [forbidden]
    assert ask_of_pod(devices, volumes=[claim]) == []
