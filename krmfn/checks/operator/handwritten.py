"""Groups that people write by hand for other schedulers and Kueue, and names of schedulers that are mistyped.

Sources: scheduler-plugins v0.33.5 `pkg/coscheduling/core/core.go` (PreFilter, Permit), Kueue KEP-976.
"""

from __future__ import annotations

from krmfn.checks.rule import Matches, rule, suggest, tell, tell_mark
from krmfn.model.gotext import parse_int
from krmfn.model.kinds import list_names
from krmfn.model.marks import KUEUE_POD_GROUP
from krmfn.model.schedulers import DEFAULT_SCHEDULER, SCHEDULERS, Scheduler
from krmfn.model.values import Fields, Key, as_int, as_mapping, as_text, dig
from krmfn.model.wording import join
from krmfn.survey.census import Census, Template, count_pods, group_marked, list_linked, list_schedulers

_KUEUE_TOTAL = "kueue.x-k8s.io/pod-group-total-count"
#: Where pods named their group for earlier releases of scheduler-plugins.
_OLD_LABELS = (
    *("pod-group.scheduling.sigs.k8s.io", "pod-group.scheduling.sigs.k8s.io/name", "pod-group.scheduling.x-k8s.io"),
)
#: The label of a queue in the first releases of KAI.
_OLD_QUEUE = "runai/queue"
#: The names under which schedulers are installed by default.
_SCHEDULERS = (DEFAULT_SCHEDULER, "yunikorn", *(row.name for row in SCHEDULERS.values()))


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
        for item, templates in list_linked(census, row):
            wanted, exist = as_int(item.value, "spec", "minMember"), count_pods(templates)
            if templates and wanted is not None and exist is not None and wanted > exist:
                yield tell(item, ("spec", "minMember"), wanted, exist, exist=exist, templates=templates)


@rule("scheduler-group-missing")
def find_group_missing(census: Census) -> Matches:
    """No PodGroup of that name in the namespace of the pods; an error where groups are in the input."""
    for choice, row in SCHEDULERS.items():
        groups, there = census.kind(row.group, "PodGroup"), _name_groups(census, row)
        for (space, name), template in _find_naming(census, row, row.name).items():
            if (space, name) in there:
                continue
            elsewhere = sorted(item.namespace or "no namespace" for item in groups if item.name == name)
            if elsewhere:
                why = f'the PodGroup "{name}" is in another namespace ({join(elsewhere)})'
            else:
                near = suggest(name, [item.name for item in groups if item.space == space])
                why = f'no {choice} PodGroup "{name}" in the files checked{near}'
            yield tell_mark(template, *row.link, name, error=bool(groups), why=why, row=row)


@rule("scheduler-link-unread")
def find_link_unread(census: Census) -> Matches:
    """The key of the link on the object that makes the pods, or an annotation for a label: the group has no pods."""
    for choice, row in SCHEDULERS.items():
        alone = _name_groups(census, row)
        alone -= group_marked(census, *row.link).keys() if alone else set()
        part, key = row.link
        for template in census.templates if alone else ():
            where = [
                (path, each)
                for path, metadata in template.metadata_places
                for each in ("labels", "annotations")
                if dig(metadata, each, key)
            ]
            path, each = where[0] if where else ((), part)
            name = as_text(template.item.value, *path, "metadata", each, key)
            if (template.item.space, name) in alone and (path, each) != (template.path, part):
                yield tell(template.item, (*path, "metadata", each, key), name, choice=choice, key=key, part=part)
                break


@rule("scheduler-left-out")
def find_scheduler_left_out(census: Census) -> Matches:
    """No schedulerName beside a link to a group of the input. scheduler-plugins may be in any scheduler."""
    for choice, row in SCHEDULERS.items():
        there = _name_groups(census, row) if choice != "SchedulerPlugins" else set()
        for key, template in _find_naming(census, row, DEFAULT_SCHEDULER).items() if there else ():
            if key in there:
                yield tell_mark(template, *row.link, key[1], choice=choice, row=row)


def _name_groups(census: Census, row: Scheduler) -> set[Key]:
    """The PodGroups of another scheduler."""
    return {item.key for item in census.kind(row.group, "PodGroup")}


def _find_naming(census: Census, row: Scheduler, scheduler: str) -> dict[Key, Template]:
    """The groups that pods of a scheduler name, each with the first such pods: the key of the link may be anybody's
    where another scheduler has the pods."""
    marked = group_marked(census, *row.link).items()
    named = ((key, [each for each in templates if each.scheduler == scheduler]) for key, templates in marked)
    return {key: templates[0] for key, templates in named if templates}


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
    groups = _name_groups(census, row)
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
