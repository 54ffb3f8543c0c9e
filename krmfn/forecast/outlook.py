"""From findings and trials to verdicts; also whether pods of others take away what keeps a gang from starting alone."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from krmfn.capacity import may_refuse
from krmfn.capacity.admission import find_refusal
from krmfn.capacity.pods import PodKind, has_wishes, read_kinds, selects
from krmfn.capacity.quotas import counts, list_usage
from krmfn.config import Settings
from krmfn.forecast.admitting import Admission, admit, asks_only, grow, list_queued, obey
from krmfn.forecast.question import Ask, ask, list_untold
from krmfn.forecast.roster import Pod, Roster, call_roll, full_name, list_parts
from krmfn.forecast.standing import ELSEWHERE, GROWS, PREEMPTED, Outlook, Place, Standing, Verdict, find_key, list_loads
from krmfn.model.findings import Finding, Findings
from krmfn.model.quantity import add
from krmfn.model.schedulers import DEFAULT_SCHEDULER
from krmfn.model.selectors import match_labels
from krmfn.model.values import Fields, Value, as_mapping, group_by
from krmfn.model.wording import join
from krmfn.survey.census import Census, LinkedGang, Template
from krmfn.survey.facts import Amounts, Facts, Quota
from krmfn.survey.groups import Group, GroupKey

#: What was found about each object, by its identity.
_About = Mapping[int, Sequence[Finding]]

#: Seeds of trials: 0 is the order of the input; odd ones make the pods before their groups.
TOGETHER = (0, 3, 4)
ALONE = (1, 2, 3, 5, 7, 9, 11, 13, 15, 17)


class _RootedTree(NamedTuple):
    """A root with the gangs below it."""

    root: Group
    gangs: tuple[LinkedGang, ...]

    @property
    def templates(self) -> list[Template]:
        """The templates of its pods."""
        return [template for gang in self.gangs for template in gang.templates]


def forecast(
    census: Census,
    settings: Settings,
    errors: Iterable[Finding],
    simulator: Ask | None,
    gangs: bool,
    trees: bool,
    unmade: Sequence[Finding],
    doubts: Sequence[Finding],
    kueue: Ask | None,
) -> Outlook:
    """The outlook of every gang of a census. `errors` are what the checks found about its objects: a gang of which
    they say that it never starts is not tried. `unmade` say that controllers do not make the pods of a gang, or not
    enough of them: those take no room. `doubts` are warnings that a gang may not start. `gangs`, `trees`: whether the
    cluster's scheduler knows groups, and composite groups. `kueue` is asked before the scheduler: what it does not
    admit has no pods."""
    roster = call_roll(census)
    admissions = admit(census, roster, kueue) if kueue is not None else {}
    roster, waits = obey(roster, admissions, census)
    found = [*_grow(census, trees), *(_RootedTree(gang.group, (gang,)) for gang in grow(census, admissions))]
    absent = _blame(found, unmade, census)
    blamed, doubted = _blame(found, errors, census) | absent, _blame(found, doubts, census)
    refused = _admit((*roster.bound, *roster.waiting), census) | waits
    decided = {}
    for tree in found:
        jobs = dict.fromkeys(id(template.item) for template in tree.templates)
        decided[tree.root.key] = tuple(admissions[job] for job in jobs if job in admissions)
        if tree.root.key in absent:
            refused |= dict.fromkeys((pod.name for pod in roster.pods_of(tree.templates)), _UNMADE)
    trials = _Trials(census, roster, refused, trees)
    if simulator is not None and census.facts.nodes is not None:
        held = {key for key, each in decided.items() if not all(one.told["podSets"] for one in each)}
        trials.run(found, {*blamed, *held}, settings, simulator)
    standings = []
    for tree in found:
        doubt = doubted.get(tree.root.key)
        standing = trials.judge(tree, blamed.get(tree.root.key))
        standings.append(_doubt(_heed(standing, decided[tree.root.key], doubt), tree, doubt, census))
    standings += _list_lost(census, roster, _index(errors)) if gangs else ()
    facts = census.facts
    ordered = sorted(standings, key=lambda standing: -_priority(standing, facts))
    linked = {id(template) for tree in found for template in tree.templates}
    linked |= {id(template) for template in census.dangling if gangs}
    loose = tuple(
        trials.place(pod, trials.first)
        for pod in roster.waiting
        if pod.template is None or id(pod.template) not in linked
    )
    key = find_key(facts, ordered)
    bound = [pod for pod in roster.bound if pod.name not in trials.gone]
    loads = None if facts.nodes is None else list_loads(facts, ordered, bound, loose, key)
    release = str(settings.release) if trials.results else ""
    return Outlook(tuple(ordered), loads, key, loose, release, tuple(trials.gone), bool(list_queued(census)))


def _grow(census: Census, trees: bool) -> Iterator[_RootedTree]:
    """Every root that has pods, with the gangs below it, in the order of the input."""

    def find_root(gang: LinkedGang) -> Group:
        return census.root(gang.group) if trees else gang.group

    def tell_apart(gang: LinkedGang) -> object:
        root = find_root(gang)
        return root.key if root.composite else id(gang)  # 1.35: every replica key is a gang

    for gangs in group_by(tell_apart, (gang for gang in census.gangs if gang.templates)).values():
        yield _RootedTree(find_root(gangs[0]), tuple(gangs))


def _doubt(standing: Standing, tree: _RootedTree, doubt: Finding | None, census: Census) -> Standing:
    """A standing with what may be in the way, or is not known."""
    if doubt and doubt.rule == GROWS and any(map(asks_only, standing.admissions)):
        lack = doubt.message.partition(";")[0]
        standing = standing._replace(verdict="never", why=f"{_ASKS_ONLY}: {lack}", way_out=_ASK_FOR_MORE)
    elif doubt and doubt.rule == GROWS and standing.verdict != "runs":
        standing = standing._replace(verdict="grows", why=doubt.message)
    elif doubt and not standing.why:
        standing = standing._replace(why=doubt.message, way_out=doubt.hint, rule=doubt.rule)
    untold = list_untold(tree.templates, census.facts)
    if untold and not standing.why and standing.verdict in ("runs", "open"):
        return standing._replace(why=f"not checked: whether {join(untold)} exists", way_out=_TELL_CLAIMS)
    return standing


def _heed(standing: Standing, admissions: tuple[Admission, ...], doubt: Finding | None) -> Standing:
    """What is proved comes first, then what Kueue decides, then what the scheduler would do."""
    standing = standing._replace(admissions=admissions)
    if standing.rule or not admissions:
        return standing
    told = next((each.told for each in admissions if not each.told["podSets"]), admissions[0].told)
    otherwise = any(each.told.get("otherwise") for each in admissions)
    if told["podSets"]:
        if otherwise and standing.verdict in ("runs", "open"):
            return standing._replace(verdict="depends", why=_LAST_FIRST.format("would not admit"))
        others = standing.verdict == "never" and any(each.told["choice"] for each in admissions)
        return standing._replace(verdict="depends") if others else standing
    verdict: Verdict = told["state"] if told["state"] in ("waits", "never") else "open"
    verdict = "depends" if otherwise else verdict
    why, way_out = told.get("why", ""), told.get("change", "")
    why = why or f"the simulator of Kueue makes no Workload of this {admissions[0].job.kind}"
    if doubt and doubt.rule.startswith("kueue-"):  # in words that say more
        why, way_out = doubt.message, doubt.hint
    why += f"; {_LAST_FIRST.format('would admit')}" if otherwise else ""
    return standing._replace(verdict=verdict, why=why, way_out=way_out)


_LAST_FIRST = "if the last job came first, Kueue {} it"


def _index(errors: Iterable[Finding]) -> _About:
    return group_by(lambda error: id(error.item), errors)


def _blame(found: Sequence[_RootedTree], errors: Iterable[Finding], census: Census) -> dict[GroupKey, Finding]:
    """For each root the first error about it, about a group below it, or about a template that links to one; of those
    that a template of several sets has alike, the one that names the root's own group."""
    about, blamed = _index(errors), {}
    for tree in found:
        groups = {group.key: group for gang in tree.gangs for group in census.lineage(gang.group)}
        mine = [
            error for group in groups.values() for error in about.get(id(group.item), ()) if _is_about(error, group)
        ]
        for template in tree.templates:
            mine += _choose(about, template, census)
        if mine:
            names = {group.name for group in groups.values()}
            alike = (each for each in mine if (each.rule, each.path) == (mine[0].rule, mine[0].path))
            named = (each for each in alike if not names.isdisjoint(re.findall(r"[^\s:;,]+", each.message)))
            blamed[tree.root.key] = next(named, mine[0])
    return blamed


def _is_about(error: Finding, group: Group) -> bool:
    """Whether an error of the group's object is about the group, and not about another one in the same object."""
    return len(group.path) < 2 or error.path[: len(group.path)] == group.path


def _choose(about: _About, template: Template, census: Census) -> Findings:
    """The errors of a template's object that are about this template, or about the whole object."""
    others = [other.path for other in census.templates_of(template.item) if other.path != template.path]
    for error in about.get(id(template.item), ()):
        if not any(path and error.path[: len(path)] == path for path in others):
            yield error


def _list_lost(census: Census, roster: Roster, about: _About) -> Iterator[Standing]:
    """Pods that link to a group that is not in the input: if it is not in the cluster either, they are never looked at;
    of one that is, the facts know only the name."""
    by_group = group_by(lambda each: (each.item.space, each.link.group if each.link else ""), census.dangling)
    for key, templates in by_group.items():
        name = "/".join(key)
        wanted = {id(template) for template in templates}
        places = tuple(Place(pod, pod.node) for pod in (*roster.bound, *roster.waiting) if id(pod.template) in wanted)
        if all(place.node for place in places):
            yield Standing(name, None, (), "runs", places)
        elif key in census.facts.groups:
            yield Standing(name, None, (), "open", places, _GROUP_UNKNOWN, _SHOW_GROUP)
        else:
            blamed = next((error for template in templates for error in _choose(about, template, census)), None)
            why, way_out, rule = (blamed.message, blamed.hint, blamed.rule) if blamed else (_NO_GROUP, "", "")
            yield Standing(name, None, (), "never", places, why, way_out, rule)


_ASKS_ONLY = "its ProvisioningRequest only checks whether the nodes that exist have room, and adds none"
_ASK_FOR_MORE = "use the class best-effort-atomic-scale-up.autoscaling.x-k8s.io in the ProvisioningRequestConfig"
_LATE = "the simulator did not finish in time"
_UNMADE = "no controller creates this pod, or only when the gang runs"
_NO_GROUP = "the group does not exist: these pods are never scheduled"
_GROUP_UNKNOWN = "the group is in the cluster, but not in the files checked: how many pods it needs is not known"
_TELL_CLAIMS = "add the claims of the cluster with --cluster (kubectl get persistentvolumeclaims,resourceclaims)"
_SHOW_GROUP = "add the manifest of the group to the files"


def _priority(standing: Standing, facts: Facts) -> int:
    return (facts.priority(standing.root.priority_class) or 0) if standing.root else 0


def _admit(pods: Iterable[Pod], census: Census, empty: bool = False) -> dict[str, str]:
    """The pods that the API server refuses, with its words. Quotas count in the order of `pods`, from what is used of
    them already; in an `empty` cluster nothing is."""
    facts = census.facts
    if not may_refuse(facts):
        return {}
    refused = {}
    used: Amounts = {}
    if not empty:
        used |= {_name(quota, name): amount for quota in facts.quotas for name, amount in quota.used.items()}
    there = set() if empty else {full_name(value) for value in facts.objects("", "Pod")}
    kinds = {id(t): kind for t in list_parts(census) for kind in read_kinds([t], facts)}
    for pod in pods:
        kind = kinds.get(id(pod.template))
        if kind is not None:
            created = pod.name in there
            refusal = None if pod.node or created else find_refusal(kind, facts)
            said = refusal.said if refusal else _exceed(kind, facts, used, bool(pod.node), created)
            if said:
                refused[pod.name] = said
    return refused


def _exceed(kind: PodKind, facts: Facts, used: Amounts, bound: bool, created: bool) -> str:
    """The words of a quota that has no room for one more pod; otherwise the pod is counted, where it was not yet."""
    usage = list_usage(kind, facts, claims=False)  # they may be there already, and in what is used
    taken = {}
    for quota in facts.quotas_within(kind.namespace):
        if not counts(quota, kind, facts) or (created and quota.used):
            continue
        for name, hard in quota.hard.items():
            amount = taken[_name(quota, name)] = usage.get(name, 0)
            if amount and used.get(_name(quota, name), 0) + amount > hard and not (bound or created):
                return f"exceeded quota: {quota.name} ({name})"
    add(used, taken)
    return ""


def _name(quota: Quota, resource: str) -> str:
    return f"{quota.namespace}/{quota.name}/{resource}"


class _Trials:
    """What the scheduler does with the pods: the `results` by the name of the trial; the trees that `started` in those
    of all gangs together, with their names; and the pods that are `gone` in the `first` one, which is shown."""

    def __init__(self, census: Census, roster: Roster, refused: Mapping[str, str], trees: bool) -> None:
        self._census, self._roster, self._refused, self._trees = census, roster, refused, trees
        self.results: dict[str, Fields] = {}
        self._started: dict[str, dict[int, str]] = {}
        self._lonely: Collection[GroupKey] = ()
        self.first: Value = {}
        self.gone = dict.fromkeys(roster.evicted)

    def run(
        self, found: Sequence[_RootedTree], blamed: Collection[GroupKey], settings: Settings, simulator: Ask
    ) -> None:
        """All together in several orders; then what did not start each time, alone."""

        def ask_for(trials: Sequence[Value]) -> dict[str, Fields]:
            return {each["name"]: each for each in simulator(ask(self._census, self._roster, settings, trials))}

        # What is proved never to start is tried once, because single pods of it may take room.
        open_trees = [tree for tree in found if tree.root.key not in blamed]
        lost = {pod.name for tree in found if tree.root.key in blamed for pod in self._roster.pods_of(tree.templates)}
        admitted = [pod.name for pod in self._roster.waiting if pod.name not in self._refused]
        others = [name for name in admitted if name not in lost]
        together = [{"name": "together 0", "seed": 0, "pods": admitted}]
        together += [{"name": f"together {seed}", "seed": seed, "pods": others} for seed in TOGETHER[1:] if open_trees]
        self.results = ask_for(together)
        self._started = {
            trial: {id(tree): tree.root.full_name for tree in found if self._starts(tree, result)}
            for trial, result in self.results.items()
        }
        first = self.results["together 0"]
        self.first = first["pods"]
        self.gone = dict.fromkeys((*first.get("preempted", ()), *self._roster.evicted))
        alone = []
        for number, tree in enumerate(open_trees):
            if any(id(tree) in names for names in self._started.values()):
                continue
            waiting, bound = self._roster.pods_of(tree.templates), self._roster.pods_of(tree.templates, bound=True)
            refused = _admit(waiting, self._census, empty=True)
            names = [pod.name for pod in waiting if pod.name not in refused]
            names += [pod.name for pod in bound] if names else []
            alone += [
                {"name": f"alone {number} {seed}", "pods": names, "empty": True, "seed": seed}
                for seed in (ALONE if _may_differ(tree, names) else ALONE[:2])
                if names
            ]
        self.results |= ask_for(alone) if alone else {}
        self._lonely = self._list_lonely(found)

    def _starts(self, tree: _RootedTree, result: Value) -> bool:
        """Whether the quorums are met, from the leaves up to the root; pods that make room for others do not count."""
        started: dict[int, int] = defaultdict(int)
        placed, gone = result["pods"], {*result.get("preempted", ()), *self._roster.evicted}
        for gang in tree.gangs:
            bound = sum(pod.name not in gone for pod in self._roster.pods_of(gang.templates, bound=True))
            bound += sum(bool(placed.get(pod.name, {}).get("node")) for pod in self._roster.pods_of(gang.templates))
            ready = bound >= (gang.group.quorum or 1)
            for parent in self._census.ancestors(gang.group) if self._trees else ():
                if not ready:
                    break
                started[id(parent.item)] += 1
                ready = started[id(parent.item)] == (parent.quorum or 1)  # just now: it counts once for its own parent
            if ready:
                return True
        return False

    def place(self, pod: Pod, placed: Value) -> Place:
        """Where a pod is among those that were `placed`."""
        if pod.name in self._refused:
            return Place(pod, "", self._refused[pod.name])
        found = placed.get(pod.name, {})
        return Place(pod, found.get("node", ""), found.get("message") or found.get("refused", ""))

    def judge(self, tree: _RootedTree, error: Finding | None) -> Standing:
        """How a tree stands, by the `error` that was found about it, or by the trials."""
        groups = tuple({gang.group.key: gang.group for gang in tree.gangs if gang.group.path}.values())
        waiting, bound = self._roster.pods_of(tree.templates), self._roster.pods_of(tree.templates, bound=True)
        staying = (Place(pod, "", PREEMPTED) if pod.name in self.gone else Place(pod, pod.node) for pod in bound)
        places = (*staying, *(self.place(pod, self.first) for pod in waiting))
        standing = Standing(tree.root.full_name, tree.root, groups, "open", places)
        if error is not None:
            standing = standing._replace(why=error.message, way_out=error.hint, rule=error.rule)
            return standing if error.rule == ELSEWHERE else standing._replace(verdict="never")
        if not self.results:
            return standing
        if other := next((each.scheduler for each in tree.templates if each.scheduler != DEFAULT_SCHEDULER), ""):
            return standing._replace(why=f"its pods name the scheduler {other}, which is not simulated")
        if not all(result.get("settled", True) for result in self.results.values()):
            return standing._replace(why=_LATE)
        together = [id(tree) in names for names in self._started.values()]
        if all(together):
            return standing._replace(verdict="runs")
        if any(together):
            return standing._replace(verdict="depends", why=self._compare_orders(tree, _summarize(places)))
        alone = self._list_alone(tree)
        starts = [self._starts(tree, result) for result in alone]
        lost = not starts and any(place.message == PREEMPTED for place in places)
        waits, depends = lost or (starts and all(starts)), tree.root.key in self._lonely or any(starts)
        verdict: Verdict = "waits" if waits else "depends" if depends else "never"
        if verdict == "never" and alone:
            places = tuple(self.place(pod, alone[0]["pods"]) for pod in waiting)
        return standing._replace(verdict=verdict, places=places, why=_summarize(places))

    def _list_alone(self, tree: _RootedTree) -> list[Fields]:
        """The trials of a tree alone."""
        names = {pod.name for pod in self._roster.pods_of(tree.templates)}
        return [
            each for trial, each in self.results.items() if trial.startswith("alone ") and names & set(each["pods"])
        ]

    def _compare_orders(self, tree: _RootedTree, why: str) -> str:
        """What becomes of a gang in another order than the one that is shown; `why` it does not start in that one."""
        shown, *others = self._started.values()
        other = next(each for each in others if (id(tree) in each) != (id(tree) in shown))
        loses = id(tree) in shown
        gaining, losing = (other, shown) if loses else (shown, other)
        rivals = [name for each, name in gaining.items() if each not in losing]
        named = join([*rivals[:3], "others"] if len(rivals) > 4 else rivals)
        if loses:
            return f"in another order {named} would start instead" if named else "in another order it would not start"
        return f"{why.rstrip('.')}; in another order it would start{f' instead of {named}' if named else ''}"

    def _list_lonely(self, found: Iterable[_RootedTree]) -> set[GroupKey]:
        """The roots that did not start alone for want of pods that others may be: those that are bound, or were placed
        in any trial, and those of gangs that may start beside them; not gangs that only wait for each other."""
        failed = {tree.root.key: tree for tree in found if any(map(_lacks_pods, self._list_alone(tree)))}
        wanted = {key: self._list_wanted(tree) for key, tree in failed.items()}
        every = [*self.results.values()] if failed else []
        alive = {name for result in every for name, place in result["pods"].items() if place.get("node")}
        alive |= {pod.name for pod in self._roster.bound}
        lonely: set[GroupKey] = set()
        while more := {key for key, names in wanted.items() if key not in lonely and names & alive}:
            lonely |= more
            alive |= {pod.name for key in more for pod in self._roster.pods_of(failed[key].templates)}
        return lonely

    def _list_wanted(self, tree: _RootedTree) -> set[str]:
        """The pods of others that may be what the pods of a tree lack."""
        facts, waiting = self._census.facts, self._roster.pods_of(tree.templates)
        own = {pod.name for pod in waiting}
        kinds = read_kinds([each for each in tree.templates if self._roster.pods_of([each])], facts)
        others = (pod for pod in (*self._roster.bound, *self._roster.waiting) if pod.name not in own)
        return {pod.name for pod in others if _is_wanted(pod, kinds, facts)}


def _may_differ(tree: _RootedTree, names: Sequence[str]) -> bool:
    """Whether the order of its pods may decide about a tree alone: they differ, or keep near others or away."""
    templates = tree.templates
    return len(templates) > 1 or len(names) < sum(each.pods or 0 for each in templates) or has_wishes(templates[0])


def _summarize(places: Iterable[Place]) -> str:
    """What the scheduler says of the pods without a node; what it says of a node rather than of the group."""
    said = [place.message for place in places if not place.node and place.message]
    about_nodes = [text for text in said if text.startswith("0/")]
    return next(iter(about_nodes or said), "")


#: What the scheduler says where a node lacks other pods, and what it says of a node that no pod makes suitable.
_LACKS_PODS = ("didn't match pod affinity rules", "didn't match pod topology spread constraints")
_LACKS_LABEL = "didn't match pod topology spread constraints (missing required label)"


def _lacks_pods(result: Value) -> bool:
    said = [(placed.get("message") or "").replace(_LACKS_LABEL, "") for placed in result["pods"].values()]
    return any(words in text for text in said for words in _LACKS_PODS)


def _is_wanted(pod: Pod, kinds: Iterable[PodKind], facts: Facts) -> bool:
    """Whether an affinity term of one of the kinds may select the pod, or a spread constraint count it."""
    own = next(iter(read_kinds([pod.template], facts)), None) if pod.template is not None else None
    space, labels = pod.name.partition("/")[0], as_mapping(pod.value, "metadata", "labels")
    for kind in kinds:
        if any(selects(term, kind, space, labels, own, facts) is not False for term in kind.together):
            return True
        may_get = own.may_get if own is not None else None
        for spread in kind.spreads:
            if space == kind.namespace and match_labels(spread.selector, labels, may_get) is not False:
                return True
    return False
