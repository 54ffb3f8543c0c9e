"""YuniKorn: task groups that it cannot read, that pods name and nobody has, or that want more pods than there are.

Source: apache/yunikorn-k8shim v1.9.0, `pkg/cache/{utils,placeholder_manager}.go` and `pkg/common/utils`. The
first pod of an application gives its task groups; a placeholder for each member takes room until a pod replaces it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from krmfn.capacity.requests import count_requests
from krmfn.checks.rule import Matches, rule, suggest, sum_up, tell
from krmfn.model.values import Key, Value, as_int, as_mapping, as_text
from krmfn.survey.census import Census, Template, count_pods
from krmfn.survey.facts import Resources, read_resources

_NAME: Final = "yunikorn.apache.org/task-group-name"
_GROUPS: Final = "yunikorn.apache.org/task-groups"
#: Where a pod says its application, in the order in which YuniKorn looks.
_APPLICATION: Final = (
    ("labels", "yunikorn.apache.org/app-id"),
    ("annotations", "yunikorn.apache.org/app-id"),
    ("labels", "applicationId"),
    ("labels", "spark-app-selector"),
)


@rule("yunikorn-task-groups")
def find_task_groups(census: Census) -> Matches:
    """Annotations that are no task groups, names that are not among them, and more members than pods."""
    for templates in _group_by_application(census):
        yield from _find_misspelt(templates)
        first = next((each for each in templates if _annotation(each, _GROUPS)), None)
        if first is None:
            continue
        path = (*first.path, "metadata", "annotations", _GROUPS)
        groups, why = _read_groups(_annotation(first, _GROUPS))
        if why:
            yield tell(first.item, path, why=why)
            continue
        yield from _find_strangers(templates, groups)
        for name, (wanted, _room) in groups.items():
            mine = [each for each in templates if _annotation(each, _NAME) == name]
            exist = count_pods(mine)
            if exist is not None and wanted > exist:
                yield tell(
                    first.item,
                    path,
                    case="members",
                    name=name,
                    wanted=wanted,
                    exist=exist,
                    sources=f" ({sum_up(mine)})" if mine else "",
                )


@rule("yunikorn-placeholder-too-small")
def find_placeholder_too_small(census: Census) -> Matches:
    """YuniKorn gives up the placeholders of such a group, and with them the room."""

    for templates in _group_by_application(census):
        first = next((each for each in templates if _annotation(each, _GROUPS)), None)
        groups = _read_groups(_annotation(first, _GROUPS))[0] if first else {}
        for template in templates if groups else ():
            room = groups.get(_annotation(template, _NAME), (0, None))[1]
            wanted = count_requests(template.spec, {})
            more = [] if room is None else [key for key, amount in wanted.items() if amount > room.get(key, 0)]
            if more and template.is_whole:
                key, name = more[0], _annotation(template, _NAME)
                yield tell(
                    template.item,
                    (*template.path, "metadata", "annotations", _NAME),
                    name,
                    amount=wanted[key],
                    key=key,
                    most=(room or {}).get(key, 0),
                    more=more,
                )


def _find_misspelt(templates: list[Template]) -> Matches:
    """Annotations that differ from those of task groups in hyphens, capitals and a plural."""
    meant = {key.replace("-", "").rstrip("s"): key for key in (_NAME, _GROUPS)}
    for template in templates:
        for key, text in as_mapping(template.metadata, "annotations").items():
            right = meant.get(str(key).lower().replace("-", "").rstrip("s"), key)
            if right != key:
                yield tell(
                    template.item,
                    (*template.path, "metadata", "annotations", key),
                    as_text(text),
                    case="misspelt",
                    key=key,
                    right=right,
                )


def _find_strangers(templates: list[Template], groups: Value) -> Matches:
    for template in templates:
        name = _annotation(template, _NAME)
        if name and name not in groups:
            yield tell(
                template.item,
                (*template.path, "metadata", "annotations", _NAME),
                name,
                case="stranger",
                near=suggest(name, groups),
                groups=groups,
            )


def _group_by_application(census: Census) -> Iterator[list[Template]]:
    """The templates that YuniKorn schedules, by application: without a name all of a namespace are one."""
    found: dict[Key, list[Template]] = {}
    for template in census.scheduled_by("yunikorn"):
        if template.pods != 0:
            told = (as_text(as_mapping(template.metadata.get(part)).get(key)) for part, key in _APPLICATION)
            found.setdefault((template.item.space, next(filter(None, told), "")), []).append(template)
    yield from found.values()


def _annotation(template: Template, key: str) -> str:
    return as_text(as_mapping(template.metadata, "annotations").get(key))


def _read_groups(text: str) -> tuple[dict[str, tuple[int, Resources]], str]:
    """The minimum of each task group by name and what a placeholder of it takes, or what is wrong with the text."""
    from krmfn.krm.json_reading import load_json

    try:
        entries: Any = load_json(text)
    except ValueError as mistake:
        return {}, f"this is not JSON ({mistake})"
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        return {}, "this is not a list of task groups"
    for entry in entries:
        for key, right in (
            ("name", bool(as_text(entry, "name"))),
            ("minMember", (as_int(entry, "minMember") or 0) > 0),
            ("minResource", isinstance(entry.get("minResource"), dict)),
        ):
            if not right:
                return {}, f"a task group has no {key}" if key not in entry else f"{key} of a task group is wrong"
    return {entry["name"]: (entry["minMember"], read_resources(entry["minResource"])) for entry in entries}, ""
