"""What a server made of an object: fields filled in, dropped, changed or returned as null; and how to carry them over.

Works on plain JSON values; knows no rule and no server.
"""

from __future__ import annotations

import copy
from typing import Any

from conformance.address import BUILT_IN

# Kept by the server about every object; says nothing about the request.
BOOKKEEPING = frozenset({"uid", "resourceVersion", "creationTimestamp", "generation", "managedFields", "selfLink"})

# Of the kinds that only hold a link to a group, what concerns groups is listed in a result.
TEMPLATE_OF = {"CronJob": "spec.jobTemplate.spec.template.spec", "Pod": "spec", "PodTemplate": "template.spec"}
TEMPLATE = "spec.template.spec"
LINKS = ("workloadRef", "schedulingGroup", "evictionResponders")
MORE = {
    "Pod": ("spec.priority", "spec.priorityClassName", "spec.preemptionPolicy"),
    "Job": ("spec.scheduling",),
    "CronJob": ("spec.jobTemplate.spec.scheduling",),
}
CARRIED: dict[str, tuple[str, ...]] = {
    "Job": ("spec.selector", "spec.template.metadata", "spec.template.metadata.labels"),
    "CronJob": (),
}


def subject_of(kind: str) -> tuple[str, ...]:
    """The paths that a result of this kind speaks of; empty when of all."""
    if kind not in BUILT_IN:
        return ()
    template = TEMPLATE_OF.get(kind, TEMPLATE)
    return (*(f"{template}.{link}" for link in LINKS), *MORE.get(kind, ()))


def compare(kind: str, sent: Any, returned: Any) -> dict[str, Any]:
    """`defaulted`, `dropped`, `changed` and `nulls` of an accepted request; keys without content are left out."""
    found: dict[str, Any] = {"defaulted": {}, "dropped": [], "changed": {}, "nulls": []}
    walk(strip(sent), strip(returned), "", found)
    concerned = subject_of(kind)
    if concerned:
        found["defaulted"] = {path: value for path, value in found["defaulted"].items() if below(path, concerned)}
        found["changed"] = {path: value for path, value in found["changed"].items() if below(path, concerned)}
        found["dropped"] = [path for path in found["dropped"] if below(path, concerned)]
        found["nulls"] = [path for path in found["nulls"] if below(path, concerned)]
    return {name: content for name, content in found.items() if content}


def below(path: str, roots: tuple[str, ...]) -> bool:
    return any(path == root or path.startswith((f"{root}.", f"{root}[")) for root in roots)


def strip(value: Any) -> Any:
    """A copy without the bookkeeping and the status."""
    if not isinstance(value, dict):
        return value
    bare = {name: content for name, content in value.items() if name != "status"}
    metadata = bare.get("metadata")
    if isinstance(metadata, dict):
        bare["metadata"] = {name: content for name, content in metadata.items() if name not in BOOKKEEPING}
    return bare


def walk(sent: Any, returned: Any, path: str, found: dict[str, Any]) -> None:
    if isinstance(sent, dict) and isinstance(returned, dict):
        for name in [*sent, *(name for name in returned if name not in sent)]:
            here = f"{path}.{name}" if path else name
            if returned.get(name) is None and sent.get(name) is not None:
                if here != "metadata.generateName":
                    found["dropped"].append(here)
            elif name not in returned:
                continue
            elif sent.get(name) is None:
                if returned[name] is None:
                    if name not in sent:
                        found["nulls"].append(here)
                else:
                    found["defaulted"][here] = returned[name]
            else:
                walk(sent[name], returned[name], here, found)
    elif isinstance(sent, list) and isinstance(returned, list) and len(sent) == len(returned):
        for index, (one, other) in enumerate(zip(sent, returned, strict=True)):
            walk(one, other, f"{path}[{index}]", found)
    elif sent != returned or type(sent) is not type(returned):
        found["changed"][path] = [sent, returned]


def filled_in(sent: Any, stored: Any) -> dict[str, Any]:
    """Every field outside lists that the server added to an object: path (dotted, topmost) to value."""
    found: dict[str, Any] = {}

    def visit(one: Any, other: Any, path: str) -> None:
        for name, content in other.items():
            here = f"{path}.{name}" if path else name
            if content is None:
                continue
            if one.get(name) is None:
                found[here] = content
            elif isinstance(one[name], dict) and isinstance(content, dict):
                visit(one[name], content, here)

    visit(strip(sent), strip(stored), "")
    return found


def carry(kind: str, target: Any, additions: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """A copy of the target with the spec fields that it lacks, and which were added.

    Of a Job only the selector and the generated labels, of a CronJob nothing: the server fills in the rest anew. A path
    whose parent is missing or no object in the target is left out: that part was taken away on purpose.
    """
    full, added = copy.deepcopy(target), {}
    for path, value in additions.items():
        names = path.split(".")
        if names[0] != "spec" or path not in CARRIED.get(kind, (path,)):
            continue
        parent = full
        for name in names[:-1]:
            parent = parent.get(name) if isinstance(parent, dict) else None
        if isinstance(parent, dict) and names[-1] not in parent:
            parent[names[-1]] = copy.deepcopy(value)
            added[path] = value
    return full, added
