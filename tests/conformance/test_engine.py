"""The engine on what no record has: items, versions that pair, objects from a cluster, and values of any shape."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from conformance.jsonreader import BadJson, read_json
from conformance.offline import create_from_text
from krmfn.checks.server import check
from krmfn.config import Settings, read_settings
from krmfn.krm.item import Item
from krmfn.model.gotext import BadTime, quote, read_time
from krmfn.model.rules import PARTS
from krmfn.releases.release import find_release
from krmfn.server import Mode, Verdict, answer, hold, kind_of
from krmfn.server.formats import FORMATS
from krmfn.server.requests import Address, read_body
from krmfn.server.schema import find_kind
from tests.checks.definitions import define
from tests.conformance.replay import PROFILES, read

GATES = dict.fromkeys(PROFILES["1.37-was-all"].split(), True)
GROUP = {
    "apiVersion": "scheduling.k8s.io/v1alpha3",
    "kind": "PodGroup",
    "metadata": {"name": "a", "namespace": "ml"},
    "spec": {"schedulingPolicy": {"gang": {"minCount": 3}}},
}
KNOWN = {*PARTS["server"]}


def changed(value: dict[str, Any], path: str, to: Any) -> dict[str, Any]:
    copy: dict[str, Any] = json.loads(json.dumps(value))
    *parents, last = path.split(".")
    place = copy
    for name in parents:
        place = place.setdefault(name, {})
    place[last] = to
    return copy


def items(*values: dict[str, Any]) -> list[Item]:
    return [Item.parse(json.dumps(value).encode(), f"{index}.json") for index, value in enumerate(values)]


def findings(new: list[Item], old: list[Item] | None = None, **given: Any) -> list[tuple[str, tuple[str | int, ...]]]:
    return [(finding.rule, finding.path) for finding in check(new, old, configure(**given))]


def configure(**given: Any) -> Settings:
    release = find_release(given.pop("release", "1.37"))
    return read_settings(None)._replace(release=release, **given)


def test_accepted_without_findings() -> None:
    assert findings(items(GROUP)) == []


def test_wrong_field_is_hinted() -> None:
    found = list(check(items(changed(GROUP, "spec.scheduling_policy", {})), None, configure()))
    assert [(finding.rule, finding.path) for finding in found] == [("unknown-field", ("spec", "scheduling_policy"))]
    assert "schedulingPolicy" in found[0].hint


@pytest.mark.parametrize(("value", "quoted"), [(True, '"true"'), (12, '"12"')])
def test_a_text_without_quotes_is_hinted(value: Any, quoted: str) -> None:
    """`krmfn.dev/gang: true`: the first mistake of everybody."""
    found = list(check(items(changed(GROUP, "metadata.annotations", {"krmfn.dev/gang": value})), None, configure()))
    assert [(finding.rule, finding.hint) for finding in found] == [("wrong-type", f"Write it in quotes: {quoted}.")]


def test_versions_of_a_kind_pair() -> None:
    """The same object, given in two versions, is an update."""
    new = changed(changed(GROUP, "apiVersion", "scheduling.k8s.io/v1beta1"), "spec.schedulingPolicy", {"basic": {}})
    assert findings(items(new), items(GROUP))
    assert not findings(items(new), items(changed(GROUP, "metadata.name", "b")))


def test_namespace_default_is_none() -> None:
    bare = changed(GROUP, "metadata", {"name": "a"})
    other = changed(changed(GROUP, "metadata.namespace", "default"), "spec.schedulingPolicy", {"basic": {}})
    assert findings(items(bare), items(other))


def test_not_served() -> None:
    new = changed(GROUP, "apiVersion", "scheduling.k8s.io/v1alpha1")
    assert findings(items(new)) == [("version-not-served", ("apiVersion",))]
    assert findings(items(GROUP), release="1.35") == [("version-not-served", ("apiVersion",))]
    assert findings(items(changed(GROUP, "kind", "Elsewhere"))) == [("version-not-served", ("kind",))]
    assert findings(items(changed(GROUP, "apiVersion", "example.com/v1"))) == []
    assert findings(items({"apiVersion": "v1", "kind": "Config", "clusters": []})) == []  # a file of a program


def test_other_kinds() -> None:
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a"}, "spec": {"port": []}}
    assert findings(items(service)) == [("unknown-field", ("spec", "port"))]
    old = {"apiVersion": "batch/v1beta1", "kind": "CronJob", "metadata": {"generateName": "a-"}}
    assert findings(items(old)) == [("version-not-served", ("apiVersion",))]
    off = {"apiVersion": "resource.k8s.io/v1beta1", "kind": "DeviceClass", "metadata": {"name": "a"}, "spec": {}}
    assert findings(items(off)) == [("version-off", ("apiVersion",))]


def test_duplicate_key() -> None:
    text = json.dumps(GROUP).replace('"minCount": 3', '"minCount": 3, "minCount": 4')
    item = Item.parse(text.encode(), "a.json")
    found = findings([item])
    assert ("duplicate-field", ("spec", "schedulingPolicy", "gang", "minCount")) in found


@pytest.mark.parametrize(
    "text",
    [
        "a: 1\na: 2\n",
        "a: {b: 1, b: 2}\n",
        '{"a":1,"a": 2}',
        '{"a": 1, "a" : 2}',
        "{'a':1,'a': 2}",
        "a: &x {b: 1}\nc: *x\nc: 1\n",
        "? a\na: 1\n",
        "b: {a, a: 1}\n",
        "a:\ta\na: 1\n",
        "a:\n  b: 1\na:",
    ],
)
def test_repeated_keys_are_not_missed(text: str) -> None:
    assert Item.parse(text.encode()).may_repeat


def test_plain_text_has_no_repeated_keys() -> None:
    text = "a: 1\nb:\n- c: d:e\n  f: g\n- h:\n"
    assert not Item.parse(text.encode()).may_repeat
    assert not Item.parse('a: "é: b"\nb: "c:\\n"\n'.encode()).may_repeat


def test_dropped_field() -> None:
    claims = changed(GROUP, "spec.resourceClaims", [{"name": "a", "resourceClaimName": "b"}])
    off = {"DRAWorkloadResourceClaims": False}
    assert findings(items(claims), feature_gates=off) == [("dropped-field", ("spec", "resourceClaims"))]
    assert findings(items(claims)) == []


def told(verdict: Verdict | None) -> Verdict:
    """The answer, which there has to be."""
    assert verdict is not None
    return verdict


def live(value: dict[str, Any], **meta: Any) -> dict[str, Any]:
    copy: dict[str, Any] = json.loads(json.dumps(value))
    copy["metadata"].update(
        uid="0b5a", resourceVersion="77", creationTimestamp="2026-01-01T00:00:00Z", generation=4, **meta
    )
    copy["spec"]["disruptionMode"] = {"single": {}}
    copy["spec"]["priority"] = 0
    return copy


def test_old_from_a_cluster() -> None:
    """What the server wrote there is not taken for something that Git had said."""
    assert told(answer(GROUP, "1.37", GATES, live(GROUP))).accepted
    noted = {"kubectl.kubernetes.io/last-applied-configuration": json.dumps(GROUP)}
    assert told(answer(GROUP, "1.37", GATES, live(GROUP, annotations=noted))).accepted
    edited = live(GROUP)
    verdict = answer(edited, "1.37", GATES, live(GROUP), "replace")
    assert verdict is not None
    assert verdict.code == 200
    edited["metadata"]["resourceVersion"] = "76"
    verdict = answer(edited, "1.37", GATES, live(GROUP), "replace")
    assert verdict is not None
    assert verdict.code == 409


@pytest.mark.parametrize(("version", "code"), [("", 200), ("0", 422), ("x", 500), ("1", 409), (str(2**64), 500)])
def test_resource_version(version: str, code: int) -> None:
    new = changed(changed(GROUP, "metadata.resourceVersion", version), "spec.priority", 0)
    new["spec"]["disruptionMode"] = {"single": {}}
    verdict = answer(new, "1.37", GATES, GROUP, "replace")
    assert verdict is not None
    assert verdict.code == code


def test_old_that_the_server_refuses() -> None:
    bad = changed(GROUP, "spec.schedulingPolicy", {})
    kind = kind_of(bad, "1.37", GATES)
    assert kind is not None
    assert hold(kind, bad) is None
    assert told(answer(GROUP, "1.37", GATES, bad)).code == 201


def test_gates_that_are_off() -> None:
    assert told(answer(GROUP, "1.37", {})).code == 404


def test_the_door_answers_for_every_kind_that_is_known() -> None:
    event = {"apiVersion": "v1", "kind": "Event", "metadata": {"name": "a"}, "involvedObject": {}}
    assert told(answer(event, "1.37", {})).accepted
    causes = told(answer({**event, "count": "x"}, "1.37", {})).causes
    assert [(cause.type, cause.path) for cause in causes] == [("Decode", ("count",))]
    queue = {"apiVersion": "kueue.x-k8s.io/v1beta1", "kind": "LocalQueue", "metadata": {"name": "a"}, "spec": {"x": 1}}
    assert [cause.path for cause in told(answer(queue, "1.37", {})).causes] == [("spec", "x")]
    foo = {"apiVersion": "example.com/v1", "kind": "Foo", "metadata": {"name": "a"}, "spec": {"size": "x"}}
    assert answer(foo, "1.37", {}) is None
    definition = yaml.safe_load(define("{spec: {type: object, properties: {size: {type: integer}}}}"))
    causes = told(answer(foo, "1.37", {}, definitions=[definition])).causes
    assert [cause.path for cause in causes] == [("spec", "size")]
    stored = {**foo, "spec": {"size": 1}}
    assert told(answer({**foo, "spec": {"size": 2}}, "1.37", {}, stored, definitions=[definition])).accepted
    assert answer({"kind": 1}, "1.37", {}) is answer(None, "1.37", {}) is None


@pytest.mark.parametrize(("version", "code"), [("v1", 201), ("/v1", 201), (None, None), (["v1"], None)])
def test_only_a_text_says_that_an_object_is_of_the_core_group(version: Any, code: int | None) -> None:
    """To Go, `/v1` is a version of the group without a name; an object without a version is of no group."""
    said = answer({"apiVersion": version, "kind": "ConfigMap", "metadata": {"name": "a"}}, "1.37", {})
    assert (said and said.code) == code


def test_the_keys_of_items_that_a_definition_does_not_describe_end_no_apply() -> None:
    names = "{type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name]}"
    definition = yaml.safe_load(define(f"{{spec: {{type: object, properties: {{names: {names}}}}}}}"))
    foo = {"apiVersion": "example.com/v1", "kind": "Foo", "metadata": {"name": "a"}, "spec": {"names": [{"name": "a"}]}}
    assert told(answer(foo, "1.37", {}, foo, "server-side-apply", definitions=[definition])).accepted


@pytest.mark.parametrize(
    "managed",
    [
        None,
        [None],
        [{"operation": "Apply", "fieldsV1": {"f:data": True, "f:spec": None}}],
        [{"operation": "Apply", "fieldsV1": {"f:data": {"k:a": {}}, "f:spec": {"k:headGroupSpec": {}}}}],
    ],
)
@pytest.mark.parametrize(
    "body",
    [
        {"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "b"}},
        {"apiVersion": "ray.io/v1", "kind": "RayCluster", "spec": {"headGroupSpec": {"template": {"spec": {}}}}},
    ],
    ids=lambda body: body["kind"],
)
def test_managers_that_no_server_writes_end_no_apply(body: Any, managed: Any) -> None:
    server = {"uid": "1", "resourceVersion": "1", "creationTimestamp": "2026-01-01T00:00:00Z"}
    old = {**body, "metadata": {"name": "a", **server, "managedFields": managed}}
    assert answer({**body, "metadata": {"name": "a"}}, "1.37", {}, old, "server-side-apply") is not None


@pytest.mark.parametrize("way", ["apply", "server-side-apply", "replace"])
def test_an_object_without_a_name_is_in_no_server(way: Mode) -> None:
    server = {"uid": "1", "resourceVersion": "1", "creationTimestamp": "2026-01-01T00:00:00Z"}
    body = {"apiVersion": "v1", "kind": "ConfigMap"}
    assert told(answer({**body, "metadata": {"name": "a"}}, "1.37", {}, {**body, "metadata": server}, way)).code == 201


def test_a_null_is_an_empty_value_of_a_secret() -> None:
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}, "data": {"a": None}}
    assert told(answer(secret, "1.37", {})).accepted


def test_times() -> None:
    assert read_time("2026-01-02T03:04:05+01:00") == "2026-01-02T02:04:05Z"
    for bad in ("", "2026-02-30T00:00:00Z", "2026-01-02", "2026-01-02T03:04:05"):
        with pytest.raises(BadTime):
            read_time(bad)


def test_quoting() -> None:
    assert quote('a"\\\n\x7f\u200b\U0001f600\ud800') == '"a\\"\\\\\\n\\x7f\\u200b\U0001f600\ufffd"'


#: Values that sit on an edge of some rule.
SCALARS = st.sampled_from(
    [None, True, False, 0, 1, -1, 2**31, 2**63, 2**64, 1.5, 1.0, "", "a", "A", "a/b", "a.b", "x" * 64, "é", "\ud800"]
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=4), inner, max_size=3)),
    max_leaves=8,
)
SAMPLE = [
    record
    for profile in ("1.35-was", "1.36-was-all", "1.37-was-all")
    for record in read("verdicts", profile)[::37]
    if isinstance(record.get("object"), dict)
]


def paths_in(value: Any) -> list[tuple[Any, ...]]:
    found: list[tuple[Any, ...]] = [()]
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inner:
        found.extend((key, *rest) for rest in paths_in(item))
    return found


def replaced(value: Any, path: tuple[Any, ...], to: Any) -> Any:
    if not path:
        return to
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = replaced(copy[path[0]], path[1:], to)
    return copy


@settings(max_examples=120, deadline=None)
@given(st.data())
def test_never_raises(data: st.DataObject) -> None:
    """A recorded object with one or two values replaced: some answer, for every operation, with known rules."""
    record = data.draw(st.sampled_from(SAMPLE))
    gates = dict.fromkeys(PROFILES[record["profile"]].split(), True)
    value = record["object"]
    for _ in range(data.draw(st.integers(1, 2))):
        value = replaced(value, data.draw(st.sampled_from(paths_in(value))), data.draw(VALUES))
    old = record.get("old", record["object"])
    verdicts = [answer(value, record["release"], gates)]
    for mode in ("apply", "server-side-apply", "replace"):
        if isinstance(value, dict):
            verdicts.append(answer(value, record["release"], gates, old, mode))
    for verdict in verdicts:
        if verdict is not None:
            assert bool(verdict.message) != verdict.accepted
            assert {cause.rule for cause in verdict.causes} <= KNOWN
            assert verdict.code != 422 or verdict.causes


@settings(max_examples=100, deadline=None)
@given(VALUES, st.sampled_from(sorted(FORMATS)))
def test_formats_take_any_string(value: Any, name: str) -> None:
    for message in FORMATS[name](str(value)):
        assert message


@settings(max_examples=120, deadline=None)
@given(st.binary(max_size=20) | VALUES.map(lambda value: json.dumps(value).encode()))
def test_any_body_is_answered(body: bytes) -> None:
    kind = kind_of(GROUP, "1.37", GATES)
    assert kind is not None
    assert create_from_text(kind, body).code in (400, 404, 422)
    try:
        read_json(body)
    except BadJson:
        return


def test_deep_nesting_is_refused() -> None:
    deep: Any = {}
    for _ in range(400):
        deep = {"name": "a", "compositePodGroupTemplates": [deep]}
    workload = {**GROUP, "kind": "Workload", "spec": deep}
    assert told(answer(workload, "1.37", GATES)).code in (400, 422)
    deep["compositePodGroupTemplates"].append({"b": 1})
    assert told(answer(workload, "1.37", GATES)).code == 400


PODS = {"containers": [{"name": "c", "image": "busybox:1"}]}
TEMPLATE = {"metadata": {"labels": {"app": "x"}}, "spec": PODS}
ONCE = {"template": {"spec": {**PODS, "restartPolicy": "Never"}}}
NAMELESS = {
    "Workload": (GROUP["apiVersion"], {"podGroupTemplates": [{"name": "a", "schedulingPolicy": {"basic": {}}}]}),
    "PodGroup": (GROUP["apiVersion"], {"schedulingPolicy": {"gang": {"minCount": 3}}}),
    "Job": ("batch/v1", ONCE),
    "CronJob": ("batch/v1", {"schedule": "* * * * *", "jobTemplate": {"spec": ONCE}}),
    "Pod": ("v1", PODS),
    "Deployment": ("apps/v1", {"selector": {"matchLabels": {"app": "x"}}, "template": TEMPLATE}),
    "ReplicaSet": ("apps/v1", {"selector": {"matchLabels": {"app": "x"}}, "template": TEMPLATE}),
    "DaemonSet": ("apps/v1", {"selector": {"matchLabels": {"app": "x"}}, "template": TEMPLATE}),
    "StatefulSet": ("apps/v1", {"selector": {"matchLabels": {"app": "x"}}, "template": TEMPLATE}),
    "ReplicationController": ("v1", {"selector": {"app": "x"}, "template": TEMPLATE}),
}  # fmt: skip


@pytest.mark.parametrize("kind", NAMELESS)
def test_a_name_that_the_server_makes_up_is_not_known_yet(kind: str) -> None:
    api_version, spec = NAMELESS[kind]
    value = {"apiVersion": api_version, "kind": kind, "metadata": {"generateName": "train-"}, "spec": spec}
    assert findings(items(value)) == []
    assert findings(items(value), items(value)) == []  # two objects, not an update
    wrong = {**value, "metadata": {"generateName": "train-", "labels": {"a b": "c"}}}
    found = list(check(items(wrong), None, configure()))
    assert [finding.rule for finding in found] == ["metadata-label"]
    assert "krmfn" not in found[0].message
    assert "<" not in found[0].message


def test_of_a_generated_name_the_known_part_is_shown() -> None:
    api_version, spec = NAMELESS["Job"]
    value = {"apiVersion": api_version, "kind": "Job", "metadata": {"generateName": "Train-"}, "spec": spec}
    verdict = answer(value, "1.37", GATES)
    assert verdict
    assert verdict.message.startswith('Job.batch "Train-" is invalid: ')
    assert "krmfn" not in verdict.message


@pytest.mark.parametrize(("number", "code"), [(3.0, 201), (1e3, 201), (1.5, 400), (1e21, 400), ("3", 400)])
def test_numbers_are_judged_as_a_client_sends_them(number: Any, code: int) -> None:
    template = {"spec": {**PODS, "restartPolicy": "Never", "securityContext": {"runAsUser": number}}}
    value = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "a"}, "spec": {"template": template}}
    assert told(answer(value, "1.37", GATES)).code == code
    assert bool(findings([Item.parse(yaml.safe_dump(value).encode(), "a.yaml")])) is (code == 400)


@pytest.mark.parametrize("gates", [GATES, {}, {"GenericWorkload": True}])
def test_a_body_in_another_served_version_than_that_of_the_address(gates: dict[str, bool]) -> None:
    """As a client sends an object that it has read in the other version."""
    kind = find_kind("scheduling.k8s.io", "PodGroup", "1.37", {**GATES, **gates})
    assert kind is not None
    refused = read_body(kind, GROUP, Address("v1beta1", "ml", "a"))
    assert isinstance(refused, Verdict)
    assert (refused.code, refused.causes[0].rule) == (400, "wrong-kind")
    assert refused.message == (
        "the API version in the data (scheduling.k8s.io/v1alpha3) does not match the expected API version "
        "(scheduling.k8s.io/v1beta1)"
    )


@pytest.mark.parametrize(
    ("least", "most", "said"),
    [
        ("9" * 20 + "%", 0, ["must not be greater than 100%"]),
        ("0" * 5000 + "50%", 0, []),
        ("0" * 30 + "%", 0, ["may not be 0 when `maxSurge` is 0"]),
        ("0" * 20, "1%", ["a valid percent string must be a numeric string followed by an ending '%'"]),
    ],
    ids=["too large", "zeros first", "nothing", "no percentage"],
)
def test_a_share_with_many_digits_is_read_as_go_does(least: str, most: int | str, said: list[str]) -> None:
    """As a real server answered; budgets have the same reader."""
    pods = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "a", "image": "a"}]}}
    update = {"rollingUpdate": {"maxUnavailable": least, "maxSurge": most}}
    meta = {"name": "a", "namespace": "ml"}
    spec = {"strategy": update, "selector": {"matchLabels": {"a": "b"}}, "template": pods}
    deployment = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta, "spec": spec}
    budget = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": meta,
        "spec": {"maxUnavailable": least},
    }
    causes = told(answer(deployment, "1.37", {})).causes
    assert [text in cause.message for text, cause in zip(said, causes, strict=True)] == [True] * len(said)
    assert told(answer(budget, "1.37", {})).accepted == (not said or "be 0" in said[0])


def test_a_conflict_names_the_place_in_etcd() -> None:
    where = {"name": "a", "namespace": "ml"}
    service = {"apiVersion": "v1", "kind": "Service", "metadata": where, "spec": {"ports": [{"port": 80}]}}
    claimed = changed(service, "metadata.uid", "u")
    verdict = answer(claimed, "1.37", {}, service, "replace")
    assert verdict is not None
    assert "Key: /services/specs/ml/a," in verdict.message


def test_a_pod_without_an_account_has_the_one_of_its_namespace() -> None:
    """As a server with the admission plugin ServiceAccount answered. Those that were recorded have it off."""
    token = {"name": "t", "projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}}
    spec = {"containers": [{"name": "a", "image": "a"}], "volumes": [token]}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "namespace": "ml"}, "spec": spec}
    assert told(answer(pod, "1.37", {})).accepted
    assert told(answer(changed(pod, "metadata.labels", {"a": "b"}), "1.37", {}, pod, "apply")).accepted
    mirror = changed(changed(pod, "spec.nodeName", "n"), "metadata.annotations", {"kubernetes.io/config.mirror": "a"})
    assert [cause.rule for cause in told(answer(mirror, "1.37", {})).causes] == ["pod-volumes"]


@pytest.mark.parametrize("length", [571, 572])
def test_the_longest_name_of_a_signer(length: int) -> None:
    """A domain of 253 bytes, a slash, a name of 253, a dot, and a namespace of 63, says ValidateSignerName."""
    domain = ".".join(["a" * 63, "a" * 63, "a" * 63, "a" * 61])
    signer = f"{domain}/{'a' * 253}.{'a' * 64}"[:length]
    source = {"podCertificate": {"signerName": signer, "keyType": "ED25519", "credentialBundlePath": "k"}}
    spec = {"containers": [{"name": "a", "image": "a"}], "volumes": [{"name": "v", "projected": {"sources": [source]}}]}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "namespace": "ml"}, "spec": spec}
    said = [cause.message for cause in told(answer(pod, "1.37", {"PodCertificateRequest": True})).causes]
    assert said == ["Too long: may not be more than 571 bytes"] * (length > 571)


@pytest.mark.parametrize("length", [65536, 65537])
def test_the_longest_list_of_indexes(length: int) -> None:
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "a", "namespace": "ml"}}
    rules = [{"succeededIndexes": "x" * length}]
    spec = {**ONCE, "completions": 1, "completionMode": "Indexed", "successPolicy": {"rules": rules}}
    said = [cause.message for cause in told(answer({**job, "spec": spec}, "1.37", {})).causes]
    assert ["Too long: may not be more than 65536 bytes" in said] == [length > 65536]


@pytest.mark.parametrize("length", [63, 64])
def test_the_longest_domain_of_an_attribute_is_that_of_a_driver(length: int) -> None:
    spec: dict[str, Any] = {"requests": [{"name": "a", "exactly": {"deviceClassName": "c"}}]}
    spec["constraints"] = [{"requests": ["a"], "matchAttribute": f"{'a' * length}/b"}]
    claim = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": "a", "namespace": "ml"}}
    said = [cause.message for cause in told(answer({**claim, "spec": {"devices": spec}}, "1.37", {})).causes]
    assert said == ["Too long: may not be more than 63 bytes"] * (length > 63)
