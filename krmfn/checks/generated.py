"""Checks generated objects as the API server would, and says which field of the user's manifest is behind a finding.

Generated objects exist nowhere but here, so a finding that points into them would help nobody. Knows the fields that
targets write, no release.
"""

from __future__ import annotations

import re

from krmfn.config import Settings
from krmfn.krm.item import Item
from krmfn.krm.paths import Path, dig, format_path
from krmfn.krm.results import ResourceRef
from krmfn.model.findings import Finding, Findings
from krmfn.model.placeholders import is_name_placeholder
from krmfn.model.tree import PodTemplate, leaves
from krmfn.model.values import Value
from krmfn.reconcile import Wanted
from krmfn.releases.release import list_needed
from krmfn.releases.spelling import NAMED
from krmfn.server import answer

_ANNOTATIONS = {
    "schedulingConstraints": "krmfn.dev/topology-key",
    "disruptionMode": "krmfn.dev/disruption-mode",
    "minCount": "krmfn.dev/min-count",
    "parentCompositePodGroupName": "krmfn.dev/gang-group",
}
#: So many shapes are kept: most gangs of a large input look alike.
_KEPT = 1024
_USUAL_NAME = re.compile(r"[a-z](?:[a-z0-9-]{0,60}[a-z0-9])?")
_POD_FIELDS = ("priorityClassName", "preemptionPolicy")


def check_generated(wanted: Wanted, settings: Settings, accepted: set[str]) -> Findings:
    """What the API server would refuse in the objects of one gang, at the fields that the user wrote. `accepted` are
    the shapes of gangs with these settings in which nothing was refused; this one is added."""
    if settings.scheduler != "Kubernetes" or not wanted.emission.objects:
        return
    # Gangs with one shape differ only in their owner's name, which has the same length and the same sort of characters.
    owner, *others = wanted.gang.owners
    usual = not others and _USUAL_NAME.fullmatch(owner.name)
    shape = f"{len(owner.name)} {repr(wanted.emission.objects).replace(owner.name, chr(0))}" if usual else ""
    if shape in accepted:
        return
    # A gate that the output needs is taken as on: what is off is told by the note on gates, once.
    gates = {**dict.fromkeys(list_needed(settings.release, wanted.emission.objects), True), **settings.feature_gates}
    seen = set()
    for value in wanted.emission.objects:
        verdict = answer(value, settings.release.name, gates)
        for cause in verdict.causes if verdict else ():
            if is_name_placeholder(dig(value, *cause.path)):
                continue
            item, path = trace(wanted, value, cause.path)
            metadata = value["metadata"]
            made = ResourceRef("", value["kind"], metadata["name"], metadata.get("namespace", ""))
            message = f"{cause.message} ({format_path(cause.path)} of the generated {made})"
            key = (id(item), path, cause.message)
            if key not in seen:
                seen.add(key)
                yield Finding(item, path, message, type=cause.type, rule=cause.rule)
    if shape and not seen:
        if len(accepted) >= _KEPT:
            accepted.clear()
        accepted.add(shape)


def trace(wanted: Wanted, value: Value, path: Path) -> tuple[Item, Path]:
    """The owner and the field in it that decides what stands at `path` of the generated object `value`.

    The owner's own root where no single field does.
    """
    template = _find_template(wanted, value)
    item = wanted.items[template.owner]
    for key in (NAMED.get(str(part), part) for part in reversed(path)):
        if key in _POD_FIELDS:
            return item, (*template.path, "spec", key)
        annotation = _ANNOTATIONS.get(str(key), "")
        stated = [name for name in item.annotations if name == annotation or name.startswith(f"{annotation}.")]
        if annotation and stated:
            return item, ("metadata", "annotations", stated[0])
        if key == "minCount":
            return item, template.count_path
    if path[:1] == ("metadata",) and len(path) > 1 and path[1] in {"name", "namespace"}:
        return item, path[:2]
    return item, ()


def _find_template(wanted: Wanted, value: Value) -> PodTemplate:
    """The first pod template that links to the object; for a Workload or a composite, the first of all."""
    templates = [template for leaf in leaves(wanted.gang.root) for template in leaf.templates]
    for link in wanted.emission.links:
        if link.value == value["metadata"]["name"]:
            for template in templates:
                if template.owner == link.owner and link.path[: len(template.path)] == template.path:
                    return template
    return templates[0]
