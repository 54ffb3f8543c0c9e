"""What in a pod template keeps a gang from being scheduled as one: gates, node names, other gang systems, claims."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from krmfn.checks.rule import Matches, is_obeyed, rule, tell, tell_mark
from krmfn.checks.scheduler.trees import list_whole
from krmfn.config import Settings
from krmfn.krm.item import Item
from krmfn.model.kinds import find_kind
from krmfn.model.marks import KUEUE_QUEUE
from krmfn.model.schedulers import RIVALS
from krmfn.model.tree import Path
from krmfn.model.values import Value, as_int, as_list, as_mapping, as_text, dig
from krmfn.model.wording import join
from krmfn.survey.census import Census, Template
from krmfn.survey.facts import Amounts
from krmfn.survey.jobs import SUSPENDED, is_suspended


@rule("gated-member")
def find_gated_member(census: Census) -> Matches:
    yield from _find_gates(census)
    yield from _find_suspended(census)


def _find_gates(census: Census) -> Matches:
    for gang in census.gangs_with("schedulingGates"):
        gated = [template for template in gang.templates if as_list(template.spec, "schedulingGates")]
        all_gated = len(gated) == len(gang.templates)
        for template in gated:
            names = join([as_text(gate, "name") for gate in as_list(template.spec["schedulingGates"])])
            case = "gates" if all_gated else "some-gates"
            yield tell(template, ("schedulingGates",), info=all_gated, case=case, names=names, gang=gang)


def _find_suspended(census: Census) -> Matches:
    running: dict[int, dict[int, Item]] = defaultdict(dict)
    if not census.has_text("suspend"):
        return
    for gang in census.gangs:
        awake = {id(item): item for item in gang.owners if not is_suspended(item)}
        running[id(census.root(gang.group).item)] |= awake
    for gang in census.gangs:
        root = census.root(gang.group)
        waiting = list(running[id(root.item)].values())
        there = sum(template.pods or 0 for template in gang.templates if not is_suspended(template.item))
        above = {id(group.item) for group in census.ancestors(gang.group)}
        if not waiting or gang.pods is None or there >= gang.quorum or not above <= list_whole(census):
            continue  # else the tree can start without the gang
        for item in gang.owners:
            if not is_suspended(item) or KUEUE_QUEUE in item.labels:
                continue
            path = next(path for path in SUSPENDED if dig(item.value, *path) is True)
            yield tell(item, path, True, root=root, waiting=waiting)


@rule("node-name")
def find_node_name(census: Census) -> Matches:
    for gang, template in census.linked("nodeName"):
        if name := as_text(template.spec, "nodeName"):
            yield tell(template, ("nodeName",), name, gang=gang)


@rule("second-gang-system")
def find_second_gang_system(census: Census) -> Matches:
    rivals = [each for each in RIVALS if census.marked(*each[:2])]
    for gang in census.gangs:
        for template in gang.templates if rivals else ():
            for field, key, system in rivals:
                held = as_mapping(template.metadata.get(field))
                if key in held:
                    yield tell_mark(template, field, key, held[key], case="marked", key=key, system=system, gang=gang)
        for owner in gang.owners:
            kind = find_kind(owner.ref)  # whose operator may put its pods into another gang
            if kind and kind.rival and dig(owner.value, *kind.rival) not in (None, "", {}):
                yield tell(owner, kind.rival, system=kind.rival_name, gang=gang)


@rule("claim-not-in-pods")
def find_claim_not_groups(census: Census) -> Matches:
    for gang in census.gangs_with("resourceClaims"):
        for index, claim in enumerate(as_list(gang.group.spec, "resourceClaims")):
            wanted = _claim(claim)
            for template in gang.templates:
                claims = [_claim(entry) for entry in as_list(template.spec, "resourceClaims")]
                if wanted not in claims:
                    name = wanted[0] or f"number {index}"
                    yield tell(gang.group, ("resourceClaims", index), name=name, template=template)
                    break


@rule("deadline-counts-waiting", once=True)
def find_deadline_counts_waiting(census: Census) -> Matches:
    for gang, template in census.linked() if any(map(census.has_text, _DEADLINES)) else ():
        for path in _deadlines(template):
            seconds = as_int(template.item.value, *path)
            if seconds is not None and 0 < seconds <= SHORT_DEADLINE:
                yield tell(template.item, path, seconds, gang=gang)


@rule("requests-missing", once=True)
def find_requests_missing(census: Census) -> Matches:
    """Containers without CPU or memory requests."""
    for _, template in census.linked():
        if missing := sorted(_missing_requests(template.spec)):
            yield tell(template, ("containers",), missing=missing)


@rule("volume-shared")
def find_volume_shared(census: Census, settings: Settings) -> Matches:
    claims = census.facts.by_place("", "PersistentVolumeClaim")
    for gang in census.gangs_with("volumes") if claims else ():
        used: Amounts = defaultdict(int)
        for template in gang.templates:
            for index, volume in enumerate(as_list(template.spec, "volumes")):
                name = as_text(volume, "persistentVolumeClaim", "claimName")
                claim = claims.get((template.item.space, name)) if name else None
                if claim is None or template.pods is None:
                    continue
                used[name] += template.pods
                modes = as_list(claim, "spec", "accessModes")
                single = modes == ["ReadWriteOncePod"]
                if used[name] < 2 or not (single or modes == ["ReadWriteOnce"]):
                    continue
                limit = "one pod" if single else "the pods of one node"
                # One of the pods runs: the gang starts only where its quorum can do without the others.
                remembered = single and not is_obeyed(census, settings, "stale-gang-snapshot")
                stuck = remembered and (gang.pods or 0) - used[name] + 1 < (gang.quorum or 1)
                path, pods = ("volumes", index), used[name]
                yield tell(template, path, modes[0], error=stuck, pods=pods, gang=gang, name=name, limit=limit)


#: Deadlines up to this many seconds are reported: the 1.36 scheduler alone may hold a gang for 300 s.
SHORT_DEADLINE = 600
_AMOUNTS = frozenset({"cpu", "memory"})
_DEADLINES = ("activeDeadlineSeconds", "preRunningDeadlineSeconds")


def _claim(entry: object) -> list[str]:
    return [as_text(entry, field) for field in ("name", "resourceClaimName", "resourceClaimTemplateName")]


def _deadlines(template: Template) -> Iterator[Path]:
    yield (*template.spec_path, _DEADLINES[0])
    for field in _DEADLINES:
        yield ("spec", field)
        yield ("spec", "jobTemplate", "spec", field)


def _missing_requests(spec: Value) -> set[str]:
    """What no container of a pod asks for. An accelerator limits the nodes more than any number of CPUs does."""
    missing: set[str] = set()
    for container in as_list(spec, "containers"):
        resources = as_mapping(container, "resources")
        named = {*as_mapping(resources, "requests"), *as_mapping(resources, "limits")}
        if any("/" in name for name in named):
            return set()
        missing |= _AMOUNTS - named
    return missing
