"""Checks generated objects as the API server would, and traces each cause to a field of the user's manifest.

Generated objects are in none of the user's files, so a finding that points into them would help nobody. Knows the
fields that targets write, no release.
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

#: The fields of generated objects that an annotation of the owner decides.
_ANNOTATIONS = {
    "schedulingConstraints": "krmfn.dev/topology-key",
    "disruptionMode": "krmfn.dev/disruption-mode",
    "minCount": "krmfn.dev/min-count",
    "parentCompositePodGroupName": "krmfn.dev/gang-group",
}
#: The fields of generated objects that are those of the pods.
_POD_FIELDS = ("priorityClassName", "preemptionPolicy")
#: How many shapes are kept. Most gangs of a large input look alike.
_MOST_SHAPES = 1024
_USUAL_NAME = re.compile(r"[a-z](?:[a-z0-9-]{0,60}[a-z0-9])?")


def check_generated(wanted: Wanted, settings: Settings, accepted: set[str]) -> Findings:
    """What the API server would refuse in the objects of one gang, at the fields that the user wrote.

    `accepted` are the shapes of earlier gangs with these settings in which nothing was refused: such a gang is not
    checked again. The shape of this one is added if nothing is refused.
    """
    if settings.scheduler != "Kubernetes" or not wanted.emission.objects:
        return
    shape = _find_shape(wanted)
    if shape in accepted:
        return
    # Gates that the output needs are taken as on: another finding names those that are off, once.
    gates = {**dict.fromkeys(list_needed(settings.release, wanted.emission.objects), True), **settings.feature_gates}
    seen = set()
    for value in wanted.emission.objects:
        verdict = answer(value, settings.release.name, gates)
        for cause in verdict.causes if verdict else ():
            if is_name_placeholder(dig(value, *cause.path)):
                continue
            item, path = trace(wanted, value, cause.path)
            metadata = value["metadata"]
            generated = ResourceRef("", value["kind"], metadata["name"], metadata.get("namespace", ""))
            message = f"{cause.message} ({format_path(cause.path)} of the generated {generated})"
            key = (id(item), path, cause.message)
            if key not in seen:
                seen.add(key)
                yield Finding(item, path, message, type=cause.type, rule=cause.rule)
    if shape and not seen:
        if len(accepted) >= _MOST_SHAPES:
            accepted.clear()
        accepted.add(shape)


def _find_shape(wanted: Wanted) -> str:
    """The objects of a gang without the name of its owner, empty if it has several owners or an unusual name. Names of
    one length, of the same sort of characters, are all accepted or all refused."""
    owner, *others = wanted.gang.owners
    if others or not _USUAL_NAME.fullmatch(owner.name):
        return ""
    return f"{len(owner.name)} {repr(wanted.emission.objects).replace(owner.name, chr(0))}"


def trace(wanted: Wanted, value: Value, path: Path) -> tuple[Item, Path]:
    """The owner, and the path of the field in it that decides what is at `path` of the generated object `value`.

    The path is () where no single field decides.
    """
    template = _find_template(wanted, value)
    item = wanted.items[template.owner]
    for key in (NAMED.get(str(part), part) for part in reversed(path)):
        if key in _POD_FIELDS:
            return item, (*template.path, "spec", key)
        if annotation := _ANNOTATIONS.get(str(key)):
            for name in item.annotations:  # "annotation.GROUP" is about one group of the owner
                if name == annotation or name.startswith(f"{annotation}."):
                    return item, ("metadata", "annotations", name)
        if key == "minCount":
            return item, template.count_path
    if path[:2] in (("metadata", "name"), ("metadata", "namespace")):
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
