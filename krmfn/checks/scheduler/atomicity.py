"""Trees and sets of groups that are scheduled, but not as one: what the author probably did not mean."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from krmfn.checks.rule import rule
from krmfn.checks.scheduler.trees import list_families, list_groups
from krmfn.config import Settings
from krmfn.config.selection import is_selected
from krmfn.krm.item import Item
from krmfn.model.findings import Finding
from krmfn.model.kinds import find_kind
from krmfn.model.values import as_list, dig
from krmfn.model.wording import join
from krmfn.releases.release import first_release
from krmfn.survey.census import Census
from krmfn.survey.groups import Group, disruption_mode


@rule(
    "children-start-apart",
    "warning",
    "A composite group does not wait for all of its children.",
    needs="composite-groups",
)
def find_children_start_apart(census: Census) -> Iterator[Finding]:
    for composite, children in list_families(census):
        if len(children) < 2:
            continue
        if composite.policy == "basic":
            message = f"the policy is basic: the {len(children)} child groups are scheduled independently, not together"
            hint = f"Use the policy gang with {composite.counted}: {len(children)}."
            path = (*composite.path, "schedulingPolicy", "basic")
            yield Finding(composite.item, path, message, hint=hint)
        elif composite.quorum is not None and composite.quorum < len(children) and not _are_alike(children):
            message = (
                f"{composite.counted} is {composite.quorum} of {len(children)} child groups: these may occupy their "
                "nodes while the others never start"
            )
            hint = f"If the workload needs all of them, set {composite.counted} to {len(children)}."
            yield Finding(composite.item, composite.quorum_path, message, composite.quorum, hint=hint)


def _are_alike(children: Sequence[Group]) -> bool:
    """Whether all are of one template: then so many of them are enough as the quorum says."""
    return bool(children[0].template) and len({(child.workload, child.template) for child in children}) == 1


@rule("groups-without-root", "warning", "The pods of one object are in several groups without a common root.")
def find_groups_without_root(census: Census, settings: Settings) -> Iterator[Finding]:
    by_item: dict[int, tuple[Item, dict[int, Group]]] = {}
    for gang in census.gangs:
        for owner in gang.owners:
            by_item.setdefault(id(owner), (owner, {}))[1][id(gang.group.item)] = gang.group
    for owner, groups in by_item.values():
        if len(groups) < 2:
            continue
        roots = {id(census.root(group).item): census.root(group) for group in groups.values()}
        broken = any(census.chain(group)[1] for group in groups.values())
        if len(roots) < 2 or broken or _is_staged(owner):
            continue
        if not settings.release.has("composite-groups") and is_selected(owner, settings):
            continue
        names = join([root.name for root in roots.values()])
        message = (
            f"the pods of {owner.kind} {owner.name} are in {len(roots)} independent groups ({names}): one may "
            "occupy its nodes while another never fits"
        )
        way = (
            "or add a CompositePodGroup above them"
            if settings.release.has("composite-groups")
            else f"or on {first_release('composite-groups')} a tree of groups"
        )
        hint = f"Use one group with minCount for all pods, {way}."
        yield Finding(owner, ("spec",), message, hint=hint)


@rule("tree-workloads-differ", "warning", "Groups of one tree refer to different Workloads.", needs="composite-groups")
def find_tree_workloads_differ(census: Census) -> Iterator[Finding]:
    for group in list_groups(census):
        above, end = census.chain(group)
        if above and not end and group.workload and above[0].workload and group.workload != above[0].workload:
            message = (
                f'this group names the Workload "{group.workload}", but its parent {above[0].name} names '
                f'"{above[0].workload}"'
            )
            hint = "Refer to one Workload in all groups of a tree."
            path = (*group.path, "workloadRef", "workloadName")
            yield Finding(group.item, path, message, group.workload, hint=hint)


@rule(
    "disruption-mode-overruled",
    "warning",
    "A group sets disruptionMode `single`, but a group above it sets `all`.",
    needs="composite-groups",
)
def find_disruption_mode_overruled(census: Census) -> Iterator[Finding]:
    for group in list_groups(census):
        if disruption_mode(group.spec) != "single":
            continue
        above, _end = census.chain(group)
        boss = next((entry for entry in above if disruption_mode(entry.spec) == "all"), None)
        if boss is not None:
            message = (
                f"disruptionMode single has no effect: the parent {boss.name} has all, so the tree is evicted "
                "as a whole"
            )
            hint = "Remove disruptionMode here, or set the parent's to single."
            yield Finding(group.item, (*group.path, "disruptionMode"), message, hint=hint)


@rule(
    "basic-disruption-all",
    "warning",
    "A group combines the policy `basic` with disruptionMode `all`.",
    needs="disruption-modes",
)
def find_basic_disruption_all(census: Census) -> Iterator[Finding]:
    for gang in census.gangs_with("disruptionMode"):
        if gang.group.policy == "basic" and disruption_mode(gang.group.spec) == "all":
            message = "the policy is basic, but disruptionMode all evicts the pods together"
            hint = "Use the policy gang, or disruptionMode single."
            yield Finding(gang.group.item, (*gang.group.path, "disruptionMode"), message, hint=hint)


@rule(
    "basic-child", "info", "A tree contains a group of several pods with the policy `basic`.", needs="composite-groups"
)
def find_basic_child(census: Census) -> Iterator[Finding]:
    """A basic child with several pods under a gang: the tree waits for one of them."""
    for gang in census.gangs_with("parentCompositePodGroupName"):
        above, end = census.chain(gang.group)
        if not end and above and gang.group.policy == "basic" and above[0].policy == "gang" and (gang.pods or 0) > 1:
            message = (
                f"the policy is basic, so the gang {above[0].name} waits for only one of these {gang.pods} pods; "
                "the others are scheduled one by one"
            )
            hint = f"If the tree needs all of them, use the policy gang with {gang.group.counted}: {gang.pods}."
            path = (*gang.group.path, "schedulingPolicy", "basic")
            yield Finding(gang.group.item, path, message, hint=hint)


@rule("children-differ", "info", "The child groups of a gang have different topology keys.", needs="composite-groups")
def find_children_differ(census: Census) -> Iterator[Finding]:
    for composite, children in list_families(census):
        keys = {child.topology_key for child in children}
        if composite.policy == "gang" and len(keys - {""}) > 1:
            message = (
                "the child groups are placed one after another by different topology keys "
                f"({join(sorted(keys - {''}))}), and never moved again: the scheduler may not find a placement "
                "that exists"
            )
            hint = "Use the same key for all children, or rename the one that is hardest to place to sort first."
            yield Finding(composite.item, composite.path, message, hint=hint)


def _is_staged(item: Item) -> bool:
    """Whether the object's pods come in steps, so that several gangs are meant. A JobSet may start in steps, and has to
    say so."""
    kind = find_kind(item.ref.group, item.kind)
    if item.kind == "JobSet":
        jobs = as_list(item.value, "spec", "replicatedJobs")
        ordered = dig(item.value, "spec", "startupPolicy", "startupPolicyOrder") == "InOrder"
        return ordered or any(dig(job, "dependsOn") for job in jobs)
    return kind is not None and kind.staged
