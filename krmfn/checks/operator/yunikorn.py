"""YuniKorn: task groups that it cannot read, that pods name and nobody has, or that want more pods than there are.

Source: apache/yunikorn-k8shim v1.9.0, `pkg/cache/{utils,placeholder_manager}.go` and `pkg/common/utils`. The
first pod of an application gives its task groups; a placeholder for each member takes room until a pod replaces it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from krmfn.capacity.pods import count_requests
from krmfn.checks.rule import Matches, rule, suggest, sum_up, tell_mark
from krmfn.model.values import as_int, as_mapping, as_text
from krmfn.survey.census import Census, Template, count_pods
from krmfn.survey.facts import Resources, read_resources

_NAME = "yunikorn.apache.org/task-group-name"
_GROUPS = "yunikorn.apache.org/task-groups"
#: Where a pod says its application, in the order in which YuniKorn looks.
_APPLICATION = (
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
        groups, why = _read_groups(_annotation(first, _GROUPS))
        if why:
            yield tell_mark(first, "annotations", _GROUPS, why=why)
            continue
        for template in templates:
            name = _annotation(template, _NAME)
            if name and name not in groups:
                near = suggest(name, groups)
                yield tell_mark(template, "annotations", _NAME, name, case="stranger", near=near, groups=groups)
        for name, (wanted, _room) in groups.items():
            mine = [each for each in templates if _annotation(each, _NAME) == name]
            exist, sources = count_pods(mine), f" ({sum_up(mine)})" if mine else ""
            if exist is not None and wanted > exist:
                about = {"name": name, "wanted": wanted, "exist": exist, "sources": sources}
                yield tell_mark(first, "annotations", _GROUPS, case="members", **about)


@rule("yunikorn-placeholder-too-small")
def find_placeholder_too_small(census: Census) -> Matches:
    """YuniKorn gives up the placeholders of such a group, and with them the room."""
    for templates in _group_by_application(census):
        written = next(filter(None, (_annotation(each, _GROUPS) for each in templates)), "")
        groups = _read_groups(written)[0] if written else {}
        for template in templates if groups else ():
            name, wanted = _annotation(template, _NAME), count_requests(template.spec)
            room = groups[name][1] if name in groups else wanted
            more = [key for key, amount in wanted.items() if amount > room.get(key, 0)]
            if more and template.is_whole:
                key = more[0]
                about = {"amount": wanted[key], "key": key, "most": room.get(key, 0), "more": more}
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
    """The templates that YuniKorn schedules, by application: without a name all of a namespace are one."""
    found = defaultdict(list)
    for template in census.scheduled_by("yunikorn"):
        if template.pods != 0:
            told = (as_text(template.metadata, part, key) for part, key in _APPLICATION)
            found[template.item.space, next(filter(None, told), "")].append(template)
    yield from found.values()


def _annotation(template: Template, key: str) -> str:
    return as_text(template.metadata, "annotations", key)


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
