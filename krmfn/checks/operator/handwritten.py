"""Groups that people write by hand for other schedulers and Kueue, and names of schedulers that are mistyped; task
groups that YuniKorn cannot read, that pods name and nobody has, or that want more pods than there are.

Sources: scheduler-plugins v0.33.5 `pkg/coscheduling/core/core.go` (PreFilter, Permit), Kueue KEP-976;
apache/yunikorn-k8shim v1.9.0, `pkg/cache/{utils,placeholder_manager}.go` and `pkg/common/utils`: the first pod of an
application gives its task groups; a placeholder for each member takes room until a pod replaces it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from krmfn.capacity.pods import count_requests
from krmfn.checks.rule import Matches, rule, suggest, sum_up, tell, tell_mark
from krmfn.model.gotext import parse_int
from krmfn.model.kinds import list_names
from krmfn.model.marks import KUEUE_POD_GROUP
from krmfn.model.schedulers import SCHEDULERS
from krmfn.model.values import Fields, as_int, as_mapping, as_text, dig
from krmfn.model.wording import join
from krmfn.survey.census import Census, Template, count_pods, group_marked, list_schedulers
from krmfn.survey.facts import Resources, read_resources

_KUEUE_TOTAL = "kueue.x-k8s.io/pod-group-total-count"
#: Where pods named their group for earlier releases of scheduler-plugins.
_OLD_LABELS = (
    *("pod-group.scheduling.sigs.k8s.io", "pod-group.scheduling.sigs.k8s.io/name", "pod-group.scheduling.x-k8s.io"),
)
#: The label of a queue in the first releases of KAI.
_OLD_QUEUE = "runai/queue"
#: The names under which schedulers are installed by default.
_SCHEDULERS = ("default-scheduler", "yunikorn", *(row.name for row in SCHEDULERS.values()))


@rule("scheduler-mistyped")
def find_scheduler_mistyped(census: Census) -> Matches:
    listed = census.facts.schedulers or ()
    for name, templates in list_schedulers(census).items():
        meant = next((known for known in _SCHEDULERS if _is_nearly(name, known)), "")
        for template in templates if meant and name not in listed else ():
            yield tell(template, ("schedulerName",), name, meant=meant)


@rule("scheduler-members-above-pods")
def find_members_above_pods(census: Census) -> Matches:
    for row in SCHEDULERS.values():
        items = census.kind(row.group, "PodGroup")
        groups = group_marked(census, *row.link) if items else {}
        for item in items:
            templates = groups.get((item.space, item.name), [])
            wanted, exist = as_int(item.value, "spec", "minMember"), count_pods(templates)
            if templates and wanted is not None and exist is not None and wanted > exist:
                yield tell(item, ("spec", "minMember"), wanted, exist, exist=exist, templates=templates)


@rule("scheduler-group-missing")
def find_group_missing(census: Census) -> Matches:
    """No PodGroup of that name in the namespace of the pods; an error where groups are in the input."""
    for choice, row in SCHEDULERS.items():
        groups = census.kind(row.group, "PodGroup")
        names = {(item.space, item.name) for item in groups}
        for (space, name), templates in group_marked(census, *row.link).items():
            template = next((each for each in templates if each.scheduler == row.name), None)
            if template is None or (space, name) in names:
                continue  # the key may be anybody's where another scheduler has the pods
            elsewhere = sorted(item.namespace or "no namespace" for item in groups if item.name == name)
            if elsewhere:
                why = f'the PodGroup "{name}" is in another namespace ({join(elsewhere)})'
            else:
                near = suggest(name, [item.name for item in groups if item.space == space])
                why = f'no {choice} PodGroup "{name}" in the files checked{near}'
            yield tell_mark(template, *row.link, name, severity="error" if groups else None, why=why, row=row)


@rule("scheduler-link-unread")
def find_link_unread(census: Census) -> Matches:
    """The key of the link on the object that makes the pods, or an annotation for a label: the group has no pods."""
    for choice, row in SCHEDULERS.items():
        names = {(item.space, item.name) for item in census.kind(row.group, "PodGroup")}
        names -= group_marked(census, *row.link).keys() if names else set()
        part, key = row.link
        for template in census.templates if names else ():
            where = [
                (path, each)
                for path, metadata in template.metadata_places
                for each in ("labels", "annotations")
                if dig(metadata, each, key)
            ]
            path, each = where[0] if where else ((), part)
            name = as_text(template.item.value, *path, "metadata", each, key)
            if (template.item.space, name) in names and (path, each) != (template.path, part):
                yield tell(template.item, (*path, "metadata", each, key), name, choice=choice, key=key, part=part)
                break


@rule("scheduler-left-out")
def find_scheduler_left_out(census: Census) -> Matches:
    """No schedulerName beside a link to a group of the input. scheduler-plugins may be in any scheduler."""
    for choice, row in SCHEDULERS.items():
        names = {(item.space, item.name) for item in census.kind(row.group, "PodGroup")}
        for (space, name), templates in group_marked(census, *row.link).items() if choice != "SchedulerPlugins" else ():
            template = next((each for each in templates if each.scheduler == "default-scheduler"), None)
            if template is not None and (space, name) in names:
                yield tell_mark(template, *row.link, name, choice=choice, row=row)


@rule("kai-queue-unread")
def find_queue_unread(census: Census) -> Matches:
    """The key of the label among the annotations of an object or of its pods, or that of old releases."""
    row = SCHEDULERS["KAI"]
    for template in census.scheduled_by(row.name):
        places = template.metadata_places
        if any(dig(metadata, "labels", row.queue) for _, metadata in places):
            continue
        keys = ("annotations", row.queue), ("labels", _OLD_QUEUE)
        for path, metadata, key in ((*place, key) for place in places for key in keys):
            queue = as_text(metadata, *key)
            if queue:
                yield tell(template.item, (*path, "metadata", *key), queue, row=row)
                break


@rule("scheduler-label-old")
def find_label_old(census: Census) -> Matches:
    """A label of releases before 0.25, and not the one of today."""
    row = SCHEDULERS["SchedulerPlugins"]
    groups = {(item.space, item.name) for item in census.kind(row.group, "PodGroup")}
    marked = {id(each): each for key in _OLD_LABELS for each in census.marked("labels", key)}
    for template in marked.values():
        labels = template.metadata["labels"]
        old = next(key for key in _OLD_LABELS if key in labels)
        named = (template.item.space, as_text(labels[old])) in groups
        if row.link[1] not in labels and (named or template.scheduler == row.name):
            yield tell_mark(template, "labels", old, labels[old], old=old, row=row)


@rule("kueue-group-incomplete")
def find_group_incomplete(census: Census) -> Matches:
    """The total count is missing, differs among the pods, or is more than the pods of the group."""
    for (_space, name), templates in group_marked(census, "labels", KUEUE_POD_GROUP).items():
        totals = [as_mapping(each.metadata, "annotations").get(_KUEUE_TOTAL) for each in templates]
        exist, wanted = count_pods(templates), parse_int(as_text(totals[0]))
        if wanted is None:
            case = "missing"
        elif len(set(map(str, totals))) > 1:
            case = "differs"
        elif exist is not None and wanted > exist:
            case = ""
        else:
            continue
        item, path = templates[0].item, (*templates[0].path, "metadata", "annotations", _KUEUE_TOTAL)
        about: Fields = {"name": name, "totals": sorted(map(str, totals)), "wanted": wanted, "exist": exist}
        way = f'Annotate every pod of the group {_KUEUE_TOTAL}: "{exist}", or add the other pods.'
        hint = way if exist else "Set it to the number of pods in the group."
        yield tell(item, path, case=case, templates=templates, hint=hint, **about)


@rule("min-available-above-pods")
def find_min_available_above_pods(census: Census) -> Matches:
    """The operators take minAvailable as the quorum of their group, whatever the replicas are."""
    path = ("spec", "runPolicy", "schedulingPolicy", "minAvailable")
    for kind in list_names("kubeflow.org"):
        for item in census.kind("kubeflow.org", kind):
            wanted = as_int(item.value, *path)
            templates = census.templates_of(item)
            exist = count_pods(templates)
            if wanted is None or not exist or wanted <= exist or dig(item.value, "spec", "elasticPolicy") is not None:
                continue
            yield tell(item, path, wanted, exist=exist, templates=templates)


def _is_nearly(name: str, known: str) -> bool:
    """Whether `name` begins as `known` does, and becomes it by one or two changes of a letter.

    >>> _is_nearly("vocalno", "volcano"), _is_nearly("volcano", "volcano"), _is_nearly("my-scheduler", "kai-scheduler")
    (True, False, False)
    """
    if name == known or name[:1].lower() != known[:1] or abs(len(name) - len(known)) > 2:
        return False
    row = list(range(len(known) + 1))
    for number, letter in enumerate(name, 1):
        before, row = row, [number]
        for place, other in enumerate(known):
            row.append(min(before[place + 1] + 1, row[place] + 1, before[place] + (letter != other)))
    return row[-1] <= 2


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
        groups, why = _read_groups(_annotation(first, _GROUPS)) if first else ({}, "")
        if first and why:
            yield tell_mark(first, "annotations", _GROUPS, why=why)
        for template in templates if first and not why else ():
            name = _annotation(template, _NAME)
            if name and name not in groups:
                near = suggest(name, groups)
                yield tell_mark(template, "annotations", _NAME, name, case="stranger", near=near, groups=groups)
        for name, (wanted, _room) in groups.items() if first else ():
            mine = [each for each in templates if _annotation(each, _NAME) == name]
            exist, sources = count_pods(mine), f" ({sum_up(mine)})" if mine else ""
            if first and exist is not None and wanted > exist:
                about = {"name": name, "wanted": wanted, "exist": exist, "sources": sources}
                yield tell_mark(first, "annotations", _GROUPS, case="members", **about)


@rule("yunikorn-placeholder-too-small")
def find_placeholder_too_small(census: Census) -> Matches:
    """YuniKorn gives up the placeholders of such a group, and with them the room."""
    for templates in _group_by_application(census):
        first = next((each for each in templates if _annotation(each, _GROUPS)), None)
        groups = _read_groups(_annotation(first, _GROUPS))[0] if first else {}
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
            told = (as_text(as_mapping(template.metadata.get(part)).get(key)) for part, key in _APPLICATION)
            found[template.item.space, next(filter(None, told), "")].append(template)
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
