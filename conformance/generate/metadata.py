"""The shape of ObjectMeta, and odd content for it."""

from __future__ import annotations

from random import Random
from typing import Any

from conformance.generate.oddvalues import ODD_METADATA
from conformance.generate.shapes import Choice, Flag, Many, Struct, Table, Text

OWNER = Struct(
    {
        "apiVersion": Choice(("batch/v1", "v1", "ray.io/v1", "scheduling.k8s.io/v1beta1")),
        "kind": Choice(("Job", "RayCluster", "Workload", "Pod")),
        "name": Text("long"),
        "uid": Choice(("0aa1c2d3-1111-2222-3333-444455556666", "u-1", "9")),
        "controller": Flag(),
        "blockOwnerDeletion": Flag(),
    },
    needs=("apiVersion", "kind", "name", "uid"),
)

METADATA = Struct(
    {
        "name": Text("long"),
        "namespace": Choice(("ml", "default", "team-a")),
        "labels": Table("label-key", "label-value"),
        "annotations": Table("label-key", "any"),
        "finalizers": Many(Choice(("example.com/hold", "a.b/c", "kubernetes", "foregroundDeletion")), 2),
        "ownerReferences": Many(OWNER, 2),
    },
    needs=("name",),
    odds=0.12,
)


def odd_metadata(rng: Random) -> tuple[str, str, Any]:
    return rng.choice(ODD_METADATA)
