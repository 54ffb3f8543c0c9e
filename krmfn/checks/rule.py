"""A rule is one row of `schemas/rules.json` and the function that finds it. Here: how the two meet, phrases that
several rules use, how what was found is put into words, and how a stage runs its rules. Knows no rule."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from string import Formatter
from typing import Any, NamedTuple, TypeAlias

from krmfn.config import Settings
from krmfn.krm.item import Item, Items
from krmfn.krm.paths import Path
from krmfn.krm.results import ABSENT, Severity
from krmfn.model.findings import Finding, Findings, Rule
from krmfn.model.marks import is_generated
from krmfn.model.quantity import format_quantity
from krmfn.model.rules import RULES
from krmfn.model.values import Key, Value
from krmfn.model.wording import count, join
from krmfn.releases.release import GROUP, has
from krmfn.releases.spelling import as_written
from krmfn.survey.census import Census, Template, take_census
from krmfn.survey.facts import Amounts
from krmfn.survey.groups import Group
from krmfn.survey.members import Member

SCHEDULER = "kube-scheduler"
#: The topics of the stage scheduler whose rules hold where the scheduler does not know gangs.
WITHOUT_GANGS = tuple(f"krmfn.checks.scheduler.{name}" for name in ("fit", "hindrances", "gating"))
#: Those whose rules only speak of pods: groups alone give them nothing to find, and they are not loaded.
OF_PODS = tuple(f"krmfn.checks.scheduler.{name}" for name in ("hindrances", "reuse", "configuration"))


class Match(NamedTuple):
    """What a rule found: `about` fills in the texts of the row's `case`. `severity` overrides the rule's."""

    item: Item
    path: Path
    current: Any
    proposed: Any
    severity: Severity | None
    case: str
    about: Value


#: What the function of a rule yields.
Matches: TypeAlias = "Iterator[Finding | Match]"


def tell(
    place: Item | Template | Group,
    path: Path,
    /,
    current: Any = ABSENT,
    proposed: Any = ABSENT,
    *,
    error: bool = False,
    warning: bool = False,
    info: bool = False,
    case: str = "",
    **about: Any,
) -> Match:
    """What a rule found at a path of an item, of the spec of a template's pods, or of a group's fields. The texts may
    also name the {item}, the {path}, the {current} value and the {release}. It is an `error`, a `warning` or an `info`
    where facts decide, and else what its row says."""
    severity: Severity | None = "error" if error else "warning" if warning else "info" if info else None
    if isinstance(place, Item):
        return Match(place, path, current, proposed, severity, case, about)
    whole = (*(place.spec_path if isinstance(place, Template) else place.path), *path)
    return Match(place.item, whole, current, proposed, severity, case, about)


def tell_mark(template: Template, part: str, key: str, current: Any = ABSENT, /, **about: Any) -> Match:
    """What a rule found at a label or an annotation (`part`) of the pods of a template."""
    return tell(template.item, (*template.path, "metadata", part, key), current, **about)


def tell_quorum(group: Group, proposed: Any = ABSENT, /, **about: Any) -> Match:
    """What a rule found about the quorum of a group."""
    return tell(group.item, group.quorum_path, group.quorum, proposed, **about)


def name_all(items: Iterable[Item]) -> str:
    """`Job a and RayCluster b`; more than three are cut."""
    names = [f"{item.kind} {item.name}" for item in items]
    return join([*names[:3], count(len(names) - 3, "more object")] if len(names) > 3 else names)


def sum_up(templates: Iterable[Template]) -> str:
    """Where a number of pods comes from: `Job a 5, RayCluster b 3`."""
    totals: Amounts = defaultdict(int)
    for template in templates:
        name = f"{template.item.kind} {template.item.name}"
        totals[name] += template.pods or 0
    return ", ".join(f"{name} {pods}" for name, pods in totals.items())


def name_min_count(group: Group, item: Item) -> str:
    """`minCount`, as the group calls it, for a hint that changes it; of a group that was generated for `item`, where:
    an edit of the group would be lost."""
    field = group.counted
    if not is_generated(group.item):
        return field
    return f"{field} (annotation krmfn.dev/min-count on {item.kind} {item.name})"


def suggest(name: str, known: Iterable[str]) -> str:
    """` (did you mean "x"?)`, empty without a near name. Looks at few: inputs are large, and all may be wrong."""
    alike = (other for other in islice(known, _LOOKED_AT) if abs(len(other) - len(name)) <= 4)
    from difflib import get_close_matches  # only on mistakes: it costs start-up time

    near = get_close_matches(name, islice(alike, _COMPARED), 1)
    return f' (did you mean "{near[0]}"?)' if near else ""


_LOOKED_AT = 200
_COMPARED = 20


def group_names(keys: Iterable[Key]) -> dict[str, list[str]]:
    """Names by namespace."""
    names = defaultdict(list)
    for namespace, name in keys:
        names[namespace].append(name)
    return names


class _Filler(Formatter):
    """Fills in the texts of rows: `{group.name}`, `{pods:count pod}` (see _FORMS), `{name:or none}`."""

    def format_field(self, value: Any, format_spec: str) -> str:
        """A value in the form that stands behind its colon."""
        form, _, word = format_spec.partition(" ")
        if form == "count":
            return count(value if isinstance(value, int) else len(value), word)
        if form == "or":
            return str(value or word)
        return _FORMS[form](value) if form in _FORMS else str(super().format_field(value, format_spec))


_FORMS: Mapping[str, Callable[[Any], str]] = {
    "amount": lambda amount: str(format_quantity(amount)),
    "dots": lambda path: ".".join(map(str, path)),
    "join": join,
    "last": lambda path: str(path[-1]),
    "len": lambda values: str(len(values)),
    "list": ", ".join,
    "names": name_all,
    "sum": sum_up,
}


def spell(rule: Rule, told: Match, settings: Settings) -> Finding:
    """The finding, in the words of the rule's row."""
    item, path, current, proposed, severity, case, about = told
    texts = rule.cases[case] if case else {}
    given = {"item": item, "path": path, "current": current, "release": settings.release, **about}
    message, hint = (
        _Filler().vformat(texts.get(key, usual), (), given)
        for key, usual in (("message", rule.message), ("hint", rule.hint))
    )
    return Finding(item, path, message, current, proposed, hint, rule=rule.id, severity=severity)


_Rule: TypeAlias = "Callable[..., Iterable[Finding | Match]]"
Find: TypeAlias = 'Callable[["Census", "Settings"], Iterable[Finding]]'


class Check(NamedTuple):
    """A row of the catalogue and the pure function that finds it."""

    rule: Rule
    find: Find


def rule(rule_id: str, once: bool = False) -> Callable[[_Rule], Check]:
    """Makes a rule of a function and its row, in the part of `schemas/rules.json` that is called like the package.

    The function takes the census, and the settings where it asks them something. `once`: of an object only the first
    finding counts.
    """
    row = RULES[rule_id]

    def make(find: _Rule) -> Check:
        asks_settings = find.__code__.co_argcount > 1

        def ask(census: Census, settings: Settings) -> Findings:
            seen = set()
            for found in find(census, settings) if asks_settings else find(census):
                if not once or id(found.item) not in seen:
                    seen.add(id(found.item))
                    yield found if isinstance(found, Finding) else spell(row, found, settings)

        return Check(row, ask)

    return make


def list_topics(stage: str) -> list[str]:
    """The modules that hold the rules of a stage: its package lists them in TOPICS."""
    # What importlib.import_module does, without importing importlib.
    package = __import__(f"krmfn.checks.{stage}", fromlist=["TOPICS"])
    return [f"{package.__name__}.{name}" for name in package.TOPICS]


def list_checks(topic: str) -> tuple[Check, ...]:
    """The rules of a module, in the order of its text."""
    module = __import__(topic, fromlist=["*"])
    return tuple(value for value in vars(module).values() if isinstance(value, Check))


def is_obeyed(census: Census, settings: Settings, feature: str) -> bool:
    """Whether the cluster's scheduler has a feature, as far as settings and facts say which gates are on there."""
    return has(settings.release, {**settings.feature_gates, **census.facts.gates.get(SCHEDULER, {})}, feature)


def _list_bound(census: Census) -> frozenset[int]:
    """Objects of gangs that manifests bind to nodes by name, enough pods for the quorum: nothing keeps these from
    running. A gang by its identity, a pod template by that of its object."""
    found = set()
    for gang in census.gangs_with("nodeName"):
        pods = sum(template.pods or 0 for template in gang.templates if template.spec.get("nodeName"))
        if pods and pods >= ((gang.quorum if gang.group.policy == "gang" else 1) or 1):
            found |= {id(gang.group.item), *(id(template.item) for template in gang.templates)}
    return frozenset(found)


def run(stage: str, census: Census, settings: Settings) -> Findings:
    """The findings of every rule of a stage that holds for the settings' release. A scheduler in which a gate is off
    does not fail by the rules of what the gate brings."""
    gangs = stage != "scheduler" or is_obeyed(census, settings, "gang-scheduling")
    bound = _list_bound(census) if stage == "scheduler" else frozenset()
    topics = [
        topic
        for topic in list_topics(stage)
        if (gangs or topic in WITHOUT_GANGS) and (census.templates or topic not in OF_PODS)
    ]
    for row, find in (check for topic in topics for check in list_checks(topic)):
        if stage == "scheduler" and row.needs and not is_obeyed(census, settings, row.needs):
            continue
        if row.holds(settings.release):
            for finding in find(census, settings):
                item, path, severity = finding.item, finding.path, finding.severity
                if item.group == GROUP:
                    path = as_written(item.value, path, settings.release)
                if id(item) in bound and (severity or row.severity) == "error" and row.id not in _REFUSED:
                    severity = "warning"
                yield finding._replace(path=path, severity=severity)


#: Rules by which pods are never created, wherever they are bound to.
_REFUSED = ("pod-refused", "priority-class-missing", "quota-too-small")


def check_stages(
    stages: Collection[str],
    objects: Items,
    members: Sequence[Member],
    old: Items | None,
    settings: Settings,
    asking: Items,
) -> Findings:
    """The findings of those of scheduler, operator and gitops that are in `stages`.

    `members` are the pod templates that sources counted (survey.counting), `old` the earlier state if there is one,
    `asking` the objects that a gang is to be generated for.
    """
    census = take_census(objects, members, old, settings.cluster, asking)
    if "scheduler" in stages:
        yield from run("scheduler", census, settings)
    # Operators act on what makes pods: groups alone give them nothing to do.
    if "operator" in stages and any(group != "scheduling.k8s.io" for group, _ in census.by_kind):
        yield from run("operator", census, settings)
    if "gitops" in stages:
        from krmfn.checks.reading import find_problems

        yield from run("gitops", census, settings)
        yield from find_problems(census)
