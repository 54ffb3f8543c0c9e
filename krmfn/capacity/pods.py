"""Kinds of pods: what the scheduler looks at in a pod template, read once. Equal templates are one kind. With what one
pod asks of a node, as the scheduler counts it (amounts are billionths of the unit), and what pods get after they are
written and before they are scheduled: tolerations and labels to select nodes by.

Source: k8s.io/component-helpers/resource (PodRequests), the API server's defaults (a request that is not written is
the limit), pkg/apis/core/v1 (LimitRange), plugin/pkg/admission/{limitranger,extendedresourcetoleration}; Kueue's
pkg/podset (the nodeLabels and tolerations of the flavors that it assigns)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from krmfn.krm.item import Item
from krmfn.model.gotext import parse_int
from krmfn.model.marks import KUEUE_MINIMUM, KUEUE_QUEUE
from krmfn.model.quantity import add
from krmfn.model.selectors import Answer, both, match_labels, match_namespace
from krmfn.model.values import Fields, Names, Value, as_int, as_list, as_mapping, as_text, dig, group_by
from krmfn.survey.census import Census, Template, count_pods
from krmfn.survey.facts import Amounts, Facts, NodePort, Resources, list_running, read_ports, read_resources

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
#: Labels without a domain that controllers give their pods.
_CONTROLLERS = frozenset({"job-name", "controller-uid", "pod-template-hash", "controller-revision-hash"})
#: The fields of a pod that say where it runs.
_WISHES = frozenset({"affinity", "nodeSelector", "runtimeClassName", "topologySpreadConstraints"})
_GCS = {"name": "wait-gcs-ready", "image": "ray", "resources": {"requests": {"cpu": "200m", "memory": "256Mi"}}}
_SUBMITTER = {
    "name": "ray-job-submitter",
    "image": "ray",
    "resources": {"requests": {"cpu": "500m", "memory": "200Mi"}},
}


class Term(NamedTuple):
    """A required (anti-)affinity term. `key` is its topology key, `selector` its label selector with the match keys
    merged in, `place` its number in the template."""

    key: str
    selector: Any
    namespaces: Names
    namespace_selector: Any
    place: int


class Spread(NamedTuple):
    """A topology spread constraint that the scheduler enforces; `place` is its number in the template."""

    key: str
    skew: int
    selector: Any
    least_domains: int
    honors_affinity: bool
    honors_taints: bool
    place: int


class PodKind(NamedTuple):
    """A pod as the scheduler sees it. `pods` of them exist at once (None: unknown); `template` is the first of the
    templates that are alike. `claims` are volume claims by name, `made` those that are made for each pod; `devices` are
    resource claims, `device_templates` templates of such claims, those of `group_templates` one for the whole group;
    `node` is where its manifest binds it."""

    template: Template
    pods: int | None
    namespace: str
    labels: Value
    requests: Resources
    selector: Value
    affinity: Any
    tolerations: tuple[Any, ...]
    ports: tuple[NodePort, ...]
    apart: tuple[Term, ...]
    together: tuple[Term, ...]
    spreads: tuple[Spread, ...]
    claims: Names
    made: tuple[Value, ...]
    devices: Names
    device_templates: Names
    node: str
    group_templates: Names = ()

    def may_get(self, key: str) -> bool:
        """Whether a controller may add a label of this key."""
        return self.template.item.kind != "Pod" and ("/" in key or key in _CONTROLLERS)


def read_kinds(templates: Iterable[Template], facts: Facts) -> tuple[PodKind, ...]:
    """The kinds of pods of some templates; equal ones are counted together."""
    found = (_read(template, facts) for template in templates if template.pods != 0)
    alike = group_by(lambda kind: repr((kind[2:], is_ray_worker(kind.template))), found)
    return tuple(kinds[0]._replace(pods=count_pods(each.template for each in kinds)) for kinds in alike.values())


def _read(template: Template, facts: Facts) -> PodKind:
    spec, labels = template.spec, as_mapping(template.metadata, "labels")
    namespace = template.item.space
    runtime = facts.find_runtime(spec)
    overhead = read_resources(dig(runtime, "overhead", "podFixed"))
    requests = count_requests(add_injected(template, surely=True), overhead, list_defaults(namespace, facts))
    affinity = as_mapping(spec, "affinity")
    return PodKind(
        template,
        template.pods,
        namespace,
        labels,
        requests,
        {
            **list_added_labels(template.item, facts),
            **as_mapping(runtime, "scheduling", "nodeSelector"),
            **as_mapping(spec, "nodeSelector"),
        },
        dig(affinity, "nodeAffinity", _REQUIRED, "nodeSelectorTerms"),
        (
            *as_list(spec, "tolerations"),
            *as_list(runtime, "scheduling", "tolerations"),
            *list_added_tolerations(template.item, requests, facts),
        ),
        list_ports(spec),
        tuple(_read_terms(dig(affinity, "podAntiAffinity", _REQUIRED), labels)),
        tuple(_read_terms(dig(affinity, "podAffinity", _REQUIRED), labels)),
        tuple(_read_spreads(spec, labels)),
        _read_names(spec, "volumes", "persistentVolumeClaim", "claimName"),
        tuple(list_made_claims(template)),
        _read_names(spec, "resourceClaims", "resourceClaimName"),
        _read_names(spec, "resourceClaims", "resourceClaimTemplateName"),
        as_text(spec, "nodeName"),
    )


def list_group_claims(template: Template, group: Value) -> dict[str, str]:
    """Those of a pod's claims that are made once for its group: template by name. `group` is the group's spec."""
    pairs = [
        {
            as_text(claim, "name"): name
            for claim in as_list(spec, "resourceClaims")
            if (name := as_text(claim, "resourceClaimTemplateName"))
        }
        for spec in (template.spec, group)
    ]
    return dict(pairs[0].items() & pairs[1].items())


def has_wishes(template: Template) -> bool:
    """Whether the pods ask for more than room: where they run, beside which pods, with which ports of a node."""
    return not _WISHES.isdisjoint(template.spec) or bool(list_ports(template.spec))


def _read_names(spec: Value, field: str, *path: str) -> Names:
    return tuple(name for entry in as_list(spec, field) if (name := as_text(entry, *path)))


def list_made_claims(template: Template) -> Iterator[Value]:
    """The volume claims that are made for each pod: of its ephemeral volumes, and of a StatefulSet's templates. Their
    names begin with `prefix` and end with `suffix`."""
    for volume in as_list(template.spec, "volumes"):
        claim = dig(volume, "ephemeral", "volumeClaimTemplate")
        if claim is not None:
            yield {"prefix": "", "suffix": f"-{as_text(volume, 'name')}", "spec": as_mapping(claim, "spec")}
    if template.item.kind == "StatefulSet":
        for claim in as_list(template.item.value, "spec", "volumeClaimTemplates"):
            prefix = f"{as_text(claim, 'metadata', 'name')}-{template.item.name}-"
            yield {"prefix": prefix, "suffix": "", "spec": as_mapping(claim, "spec")}


def is_ray_worker(template: Template) -> bool:
    """Whether KubeRay makes the pods from the template of a worker group."""
    return template.item.group == "ray.io" and template.path[-2:] != ("headGroupSpec", "template")


def add_injected(template: Template, surely: bool = False) -> Value:
    """The pod's spec with the containers that KubeRay adds: the autoscaler of a head, the submitter of a RayJob in
    SidecarMode, and in a worker one that waits for the head, which an operator can switch off: not `surely`.

    Source: ray-operator/controllers/ray/common/pod.go and job.go, v1.7.0 (ENABLE_INIT_CONTAINER_INJECTION).
    """
    item, path, spec = template.item, template.path, template.spec
    if item.group != "ray.io" or path[-1] != "template":
        return spec
    if path[-2] != "headGroupSpec":
        waits = "workerGroupSpecs" in path and not surely
        return {**spec, "initContainers": [*as_list(spec, "initContainers"), _GCS]} if waits else spec
    boxes = list(as_list(spec, "containers"))
    cluster = dig(item.value, *path[:-2])
    if dig(cluster, "enableInTreeAutoscaling") is True:
        resources = as_mapping(cluster, "autoscalerOptions", "resources")
        usual = {"cpu": "500m", "memory": "512Mi"}
        requests = {**usual, **as_mapping(resources, "limits"), **as_mapping(resources, "requests")}
        boxes.append({"name": "autoscaler", "image": "autoscaler", "resources": {"requests": requests}})
    if dig(item.value, *path[:-3], "submissionMode") == "SidecarMode":
        boxes.append(_SUBMITTER)
    return {**spec, "containers": boxes}


def list_ports(spec: Value) -> tuple[NodePort, ...]:
    """The ports of a node that the pod takes for itself."""
    network = spec.get("hostNetwork") is True
    ports = (port for box in list_running(spec) for port in read_ports(dig(box, "ports"), network))
    return tuple(dict.fromkeys(ports))


def _read_terms(terms: object, labels: Value) -> Iterator[Term]:
    for index, term in enumerate(as_list(terms)):
        selector = _merge(dig(term, "labelSelector"), labels, term)
        names = tuple(map(str, as_list(term, "namespaces")))
        yield Term(as_text(term, "topologyKey"), selector, names, dig(term, "namespaceSelector"), index)


def _merge(selector: object, labels: Value, term: object) -> Any:
    """The selector with matchLabelKeys and mismatchLabelKeys, as the API server writes them into it."""
    if not isinstance(selector, dict):
        return selector
    expressions = list(as_list(selector, "matchExpressions"))
    for field, operator in (("matchLabelKeys", "In"), ("mismatchLabelKeys", "NotIn")):
        keys = (key for key in as_list(term, field) if key in labels)
        expressions += [{"key": key, "operator": operator, "values": [labels[key]]} for key in keys]
    return {**selector, "matchExpressions": expressions}


def _read_spreads(spec: Value, labels: Value) -> Iterator[Spread]:
    for index, entry in enumerate(as_list(spec, "topologySpreadConstraints")):
        if dig(entry, "whenUnsatisfiable") in (None, "DoNotSchedule"):
            yield Spread(
                as_text(entry, "topologyKey"),
                as_int(entry, "maxSkew") or 1,
                _merge(dig(entry, "labelSelector"), labels, entry),
                as_int(entry, "minDomains") or 1,
                dig(entry, "nodeAffinityPolicy") != "Ignore",
                dig(entry, "nodeTaintsPolicy") == "Honor",
                index,
            )


def selects(term: Term, owner: PodKind, namespace: str, labels: Value, other: PodKind | None, facts: Facts) -> Answer:
    """Whether a term of `owner` selects pods with these labels; `other` is their kind, None for pods that exist."""
    selector = term.namespace_selector
    own = () if term.namespaces or selector is not None else (owner.namespace,)
    here: Answer = namespace in (*term.namespaces, *own)
    if not here and selector is not None:
        spaces = facts.by_name("", "Namespace")
        here = match_namespace(selector, namespace, spaces.get(namespace)) if as_mapping(selector) else True
    return both(here, match_labels(term.selector, labels, other.may_get if other else None))


def selects_itself(term: Term, kind: PodKind, facts: Facts) -> bool:
    """Whether a term certainly selects pods of the kind that it stands in."""
    return selects(term, kind, kind.namespace, kind.labels, kind, facts) is True


_KUEUE = "kueue.x-k8s.io"
_PLUGIN = "ExtendedResourceToleration"
#: Labels of the nodes of managed clusters whose API servers run the plugin: GKE, EKS, AKS.
_MANAGED = ("cloud.google.com/gke", "eks.amazonaws.com/", "kubernetes.azure.com/")
_EVERYTHING = {"operator": "Exists"}


def list_added_tolerations(item: Item, requests: Iterable[str], facts: Facts) -> Iterator[Value]:
    """Tolerations that pods of `item` with these requests may get: of any flavor that Kueue may assign, everything
    where the flavors are not known; and for taints that are called like a requested extended resource."""
    if item.labels.get(KUEUE_QUEUE):
        groups = _find_flavors(item, facts)
        flavors = [flavor for group in groups or () for flavor in group]
        if groups is None and facts.lists_all("ResourceFlavor"):
            flavors = list(facts.objects(_KUEUE, "ResourceFlavor"))
        elif groups is None:
            yield _EVERYTHING
        yield from (each for flavor in flavors for each in as_list(flavor, "spec", "tolerations"))
    managed = any(key.startswith(_MANAGED) for node in (facts.nodes or ())[:10] for key in node.labels)
    if managed or _PLUGIN in facts.plugins:
        yield from ({"key": name, "operator": "Exists", "effect": "NoSchedule"} for name in requests if "/" in name)


def list_added_labels(item: Item, facts: Facts) -> Value:
    """The labels that nodes need besides, for what Kueue admits: those of a flavor without an alternative, if any node
    has them (a rule about Kueue tells where none has)."""
    groups = _find_flavors(item, facts) if item.labels.get(KUEUE_QUEUE) else None
    labels: Fields = {}
    for group in groups or ():
        given = as_mapping(group[0], "spec", "nodeLabels") if len(group) == 1 else {}
        if any(given.items() <= node.labels.items() for node in facts.nodes or ()):
            labels |= given
    return labels


def find_queue(item: Item, facts: Facts) -> Value | None:
    """The ClusterQueue behind the queue that an object names; None where it is not known."""
    local = facts.by_place(_KUEUE, "LocalQueue").get((item.space, item.labels.get(KUEUE_QUEUE, "")))
    return facts.by_name(_KUEUE, "ClusterQueue").get(as_text(local, "spec", "clusterQueue"))


def _find_flavors(item: Item, facts: Facts) -> Sequence[Sequence[Value]] | None:
    """The flavors of the queue that an object waits in, by group of resources; None where one is not known."""
    queue, flavors = find_queue(item, facts), facts.by_name(_KUEUE, "ResourceFlavor")
    groups = [
        [as_text(flavor, "name") for flavor in as_list(group, "flavors")]
        for group in as_list(queue, "spec", "resourceGroups")
    ]
    if not groups or not flavors.keys() >= {name for names in groups for name in names}:
        return None
    return [[flavors[name] for name in names] for names in groups]


_POD_LEVEL = ("cpu", "memory")


def list_defaults(namespace: str, facts: Facts) -> list[Value]:
    """The items of LimitRanges that fill in what containers in a namespace leave out."""
    items = (item for value in facts.within("", "LimitRange", namespace) for item in as_list(value, "spec", "limits"))
    return [item for item in items if dig(item, "type") == "Container"]


def list_containers(spec: Value) -> list[Any]:
    """All containers of a pod."""
    return [*as_list(spec, "containers"), *as_list(spec, "initContainers")]


def count_requests(spec: Value, overhead: Resources | None = None, defaults: Sequence[Value] = ()) -> Resources:
    """What a pod with this spec asks for. `overhead` is its runtime class's; `defaults` are filled in."""
    total: Amounts = {}
    for container in as_list(spec, "containers"):
        add(total, container_requests(container, defaults))
    beside: Amounts = {}
    highest: Amounts = {}
    for container in as_list(spec, "initContainers"):
        amounts = dict(container_requests(container, defaults))
        stays = as_text(container, "restartPolicy") == "Always"
        if stays:
            add(total, amounts)
        add(amounts, beside)
        if stays:
            beside = amounts
        lift(highest, amounts)
    lift(total, highest)
    whole = as_mapping(spec, "resources")
    given, bound = read_resources(whole.get("requests")), read_resources(whole.get("limits"))
    for name in {**given, **bound}:
        if name in _POD_LEVEL or name.startswith("hugepages-"):
            # A limit of the pod stands in where neither the pod nor a container asks for the resource.
            total[name] = given[name] if name in given else total.get(name, bound[name])
    add(total, overhead or {})
    return {name: amount for name, amount in total.items() if amount}


def container_requests(container: object, defaults: Iterable[Value]) -> Resources:
    """The requests of a container, with its limits and a LimitRange's defaults standing in."""
    resources = as_mapping(container, "resources")
    requests, limits = read_resources(resources.get("requests")), read_resources(resources.get("limits"))
    filled = {**limits, **requests}
    for item in defaults:
        filled = {**default_requests(item), **filled}
    return filled


def container_limits(container: object, defaults: Iterable[Value]) -> Resources:
    """The limits of a container, with a LimitRange's defaults standing in."""
    filled = read_resources(dig(container, "resources", "limits"))
    for item in defaults:
        filled = {**default_limits(item), **filled}
    return filled


def default_limits(item: Value) -> Resources:
    """What a LimitRange item gives a container without limits: `default`, where that says nothing `max`."""
    return {**read_resources(item.get("max")), **read_resources(item.get("default"))}


def default_requests(item: Value) -> Resources:
    """What a LimitRange item gives a container without requests."""
    return {**read_resources(item.get("min")), **default_limits(item), **read_resources(item.get("defaultRequest"))}


def lift(total: Amounts, amounts: Resources) -> None:
    """Makes a sum at least as large as amounts."""
    for name, amount in amounts.items():
        total[name] = max(total.get(name, 0), amount)


def list_needs(census: Census, item: Item) -> Iterator[tuple[int | None, Resources]]:
    """The pods of each template that have to be admitted, and what one of them requests."""
    least = parse_int(item.annotations.get(KUEUE_MINIMUM, ""))
    for template in census.templates_of(item):
        pods = template.pods
        if least is not None and pods is not None:
            pods = min(pods, least)
        yield pods, count_requests(template.spec)


def sum_least(pods: Iterable[tuple[int | None, Resources]], quorum: int) -> Amounts:
    """What `quorum` pods request at least, by resource: which of them start first is not known, so of each resource
    the smallest amounts count. Of a number of pods that is unknown (None), there are enough.

    >>> sum_least([(1, {"cpu": 5}), (2, {"cpu": 1})], 3), sum_least([(None, {"cpu": 2}), (1, {})], 3)
    ({'cpu': 7}, {'cpu': 4})
    """
    listed = [(quorum if number is None else number, requests) for number, requests in pods]
    names = dict.fromkeys(name for _, requests in listed for name in requests)
    return {name: add_least(((each.get(name, 0), number) for number, each in listed), quorum) for name in names}


def add_least(amounts: Iterable[tuple[int, int]], quorum: int) -> int:
    """The sum of the `quorum` smallest of some amounts, each with how often it is there."""
    total = 0
    for amount, number in sorted(amounts):
        taken = min(number, quorum)
        total += amount * taken
        quorum -= taken
    return total
