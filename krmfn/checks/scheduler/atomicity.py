"""Trees and sets of groups that are scheduled, but not as one: what the author probably did not mean."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from krmfn.checks.rule import Check
from krmfn.checks.scheduler.trees import list_families, list_groups
from krmfn.checks.selected import is_selected
from krmfn.checks.wording import join
from krmfn.model.findings import Finding, Note, Rule
from krmfn.survey.groups import Group, disruption_mode

if TYPE_CHECKING:
    from krmfn.config import Settings
    from krmfn.survey.census import Census

_TREE = ("1.37",)
#: Kinds whose templates start in stages, so that several groups are right.
_STAGED = (
    "jobset.x-k8s.io",
    "kubeflow.org",
    "sparkoperator.k8s.io",
    "leaderworkerset.x-k8s.io",
    "trainer.kubeflow.org",
)


def find_children_start_apart(census: Census, _: Settings) -> Iterator[Finding]:
    """A root that does not wait for all of its children."""
    for composite, children in list_families(census):
        if len(children) < 2:
            continue
        if composite.policy == "basic":
            message = f"the policy is basic: the {len(children)} child groups are scheduled one by one, not together"
            hint = f"Use gang with minGroupCount: {len(children)}."
            path = (*composite.path, "schedulingPolicy", "basic")
            yield Finding(composite.item, Note("children-start-apart", path, message, hint=hint))
        elif composite.quorum is not None and composite.quorum < len(children):
            message = (
                f"minGroupCount is {composite.quorum} of {len(children)} child groups: "
                "the rest may stay behind while these hold their nodes"
            )
            hint = f"Set minGroupCount to {len(children)} when the workload needs all of them."
            note = Note("children-start-apart", composite.quorum_path, message, composite.quorum, hint=hint)
            yield Finding(composite.item, note)


def find_groups_without_root(census: Census, settings: Settings) -> Iterator[Finding]:
    """Templates of one object link to several groups that have no common root."""
    by_item: dict[int, dict[int, Group]] = {}
    for gang in census.gangs:
        for owner in gang.owners:
            by_item.setdefault(id(owner), {})[id(gang.group.item)] = gang.group
    owners = {id(owner): owner for gang in census.gangs for owner in gang.owners}
    for key, groups in by_item.items():
        roots = {id(census.root(group).item): census.root(group) for group in groups.values()}
        broken = any(census.chain(group)[1] for group in groups.values())
        if len(roots) < 2 or broken or owners[key].ref.group in _STAGED:
            continue
        owner = owners[key]
        if settings.release != "1.37" and is_selected(owner, settings):
            continue
        names = join([root.name for root in roots.values()])
        message = (
            f"the pods of {owner.kind} {owner.name} are in {len(roots)} groups that know nothing of each other "
            f"({names}): "
            "when one fits and another does not, the first holds its nodes for nothing"
        )
        way = (
            "or put a CompositePodGroup above them"
            if settings.release == "1.37"
            else "which release 1.37 can also do as a tree"
        )
        hint = f"Use one group with minCount for all pods, {way}."
        yield Finding(owner, Note("groups-without-root", ("spec",), message, hint=hint))


def find_tree_workloads_differ(census: Census, _: Settings) -> Iterator[Finding]:
    """Groups of one tree refer to different Workloads."""
    for group in list_groups(census):
        above, end = census.chain(group)
        if above and not end and group.workload and above[0].workload and group.workload != above[0].workload:
            message = f'refers to Workload "{group.workload}", its parent {above[0].name} to "{above[0].workload}"'
            hint = "Let all groups of a tree refer to one Workload."
            path = (*group.path, "workloadRef", "workloadName")
            note = Note("tree-workloads-differ", path, message, group.workload, hint=hint)
            yield Finding(group.item, note)


def find_disruption_mode_overruled(census: Census, _: Settings) -> Iterator[Finding]:
    """`single` below `all`: the highest `all` wins."""
    for group in list_groups(census):
        above, _end = census.chain(group)
        boss = next((entry for entry in above if disruption_mode(entry.spec) == "all"), None)
        if boss is not None and disruption_mode(group.spec) == "single":
            message = (
                f"disruptionMode single has no effect: {boss.name} above says all, so the tree is evicted as a whole"
            )
            hint = "Leave disruptionMode out here, or set the parent's to single."
            yield Finding(
                group.item, Note("disruption-mode-overruled", (*group.path, "disruptionMode"), message, hint=hint)
            )


def find_basic_disruption_all(census: Census, _: Settings) -> Iterator[Finding]:
    """Pods that start one by one are evicted together."""
    for gang in census.gangs:
        if gang.group.policy == "basic" and disruption_mode(gang.group.spec) == "all":
            message = "the policy is basic, but disruptionMode all evicts the pods together"
            hint = "Use the policy gang, or disruptionMode single."
            note = Note("basic-disruption-all", (*gang.group.path, "disruptionMode"), message, hint=hint)
            yield Finding(gang.group.item, note)


def find_basic_child(census: Census, _: Settings) -> Iterator[Finding]:
    """A basic child with several pods under a gang: the tree waits for one of them."""
    for gang in census.gangs:
        above, end = census.chain(gang.group)
        if not end and above and gang.group.policy == "basic" and above[0].policy == "gang" and (gang.pods or 0) > 1:
            message = (
                f"the policy is basic, so the gang {above[0].name} waits for one of these {gang.pods} pods; "
                "the others come when there is room"
            )
            hint = f"Use gang with minCount: {gang.pods} when the tree needs all of them."
            path = (*gang.group.path, "schedulingPolicy", "basic")
            yield Finding(gang.group.item, Note("basic-child", path, message, hint=hint))


def find_children_differ(census: Census, _: Settings) -> Iterator[Finding]:
    """Children of one gang with different topology keys: placement is greedy."""
    for composite, children in list_families(census):
        keys = {child.topology_key for child in children}
        if composite.policy == "gang" and len(keys - {""}) > 1:
            message = (
                "the child groups are placed one after another by different topology keys "
                f"({join(sorted(keys - {''}))}), "
                "without a step back: a placement that exists may not be found"
            )
            hint = "Give the child that is hardest to place first, or use one key."
            yield Finding(composite.item, Note("children-differ", composite.path, message, hint=hint))


CHECKS = (
    Check(
        Rule("children-start-apart", "scheduler", "warning", "A composite group does not wait for all of its children.",
             "With minGroupCount below the number of children, or the policy basic, children are scheduled as soon as "
             "they fit. The "
             "head of a cluster is then bound and holds its node while its workers wait.",
             "Set minGroupCount to the number of children.", _TREE, ("KEP-6012", "observed on Kubernetes 1.37.0")),
        find_children_start_apart,
    ),
    Check(
        Rule("groups-without-root", "scheduler", "warning",
             "The pods of one object are in several groups that have no common root.",
             "Groups without a common root are scheduled independently. Of two clusters that do not both fit, the "
             "loser keeps its head, "
             "or a whole worker group, bound.",
             "Use one group for all pods (granularity Cluster), or on 1.37 a CompositePodGroup with minGroupCount for "
             "all groups.",
             (), ("KEP-6012", "observed on Kubernetes 1.37.0")),
        find_groups_without_root,
    ),
    Check(
        Rule("tree-workloads-differ", "scheduler", "warning", "Groups of one tree refer to different Workloads.",
             "The 1.37.0 scheduler does not read the reference, the API comment calls such a tree invalid, and later "
             "releases compare.",
             "Describe the whole tree in one Workload.", _TREE, ("KEP-6012", "observed on Kubernetes 1.37.0")),
        find_tree_workloads_differ,
    ),
    Check(
        Rule("disruption-mode-overruled", "scheduler", "warning", "A group says single below a group that says all.",
             "The highest `all` above a group is the unit that is preempted.",
             "Say the same on all levels.", _TREE, ("KEP-5710",)),
        find_disruption_mode_overruled,
    ),
    Check(
        Rule("basic-disruption-all", "scheduler", "warning", "Policy basic together with disruptionMode all.",
             "The proposal (KEP-5710) forbids it and 1.37.0 accepts it, except in a Job's spec.scheduling. A later "
             "release may refuse it.",
             "Use the policy gang, or disruptionMode single.", ("1.36", "1.37"), ("KEP-5710",)),
        find_basic_disruption_all,
    ),
    Check(
        Rule("basic-child", "scheduler", "info", "A basic group with several pods is in a gang of groups.",
             "In a tree a basic group counts as ready with one pod. The tree then starts without the others.",
             "Use the policy gang with minCount for all pods.", _TREE, ("KEP-6012", "observed on Kubernetes 1.37.0")),
        find_basic_child,
    ),
    Check(
        Rule("children-differ", "scheduler", "info", "The child groups of a gang have different topology keys.",
             "Children are placed in order and never moved again within an attempt, so an unlucky first choice can "
             "make the tree wait "
             "although it would fit.",
             "Use one key for all children, or constrain the parent.", _TREE, ("KEP-6012",)),
        find_children_differ,
    ),
)  # fmt: skip
