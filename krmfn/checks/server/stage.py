"""The stage of the API server: items in, findings out. Pairs old and new, collects facts, turns causes into notes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from krmfn.checks.server.serving import (
    find_no_match,
    tell_missing,
    tell_not_known,
    tell_not_ours,
    tell_not_served,
    tell_switched_off,
    weigh_assumed,
)
from krmfn.config import Settings
from krmfn.krm.item import HEAD, Item, Items
from krmfn.krm.paths import Path, dig
from krmfn.krm.results import ABSENT
from krmfn.krm.sharing import share
from krmfn.model.findings import EditStep, Finding, Findings, Note
from krmfn.model.marks import FLUX_APPLY, PREFIX
from krmfn.model.placeholders import is_braced, spell
from krmfn.model.showing import hide
from krmfn.model.values import Names, Value, as_mapping, identify
from krmfn.releases.release import GROUP, assume_gates
from krmfn.releases.spelling import LINK_FIELDS, SCHEDULING_KINDS, find_word, read_fields
from krmfn.server.admission import AdmissionFacts
from krmfn.server.door import ask_as_sent, change_held
from krmfn.server.requests import create
from krmfn.server.schema import DEFINITION, Kind, Type, compile_schemas, find_kind
from krmfn.server.verdict import Cause, Out, Verdict, join_reasons, refused_by
from krmfn.survey.facts import read_facts

if TYPE_CHECKING:
    from krmfn.checks.server.meaning import Meaning
    from krmfn.server.custom import Given, Judgement
    from krmfn.server.shipped import Shipped, Unserved
    from krmfn.server.structure import Structure

#: What a text with placeholders has somewhere (model.placeholders), or an alias or an escape in their place.
_MAYBE_UNKNOWN = (
    r"[$<@*]|\\[uUx]|\{\{|\[\[|%\{|__|ENC\[|[A-Z][-_ ][A-Z]|CHANGEME|REPLACEME|PLACEHOLDER|[\s:\"'][A-Z]{2}"
    r"|: +\{[A-Za-z_][\w-]*\}|\.\.\.|\b[AXx]\.[BXx]\.|(?:ed|en) by "
)
#: API groups under which people write the kinds of scheduling.k8s.io: those of Kubernetes, and of other schedulers.
_KIN = re.compile(r"[\w-]*|(?:[\w-]+\.)*(?:(?:x-)?k8s|kubernetes)\.io|scheduling\.(?:volcano\.sh|run\.ai)")
_MOST_SHOWN = 60
#: Fields of a spec that only kinds of scheduling.k8s.io have.
_OWN = {"schedulingPolicy", "podGroupTemplates", "compositePodGroupTemplates", "podGroupTemplateRef", "workloadRef"}
_SUMMARY = "must validate at least one schema (anyOf)"


def check_items(
    items: Items,
    old: Items | None,
    settings: Settings,
    update: str = "apply",
    meanwhile: Callable[[], None] | None = None,
) -> Findings:
    """See krmfn.server.check."""
    judge = Judge(items, settings, update)
    stored = {identify(item.ref): item for item in old if item.name} if old else {}

    def check(item: Item) -> list[tuple[Any, ...]]:
        return [finding[1:] for finding in judge.check(item, stored.get(identify(item.ref)) if stored else None)]

    asked_for_class = False
    for item, found in zip(items, share(check, items, meanwhile), strict=True):
        for finding in (Finding(item, *rest) for rest in found):
            if finding.rule != "priority-class-unknown" or not asked_for_class:
                yield finding
            asked_for_class |= finding.rule == "priority-class-unknown"


class Judge:
    """What is the same for all items of a run."""

    def __init__(self, items: Items, settings: Settings, update: str) -> None:
        self.items = items
        self.settings = settings
        self.update: Any = update
        self.release = settings.release.name
        #: The kinds that were met, by the fields of objects that make a difference to them.
        self._kinds: dict[tuple[str, str, Names], Kind | None] = {}
        self._fills = [field for gate in settings.release.gates.values() for field in gate.fills]
        #: The definitions elsewhere in the input, by their API group.
        self._near: dict[str, Given] = {}

    def check(self, item: Item, before: Item | None) -> Iterable[Finding]:
        """What the server would say of an item, whose state was `before`."""
        kind = self.kind(item) or self._find_meant(item)
        if kind is None:
            if item.group == GROUP and item.kind in SCHEDULING_KINDS:
                return [weigh_assumed(tell_not_known(item, self.release), self.settings)]
            return self.findings_of_other(item, before)
        group, _, version = item.api_version.rpartition("/")
        if (kind.group, kind.name) == (group, item.kind) and version in kind.versions:
            return self.findings(kind, item, before)
        if kind.group == GROUP:
            return self._findings_of_unserved(kind, item)
        return self.findings_of_other(item, None)

    def kind(self, item: Item) -> Kind | None:
        api_version, name = item.ref[:2]
        group, _, version = api_version.rpartition("/")
        spoken: Names = ()
        if self._fills and group == GROUP:
            text = item.text
            spoken = tuple([field for field in self._fills if field in text])
        key = (api_version, name, spoken)
        if key not in self._kinds:
            gates = assume_gates(self.settings.feature_gates, self.settings.release, spoken)
            self._kinds[key] = find_kind(group, name, self.release, gates, version)
        return self._kinds[key]

    def _find_meant(self, item: Item) -> Kind | None:
        """The kind of scheduling.k8s.io whose fields an object of another group or another spelling has."""
        name = next((each for each in SCHEDULING_KINDS if each.lower() == item.kind.lower()), "")
        group, _, version = item.api_version.rpartition("/")
        if not name or not _KIN.fullmatch(group) or self._given.find(group, item.kind, version):
            return None
        fields = item.get(("spec",))
        if group not in ("", GROUP) and not (isinstance(fields, dict) and _OWN.intersection(fields)):
            return None
        gates = assume_gates(self.settings.feature_gates, self.settings.release, ())
        return find_kind(GROUP, name, self.release, gates)

    @cached_property
    def facts(self) -> AdmissionFacts:
        return gather_facts(self.items, self.settings)

    def findings(self, kind: Kind, item: Item, before: Item | None) -> Findings:
        value = item.value
        ask = partial(self._ask, kind, item, before)
        verdict = ask(value)
        if verdict.accepted:
            yield from self._tell_rest(kind, item, verdict)
            return
        verdict, unknown = leave_out(item, verdict, ask, before)
        yield from unknown
        if unknown:  # what is said of the rest of an object with placeholders may follow from them
            yield from self._tell(self._make_out(kind.root, value), item, verdict)
        else:
            yield from self._tell_causes(kind, item, value, verdict, before)
        yield from self._tell_rest(kind, item, verdict)

    def _findings_of_unserved(self, kind: Kind, item: Item) -> Findings:
        """An object of a version that the release does not serve: if no release does, the one that is served was meant,
        and the rest is judged by that."""
        finding = weigh_assumed(tell_not_served(item, kind), self.settings)
        if finding.severity == "warning" or not kind.versions:
            yield finding
            return
        versions = [item.api_version.rpartition("/")[2], *self.settings.release.kinds.get(kind.name, kind.versions)]
        meant = f"{kind.group}/{next(each for each in versions if each in kind.versions)}"
        if kind.name == item.kind:
            yield finding._replace(proposed=meant)
        else:
            yield finding._replace(mend=(EditStep(("apiVersion",), meant), EditStep(("kind",), kind.name)))
        yield from self._tell_meant(kind, item, {**item.value, "apiVersion": meant, "kind": kind.name})

    def _findings_as_meant(self, item: Item, told: Finding) -> Findings:
        """The rest of an object whose kind or version has one sure mend."""
        if told.proposed is not ABSENT:
            value = {**item.value, str(told.path[0]): told.proposed}
            group, _, version = value["apiVersion"].rpartition("/")
            gates = assume_gates(self.settings.feature_gates, self.settings.release, ())
            if kind := find_kind(group, value["kind"], self.release, gates, version):
                yield from self._tell_meant(kind, item, value)

    def _tell_meant(self, kind: Kind, item: Item, value: Any) -> Findings:
        yield from self._tell_causes(kind, item, value, self._ask(kind, item, None, value), None)

    def _tell_causes(self, kind: Kind, item: Item, value: Any, verdict: Verdict, before: Item | None) -> Findings:
        """What the server refuses. What it cannot decode hides the rest: that is told of the object as it was meant, or
        without the places that nobody can guess."""
        ask = partial(self._ask, kind, item, before)
        meaning = self._make_out(kind.root, value)
        yield from self._tell(meaning, item, verdict)
        while verdict.code == 400 and meaning.advance():
            verdict, unknown = leave_out(item, ask(meaning.value), ask, before, meaning.value)
            yield from (*unknown, *self._tell(meaning, item, verdict))
            if unknown:
                return

    def _make_out(self, root: Type, value: Any) -> Meaning:
        from krmfn.checks.server.meaning import Meaning

        return Meaning(root, value, self.settings.release)

    def _tell(self, meaning: Meaning, item: Item, verdict: Verdict) -> Findings:
        for cause in join_reasons(verdict.causes, meaning.value):
            note = meaning.tell(cause, verdict.code)
            if note is not None:
                yield self._weigh(note, item)

    def _tell_rest(self, kind: Kind, item: Item, verdict: Verdict) -> Findings:
        """What there is to say besides that the server refuses an object."""
        for path, gate in verdict.dropped:
            hint = f"Turn the feature gate {gate} on, or remove the field."
            message = f"the server drops this field: the feature gate {gate} is off"
            found = item.get(path, ABSENT)
            yield Finding(item, path, message, found, hint=hint, type="Dropped", rule="dropped-field")
        for warning in verdict.warnings:
            yield Finding(item, ("metadata", "name"), warning, type="Warning", rule="server-warning")
        if verdict.accepted:
            yield from self._ask_for_class(kind, item)
            if kind.expressions:
                yield from _tell_expressions(kind, item)

    def findings_of_other(self, item: Item, before: Item | None) -> Findings:
        """What can be said of an object of a kind that has no rules here."""
        from krmfn.releases.served import find_standing
        from krmfn.server.others import apply_over, find_shape, judge_shape

        known = self.definition(item)
        if known is not None:
            if item.value.keys() & {"metadata", "spec"}:  # else a file of a program: the metadata.yaml of clusterctl
                yield from self._findings_of_custom(item, known, before)
            return
        if item.api_version.startswith(PREFIX):
            yield from tell_not_ours(item)
        standing = find_standing(item.api_version, item.kind, self.release)
        if standing == "missing":
            for told in tell_missing(item, self.release):
                rest = list(self._findings_as_meant(item, told))
                is_sure = all(each.is_mendable for each in rest)  # the version that was meant may have other fields
                yield from (told, *rest) if is_sure else (told._replace(proposed=ABSENT),)
        elif standing == "off":
            yield tell_switched_off(item, self.release)
        root = None if standing == "foreign" else find_shape(item.api_version, item.kind, self.release)
        if root is None:
            return
        value = item.value
        if before and self.update == "server-side-apply":
            value = apply_over(root, before.value, value)
        repeated = _find_repeated(item)

        def judge(known: Any) -> Verdict:
            old = before.value if before else None
            return judge_shape(root, known, item.api_version, self.release, old, self.update, repeated)

        ask = partial(ask_as_sent, judge)
        verdict, unknown = leave_out(item, ask(value), ask)
        yield from unknown
        if verdict.causes:
            yield from self._tell(self._make_out(root, value), item, verdict)

    def definition(self, item: Item) -> Shipped | Unserved | None:
        """What is known of a custom resource: by the objects, --crds or the facts, else by what is shipped."""
        group, _, version = item.api_version.rpartition("/")
        if "." not in group:
            return None
        from krmfn.server.shipped import Shipped, find_shipped

        found = self._given.find(group, item.kind, version)
        if found:
            return Shipped("", "", found, True)
        kuberay = self.settings.kuberay.version
        shipped = find_shipped(group, item.kind, version, {"kubeRay": kuberay, **self.settings.operators})
        if not isinstance(shipped, Shipped) and (near := self._find_near(item)):
            return Shipped("", "", near, True)
        return shipped

    @cached_property
    def _given(self) -> Given:
        from krmfn.server.custom import Given

        known: Iterable[Value] = ()
        if self.settings.cluster:
            known = read_facts(self.settings.cluster, {}).schemas.values()
        own = [item for item in self.items if item.kind == DEFINITION]
        names = {item.name for item in own}
        rivals = [item for item in self.settings.rivals if item.name in names]
        here = [item.value for item in (*rivals, *own)]
        return Given(here, self.settings.definitions, known)

    def _findings_of_custom(self, item: Item, known: Shipped | Unserved, before: Item | None) -> Findings:
        from krmfn.server.shipped import Unserved, judge_all, tell_versions

        if isinstance(known, Unserved):
            kind = known.meant or "this kind"
            hint = f"{known.name} {known.installed} serves {kind} as {' or '.join(known.versions)}."
            yield find_no_match(item, hint, "kind" if known.meant else "apiVersion")
            return
        schemas = compile_schemas(self.release, {})
        old = before.value if before else None
        repeated = _find_repeated(item)
        all_known = known

        def judge(value: Any) -> tuple[Judgement, tuple[Cause, ...]]:
            return judge_all(all_known, schemas, value, old, repeated, self.update)

        answer, doubted = judge(item.value)
        if (answer.causes or doubted) and (more := self._find_near(item)) and not known.said:
            all_known = known._replace(structures={**more, **known.structures})
            answer, doubted = judge(item.value)
        verdict, unknown = leave_out(
            item, refused_by(answer.causes), lambda value: refused_by(judge(value)[0].causes), before
        )
        yield from unknown
        for cause in _leave_summaries_out((*verdict.causes, *doubted)):
            if cause.rule == "unknown-field" and cause.path[-1] in LINK_FIELDS:
                continue  # what becomes of a link that a definition does not have is told by crd-drops-link
            current = item.get(cause.path, ABSENT)
            # Others wrote the definition, and choose which values are wrong.
            message = hide(item.kind, cause.path, cause.message, current)
            found = Note(cause.rule, cause.path, message, current, type=cause.type)
            if cause in doubted:
                yield found._replace(hint=tell_versions(known, cause.path)).on(item, "warning")
            else:
                yield self._weigh(found, item)
        for path, what in answer.unchecked:
            yield Finding(item, path, f"not checked: {what}", item.get(path, ABSENT), rule="custom-rule")

    def excuse(self, rule: str, path: Path, item: Item) -> str:
        """Why an object may lack what a rule misses, as a hint; empty where it may not.

        What only adds labels or annotations changes an object that the cluster has, such as the StorageClass of a
        platform, and so does what is called a patch, or what Flux merges; what kustomize makes for Helm is a template;
        who gives the namespace of a base gives it to the subjects of its roles and the Services of its webhooks, too;
        and who gives it labels gives selectors where there are neither.
        """
        if rule == "pod-selector" and self.settings.base:
            is_bare = item.get(("spec", "selector")) is item.get(("spec", "template", "metadata", "labels")) is None
            return "kustomize adds the selector if an overlay sets labels for it." if is_bare else ""
        if rule != "required":
            return ""
        if self.settings.base == "undeployed" and len(path) > 1 and "." in item.group:
            return "Argo CD or Flux deploy other folders: what deploys this one may patch the field in."
        if "{{" in item.name:
            return "The name is a template: check the rendered object instead."
        # The server says `name` where a webhook lacks the namespace of its Service.
        if self.settings.base and path[:1] + path[-1:] in (("subjects", "namespace"), ("webhooks", "name")):
            subject = (item.get((*path[:-1], "kind"), "Service"), item.get((*path[:-1], "name")))
            others = [each for each in self.items if (each.kind, each.name) == subject]
            if any(not each.namespace or path[0] == "webhooks" for each in others):
                return "kustomize adds the namespace if an overlay sets one."
        metadata = as_mapping(item.value, "metadata")
        adds = metadata.get("annotations") or metadata.get("labels")
        if len(path) == 1 and adds and item.value.keys() <= {*HEAD}:
            return "The object has only metadata: an apply adds it to the one in the cluster, and fails without it."
        from krmfn.model.patterns import PATCH, is_called

        if is_called(item.file.path, PATCH) or item.annotations.get(FLUX_APPLY, "").lower() == "merge":
            return "The object is a patch: an apply adds it to the one in the cluster, and fails without it."
        return ""

    def _weigh(self, note: Note, item: Item) -> Finding:
        hint = self.excuse(note.rule, note.path, item)
        return note._replace(hint=hint).on(item, "info") if hint else note.on(item)

    def _find_near(self, item: Item) -> dict[str, Structure]:
        """The definitions of a kind elsewhere in the input."""
        group, _, version = item.api_version.rpartition("/")
        if group not in self._near:
            from krmfn.server.custom import Given

            rivals = [each.value for each in self.settings.rivals if each.name.endswith(f".{group}")]
            self._near[group] = Given(rivals)
        return self._near[group].find(group, item.kind, version)

    def _ask(self, kind: Kind, item: Item, before: Item | None, value: Any) -> Verdict:
        """The answer to the value of an item, as it is written or as it was meant."""
        repeated = _find_repeated(item)

        def ask(value: Any) -> Verdict:
            if before is not None and not repeated:
                return change_held(kind, value, before.value, self.update, self.facts)
            return create(kind, value, self.facts, repeated)

        return ask_as_sent(ask, value)

    def _ask_for_class(self, kind: Kind, item: Item) -> Findings:
        """Without facts, say that the class could not be looked up; once is enough."""
        if all(plugin.__name__ != "resolve_priority" for plugin, _ in kind.admission.get("mutating", ())):
            return
        spec = dig(item.value, "spec")
        field = find_word(spec, "priorityClassName")
        name = dig(spec, field)
        if not name or name.startswith("system-") or self.facts.priority_classes is not None:
            return
        message = f"not checked: whether the PriorityClass {name} exists (no data about priority classes)"
        hint = "Add the output of `kubectl get priorityclasses -o yaml` with --cluster."
        yield Finding(item, ("spec", field), message, name, hint=hint, rule="priority-class-unknown")


def gather_facts(items: Items, settings: Settings) -> AdmissionFacts:
    """What the configuration says of the cluster, and the Workloads that are in the input themselves."""
    classes = None
    if settings.cluster:
        own = [item for item in items if item.kind == "PriorityClass" and item.group == GROUP]
        found = read_facts(settings.cluster, {(GROUP, "PriorityClass"): own})
        if found.complete_classes:
            classes = found.priority_classes
    if not settings.release.has("workload-must-exist"):
        return AdmissionFacts(classes)
    workloads = {}
    gangs = set()
    for item in items:
        if item.group != GROUP:
            continue
        place, spec = item.key, read_fields(as_mapping(item.value, "spec"))
        if item.kind == "Workload" and isinstance(spec.get("podGroupTemplates"), list):
            templates = [each for each in spec["podGroupTemplates"] if isinstance(each, dict)]
            workloads[place] = frozenset(str(each.get("name", "")) for each in templates)
        if item.kind == "PodGroup" and "gang" in as_mapping(spec, "schedulingPolicy"):
            gangs.add(place)
    return AdmissionFacts(classes, None, workloads, frozenset(gangs))


def leave_out(
    item: Item, verdict: Verdict, judge: Callable[[Any], Verdict], before: Item | None = None, meant: Any = None
) -> tuple[Verdict, tuple[Finding, ...]]:
    """The verdict without what it says about placeholders, and the finding that tells of them. `meant` is the object
    that was judged, where it is not as it is written."""
    if not verdict.causes or not re.search(_MAYBE_UNKNOWN, item.text):
        return verdict, ()
    from krmfn.checks.server.meaning import judge_known

    value = meant or item.value
    verdict, unknown = judge_known(judge, value, verdict, before.value if before else None)
    return verdict, () if unknown is None else (_tell_unknown(item, value, unknown),)


def _leave_summaries_out(causes: Sequence[Cause]) -> Out:
    """The causes without those that only say that one of several schemas has to fit, where another says more."""
    places = [cause.path for cause in causes if not cause.message.endswith(_SUMMARY)]
    return [cause for cause in causes if not (cause.message.endswith(_SUMMARY) and cause.path in places)]


def _tell_unknown(item: Item, value: Any, path: Path) -> Finding:
    found = dig(value, *path, default=ABSENT)
    is_whole = is_braced(found) or isinstance(found, str)
    text = spell(found) if is_whole and 0 < len(found) <= _MOST_SHOWN else "a part of it"
    message = hide(item.kind, path, f"not checked: {text} is a placeholder", text)
    return Finding(
        item, path, message, hint="Check the object again after the value is filled in.", rule="value-unknown"
    )


def _tell_expressions(kind: Kind, item: Item) -> Findings:
    """The expressions of an object, which a server compiles: one finding names the first."""
    found = [each for place in kind.expressions for each in _find_texts(item.value, place.split("."), ())]
    if found:
        (path, text), more = found[0], len(found) - 1
        message = f"not checked: whether the expression `{text}` compiles" + (f", and {more} more" if more else "")
        yield Finding(item, path, message, text, rule="custom-rule")


def _find_texts(value: Any, place: Sequence[str], path: Path) -> Iterator[tuple[Path, str]]:
    if not place:
        if isinstance(value, str):
            yield path, value
    elif place[0] != "*":
        if isinstance(value, dict):
            yield from _find_texts(value.get(place[0]), place[1:], (*path, place[0]))
    elif isinstance(value, list):
        for index, each in enumerate(value):
            yield from _find_texts(each, place[1:], (*path, index))


def _find_repeated(item: Item) -> list[Path]:
    """The places of keys that the text has twice."""
    if not item.may_repeat:
        return []
    return [problem.path for problem in item.problems if problem.code == "duplicate-key"]
