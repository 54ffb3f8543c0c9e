"""The whole story: items in, gangs and findings out. Reads no file and prints nothing.

survey   which gangs do the items ask for?      (config, sources, shape)
emit     how is a gang written for this release? (targets)
place    update, add, remove, link               (reconcile)
check    what would be refused, or never run?    (checks)
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from krmfn.config import Settings, read_settings
from krmfn.config.settings import Select
from krmfn.krm.item import Item, Items, list_holding
from krmfn.krm.paths import Path
from krmfn.krm.results import ABSENT, FileRef, Result, Severity
from krmfn.krm.sharing import share
from krmfn.model.findings import STAGES, Finding, Findings, Rule, to_result
from krmfn.model.kinds import KINDS
from krmfn.model.marks import GENERATED_FROM, leave_out_local
from krmfn.model.placeholders import is_placeholder
from krmfn.model.schedulers import SCHEDULERS
from krmfn.model.tree import leaves
from krmfn.model.values import Names, Value

if TYPE_CHECKING:
    from krmfn.forecast import Ask, Outlook
    from krmfn.forecast.diagnosis import Diagnosis
    from krmfn.reconcile import Addition, Wanted
    from krmfn.survey.census import Census
    from krmfn.survey.gangs import Survey


#: Fields of objects: see Finding.place.
_Places: TypeAlias = "set[tuple[int, Path]]"


class Outcome(NamedTuple):
    """What generating made of the items. Those that stay were edited in place."""

    added: tuple[Addition, ...]
    removed: tuple[Item, ...]
    results: tuple[Result, ...]


def generate(items: Items, settings: Settings) -> Outcome:
    """Give `items` the groups and links that they ask for. Their text is edited; additions are handed out."""
    from krmfn.survey.gangs import list_present, survey

    found = survey(items, settings)
    # What an earlier run left may be stale, and has to go then.
    again = any(item.group in GENERATED_GROUPS for item in list_holding(items, b"scheduling."))
    if not found.asked and not again:
        return Outcome((), (), to_results(found.findings))
    from krmfn.reconcile import reconcile

    wanted, findings = _write(found, items, settings)
    asking = {id(item) for asked in found.asked for item in asked.items} | {id(item) for item in found.undecided}
    # What is there for the first time has no earlier links, but the names of operators count.
    present = list_present(items) if again or settings.kuberay.manages != "None" else ()
    released = [item for item in present if id(item) not in asking]
    done = reconcile(items, wanted, released, settings.kuberay.manages)
    preview = _tell_preview([item for asked in found.asked for item in asked.items], settings)
    return Outcome(done.added, done.removed, to_results([*findings, *done.findings, *preview]))


class Candidate(NamedTuple):
    """A resource of which nobody said whether it is to be a gang. `pods` are those that it would have, None where krmfn
    would make no group; `notes` are sentences about what is in the way."""

    item: Item
    pods: int | None
    notes: Names


def list_candidates(items: Items, settings: Settings) -> list[Candidate]:
    """What could be gangs, each judged as if all were asked to be. Edits `items`. Raises ConfigError."""
    from krmfn.survey.gangs import list_unasked, survey

    unasked = list_unasked(items, settings)
    if not unasked:
        return []
    asked = settings._replace(select=Select("All"))
    pods = {id(gang.items[0]): sum(leaf.pods for leaf in leaves(gang.gang.root)) for gang in survey(items, asked).asked}
    made, results = _make(items, asked)
    judged = validate(made, asked, stages=("operator", "scheduler"))

    def list_notes(item: Item) -> Iterator[str]:
        is_made = id(item) in pods
        for each in judged if is_made else results:
            if each.ref == item.ref and not (is_made and each.severity == "info"):
                hint = "" if is_made else each.tags.get("hint", "")
                yield f"{each.message} [{each.tags['rule']}]{hint and f'. {hint}'}"

    return [Candidate(item, pods.get(id(item)), tuple(dict.fromkeys(list_notes(item)))) for item in unasked]


def run_functions(items: Items, configurations: Iterable[Value], file: FileRef) -> Items:
    """The objects as our function returns them, with each of its configurations in turn. What it makes is in `file`.

    Raises ConfigError.
    """
    for settings in read_functions(items, configurations):
        if settings.mode != "Validate":
            items = complete(items, settings, file)[0]
    KINDS.put_aside()
    return items


def read_functions(items: Items, configurations: Iterable[Value]) -> list[Settings]:
    """The settings of our functions in a build. Of the kinds of the user those alone are known from now on that the
    functions know: those among their items, and in their configurations. Raises ConfigError."""
    if KINDS.own:
        from krmfn.config.kinds import use_only  # few have any

        use_only(items)
    return [*map(read_settings, configurations)]


def complete(items: Items, settings: Settings, file: FileRef | None = None) -> tuple[list[Item], tuple[Result, ...]]:
    """The objects as they would be applied: with the groups that they hold, or else with those that they ask for."""
    return (list(items), ()) if is_complete(items) else _make(items, settings, file)


def _make(items: Items, settings: Settings, file: FileRef | None = None) -> tuple[list[Item], tuple[Result, ...]]:
    """The objects with the groups that they ask for, and what there is to say of them."""
    outcome = generate(items, settings)
    gone = {id(item) for item in outcome.removed}
    kept = [item for item in items if id(item) not in gone]
    return [*kept, *(Item.hold(addition.value, file) for addition in outcome.added)], outcome.results


def is_complete(items: Iterable[Item]) -> bool:
    """Whether the function or `krmfn generate` has run over the items before, by the marks that they leave."""
    mark = GENERATED_FROM.encode()
    return any(
        item.group in GENERATED_GROUPS and GENERATED_FROM in item.annotations for item in list_holding(items, mark)
    )


def validate(items: Items, settings: Settings, stages: Collection[str] = STAGES) -> tuple[Result, ...]:
    """What is wrong with `items`."""
    return to_results(find_all(items, settings, None, stages, "apply"))


def find_all(items: Items, settings: Settings, old: Items | None, stages: Collection[str], update: str) -> Findings:
    """What is wrong with `items`, and with the step from `old` to them, stage by stage. `update` is how the change is
    sent: "apply", "server-side-apply" or "replace"."""
    items = leave_out_local(items)
    yield from _tell_preview(items, settings)
    told: _Places = set()
    above: _Places = set()
    others: list[tuple[Sequence[Finding], ...]] = []

    def find_others() -> None:
        if set(stages) - {"server"}:
            others.append(_find_others(items, settings, old, stages))

    def is_told(finding: Finding) -> bool:
        """One mistake is one finding; where nothing is, what is missing in it is the same mistake."""
        return finding.place in told or (finding.current is ABSENT and finding.place in above)

    links: list[Finding] = []  # unknown fields that another release has, and classes: a rule may say more of them
    if "server" in stages:
        from krmfn.checks import server
        from krmfn.releases.spelling import LINK_FIELDS

        for finding in server.check(items, old, settings, update, find_others):
            if (finding.rule, finding.path) == _OF_SELECTOR and (id(finding.item), ("spec", "selector")) in told:
                continue  # where there is none, no labels fit it
            if _rate(finding) == "error":
                told.add(finding.place)
                above.update((id(finding.item), finding.path[:end]) for end in range(1, len(finding.path)))
            if finding.rule in _OF_PODS or (finding.rule == "unknown-field" and finding.path[-1] in LINK_FIELDS):
                links.append(finding)
            else:
                yield finding
    else:
        find_others()
    noted: _Places = set()
    for of_members, of_gangs, of_stages in others:
        for finding in of_members:
            if not is_told(finding):
                told.add(finding.place)
                yield finding
        for finding in of_gangs:
            if _find_row(finding).severity != "error":
                yield finding
            elif not is_told(finding):
                if _rate(finding) == "error":
                    noted.add(finding.place)
                yield finding
        for finding in of_stages:
            again = "deadlock" in _find_row(finding).traits and finding.place in noted
            links = [each for each in links if not _explains(finding, each)]
            if finding.rule in _OF_PLACEHOLDERS or not (again or is_placeholder(finding.current)):
                yield finding
    yield from links


def _find_others(
    items: Items, settings: Settings, old: Items | None, stages: Collection[str]
) -> tuple[Sequence[Finding], ...]:
    """The findings beside those of the server: of counting pods, of generating groups, and of the other stages."""
    from krmfn.checks.rule import check_stages
    from krmfn.survey.counting import count_members
    from krmfn.survey.gangs import list_present, survey

    found = survey(items, settings)
    asking = [item for asked in found.asked for item in asked.items]
    members, notes = count_members(list_present(items), items, settings)
    known = {id(item) for item in asking}
    notes = [finding for finding in notes if id(finding.item) not in known]
    # What is there already was made by a configuration that may not be this one: it is checked as it is.
    of_gangs = found.findings if is_complete(items) else _write(found, items, settings)[1]
    return notes, of_gangs, [*_join_renamed([*check_stages(stages, items, members, old, settings, asking)])]


def _explains(finding: Finding, other: Finding) -> bool:
    """Whether a finding about pods is the same mistake as what the server says of their field, or of their group."""
    if finding.rule == _OTHER_LINK:
        return other.item is finding.item and other.path == finding.path
    same = finding.current == other.current or f"({other.current})" in finding.message
    return finding.rule == _OF_PODS.get(other.rule) and other.item.space == finding.item.space and same


def _join_renamed(findings: Sequence[Finding]) -> Findings:
    """The findings, where one that names a prefix or suffix, or a link of another release, stands for what follows from
    it: references to nothing, and groups that nothing links to. The first is as severe as they are."""
    causes = ("renamed-reference", _OTHER_LINK)
    renamed = {each.place: each for rule in causes for each in findings if each.rule == rule}
    unused = {(each.item.space, each.proposed) for each in renamed.values()}
    severe: set[int] = set()
    kept = []
    for finding in sorted(findings, key=lambda finding: finding.rule == "group-unused"):
        places = ((id(finding.item), finding.path[:end]) for end in range(len(finding.path), 0, -1))
        cause = next(filter(None, map(renamed.get, places)), None) if finding.rule in _OF_RENAMED else None
        if cause and _rate(finding) == "error":
            severe.add(id(cause))
        if cause and cause.rule == _OTHER_LINK:
            unused |= {(finding.item.space, name) for name in str(finding.current).split("/")}
        if not cause and (finding.rule != "group-unused" or finding.item.key not in unused):
            kept.append(finding)
    return (each._replace(severity="error") if id(each) in severe else each for each in kept)


def foresee(items: Items, settings: Settings, simulator: Ask | None = None, kueue: Ask | None = None) -> Outlook:
    """What would become of the gangs of `items` in the cluster of the settings' facts. `simulator` asks the scheduler
    of the release, `kueue` the manager of Kueue; without them only what is proved is said."""
    from krmfn.checks import server
    from krmfn.survey.counting import count_all

    census = count_all(items, settings)
    scheduling, operators = _check_gangs(census, settings)
    found = [*server.check(items, None, settings, "apply"), *scheduling]
    return _forecast(census, settings, found, operators, simulator, kueue)


def explain(items: Items, settings: Settings, item: Item, simulator: Ask | None = None) -> Diagnosis:
    """Why an object does not run. `items` are all objects that a cluster has, `item` is one of them. What the server
    took is not judged again."""
    from krmfn.forecast.diagnosis import diagnose
    from krmfn.survey.counting import count_all

    census = count_all(items, settings)
    scheduling, operators = _check_gangs(census, settings)
    rated = [finding._replace(severity=_rate(finding)) for finding in (*scheduling, *operators)]
    return diagnose(item, items, census, _forecast(census, settings, scheduling, operators, simulator), rated)


def _check_gangs(census: Census, settings: Settings) -> tuple[list[Finding], list[Finding]]:
    """What the scheduler, with the gates that are off, and the operators would say."""
    from krmfn.checks.rule import run
    from krmfn.checks.scheduler.gating import list_gates_off

    scheduling, operators = ([*run(stage, census, settings)] for stage in ("scheduler", "operator"))
    return [*scheduling, *list_gates_off(census, settings)], operators


def _forecast(
    census: Census,
    settings: Settings,
    found: Sequence[Finding],
    operators: Sequence[Finding],
    simulator: Ask | None,
    kueue: Ask | None = None,
) -> Outlook:
    """What the server and the scheduler (`found`), and the operators, would make of the gangs."""
    from krmfn.checks.rule import is_obeyed
    from krmfn.forecast import forecast
    from krmfn.forecast.standing import ELSEWHERE, GROWS

    # A missing group may be in the cluster, and is only a warning then; if it is not, its pods never start.
    errors = [finding for finding in found if _rate(finding) == "error" or finding.rule == "group-missing"]
    unmade = [
        finding
        for finding in operators
        if finding.rule == ELSEWHERE
        or "deadlock" in _find_row(finding).traits
        or ("unmade" in _find_row(finding).traits and _rate(finding) == "error")
    ]
    doubts = [each for each in (*found, *operators) if _is_doubt(each, simulator) and _rate(each) == "warning"]
    doubts[:0] = [finding for finding in found if finding.rule == GROWS]
    gangs, trees = is_obeyed(census, settings, "gang-scheduling"), is_obeyed(census, settings, "composite-groups")
    return forecast(census, settings, errors, simulator, gangs, trees, unmade, doubts, kueue)


def _is_doubt(finding: Finding, simulator: Ask | None) -> bool:
    """Whether a warning says that a gang may not start: its rule does, or proves it where more is known. What the
    scheduler is asked about is not a matter of warnings."""
    rule = _find_row(finding)
    proves = simulator is None and rule.stage == "scheduler" and rule.severity == "error"
    return proves or not {"unmade", "hindering"}.isdisjoint(rule.traits)


def _tell_preview(items: Items, settings: Settings) -> Findings:
    """Once, that what is said of the release was read from a version before it."""
    release = settings.release
    if release.preview and items:
        message = f"Kubernetes {release} is not released yet: krmfn uses its API types (preview: {release.version})"
        yield Finding(items[0], (), message, rule="release-preview")


def describe_scope(worlds: Iterable[tuple[Items, Settings]]) -> str:
    """How many objects of all worlds the stage `server` validates fully; empty where it is all of them."""
    from krmfn.checks.server.scope import describe_scope

    return describe_scope(worlds)


def _rate(finding: Finding) -> Severity:
    """The severity that the finding's result will have."""
    return finding.severity or _find_row(finding).severity


def _find_row(finding: Finding) -> Rule:
    from krmfn.model.rules import RULES  # many runs find nothing

    return RULES[finding.rule]


def to_results(findings: Iterable[Finding], edits: bool = False) -> tuple[Result, ...]:
    """Findings as results, in no particular order; the reports sort. `edits` adds the edit that would mend each."""
    findings = tuple(findings)
    if not findings:
        return ()
    results = share(lambda finding: to_result(finding, _find_row(finding)), findings)
    if not edits:
        return tuple(results)
    from krmfn.reconcile.fixes import find_edits

    open_to_all = [each for each, told in zip(findings, results, strict=True) if told.proposed == each.proposed]
    found = find_edits(open_to_all)  # of those in which nothing is hidden
    return tuple(each._replace(edit=found.get(id(finding))) for finding, each in zip(findings, results, strict=True))


def _write(found: Survey, items: Iterable[Item], settings: Settings) -> tuple[list[Wanted], list[Finding]]:
    """Every gang as its target writes it, checked as the API server would, and all that there is to say so far."""
    findings = list(found.findings)
    if not found.asked:
        return [], findings
    from krmfn.checks.generated import check_generated
    from krmfn.reconcile import Wanted
    from krmfn.targets import emit
    from krmfn.targets.emission import Emission, note_gates

    wanted: list[Wanted] = []
    objects: list[Value] = []
    accepted: set[str] = set()
    kind = ("scheduling.k8s.io", "PriorityClass")
    classes = [item for item in list_holding(items, b"PriorityClass") if item.group_kind == kind]
    informed = settings
    if classes or settings.cluster:
        from krmfn.survey.facts import read_facts

        facts = read_facts(settings.cluster, {kind: classes})
        informed = settings._replace(priority_classes=facts.priority_classes)
    for gang, owners, shaping in found.asked:
        findings += shaping
        # What is refused already is not written: the API server would only refuse it again.
        refused = any(_rate(finding) == "error" for finding in shaping)
        emission = Emission((), (), ()) if refused else emit(gang, informed)
        wanted.append(Wanted(gang, owners, emission))
        findings += [note.on(owners[0]) for note in emission.notes]
        findings += check_generated(wanted[-1], settings, accepted)
        objects += emission.objects
    note = note_gates(settings.release, objects, settings.feature_gates)
    if note:
        findings.append(note.on(found.asked[0].items[0]))
    return wanted, findings


#: Rules that speak about values that are filled in later; no other rule can know what they will be.
_OF_PLACEHOLDERS = ("substitution-in-group",)
#: What the server says of a group, and the rule that says it of its pods.
_OF_PODS = {"priority-class": "priority-class-missing", "preemption-policy-of-class": "pod-refused"}
_OF_SELECTOR = ("pod-selector", ("spec", "template", "metadata", "labels"))
#: It explains why a field is unknown.
_OTHER_LINK = "link-of-other-release"
#: Rules that also find a reference which renamed-reference explains.
_OF_RENAMED = ("group-missing", "template-missing", "parent-missing")
GENERATED_GROUPS = ("scheduling.k8s.io", *(row.group for row in SCHEDULERS.values()))
