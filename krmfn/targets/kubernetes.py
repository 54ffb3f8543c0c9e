"""Kubernetes itself: a Workload that describes the groups, a PodGroup for each of them, and CompositePodGroups above.

One writer for all releases, which asks for their features: without trees the groups stand side by side, and without
PodGroups (1.35) the Workload alone has them. What a release has no field for is left out, and said.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from typing import Any

from krmfn.config.settings import Settings
from krmfn.model.findings import Notes, NoteTuple
from krmfn.model.kinds import find_kind
from krmfn.model.marks import POD_GROUP, POD_GROUP_BY
from krmfn.model.names import digest, shorten, slug
from krmfn.model.rules import RULES, tell
from krmfn.model.tree import Composite, DisruptionMode, Gang, Group, Leaf, PodTemplate, leaves
from krmfn.model.values import Fields, Value, as_mapping
from krmfn.releases.release import QUORUMS, NotWritable, Release, first_release, list_fields
from krmfn.releases.spelling import LINK_FIELDS, list_mutable, read_limits, spell
from krmfn.targets.emission import (
    Agreement,
    Emission,
    Link,
    agree,
    blame,
    check_gates,
    check_quorums,
    describe,
    note_layout,
)
from krmfn.targets.layout import Layouts, PlacedGroup, TooLarge, flatten, lay_out, lay_out_flat, walk

_PARENT = "parentCompositePodGroupName"


def emit(gang: Gang, settings: Settings) -> Emission:
    """The objects of `gang`. Wrong quorums, pods that do not agree and a version without a field are errors."""
    release = settings.release
    try:
        layouts, notes = _lay_out(gang, gang.name, release)
    except TooLarge as large:
        others = ", ".join(map(str, gang.owners[1:]))
        others = f"together with those of {others} " if others else ""
        return Emission((), (), (tell("groups-do-not-fit", (), others=others, reason=large),))
    if not layouts:
        return Emission((), (), notes)
    try:
        return _write(gang, settings, layouts, notes)
    except NotWritable as problem:
        pinned = ", ".join(f"{kind}: {version}" for kind, version in settings.api_versions.items())
        told = tell("api-version-pinned", (), problem=problem, pinned=pinned)
        return Emission((), (), (told if pinned else told._replace(hint=""),))


def _write(gang: Gang, settings: Settings, layouts: Layouts, notes: NoteTuple) -> Emission:
    """The objects of the groups in `layouts`. Raises NotWritable."""
    release = settings.release
    agreed = agree(gang, settings)
    templates = _describe_templates(layouts, agreed, settings)
    revision = ""
    if gang.naming == "Revisioned":
        revision = _revise(gang, templates, _policy_of_preemption(agreed, settings), release)
    name = shorten(f"{gang.name}-{revision}") if revision else gang.name
    layouts = _lay_out(gang, name, release)[0] if revision else layouts
    objects = _write_groups(gang, name, layouts, agreed, settings, revision)
    if "Workload" in release.kinds:
        spec = spell({**refer_to_owner(gang), **templates}, release)
        version = _find_version(settings, "Workload", spec)
        objects = (describe(version, "Workload", name, gang, spec, revision), *objects)
    links = _write_links(layouts, name, release)
    bridged = [link for link in links if link.path[-1] == POD_GROUP]
    found = (
        *notes,
        *agreed.notes,
        *_note_lost(layouts, release),
        *check_quorums(*layouts),
        *check_gates(release, objects, settings.feature_gates),
        *note_layout(*layouts),
        *(tell("bridge-needed", link.path if link.owner == 0 else ()) for link in bridged[:1]),
    )
    for layout in layouts:
        if layout.children:
            from krmfn.targets.requests import note_order

            found += tuple(note_order(layout, gang))
    return blame(Emission(objects, links, tuple(note for note in found if RULES[note.rule].holds(release))))


def _write_groups(
    gang: Gang, workload: str, layouts: Layouts, agreed: Agreement, settings: Settings, revision: str
) -> tuple[Fields, ...]:
    """Composites first, then PodGroups; none before Kubernetes has them."""
    release = settings.release
    if not release.has("pod-groups"):
        return ()
    composites: list[Fields] = []
    groups: list[Fields] = []
    nodes = list(walk(*layouts))
    parents = {child.name: node for node in nodes for child in node.children}
    for node in nodes:
        kind, into = ("PodGroup", groups) if isinstance(node.group, Leaf) else ("CompositePodGroup", composites)
        spec: Fields = {}
        if "Workload" in release.kinds:
            spec |= _refer_to_template(workload, node.template, release)
        spec |= _describe_policy(node, agreed, settings) | _policy_of_preemption(agreed, settings)
        for name, parent in zip(_list_names(node), _list_parents(node, parents.get(node.name)), strict=True):
            whole = spell({**parent, **spec}, release)
            into.append(describe(_find_version(settings, kind, whole), kind, name, gang, whole, revision))
    if composites:
        groups.sort(key=lambda group: group["metadata"]["name"])  # by rank: the scheduler takes older ones first
    return (*composites, *groups)


def _list_names(node: PlacedGroup) -> list[str]:
    """The names of the groups of a node: numbered where replicas or slices are groups of their own."""
    group = node.group
    if group.replicas == 1 and not (isinstance(group, Leaf) and group.by):
        return [node.name]
    return [f"{node.name}-{number}" for number in range(group.replicas)]


def _list_parents(node: PlacedGroup, above: PlacedGroup | None) -> list[Fields]:
    """For each group of a node the field that names its parent; those above have equally many each, in order."""
    if above is None:
        return [{}] * node.group.replicas
    names = _list_names(above)
    return [{_PARENT: names[number * len(names) // node.group.replicas]} for number in range(node.group.replicas)]


def _write_links(layouts: Layouts, workload: str, release: Release) -> tuple[Link, ...]:
    """From every pod template of a leaf to its group: to the PodGroup, or to the Workload and the group in it; where
    pods are linked when they are created, what the bridge reads."""
    links: list[Link] = []
    for node in walk(*layouts):
        for template in node.group.templates if isinstance(node.group, Leaf) else ():
            if template.bridged:
                links += _ask_bridge(template, node)
                continue
            path = (*template.spec_path, *release.link)
            links.append(Link(template.owner, path, node.name if release.has("pod-groups") else workload))
            if not release.has("pod-groups"):
                links.append(Link(template.owner, (*path[:-1], "podGroup"), node.template))
    return tuple(links)


def _ask_bridge(template: PodTemplate, node: PlacedGroup) -> Iterator[Link]:
    annotations = (*template.metadata_path, "annotations")
    yield from (Link(template.owner, path, value) for path, value in template.beside)
    yield Link(template.owner, (*annotations, POD_GROUP), node.name)
    if isinstance(node.group, Leaf) and node.group.by:
        yield Link(template.owner, (*annotations, POD_GROUP_BY), node.group.by)


def _lay_out(gang: Gang, name: str, release: Release) -> tuple[Layouts, NoteTuple]:
    """The groups under names that begin with `name`: one tree, or groups side by side where a release has no trees, and
    where the root would wait for none of them, since that needs fewer gates. Raises TooLarge."""
    limits = read_limits(release)
    if not release.has("composite-groups"):
        return flatten(gang, name, release, limits.groups)
    root = gang.root
    if isinstance(root, Composite) and root.min_group_count is None and not root.topology_key:
        flat = lay_out_flat(name, root)
        if len(flat) == len(root.children) <= limits.groups and all(isinstance(each, Leaf) for each in root.children):
            return flat, ()
    if isinstance(root, Leaf):
        return (lay_out(name, root, limits),), ()
    from krmfn.targets.requests import rank  # a gang of one group has nothing to rank

    return (lay_out(name, root, limits, lambda group: rank(group, gang)),), ()


def _find_version(settings: Settings, kind: str, spec: Value) -> str:
    """The version that an object of a kind with this spec is written in. Raises NotWritable."""
    fields = list_fields(spec) if kind in settings.release.lacks else frozenset[str]()
    return settings.release.api_version(kind, fields, settings.api_versions.get(kind, ""))


def refer_to_owner(gang: Gang) -> Fields:
    """`controllerRef`, when there is exactly one owner. It documents; nothing acts on it where pods are linked."""
    if len(gang.owners) != 1:
        return {}
    owner = gang.owners[0]
    group = {"apiGroup": owner.group} if owner.group else {}
    return {"controllerRef": {**group, "kind": owner.kind, "name": owner.name}}


def _refer_to_template(workload: str, template: str, release: Release) -> Fields:
    *path, last = release.template
    value: Fields = {"workloadName": workload, last: template}
    for field in reversed(path):
        value = {field: value}
    return value


def _policy_of_preemption(agreed: Agreement, settings: Settings) -> Fields:
    """A class with policy Never wants it repeated in the groups where the gate is on; where it is off, the field is
    dropped. Templates go without: the server does not compare it, and nothing reads it there."""
    release = settings.release
    gate = release.features.get("group-preemption-policy")
    if gate is None or settings.feature_gates.get(gate) is False:
        return {}
    policy = agreed.preemption_policy
    if agreed.priority_class and not policy:
        found = settings.priority_classes.get(agreed.priority_class)
        policy = found.preemption_policy if found else ""
    return {"preemptionPolicy": "Never"} if policy == "Never" else {}


def _describe_templates(nodes: Layouts, agreed: Agreement, settings: Settings) -> Fields:
    """The lists in which a Workload, or a composite template, has the templates of some groups."""
    lists: Fields = {}
    for node in nodes:
        name = "podGroupTemplates" if isinstance(node.group, Leaf) else "compositePodGroupTemplates"
        below = _describe_templates(node.children, agreed, settings)
        template = {"name": node.template, **_describe_policy(node, agreed, settings), **below}
        lists.setdefault(name, []).append(template)
    return lists


def _describe_policy(node: PlacedGroup, agreed: Agreement, settings: Settings) -> Fields:
    """What a group and its template say alike. The priority class is left out where the gate that keeps it is off:
    nobody asked for it, it only repeats what the pods say."""
    group, release = node.group, settings.release
    kind, quorum = (
        ("PodGroup", group.min_count) if isinstance(group, Leaf) else ("CompositePodGroup", group.min_group_count)
    )
    policy = {"basic": {}} if quorum is None else {"gang": {QUORUMS[kind]: quorum}}
    fields: Fields = {"schedulingPolicy": policy}
    if group.topology_key and release.has("topology-keys"):
        fields["schedulingConstraints"] = {"topology": [{"key": group.topology_key}]}
    mode = group.disruption_mode or _default_mode(settings)
    if mode in release.modes and release.has("disruption-modes") and (quorum is not None or mode != "All"):
        fields["disruptionMode"] = release.modes[mode]
    if agreed.priority_class and settings.has("group-priority"):
        fields["priorityClassName"] = agreed.priority_class
    return fields


def _default_mode(settings: Settings) -> DisruptionMode:
    """A gang that loses single pods to preemption stands still with the others, and that is the API's default: so it is
    preempted as a whole, where saying so takes no gate that the cluster may do without."""
    gate = settings.release.features.get("disruption-modes")
    is_free = gate == "" or (gate is not None and "PodGroup" in settings.release.gates[gate].kinds)
    return "All" if is_free or settings.feature_gates.get(gate or "") is True else ""


def _note_lost(layouts: Layouts, release: Release) -> Notes:
    """What the groups ask for and the release has no field for."""
    groups: list[Group] = [node.group for node in walk(*layouts)]
    keys = sorted({group.topology_key for group in groups} - {""})
    if keys and not release.has("topology-keys"):
        later = first_release("topology-keys")
        yield tell("topology-lost", (), "", keys[0], None, keys=", ".join(keys), release=release, later=later)
    modes = sorted({group.disruption_mode for group in groups} - {""})
    if modes and not release.has("disruption-modes"):
        yield tell("disruption-mode-lost", (), release=release, later=first_release("disruption-modes"))
    elif modes and modes[0] not in release.modes:
        known = " or ".join(release.modes)
        yield tell("disruption-mode-lost", (), "mode", release=release, mode=modes[0], known=known)


def _revise(gang: Gang, templates: Value, more: Value, release: Release) -> str:
    """The revision of a gang with these templates: a digest of what cannot change once its objects exist, for names of
    their own after a change. A PodGroup with running pods cannot be deleted (its finalizer holds it back), and groups
    and Workloads refer to each other in fields that cannot change: all get new names, beside the old ones.

    The templates have the names of 1.37: what a release only calls otherwise is no change. `more` is what groups say
    that their templates do not. Names of other objects do not count: a prefix that kustomize puts before them later
    must not look like a change. Pods count where new ones are built beside the old ones: two generations would meet.
    """
    import json

    pods = []
    for template in (template for leaf in leaves(gang.root) for template in leaf.templates):
        owner = gang.owners[template.owner]
        kind = find_kind(owner)
        if template.owner < len(gang.values) and kind is not None and kind.renewed:
            spec = as_mapping(gang.values[template.owner], *template.spec_path)
            pods.append({key: child for key, child in spec.items() if key not in LINK_FIELDS})
    mutable = list_mutable(release)
    fixed = frozenset(name for name in list_fields(templates) if release.call(name) not in mutable)
    text = json.dumps([_keep(templates, fixed), more, pods], sort_keys=True, default=str)
    for index, owner in enumerate(gang.owners if len(gang.owners) > 1 else ()):
        # templates of a gang across resources are called after them
        text = text.replace(f'"name": "{slug(f"{owner.kind.lower()}-{owner.name}")}', f'"name": "{index}')
    return digest(text)


def _keep(value: Any, fields: Set[str]) -> Any:
    """A value with these fields alone, at any depth."""
    if isinstance(value, Mapping):
        return {key: _keep(child, fields) for key, child in value.items() if key in fields}
    return [_keep(child, fields) for child in value] if isinstance(value, list) else value
