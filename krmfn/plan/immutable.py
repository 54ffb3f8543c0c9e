"""Fields that the webhooks of other projects keep. What API servers and definitions refuse, the server checks tell."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from krmfn.model.kinds import find_kind
from krmfn.model.values import as_mapping
from krmfn.plan.records import Reason


def find_immutable(group: str, kind: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[Reason]:
    """Why `old` cannot become `new` in place, as far as the row of the kind tells."""
    row = find_kind(group, kind)
    before, after = as_mapping(old.get("spec")), as_mapping(new.get("spec"))
    for name in row.immutable if row else ():
        if before.get(name) != after.get(name):
            yield Reason(("spec", name), "immutable", "Invalid", "field is immutable")
    if kind != "TrainJob" or before.get("suspend") is True or after.get("suspend") is True:
        return
    if before.get("runtimePatches") != after.get("runtimePatches"):
        message = "RuntimePatches can only be modified when the TrainJob is suspended before or after the update"
        yield Reason(("spec", "runtimePatches"), "immutable", "Forbidden", message)
