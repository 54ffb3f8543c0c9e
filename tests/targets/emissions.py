"""What targets make of a tree, in pieces that are easy to compare."""

from __future__ import annotations

from typing import Any

from krmfn.model.tree import Group
from krmfn.targets import Emission, emit
from tests.targets.trees import gang, settings, workers

CPU, GPU = workers(0, "cpu", 3), workers(1, "gpu", 2)


def made(root: Group, release: str, *owners: Any, **gates: bool) -> Emission:
    name = "pipeline" if len(owners) > 1 else ""
    return emit(gang(root, *owners, name=name), settings(release, gates=gates))


def kinds(emission: Emission) -> list[tuple[str, str, str]]:
    return [(value["apiVersion"].split("/")[1], value["kind"], value["metadata"]["name"]) for value in emission.objects]


def rules(emission: Emission) -> list[str]:
    return [note.rule for note in emission.notes]


def specs(emission: Emission, kind: str) -> dict[str, Any]:
    return {value["metadata"]["name"]: value["spec"] for value in emission.objects if value["kind"] == kind}
