"""Custom resources are judged as real servers with the definitions of other projects judged recorded ones."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from conformance import customchanges
from conformance.custom import RECORDED, differ, list_kinds, list_questions, read_values
from conformance.definitions import list_projects, read_definitions
from conformance.storage import read_records
from conformance.versions import read_releases
from krmfn.config.schema import load_schema
from krmfn.server.custom import Judgement, judge, read_definition
from krmfn.server.schema import compile_schemas
from krmfn.server.shipped import Shipped, Unserved, find_shipped, judge_all, tell_versions
from krmfn.server.structure import Structure

SCHEMAS = compile_schemas("1.37", {})


def definition(schema: dict[str, Any]) -> dict[str, Any]:
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    return {"spec": {"group": "example.com", "names": {"kind": "Foo", "plural": "foos"}, "versions": [version]}}


def answer(properties: dict[str, Any], spec: Any, old: Any = None, trusted: bool = True) -> Judgement:
    """What is said of an object of a definition with these fields of its spec, as if it came with krmfn (`trusted`)."""
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": properties}}}
    (structure,) = read_definition(definition(schema)).values()
    structure.trusted = trusted
    head = {"apiVersion": "example.com/v1", "kind": "Foo", "metadata": {"name": "a"}}
    before = None if old is None else {**head, "spec": old}
    return judge(structure, SCHEMAS, {**head, "spec": spec}, before)


OPEN = {"x-kubernetes-preserve-unknown-fields": True}
THING = {"type": "object"}
KNOWN = {"type": "object", "properties": {"x": {"type": "object", "properties": {"y": {"type": "string"}}}}}


@pytest.mark.parametrize(
    ("field", "value", "unknown"),
    [
        ({"type": "array", "items": THING}, [{"u": 1}], ["a", 0, "u"]),
        ({"type": "array", "items": THING, **OPEN}, [{"u": 1, "v": {"w": 1}}], None),
        ({"type": "array", "items": KNOWN, **OPEN}, [{"u": 1}], None),
        ({"type": "array", "items": KNOWN, **OPEN}, [{"x": {"u": 1}}], ["a", 0, "x", "u"]),
        ({"type": "array", "items": {"type": "array", "items": THING}, **OPEN}, [[{"u": 1}]], None),
        ({"type": "object", "properties": {"l": {"type": "array", "items": THING}}, **OPEN}, {"u": [{"u": 1}]}, None),
        (
            {"type": "object", "properties": {"l": {"type": "array", "items": THING}}, **OPEN},
            {"l": [{"u": 1}]},
            ["a", "l", 0, "u"],
        ),
    ],
)
def test_what_a_list_keeps_its_items_keep(field: dict[str, Any], value: Any, unknown: list[str | int] | None) -> None:
    """As a server of 1.37.0 answered for each of these; the pipelines of ECK's Logstash are such a list."""
    causes = answer({"a": field}, {"a": value}).causes
    assert [list(cause.path) for cause in causes] == ([["spec", *unknown]] if unknown else [])


def test_a_definition_can_need_metadata_and_limit_its_name() -> None:
    """As the definitions of metacontroller and of VirtualMachines do."""
    named = {"type": "object", "properties": {"name": {"type": "string", "maxLength": 3}}}
    schema = {"type": "object", "required": ["metadata"], "properties": {"metadata": named}}
    (structure,) = read_definition(definition(schema)).values()
    structure.trusted = True  # as if it came with krmfn
    head = {"apiVersion": "example.com/v1", "kind": "Foo"}
    assert judge(structure, SCHEMAS, {**head, "metadata": {"name": "abc", "labels": {"a": "b"}}}).causes == ()
    (cause,) = judge(structure, SCHEMAS, {**head, "metadata": {"name": "abcd"}}).causes
    assert cause.path == ("metadata", "name")


@pytest.mark.parametrize("project", list_projects())
def test_recorded_answers(project: str) -> None:
    mine = [record for record in read_records(RECORDED) if record["project"] == project]
    assert [(record, found) for record in mine if (found := differ(record))] == []
    codes = Counter(record["code"] for record in mine)
    assert min(codes[201], codes[400], codes[422]) > 3
    questions = list(list_questions(list(read_releases())))
    for asked, version, _ in questions:
        kinds = {(r["object"]["apiVersion"], r["object"]["kind"]) for r in mine if r["version"] == version}
        if asked == project:
            assert kinds == {(f"{group}/{name}", kind) for group, kind, name in list_kinds(project, version)}
            releases = {release for *which, release in questions if which == [asked, version]}
            assert {record["release"] for record in mine if record["version"] == version} == releases


@pytest.mark.parametrize("project", list_projects())
def test_recorded_changes(project: str) -> None:
    mine = [record for record in read_records(customchanges.RECORDED) if record["project"] == project]
    assert [(record, found) for record in mine if (found := customchanges.differ(record))] == []
    for way in customchanges.WAYS:
        codes = Counter(record[way]["code"] for record in mine)
        assert codes[200] > 1, way
        assert codes[422] + codes[500] > 1, way


@pytest.mark.parametrize("project", list_projects())
def test_plain_objects_are_accepted(project: str) -> None:
    """By every version, so that nothing is refused where it is not known which version is installed."""
    row = list_projects()[project]
    assert list(row["versions"]) == sorted(row["versions"], key=lambda text: [int(part) for part in text.split(".")])
    for version in row["versions"]:
        assert list(read_definitions(project, version))
        for group, kind, api_version in list_kinds(project, version):
            assert group in row["groups"]
            known = find_shipped(group, kind, api_version, {})
            assert isinstance(known, Shipped)
            values = read_values()
            body = values.get(f"{kind}/{api_version}", values[kind])
            head = {"apiVersion": f"{group}/{api_version}", "kind": kind, "metadata": {"name": "a"}}
            answer, doubted = judge_all(known, SCHEMAS, head | body)
            assert (answer.causes, doubted) == ((), ()), (version, kind)


def test_every_project_can_be_configured() -> None:
    configured = dict(load_schema()["properties"]["spec"]["properties"]["operators"]["properties"])
    for project, row in list_projects().items():
        if project != "kubeRay":  # has kuberay.version
            versions, groups = ", ".join(row["versions"]), ", ".join(row["groups"])
            told = f"The version of {row['name']} ({groups}). Known are {versions}."
            assert configured.pop(project)["description"] == told
    assert not configured


def test_the_version_that_is_installed() -> None:
    def find(installed: dict[str, tuple[int, int]], group: str, kind: str, version: str) -> Any:
        return find_shipped(group, kind, version, installed)

    assert find({"kubeRay": (1, 2)}, "ray.io", "RayCluster", "v1") is None
    assert list(find({"kubeRay": (1, 9)}, "ray.io", "RayCluster", "v1").structures) == ["1.7"]
    assert list(find({}, "ray.io", "RayCluster", "v1").structures) == list(list_projects()["kubeRay"]["versions"])
    assert find({"kubeRay": (1, 7)}, "ray.io", "RayCluster", "v2") == Unserved("KubeRay", "1.7", ("v1", "v1alpha1"))
    assert find({"kubeRay": (1, 5)}, "ray.io", "RayCronJob", "v1") is None
    assert find({}, "kueue.x-k8s.io", "Workload", "v9") is None
    assert find({}, "example.com", "RayCluster", "v1") is None
    assert find({"mpiOperator": (0, 6)}, "kubeflow.org", "MPIJob", "v2beta1").project == "mpiOperator"
    assert find({"mpiOperator": (0, 6)}, "kubeflow.org", "MPIJob", "v1").project == "trainingOperator"


def answer_together(value: Any, *versions: dict[str, Any], said: bool = False) -> tuple[list[str], list[str]]:
    """What several versions of a definition refuse together, and which fields none has."""
    structures = {
        str(number): Structure({"type": "object", "properties": {"spec": {"type": "object", "properties": fields}}}, {})
        for number, fields in enumerate(versions)
    }
    shipped = Shipped("foo", "Foo", structures, said, ("spec.b.*.c",))
    head = {"apiVersion": "example.com/v1", "kind": "Foo", "metadata": {"name": "a"}}
    answer, doubted = judge_all(shipped, SCHEMAS, {**head, "spec": value})
    return [cause.message for cause in answer.causes], [tell_versions(shipped, cause.path) for cause in doubted]


def test_versions_that_do_not_agree() -> None:
    number, text = {"type": "integer"}, {"type": "string"}
    assert answer_together({"a": "x"}, {"a": number}, {"a": text}) == ([], [])
    assert answer_together({"a": "x"}, {"a": text}, {"a": number}) == ([], [])
    refused, _ = answer_together({"a": "x", "new": 1}, {"a": number}, {"a": number, "new": number})
    assert refused == ['Invalid value: "string": spec.a in body must be of type integer: "string"']
    refused, _ = answer_together({"new": "x"}, {"a": number}, {"new": number})
    assert len(refused) == 1, "the older version refuses the field itself"
    refused, (hint,) = answer_together({"a": "x", "bb": 1}, {"a": number}, {"a": number, "b": number})
    assert len(refused) == 1
    assert hint.startswith("The definitions of Foo 0 to 1 do not have it.")
    refused, (hint,) = answer_together({"count": 1}, {"counts": number})
    assert (refused, hint.partition(" The")[0]) == ([], "Did you mean counts?")
    assert answer_together({"bb": 1}, {"b": number}, said=True) == (['unknown field "spec.bb"'], [])


def test_what_a_webhook_fills_in_is_not_missed() -> None:
    entry = {"type": "array", "items": {"type": "object", "required": ["c", "d"], "properties": {"c": {}, "d": {}}}}
    for said in (True, False):
        refused, _ = answer_together({"b": [{}]}, {"b": entry}, said=said)
        assert refused == ["Required value"]


def test_defaults_and_nulls() -> None:
    fields = {"a": {"type": "integer", "default": 3, "minimum": 2}, "b": {"type": "string"}}
    assert answer(fields, {"b": None}) == Judgement(())
    assert answer(fields, {"a": None}) == Judgement(())
    (cause,) = answer(fields, {"a": 1}).causes
    assert (cause.path, cause.rule) == (("spec", "a"), "minimum")
    assert cause.message == "Invalid value: 1: spec.a in body should be greater than or equal to 2"


def test_what_stays_wrong_is_allowed() -> None:
    fields = {"a": {"type": "integer", "minimum": 2}, "b": {"type": "string"}}
    assert answer(fields, {"a": 1, "b": "x"}, {"a": 1}).causes == ()
    assert len(answer(fields, {"a": 0}, {"a": 1}).causes) == 1
    assert len(answer(fields, {"a": True}, {"a": 1}).causes) == 1


def test_what_others_wrote_may_not_take_for_ever() -> None:
    rules = [{"rule": "[0,0,0].all(a, [0,0,0].all(b, self > 1))"}]
    fields: dict[str, dict[str, Any]] = {
        "n": {"type": "integer", "x-kubernetes-validations": rules},
        **{
            f"p{number}": {"type": "string", "pattern": pattern}
            for number, pattern in enumerate(["^(a+)+$", "(a|a)*b", "a*a*=", "a?" * 40 + "a" * 40, "(a|aa)" * 40 + "b"])
        },
        "quick": {"type": "string", "pattern": "^[a-z]+$"},
    }
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": fields}}}
    (structure,) = read_definition(definition(schema)).values()
    head = {"apiVersion": "example.com/v1", "kind": "Foo", "metadata": {"name": "a"}}
    slow = {f"p{number}": "a" * 600 + "!" for number in range(5)}
    patterns = [(f"p{number}", "pattern", fields[f"p{number}"]["pattern"]) for number in range(5)]
    assert judge(structure, SCHEMAS, {**head, "spec": slow | {"n": 1}}).unchecked == tuple(
        (("spec", name), f"the {what} `{text}` of the CustomResourceDefinition")
        for name, what, text in [("n", "rule", rules[0]["rule"]), *patterns]
    )
    (cause,) = judge(structure, SCHEMAS, {**head, "spec": {"quick": "A"}}).causes
    assert cause.path == ("spec", "quick")


@pytest.mark.parametrize("pattern", ["^(a+)+$", r"\p{Greek}"], ids=["slow", "not in Python"])
def test_a_pattern_that_is_not_evaluated_refuses_nothing(pattern: str) -> None:
    one: dict[str, Any] = {"type": "string", "pattern": pattern}
    fit, twice = {"pattern": "^a"}, {"oneOf": [{"pattern": pattern}, {"pattern": pattern + "|x"}]}
    for field in ({"not": one}, twice, {"not": {"not": one}}, {"not": twice}, {"anyOf": [one]}, {"allOf": [fit, one]}):
        found = answer({"a": {"type": "string", **field}}, {"a": "a" * 600 + "!"}, trusted=False)
        assert (found.causes, found.unchecked[0][0], pattern in found.unchecked[0][1]) == ((), ("spec", "a"), True)
    for field in ({"not": fit}, {"allOf": [one, {"not": fit}]}, {"oneOf": [{"not": fit}, {"maxLength": 3, **one}]}):
        assert answer({"a": {"type": "string", **field}}, {"a": "a" * 600 + "!"}, trusted=False).causes


@pytest.mark.slow
@pytest.mark.parametrize(
    "items",
    [
        {"type": "integer", "anyOf": [{"minimum": 10**6 + number} for number in range(2_000)]},
        {"type": "string", "enum": [f"a{number}" for number in range(2_000)]},
        {"type": "object", "required": [f"a{number}" for number in range(2_000)]},
        {"type": "object", "properties": {f"a{number}": {"default": 1} for number in range(2_000)}},
        {"type": "object", "properties": {"a": {"type": "array", "items": {}, "default": [1] * 2_000}}},
    ],
    ids=["alternatives", "values", "required", "properties", "a default"],
)
def test_a_schema_may_not_multiply_an_object(items: dict[str, Any]) -> None:
    """A few thousand entries of each would be millions of comparisons, defaults or findings."""
    schema = {"type": "object", "properties": {"spec": {"type": "array", "items": items}}}
    (structure,) = read_definition(definition(schema)).values()
    value = {"integer": 1, "string": "b", "object": {}}[items["type"]]
    head = {"apiVersion": "example.com/v1", "kind": "Foo", "metadata": {"name": "a"}}
    endless = Judgement((), (((), "the schema of the CustomResourceDefinition takes too long"),))
    for several in ({"0.": structure}, {"0.": structure, "1.": structure}):
        given = Shipped("", "", several, True)
        assert judge_all(given, SCHEMAS, {**head, "spec": [value] * 2_000}) == (endless, ())
    assert judge(structure, SCHEMAS, {**head, "spec": [value]}).unchecked == ()


def test_rules_are_applied() -> None:
    rules = [{"rule": "self > 1", "message": "too few"}, {"rule": "self >= oldSelf"}]
    fields = {"a": {"type": "integer", "x-kubernetes-validations": rules}, "b": {"type": "string"}}
    (cause,) = answer(fields, {"a": 1}).causes
    assert (cause.rule, cause.path, cause.message) == ("custom-rule-broken", ("spec", "a"), "Invalid value: 1: too few")
    (cause,) = answer(fields, {"a": 2}, {"a": 3}).causes
    assert cause.message == "Invalid value: 2: failed rule: self >= oldSelf"
    for value, old in (
        ({}, None),
        ({"a": 2}, None),
        ({"a": 2}, {}),
        ({"a": 1, "b": "x"}, {"a": 1}),
        ({"a": 3}, {"a": 2}),
    ):
        assert answer(fields, value, old) == Judgement(())


@pytest.mark.parametrize(
    "rule",
    [
        {"rule": "isURL(self)"},
        {"rule": "(" * 5000 + "self" + ")" * 5000},
        {"rule": "self == 'a'", "messageExpression": "'b'"},
        {"rule": "self == 'a'", "fieldPath": ".b"},
        {"rule": "self == oldSelf.value()", "optionalOldSelf": True},
    ],
)
def test_rules_that_are_not_evaluated_are_named(rule: dict[str, Any]) -> None:
    fields = {"a": {"type": "string", "x-kubernetes-validations": [rule]}}
    assert answer(fields, {"a": "x"}, {"a": "y"}) == Judgement(
        (), ((("spec", "a"), f"the rule `{rule['rule']}` of the CustomResourceDefinition"),)
    )


def test_entries_of_lists_are_told_apart_by_their_keys() -> None:
    item = {"type": "object", "properties": {"n": {"type": "string"}, "v": {"type": "integer", "minimum": 2}}}
    keyed = {"type": "array", "items": item, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["n"]}
    old = [{"n": "a", "v": 1}, {"n": "b", "v": 1}]
    for fields, moved in (({"l": keyed}, 0), ({"l": {"type": "array", "items": item}}, 2)):
        assert answer(fields, {"l": old}, {"l": old}).causes == ()
        assert len(answer(fields, {"l": [{"n": "c", "v": 3}, *old]}, {"l": old}).causes) == moved
        assert len(answer(fields, {"l": [{"n": "a", "v": 0}, {"n": "b", "v": 3}]}, {"l": old}).causes) == 1


@pytest.mark.parametrize("value", [{}, {"spec": None}, {"spec": {"versions": 1}}, {"spec": {"versions": [{}]}}])
def test_malformed_definitions(value: dict[str, Any]) -> None:
    assert read_definition(value) == {}


def test_a_status_that_is_written_on_its_own_is_passed_over() -> None:
    """It must have known fields, and nothing else is asked of it: a server drops it."""
    status = {"type": "object", "required": ["b"], "properties": {"a": {"type": "integer"}}}
    made = definition({"type": "object", "properties": {"status": status}})
    head = {"apiVersion": "example.com/v1", "kind": "Foo", "metadata": {"name": "a"}}
    told = []
    ways: tuple[dict[str, Any], ...] = ({}, {"status": {}})
    for subresources in ways:
        made["spec"]["versions"][0]["subresources"] = subresources
        (structure,) = read_definition(made).values()
        told.append(len(judge(structure, SCHEMAS, {**head, "status": {"a": "x"}}).causes))
        (cause,) = judge(structure, SCHEMAS, {**head, "status": {"a": 1, "c": 1}}).causes
        assert cause.rule == "unknown-field"
    assert told == [2, 0]


def test_entries_that_stood_twice_may_stay() -> None:
    """An entry is compared with the first one of its key."""
    entry = {"type": "object", "properties": {"name": {"type": "string", "default": "x"}, "n": {"type": "integer"}}}
    keys = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]}
    fields = {"l": {"type": "array", "items": entry, **keys}, "m": {"type": "string"}}
    twice = [{"name": "x", "n": "a"}, {"n": "b"}]
    (duplicate, *_) = answer(fields, {"l": twice}).causes
    assert duplicate.rule == "wrong-type"
    (cause,) = answer(fields, {"l": twice, "m": "new"}, {"l": twice}).causes
    assert cause.path == ("spec", "l", 1, "n")


def test_an_apply_by_the_server_needs_types_and_leaves_nulls() -> None:
    """What is wrong may not stay, and a mapping that loses all its fields becomes null."""
    fields = {"m": {"type": "object", "additionalProperties": {"type": "string"}}, "n": {"type": "integer"}}
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": fields}}}
    (structure,) = read_definition(definition(schema)).values()
    head = {"apiVersion": "example.com/v1", "kind": "Foo", "metadata": {"name": "a"}}

    def told(new: Any, old: Any, way: Any) -> list[str]:
        answered = judge(structure, SCHEMAS, {**head, "spec": new}, {**head, "spec": old}, update=way)
        return [".".join(map(str, cause.path)) for cause in answered.causes]

    for new, old, wrong in (
        ({"m": {}}, {"m": {"a": "b"}}, "spec.m"),
        ({"n": "x", "m": {"a": "b"}}, {"n": "x"}, "spec.n"),
        ({"m": {"a": "b"}}, {"n": "x"}, "spec.n"),
    ):
        assert (told(new, old, "replace"), told(new, old, "server-side-apply")) == ([], [wrong])
    assert told({"m": {}}, {"m": {}}, "server-side-apply") == []
