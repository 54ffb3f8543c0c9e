"""Pairs the objects of two states and judges each pair as the API server would. Reads no file, prints nothing."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from krmfn.checks.server.serving import tell_no_match
from krmfn.checks.server.stage import Judge, gather_facts, leave_out
from krmfn.config import Settings
from krmfn.krm.item import Item, Items, list_holding
from krmfn.krm.results import ResourceRef
from krmfn.model.kinds import find_kind
from krmfn.model.marks import POD_GROUP_BY, TOOL_GROUPS, is_local
from krmfn.model.values import Identity, Names, Value, as_mapping, dig, identify
from krmfn.plan.changes import clean, explain_filling, list_changes
from krmfn.plan.consequences import explain_removal, explain_replacement, explain_update, list_renames
from krmfn.plan.records import Entry, Plan, Reason
from krmfn.releases.release import GROUP, assume_gates, find_writer, tell_damage
from krmfn.releases.served import find_standing, is_of_program
from krmfn.releases.spelling import SCHEDULING_KINDS
from krmfn.server import Mode, Verdict, answer
from krmfn.survey.census import Census, take_census
from krmfn.survey.counting import count_members
from krmfn.survey.members import Member


def make_plan(
    old: Items, new: Items, settings: Settings, update: Mode = "apply", before: Settings | None = None
) -> Plan:
    """What applying `new` does where `old` was applied before. `update` is how the change is sent, `before` the
    settings of the cluster that `old` was applied to, where it is upgraded since.

    Objects are paired by API group, kind, namespace and name, so that another version of a kind is the same object.
    """
    stays = before is not None and before.release is settings.release
    census = take_census(new, _count_replicas(new, settings), old, settings.cluster)
    judge = _UpdateJudge(census, settings, update, stays)
    left = _index(old, settings)
    entries = []
    for key, item in _index(new, settings).items():
        earlier = left.pop(key, None)
        entry = judge.judge(earlier, item)
        if before and earlier and entry.action != "refuse" and before.release is not settings.release:
            entry = entry._replace(
                consequences=(*entry.consequences, *explain_filling(earlier, item, before, settings))
            )
        entries.append(entry)
    entries += [judge.judge_removed(item) for item in left.values()]
    return Plan(tuple(entries))


def _count_replicas(items: Items, settings: Settings) -> Sequence[Member]:
    """The pods of the items whose replicas are groups of their own: only there their number decides a link."""
    holding = list_holding(items, POD_GROUP_BY.encode())
    apart = [item for item in holding if (kind := find_kind(item.ref)) is not None and kind.has_gangs]
    return count_members(apart, items, settings)[0]


class _UpdateJudge:
    """The new state, counted, and how the server is asked."""

    def __init__(self, census: Census, settings: Settings, update: Mode, stays: bool) -> None:
        """`stays`: the cluster has the release of the old state."""
        self.census = census
        self.stays = stays
        self.release = settings.release.name
        self.settings = settings
        self.update = update
        self.facts = gather_facts(census.objects, settings)
        self.server = Judge(census.objects, settings, update)

    def judge(self, old: Item | None, new: Item) -> Entry:
        """An object of the new state, or of both."""
        file = new.locate(())
        if old is None:
            reasons = self._refuse(new)
            return Entry("refuse" if reasons else "new", new.ref, file, reasons=reasons)
        before, after = clean(old.value), clean(new.value)
        changes = tuple(list_changes(before, after))
        if not changes:
            missing = () if self.stays else self._refuse_missing(new)
            return Entry("refuse" if missing else "unchanged", new.ref, file, reasons=missing)
        stopping = _find_stopping(old, self.settings)
        if stopping:
            return Entry("replace", new.ref, file, changes, (stopping,), _explain_order(self.release))
        # An update is judged as one: a live object may keep what a new one could not have.
        refused = self._refuse(new)
        stored, verdict = self._read_stored(old)
        reasons = refused if self._refuse(stored, verdict) else self._refuse_update(stored, new, before, after)
        if reasons and refused:
            return Entry("refuse", new.ref, file, changes, refused)
        if reasons:
            consequences = tuple(explain_replacement(new, self.census, self.settings.release))
            renames = tuple(list_renames(new, self.census))
            return Entry("replace", new.ref, file, changes, reasons, consequences, renames)
        consequences = tuple(explain_update(new, changes, self.census))
        return Entry("update", new.ref, file, changes, consequences=consequences)

    def _read_stored(self, item: Item) -> tuple[Item, Verdict | None]:
        """What the server reads of a stored object: not the fields that it does not have, such as a link of an older
        release; and what it would say of its creation, where that was asked."""
        if not self._has_rules(item):
            return item, None
        verdict = answer(item.value, self.release, self._assume_gates(item), facts=self.facts)
        unknown = [cause.path for cause in verdict.causes if cause.rule == "unknown-field"] if verdict else []
        if not unknown:
            return item, verdict
        value = copy.deepcopy(item.value)
        for path in unknown:
            dig(value, *path[:-1]).pop(path[-1], None)
        return Item.new(value), None

    def judge_removed(self, item: Item) -> Entry:
        """An object that is not there any more."""
        stopping = _find_stopping(item, self.settings)
        if stopping:
            order = (f"Delete it first: {stopping.message}.", *_explain_order(self.release))
            return Entry("remove", item.ref, item.locate(()), consequences=order)
        gone = tuple(explain_removal(item, self.census, self.settings.release))
        return Entry("remove", item.ref, item.locate(()), consequences=gone)

    def _refuse(self, item: Item, verdict: Verdict | None = None, before: Item | None = None) -> tuple[Reason, ...]:
        """Why the server refuses to create an object, or to update it from what was there `before`; its `verdict`
        where that is known. What placeholders will be, or others add, is unknown."""
        if missing := self._refuse_missing(item):
            return missing
        if not self._has_rules(item):  # custom resources by their definitions, others by their fields
            found = self.server.findings_of_other(item, before)
            told = (each for each in found if each.type and each.severity in (None, "error"))
            return tuple(Reason(each.path, each.rule, each.type, each.message) for each in told)
        gates = self._assume_gates(item)

        def ask(value: Any) -> Verdict | None:
            return answer(value, self.release, gates, before.value if before else None, self.update, self.facts)

        verdict = verdict or ask(item.value)
        if verdict is None:
            return ()
        known, _ = leave_out(item, verdict, lambda value: ask(value) or verdict, before)
        causes = [cause for cause in known.causes if not self.server.excuse(cause.rule, cause.path, item)]
        if known.accepted or (verdict.causes and not causes):
            return ()
        reasons = tuple(Reason(cause.path, cause.rule, cause.type, cause.message) for cause in causes)
        return reasons or (Reason((), "version-not-served", "NotFound", known.message),)

    def _has_rules(self, item: Item) -> bool:
        """Whether the server is asked about an object; of a version that is off, it would only say that."""
        kind = self.server.kind(item)
        return kind is not None and (kind.group == GROUP or item.api_version.rpartition("/")[2] in kind.versions)

    def _refuse_missing(self, item: Item) -> tuple[Reason, ...]:
        """Why an object that stays as it is cannot be sent: the release has no such kind, or not in this version."""
        if item.group == GROUP and item.kind in SCHEDULING_KINDS:
            is_missing = not self.settings.release.serves(item.api_version, item.kind)
        else:
            is_missing = find_standing(item.api_version, item.kind, self.release) == "missing"
        missing = Reason(("apiVersion",), "version-not-served", "NotFound", tell_no_match(item))
        return (missing,) if is_missing else ()

    def _assume_gates(self, item: Item) -> Mapping[str, bool]:
        return assume_gates(self.settings.feature_gates, self.settings.release, item.text)

    def _refuse_update(
        self, old: Item, new: Item, before: dict[str, object], after: dict[str, object]
    ) -> tuple[Reason, ...]:
        told = self._refuse(new, before=old)
        paths = {reason.path for reason in told}  # what is above or below one of them is told, too
        known = _find_immutable(new.ref, before, after)
        untold = (each for each in known if not any(each.path[: len(path)] == path[: len(each.path)] for path in paths))
        return (*told, *untold)


def _find_stopping(old: Item, settings: Settings) -> Reason | None:
    """Why an object must not be there any more when the cluster is upgraded to the release of the new state."""
    writer = find_writer(old.value, settings.release)
    if writer is None:
        return None
    damage = tell_damage(old.kind, settings.release)
    message = f"Kubernetes {settings.release} cannot read what {writer} stored: if it still exists, {damage}"
    return Reason(("apiVersion",), "stored-version-unreadable", "Invalid", message)


def _explain_order(release: str) -> Names:
    return (
        "Delete it before the cluster is upgraded and create it again afterwards; its pods can keep running. "
        f"krmfn upgrade --to {release} prints the commands.",
    )


def _index(items: Items, settings: Settings) -> dict[Identity, Item]:
    """The objects that are applied, by identity; of two with one identity the first."""
    found: dict[Identity, Item] = {}
    for item in items:
        if item.group in TOOL_GROUPS or is_local(item) or is_of_program(item, settings.release.name):
            continue
        if item.name:
            found.setdefault(identify(item.ref), item)
    return found


def _find_immutable(ref: ResourceRef, old: Value, new: Value) -> Iterator[Reason]:
    """Why `old` cannot become `new` in place: by the webhooks of its project, which the row of the kind tells."""
    row = find_kind(ref)
    before, after = as_mapping(old, "spec"), as_mapping(new, "spec")
    for name in row.immutable if row else ():
        if before.get(name) != after.get(name):
            yield Reason(("spec", name), "immutable", "Invalid", "field is immutable")
    if row is None or before.get("suspend") is True or after.get("suspend") is True:
        return
    for name in row.immutable_running:
        if before.get(name) != after.get(name):
            words = f"{name[:1].upper()}{name[1:]} can only be modified when the {ref.kind} is suspended before"
            yield Reason(("spec", name), "immutable", "Forbidden", f"{words} or after the update")
