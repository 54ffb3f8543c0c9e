"""YuniKorn: task groups that it cannot read, that pods name but the application does not have, or that are larger than
their pods. The first pod of an application defines its task groups; a placeholder for each member reserves room until a
pod replaces it.

Source: apache/yunikorn-k8shim v1.9.0, `pkg/cache/{utils,placeholder_manager}.go` and `pkg/common/utils`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any, NamedTuple

from krmfn.capacity.pods import count_requests
from krmfn.checks.rule import Matches, rule, suggest, sum_up, tell_mark
from krmfn.model.values import as_int, as_mapping, as_text
from krmfn.survey.census import Census, Template, count_pods
from krmfn.survey.facts import Resources, read_resources

_NAME = "yunikorn.apache.org/task-group-name"
_GROUPS = "yunikorn.apache.org/task-groups"
#: Where a pod names its application, in the order in which YuniKorn looks.
_APPLICATION = (
    ("labels", "yunikorn.apache.org/app-id"),
    ("annotations", "yunikorn.apache.org/app-id"),
    ("labels", "applicationId"),
    ("labels", "spark-app-selector"),
)


class _TaskGroup(NamedTuple):
    """A task group: how many pods start together, and what the placeholder of each reserves, in billionths."""

    members: int
    resources: Resources


@rule("yunikorn-task-groups")
def find_task_groups(census: Census) -> Matches:
    """Annotations that YuniKorn cannot read, names of task groups that do not exist, and more members than pods."""
    for templates in _group_by_application(census):
        yield from _find_misspelt(templates)
        first = next((each for each in templates if _annotation(each, _GROUPS)), None)
        if first is None:
            continue
        groups, why = _read_groups(_annotation(first, _GROUPS))
        if why:
            yield tell_mark(first, "annotations", _GROUPS, why=why)
            continue
        for template in templates:
            name = _annotation(template, _NAME)
            if name and name not in groups:
                near = suggest(name, groups)
                yield tell_mark(template, "annotations", _NAME, name, case="stranger", near=near, groups=groups)
        for name, group in groups.items():
            mine = [each for each in templates if _annotation(each, _NAME) == name]
            pods, sources = count_pods(mine), f" ({sum_up(mine)})" if mine else ""
            if pods is not None and group.members > pods:
                about = {"name": name, "wanted": group.members, "exist": pods, "sources": sources}
                yield tell_mark(first, "annotations", _GROUPS, case="members", **about)


@rule("yunikorn-placeholder-too-small")
def find_placeholder_too_small(census: Census) -> Matches:
    """Pods that request more than the placeholders of their group reserve: YuniKorn gives these up, and the room."""
    for templates in _group_by_application(census):
        written = next(filter(None, (_annotation(each, _GROUPS) for each in templates)), "")
        groups = _read_groups(written)[0] if written else {}
        for template in templates:
            name = _annotation(template, _NAME)
            if name not in groups or not template.is_whole:
                continue
            requests, reserved = count_requests(template.spec), groups[name].resources
            more = [key for key, amount in requests.items() if amount > reserved.get(key, 0)]
            if more:
                key = more[0]
                about = {"amount": requests[key], "key": key, "most": reserved.get(key, 0), "more": more}
                yield tell_mark(template, "annotations", _NAME, name, **about)


def _find_misspelt(templates: list[Template]) -> Matches:
    """Annotations that differ from those of task groups in hyphens, capitals and a plural."""
    meant = {key.replace("-", "").rstrip("s"): key for key in (_NAME, _GROUPS)}
    for template in templates:
        for key, text in as_mapping(template.metadata, "annotations").items():
            right = meant.get(str(key).lower().replace("-", "").rstrip("s"), key)
            if right != key:
                yield tell_mark(template, "annotations", key, as_text(text), case="misspelt", key=key, right=right)


def _group_by_application(census: Census) -> Iterator[list[Template]]:
    """The templates that YuniKorn schedules, by application: those of a namespace that name none are one."""
    found = defaultdict(list)
    for template in census.scheduled_by("yunikorn"):
        if template.pods != 0:
            names = (as_text(template.metadata, part, key) for part, key in _APPLICATION)
            found[template.item.space, next(filter(None, names), "")].append(template)
    yield from found.values()


def _annotation(template: Template, key: str) -> str:
    return as_text(template.metadata, "annotations", key)


def _read_groups(text: str) -> tuple[dict[str, _TaskGroup], str]:
    """The task groups of an annotation by name, or what is wrong with its text."""
    from krmfn.krm.json_reading import load_json

    try:
        entries: Any = load_json(text)
    except ValueError as mistake:
        return {}, f"this is not JSON ({mistake})"
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        return {}, "this is not a list of task groups"
    for entry in entries:
        is_right = {
            "name": bool(as_text(entry, "name")),
            "minMember": (as_int(entry, "minMember") or 0) > 0,
            "minResource": isinstance(entry.get("minResource"), dict),
        }
        wrong = [key for key, right in is_right.items() if not right]
        if wrong:
            key = wrong[0]
            return {}, f"{key} of a task group is wrong" if key in entry else f"a task group has no {key}"
    groups = {entry["name"]: _TaskGroup(entry["minMember"], read_resources(entry["minResource"])) for entry in entries}
    return groups, ""
