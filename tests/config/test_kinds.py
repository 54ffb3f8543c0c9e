"""Kinds of users: where their files are found, what a wrong one gets; the shipped ones have the same form."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

import krmfn
from krmfn.config.kinds import SCHEMA_PATH, find_mistakes
from krmfn.model.kinds import KINDS, KindRow
from krmfn.releases import schemastore
from krmfn.sources.manifest import SourceReading
from tests.front_door import call
from tests.sources.manifests import read

FOLDER = Path(schemastore.root()) / "kinds"
KIND = """\
apiVersion: krmfn.dev/v1alpha1
kind: WorkloadKind
spec:
  group: swarms.example.com
  kind: Swarm
  roles:
  - template: spec.parts.*.template
    count: spec.parts.*.replicas
  link: {kept: Always}
"""
SWARM = """\
apiVersion: swarms.example.com/v1
kind: Swarm
metadata:
  name: bees
  annotations: {krmfn.dev/gang: "true"}
spec:
  parts:
    queen: {template: {spec: {containers: [{name: a, image: b}]}}}
    worker: {replicas: 4, template: {spec: {containers: [{name: a, image: b}]}}}
"""
CONFIG = "apiVersion: krmfn.dev/v1alpha1\nkind: GangScheduling\nspec: {kinds: [%s]}\n"


def indent(text: str, by: int) -> str:
    return text.replace("\n", "\n" + " " * by).rstrip() + "\n"


def define(spec: dict[str, Any]) -> str:
    """The definition of Swarm with this schema of spec."""
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "swarms.swarms.example.com"},
        "spec": {
            "group": "swarms.example.com",
            "scope": "Namespaced",
            "names": {"kind": "Swarm", "plural": "swarms", "singular": "swarm", "listKind": "SwarmList"},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": schema}],
        },
    }
    return yaml.safe_dump(definition)


def run(folder: Path, *words: str, data: str = "") -> tuple[int, str, str]:
    done = call(data.encode(), words, folder)
    return done.code, done.out.decode(), done.err.decode()


@pytest.mark.parametrize("path", sorted(FOLDER.iterdir()), ids=lambda path: path.stem)
def test_a_shipped_kind_has_the_form_of_those_of_users(path: Path) -> None:
    value = yaml.safe_load(path.read_text())
    jsonschema.validate(value, schemastore.load(SCHEMA_PATH))
    group, kind = value["spec"]["group"], value["spec"]["kind"]
    assert path.stem == f"{kind}.{group}".strip(".")
    problems = list(find_mistakes(value))
    told = [f"krmfn knows {kind} of {group or 'v1'} itself"] if KINDS[group, kind].has_gangs else []
    assert [each.message for each in problems if "number of its pods" not in each.message][: len(told)] == told


def test_a_kind_is_like_another_one_or_has_its_spec_at_a_field(tmp_path: Path) -> None:
    head, _, _ = KIND.partition("  roles:")
    (tmp_path / "kind.yaml").write_text(
        f"{head}  like: JobSet.jobset.x-k8s.io\n  at: spec.sets\n  link: {{kept: Always}}\n"
    )
    job = {"parallelism": 3, "completions": 3, "template": {"spec": {"containers": [{"name": "a", "image": "b"}]}}}
    swarm = yaml.safe_load(SWARM)
    swarm["spec"] = {"sets": {"replicatedJobs": [{"name": "a", "replicas": 2, "template": {"spec": job}}]}}
    (tmp_path / "swarm.yaml").write_text(yaml.safe_dump(swarm))
    assert "all 6 pods start together" in run(tmp_path, "tree", ".")[1]
    (tmp_path / "kind.yaml").write_text(f"{head}  like: JobSets.jobset.x-k8s.io\n")
    assert (
        "krmfn knows no gangs of JobSets.jobset.x-k8s.io. Did you mean JobSet.jobset" in run(tmp_path, "tree", ".")[2]
    )


@pytest.mark.parametrize("named", ["kinds.yaml", "more/kinds.yaml", "more", "."])
def test_a_configuration_names_files_and_folders(named: str, tmp_path: Path) -> None:
    (tmp_path / "more").mkdir()
    (tmp_path / ("kinds.yaml" if named[0] == "k" else "more/kinds.yaml")).write_text(KIND)
    (tmp_path / "krmfn.yaml").write_text(CONFIG % named)
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "swarm.yaml").write_text(SWARM)
    code, out, err = run(tmp_path, "generate", "in/swarm.yaml")
    assert (code, "minCount: 5" in out) == (0, True), err
    assert "5 pods" in run(tmp_path, "tree", "in")[1]


def test_kinds_lie_beside_the_configuration_of_folders_and_of_the_dump_that_why_reads(tmp_path: Path) -> None:
    (tmp_path / "kind.yaml").write_text(KIND)
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "swarm.yaml").write_text(SWARM)
    made = list(yaml.safe_load_all(run(tmp_path, "generate", "-q", "kind.yaml", "in")[1]))
    swarm = next(value for value in made if value["kind"] == "Swarm")
    box = {"name": "a", "image": "b", "resources": {"requests": {"cpu": "2"}}}
    for part in swarm["spec"]["parts"].values():
        part["template"]["spec"]["containers"] = [box]
    spec = {"containers": [box], "schedulingGroup": {"podGroupName": "swarm-bees"}}
    owner = {"apiVersion": "swarms.example.com/v1", "kind": "Swarm", "name": "bees", "controller": True, "uid": "1"}
    heads = [{"name": f"p-{number}", "ownerReferences": [owner]} for number in range(5)]
    pods = [{"apiVersion": "v1", "kind": "Pod", "metadata": head, "spec": spec} for head in heads]
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}, "status": {"allocatable": {"cpu": "8"}}}
    listed = {"apiVersion": "v1", "kind": "List", "items": [*(each for each in made if each), *pods, node]}
    (tmp_path / "dump.json").write_text(yaml.safe_dump(listed))
    KINDS.forget_own()
    said = run(tmp_path, "why", "swarm/bees", "--cluster", "dump.json", "--prove")[1]
    assert "needs 10 cpu at once" in said, said
    KINDS.forget_own()
    assert "5 pods" not in run(tmp_path, "tree", "in")[1]
    (tmp_path / "krmfn.yaml").write_text(CONFIG % "")
    assert "5 pods" in run(tmp_path, "tree", "in")[1]


def test_kinds_stand_beside_the_configuration_and_among_the_manifests(tmp_path: Path) -> None:
    (tmp_path / "krmfn.yaml").write_text(f"{CONFIG % ''}---\n{KIND}")
    assert "minCount: 5" in run(tmp_path, "generate", "-", data=SWARM)[1]
    (tmp_path / "krmfn.yaml").unlink()
    KINDS.forget_own()  # as in a process of its own
    assert "minCount: 5" not in run(tmp_path, "generate", "-", data=SWARM)[1]
    code, out, err = run(tmp_path, "generate", "-", data=f"{KIND}---\n{SWARM}")
    assert (code, "minCount: 5" in out) == (0, True), err


@pytest.mark.parametrize("among", [True, False])
def test_the_function_takes_kinds_from_its_config_and_from_its_resources(among: bool, tmp_path: Path) -> None:
    head = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\n"
    config = "apiVersion: krmfn.dev/v1alpha1\nkind: GangScheduling\nspec:\n  kinds:\n  - " + indent(KIND, 4)
    config = f"functionConfig:\n  {indent(config, 2)}"
    items = f"items:\n- {indent(SWARM, 2)}"
    listed = f"{head}{items}- {indent(KIND, 2)}" if among else f"{head}{config}{items}"
    code, out, err = run(tmp_path, data=listed)
    assert (code, "minCount: 5" in out) == (0, True), err


def test_the_api_takes_kinds_for_one_call() -> None:
    swarm = yaml.safe_load(SWARM)
    for entry in (yaml.safe_load(KIND), yaml.safe_load(KIND)["spec"]):
        made = krmfn.generate(swarm, config={"spec": {"kinds": [entry]}}).objects
        assert [each["kind"] for each in made] == ["Swarm", "Workload", "PodGroup"]
    with pytest.raises(ValueError, match="give each WorkloadKind itself"):
        krmfn.generate(swarm, config={"spec": {"kinds": ["kinds.yaml"]}})
    assert [each["kind"] for each in krmfn.generate(swarm).objects] == ["Swarm"]


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("count:", "counts:", "kinds.yaml:8:13: spec.roles[0].counts: unknown key 'counts'. Did you mean count?"),
        ("parts.*.rep", "things.*.rep", "kinds.yaml:8:12: spec.roles[0].count: spec.things.*.replicas has a * that is"),
        ("parts.*.rep", "parts[*].rep", 'kinds.yaml:8:12: spec.roles[0].count: "spec.parts[*].replicas" has the wrong'),
        ("spec.parts.*.replicas", "-1", "kinds.yaml:8:12: spec.roles[0].count: -1 is out of range"),
        ("spec.parts.*.replicas", "Unknown", "a gang needs the number of its pods"),
        ("kind: Swarm", "kind: swarm", 'kinds.yaml:5:9: spec.kind: "swarm" has the wrong format'),
        ("swarms.example.com\n  kind: Swarm", "batch\n  kind: Job", "krmfn knows Job of batch itself"),
        ("  link: {kept: Always}", "  link: {kept: Always, since: Swarm v2}", "spec.link.since: contradicts kept"),
        ("  link: {kept: Always}", "  link: {since: v2}", 'spec.link.since: "v2" has the wrong format'),
        (KIND[KIND.index("  roles:") : KIND.index("  link:")], "", "spec.roles: is missing"),
        ("spec:", "specs:", "unknown key 'specs'"),
    ],
)
def test_a_wrong_file_is_refused_with_its_place(old: str, new: str, told: str, tmp_path: Path) -> None:
    (tmp_path / "kinds.yaml").write_text(KIND.replace(old, new, 1))
    (tmp_path / "krmfn.yaml").write_text(CONFIG % "kinds.yaml")
    code, _, err = run(tmp_path, "generate", "-", data=SWARM)
    assert (code, told in err) == (2, True), err


def test_a_missing_and_an_unreadable_file_are_told(tmp_path: Path) -> None:
    (tmp_path / "krmfn.yaml").write_text(CONFIG % "kinds.yaml")
    code, _, err = run(tmp_path, "generate", "-", data=SWARM)
    assert (code, "kinds.yaml" in err, "Traceback" in err) == (2, True, False), err
    (tmp_path / "kinds.yaml").write_text(KIND + "  x: {\n")
    code, _, err = run(tmp_path, "generate", "-", data=SWARM)
    assert (code, "kinds.yaml:" in err, "Traceback" in err) == (2, True, False), err


def test_pods_can_be_counted_by_the_entries_of_a_list_and_of_a_map(tmp_path: Path) -> None:
    data = SWARM.replace("  parts:", "  zones: [{n: a}, {n: b}, {n: c}]\n  parts:")
    kind = KIND.replace("count: spec.parts.*.replicas", "count: [{field: spec.zones, entries: true}, 2]")
    assert "minCount: 12" in run(tmp_path, "generate", "-", data=f"{kind}---\n{data}")[1]
    kind = KIND.replace("count: spec.parts.*.replicas", "count: {field: spec.parts, entries: true, plus: 1}")
    assert "minCount: 6" in run(tmp_path, "generate", "-", data=f"{kind}---\n{data}")[1]


def test_init_writes_the_name_references_of_kinds_of_users(tmp_path: Path) -> None:
    (tmp_path / "krmfn.yaml").write_text(CONFIG.replace(" {kinds: [%s]}\n", "\n  kinds:\n  - ") + indent(KIND, 4))
    (tmp_path / "kustomization.yaml").write_text("resources: [swarm.yaml]\n")
    (tmp_path / "swarm.yaml").write_text(SWARM)
    code, _, err = run(tmp_path, "init")
    assert code == 0, err
    assert any("kind: Swarm" in path.read_text() for path in tmp_path.iterdir() if "name" in path.name)


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("", "", ""),
        (
            "spec.parts.*.replicas",
            "spec.parts.*.size",
            "kind.yaml:8:12: spec.roles[0].count: spec.parts.*.size is not in",
        ),
        ("parts.*.template", "pieces.*.template", "spec.pieces.*.template is not in the CustomResourceDefinition"),
        ("parts.*.template", "parts.*.templat", "Did you mean spec.parts.*.template?"),
        ("parts.*.template", "parts.*", "spec.parts.* is no pod template, because it has no spec, in the Custom"),
        ("kind: Swarm", "kind: Swarms", "spec.kind: no CustomResourceDefinition of the input has the kind Swarms. Did"),
        ("group: swarms", "group: swarm", "spec.group: no CustomResourceDefinition of the input has the group swarm."),
        ("spec.parts.*.replicas", "spec.parts.*.hosts", "spec.parts.*.hosts is 2 where it is absent, by the Custom"),
        ("spec.parts.*.replicas", "{field: spec.parts.*.hosts, default: 1}", "hosts, default: 2}."),
        ("spec.parts.*.replicas", "{field: spec.parts.*.replicas, entries: true}", "replicas is of the type integer"),
        ("spec.parts.*.replicas", "{field: spec.size, naming: spec.names}", "spec.size does not have one * in the"),
    ],
)
def test_a_path_that_the_definition_lacks_is_refused(old: str, new: str, told: str, tmp_path: Path) -> None:
    template = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    hosts = {"type": "integer", "default": 2}
    part = {"type": "object", "properties": {"replicas": {"type": "integer"}, "hosts": hosts, "template": template}}
    parts = {"type": "object", "additionalProperties": part}
    spec = {"type": "object", "properties": {"parts": parts}}
    (tmp_path / "crd.yaml").write_text(define(spec))
    (tmp_path / "kind.yaml").write_text(KIND.replace(old, new) if old else KIND)
    (tmp_path / "swarm.yaml").write_text(SWARM)
    code, out, err = run(tmp_path, "tree", ".")
    assert (told in err, code) == (True, 2 if told else 0)
    assert told or "all 5 pods start together" in out


@pytest.mark.parametrize(
    ("condition", "value", "holds"),
    [
        ("spec.mode", None, False),
        ("spec.mode", "Big", True),
        ("'!spec.mode'", None, True),
        ("'!spec.mode'", "Big", False),
        ("spec.mode=Big", "Big", True),
        ("spec.mode=Big", "Small", False),
        ("spec.mode!=Big", "Small", True),
        ("spec.mode!=Big", None, True),
        ("spec.mode!=Big", "Big", False),
        ("spec.labels[example.com/mode]!=off", {"example.com/mode": "yes"}, True),
        ("spec.labels[example.com/mode]!=off", {"example.com/mode": "off"}, False),
        ("[spec.other, spec.mode=Big]", "Big", True),
        ("{field: spec.mode, value: Big, unless: true}", "Small", True),
    ],
)
def test_a_condition_is_a_field_with_a_value_or_without_it(condition: str, value: object, holds: bool) -> None:
    read = yaml.safe_load(condition)
    entry = {**read, "reason": "it is so"} if isinstance(read, dict) else {"when": read, "reason": "it is so"}
    whole = yaml.safe_load(KIND)
    swarm = yaml.safe_load(SWARM)
    swarm["spec"]["labels" if "labels" in condition else "mode"] = value
    for more in ({"except": [entry]}, {"order": read}, {} if isinstance(read, dict) else {"autoscaled": read}):
        made = {**whole, "spec": {**whole["spec"], **more}}
        jsonschema.validate(made, schemastore.load(SCHEMA_PATH))
        assert list(find_mistakes(made)) == []
        objects = krmfn.generate(swarm, config={"spec": {"kinds": [made]}}).objects
        told = sum(each["kind"] == "PodGroup" for each in objects) != 1 if "order" in more else len(objects) == 1
        assert told == (holds and bool(more)), more


def test_a_role_is_like_another_one_below_its_own_template(tmp_path: Path) -> None:
    roles = "  - {name: a, template: spec.a, podSpec: spec.a.pod, count: [spec.a.size, spec.hosts]}\n"
    roles += "  - {name: b, like: a, template: spec.b, minimum: spec.b.least}\n"
    head, _, _ = KIND.partition("  - template")
    (tmp_path / "kind.yaml").write_text(f"{head}{roles}  link: {{kept: Never}}\n")
    swarm = yaml.safe_load(SWARM)
    swarm["spec"] = {"hosts": 2, "a": {"size": 1, "pod": {}}, "b": {"size": 3, "pod": {}}}
    (tmp_path / "swarm.yaml").write_text(yaml.safe_dump(swarm))
    (tmp_path / "krmfn.yaml").write_text(CONFIG.replace("kinds: [%s]", "link: Bridge"))
    code, out, err = run(tmp_path, "tree", ".")
    assert (code, "all 8 pods start together" in out, "spec.b: 6 pods, by spec.b.size" in out) == (0, True, True), (
        out + err
    )


FULL = """\
apiVersion: krmfn.dev/v1alpha1
kind: WorkloadKind
metadata: {name: swarms}
spec:
  group: swarms.example.com
  kind: Swarm
  versions: [v1]
  except:
  - {field: spec.autoscale, reason: an autoscaler decides}
  - {field: spec.mode, value: Big, default: Small, reason: it is too big}
  - {when: [spec.mode=Small, "!spec.start"], reason: it is too small}
  autoscaled: spec.annotations[a.b/c]!=off
  roles:
  - template: spec.parts.*.template
    count: [spec.parts.*.replicas, {field: spec.parts.*.hosts, default: spec.hosts, atLeast: 1, atMost: spec.most}]
    minimum: spec.parts.*.least
    index: example.com/index
    podIndex: example.com/pod
  - name: router
    template: spec.router.template
    count: {field: spec.router.list, entries: true, plus: 1}
    late: {field: spec.startup, value: Late}
  order: {field: spec.startup, value: InOrder}
  link: {since: Swarm v2}
  managedBy: {field: spec.managedBy, controller: example.com/c}
  rival: {field: spec.rival, name: Volcano}
  ownScheduling: spec.scheduling
  immutable: [color]
  podLabels: [example.com/name]
  update: Kept
"""


def _list_changes(value: object, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """The place of every value in a file."""
    for key, child in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield (*path, key)
        yield from _list_changes(child, (*path, key))


@pytest.mark.parametrize(
    "other", [None, False, True, -1, 1.5, "x", "spec.parts.*.*", [], {}, [None], {"a": 1}], ids=repr
)
def test_no_value_in_any_place_of_a_file_is_a_bug(other: object) -> None:
    for path in _list_changes(yaml.safe_load(FULL)):
        value = yaml.safe_load(FULL)
        inner = value
        for step in path[:-1]:
            inner = inner[step]
        inner[path[-1]] = other
        if not list(find_mistakes(value)):
            reading = read_swarm(value["spec"])
            assert reading.group or reading.notes, path


def read_swarm(spec: dict[str, Any]) -> SourceReading:
    """What becomes of a Swarm whose kind has this spec."""
    KINDS.forget_own()
    KINDS.add_own([KindRow({**spec, "group": "swarms.example.com", "kind": "Swarm"})])
    return read(yaml.safe_load(SWARM))


def test_a_null_counts_as_absent_and_false_as_never() -> None:
    spec = yaml.safe_load(KIND)["spec"]
    plain = vars(KindRow(spec))
    assert vars(KindRow({**spec, "except": None, "order": None, "immutable": None, "hint": None})) == plain
    spec["roles"][0].update(late=False, minimum=None)
    assert vars(KindRow({**spec, "order": False})) == plain


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("spec.parts.*.template", "parts.*.template", "does not begin at the object. Write spec.parts.*.template"),
        ("spec.parts.*.replicas", "replicas", "kinds.yaml:8:12: spec.roles[0].count: replicas does not begin at"),
        ("  link", "  order: {field: start}\n  link", "spec.order: start does not begin at the object. Write spec.st"),
        ("  link", "  - {template: spec.parts.*.template}\n  link", "its pods would be counted twice. Remove one"),
        ("  link", "    aside: true\n  link", "spec.roles: has no role that is in a gang"),
        ("  roles:", "  roles:\n  - {name: a, template: spec.a}\n  - {name: a, template: spec.b}", "Give each role"),
        ("{kept: Always}", "Always", 'spec.link: should be a mapping, not "Always". Write since, earlier, kept,'),
        ("{kept: Always}", "{kept: true}", "spec.link.kept: should be a string, not true. Write Always or Never."),
        ("  link", "  immutable: color\n  link", 'spec.immutable: should be a list, not "color". Write [color].'),
        ("  link", "  order: 7\n  link", "Use true or false or a string or a mapping with field or a list."),
        ("  link", "  order: spec.a, spec.b\n  link", "Write it as spec.mode=External, spec.mode!=Exter"),
        ("  link", "  order: [spec.a, start]\n  link", "spec.order: start does not begin at the object. Write"),
        ("  link", "  autoscaled: scale=true\n  link", "spec.autoscaled: scale does not begin at the object."),
        ("  link", "  except:\n  - reason: it is so\n  link", "spec.except[0].when: is missing. Write it"),
        ("  roles:", "  roles:\n  - {like: a, template: spec.a}", "spec.roles[0].like: no earlier role is called a"),
        ("Always}\n", "Always}\n---\n" + KIND.replace("Always", "Never"), "Swarm is described differently at kinds"),
    ],
)
def test_what_would_be_passed_over_in_silence_is_refused(old: str, new: str, told: str, tmp_path: Path) -> None:
    (tmp_path / "kinds.yaml").write_text(KIND.replace(old, new, 1))
    (tmp_path / "swarm.yaml").write_text(SWARM)
    code, _, err = run(tmp_path, "generate", ".")
    assert (code, told in err) == (2, True), err


@pytest.mark.parametrize(
    ("count", "pods"),
    [
        ("{field: spec.parts.*.size, default: spec.parts.*.replicas}", 5),
        ("{field: spec.parts.*.size, default: spec.size}", 2),
        ("{field: spec.parts.*.replicas, atMost: 3}", 4),
        ("{field: spec.parts.*.replicas, atLeast: 2}", 6),
        ("spec.parts.*.text", 4),
    ],
)
def test_bounds_and_defaults_are_numbers_or_fields_and_counts_may_be_texts(
    count: str, pods: int, tmp_path: Path
) -> None:
    (tmp_path / "kinds.yaml").write_text(KIND.replace("count: spec.parts.*.replicas", f"count: {count}"))
    (tmp_path / "swarm.yaml").write_text(SWARM.replace("replicas: 4", 'replicas: 4, text: "3"'))
    assert f"minCount: {pods}\n" in run(tmp_path, "generate", ".")[1]


def test_entries_of_a_list_without_names_are_numbered(tmp_path: Path) -> None:
    (tmp_path / "kinds.yaml").write_text(KIND)
    text = (
        SWARM.replace("queen:", "-").replace("worker:", "-").replace('"true"', '"true", krmfn.dev/granularity: Group')
    )
    (tmp_path / "swarm.yaml").write_text(text)
    code, out, err = run(tmp_path, "generate", ".")
    assert (code, out.count("templateName: parts-"), "error" in err) == (0, 2, False), err


def test_a_template_that_is_nowhere_is_named(tmp_path: Path) -> None:
    (tmp_path / "kinds.yaml").write_text(KIND)
    (tmp_path / "swarm.yaml").write_text(SWARM.replace("parts:", "pieces:"))
    assert "this Swarm has no pods: nothing is at spec.parts.*.template" in run(tmp_path, "generate", ".")[2]
    (tmp_path / "kinds.yaml").unlink()
    KINDS.forget_own()
    assert "krmfn kinds --from its CustomResourceDefinition" in run(tmp_path, "generate", ".")[2]


CONTAINERS = {"type": "array", "items": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
DROPPING = {
    "type": "object",
    "properties": {"spec": {"type": "object", "properties": {"containers": CONTAINERS}}},
}
DROPPED = "kind.yaml:9:16: spec.link.kept: spec.parts.*.template.spec.schedulingGroup is not in the CustomRes"


@pytest.mark.parametrize(
    ("link", "code", "told"),
    [("kept: Always", 2, DROPPED), ("since: Swarm v2", 1, "crd-drops-link"), ("kept: Never", 1, "drops the link from")],
)
def test_a_definition_that_drops_the_link_is_believed(link: str, code: int, told: str, tmp_path: Path) -> None:
    part = {"type": "object", "properties": {"replicas": {"type": "integer"}, "template": DROPPING}}
    spec = {"type": "object", "properties": {"parts": {"type": "object", "additionalProperties": part}}}
    (tmp_path / "crd.yaml").write_text(define(spec))
    (tmp_path / "kind.yaml").write_text(KIND.replace("kept: Always", link))
    linked = SWARM.replace("{spec: {", "{spec: {schedulingGroup: {podGroupName: a}, ")
    (tmp_path / "swarm.yaml").write_text(linked)
    found, _, err = run(tmp_path, "validate", "."), *run(tmp_path, "generate", ".")[1:]
    assert (found[0], told in found[1] + found[2] + err) == (code, True), found


def test_pods_that_are_subtracted_are_none(tmp_path: Path) -> None:
    one = KIND.replace("parts.*.template", "template").replace("spec.parts.*.replicas", "{field: spec.size, plus: -3}")
    (tmp_path / "kinds.yaml").write_text(one)
    text = SWARM[: SWARM.index("  parts:")] + "  size: 2\n  template: {spec: {containers: [{name: a, image: b}]}}\n"
    (tmp_path / "swarm.yaml").write_text(text)
    assert "size is 2: no pods, so no group" in run(tmp_path, "generate", ".")[2]


@pytest.mark.parametrize(
    ("count", "replicas", "told"),
    [
        ("0", "1", "role swarm has no pods: it is left out of the gang"),
        ("spec.size", f'"{"9" * 5000}"', "size: should be a whole number"),
    ],
)
def test_a_number_that_is_always_zero_and_one_of_many_digits(
    count: str, replicas: str, told: str, tmp_path: Path
) -> None:
    (tmp_path / "kinds.yaml").write_text(
        KIND.replace("parts.*.template", "template").replace("spec.parts.*.replicas", count)
    )
    text = (
        SWARM[: SWARM.index("  parts:")]
        + f"  size: {replicas}\n  template: {{spec: {{containers: [{{name: a, image: b}}]}}}}\n"
    )
    (tmp_path / "swarm.yaml").write_text(text)
    code, _, err = run(tmp_path, "generate", ".")
    assert (code in (0, 1), told in err) == (True, True), err


@pytest.mark.parametrize("key", ["'*'", f"'{'9' * 5000}'"])
def test_the_entry_that_names_a_role_may_have_any_key(key: str, tmp_path: Path) -> None:
    naming = "{field: spec.sets.*.replicas, naming: spec.sets.*.roles}"
    (tmp_path / "kinds.yaml").write_text(KIND.replace("spec.parts.*.replicas", f"[spec.parts.*.replicas, {naming}]"))
    (tmp_path / "swarm.yaml").write_text(f"{SWARM}  sets: {{? {key} : {{replicas: 3, roles: [worker]}}}}\n")
    code, out, err = run(tmp_path, "generate", ".")
    assert (code, "PodGroup" in out) == (0, True), err
