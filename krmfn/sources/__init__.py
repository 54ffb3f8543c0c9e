"""From one manifest to its tree of groups: one module per input kind, listed in `SOURCES`.

To add a kind:

1. Write `krmfn/sources/<kind>.py` with a function `read_<kind>(manifest: Manifest) -> Group | None`. It reads through
   the Manifest (typed access, the API server's defaults for absent fields, notes) and returns a Leaf or a Composite
   whose names are the user's own. The number of pods is that which the kind's controller creates; cite the source.
2. Where there is nothing to schedule as a group, leave a note that says why and return None. What the controller would
   refuse is a note whose rule has severity error: then there is no tree, whatever is returned.
3. Add the rules you need to `rules.py`, as rows.
4. Add the row to `SOURCES` below, and the kind's worked examples to `tests/sources/`.

Sources know neither targets nor checks.
"""

from collections.abc import Callable, Mapping
from typing import Any

from krmfn.config import GangOptions, Settings
from krmfn.krm.results import ResourceRef
from krmfn.sources.job import read_job
from krmfn.sources.manifest import Manifest, Reading
from krmfn.sources.raycluster import read_raycluster
from krmfn.sources.rules import RULES
from krmfn.tree import Group

__all__ = ["RULES", "SOURCES", "Reading", "Source", "read_tree"]

Source = Callable[[Manifest], Group | None]

SOURCES: Mapping[tuple[str, str], Source] = {
    ("batch", "Job"): read_job,
    ("ray.io", "RayCluster"): read_raycluster,
}


def read_tree(value: Mapping[str, Any], ref: ResourceRef, options: GangOptions, settings: Settings) -> Reading:
    """The tree of the manifest `value`, whose (group, kind) must be in SOURCES, and the notes on the way.

    Without a tree one of the notes says why. With a note whose rule is an error there is no tree.
    """
    manifest = Manifest(value, ref, options, settings)
    if not ref.name and value.get("metadata", {}).get("generateName"):
        message = f"the name of this {ref.kind} is made up by the API server: no group can be named after it"
        manifest.note("generated-name", ("metadata", "generateName"), message, "give it a metadata.name")
        return Reading(None, tuple(manifest.notes))
    group = SOURCES[ref.group, ref.kind](manifest)
    return Reading(None if manifest.refused else group, tuple(manifest.notes))
