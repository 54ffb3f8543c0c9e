"""A new release is a folder of data: a copy of the newest with longer lists, in an installation of its own, works with
every command, and every rule still speaks. CONTRIBUTING describes these steps."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from krmfn.releases.release import find_release
from tests.releases.installation import LONGER, NEXT, OLD, Run, installed
from tests.releases.wide import WIDE

#: Other names: both quorums become one, `policy` is also a word of 1.35.
WORDS = {
    **{"schedulingPolicy": "policy", "minCount": "least", "minGroupCount": "least", "disruptionMode": "disruption"},
    **{"podGroupTemplates": "leaves", "compositePodGroupTemplates": "trees", "schedulingConstraints": "placement"},
    **{"priorityClassName": "class", "priority": "rank", "preemptionPolicy": "preemption"},
    **{"parentCompositePodGroupName": "above", "resourceClaims": "claims", "controllerRef": "owner"},
    **{"gang": "together", "basic": "apart", "topology": "domains", "key": "label", "workloadName": "of"},
}
REASONS = {"PodGroupInitiallyScheduled": "Placed", "PodGroupError": "Contradiction"}
DUMP = """\
apiVersion: v1
kind: List
items:
- apiVersion: scheduling.k8s.io/v1beta1
  kind: PodGroup
  metadata: {name: a, namespace: default}
  spec: {policy: {gang: {least: 1}}}
  status:
    conditions: [{type: Placed, status: "False", reason: Contradiction, message: two classes}]
- apiVersion: v1
  kind: Pod
  metadata: {name: p, namespace: default}
  spec:
    ganging: {gang: {group: a}}
    containers: [{name: c, image: i}]
"""


QUOTA = """\
apiVersion: scheduling.k8s.io/v1beta1
kind: GroupQuota
metadata: {name: gold}
spec: {most: 3}
"""


def enrich(schemas: Path) -> None:
    """What a release may have more: a kind, a version of a kind, a field, a mode."""
    folder = schemas / "kubernetes" / NEXT
    release = json.loads((folder / "release.json").read_text())
    release["modes"]["Graceful"] = {"graceful": {}}
    for kind, top in (("Workload", "PodGroupTemplate"), ("PodGroup", "PodGroupSpec")):
        release["kinds"][kind].insert(0, "v1")
        schema = json.loads((folder / f"{kind.lower()}.json").read_text())
        schema["x-kubernetes-versions"]["v1"] = schema["x-kubernetes-versions"]["v1beta1"]
        mode, fields = schema["$defs"]["DisruptionMode"], schema["$defs"][top]["properties"]
        mode["x-kubernetes-union"].append("graceful")
        mode["properties"]["graceful"] = mode["properties"]["all"]
        fields["weight"] = {"type": "integer", "format": "int32"}
        (folder / f"{kind.lower()}.json").write_text(json.dumps(schema))
    release["kinds"]["GroupQuota"] = ["v1beta1"]
    (folder / "release.json").write_text(json.dumps(release))
    quota = json.loads((folder / "podgroup.json").read_text())
    quota = {key: quota[key] for key in quota.keys() - {"$defs", "x-kubernetes-handwritten", "x-kubernetes-admission"}}
    quota |= {"x-kubernetes-kind": "GroupQuota", "x-kubernetes-resource": "groupquotas"}
    spec = {"type": "object", "properties": {"most": {"type": "integer", "format": "int32"}}}
    quota["properties"] = {key: quota["properties"][key] for key in ("apiVersion", "kind", "metadata")} | {"spec": spec}
    (folder / "groupquota.json").write_text(json.dumps(quota))
    settings = schemas / "krmfn" / "v1alpha1" / "gangscheduling.json"
    settings.write_text(settings.read_text().replace('"Single", "All"]', '"Single", "All", "Graceful"]'))


def rename(schemas: Path) -> None:
    """What a release may spell otherwise: the link of a pod, the reference of a group to its template, a mode, every
    field of a group, and what its conditions say."""
    folder = schemas / "kubernetes" / NEXT
    release = json.loads((folder / "release.json").read_text())
    spelled = {"link": ["ganging", "gang", "group"], "template": ["workloadRef", "template"]}
    modes: dict[str, dict[str, dict[str, str]]] = {"Single": {"single": {}}, "All": {"whole": {}}}
    links = {"schedulingGroup": "gang", "podGroupName": "group", "templateName": "template", "all": "whole"}
    for path in folder.glob("*.json"):
        groups = path.stem in ("workload", "podgroup", "compositepodgroup")
        path.write_text(respell(path.read_text(), {**links, **WORDS} if groups else links))
    pod = json.loads((folder / "pod.json").read_text())
    fields = pod["$defs"]["PodSpec"]["properties"]
    fields["ganging"] = {"type": "object", "properties": {"gang": fields.pop("gang")}}
    (folder / "pod.json").write_text(json.dumps(pod))
    for kind in ("podgroup", "compositepodgroup"):
        schema = json.loads((folder / f"{kind}.json").read_text())
        schema["x-kubernetes-admission"]["mutating"]["admission.resolve_priority"]["names"] = WORDS
        (folder / f"{kind}.json").write_text(json.dumps(schema))
    gates = json.loads(respell(json.dumps(release["gates"]), WORDS))
    names = {"names": {**WORDS, **REASONS}, "gates": gates, "modes": modes}
    (folder / "release.json").write_text(json.dumps(release | spelled | names))


def respell(text: str, words: dict[str, str]) -> str:
    for old, new in words.items():
        text = text.replace(f'"{old}"', f'"{new}"')
    return text


def spoil(schemas: Path) -> None:
    """A schema that refers to what it does not have."""
    file = schemas / "kubernetes" / NEXT / "podgroup.json"
    file.write_text(json.dumps({key: part for key, part in json.loads(file.read_text()).items() if key != "$defs"}))


krmfn = installed()
spoiled = installed(spoil)
richer = installed(enrich)
renamed = installed(rename)


def test_every_command_knows_it(krmfn: Run) -> None:
    assert NEXT in krmfn("--version").out
    assert f'"maxItems": {LONGER}' in krmfn("schema", "Workload", "--kubernetes", f"v{NEXT}.3").out
    made = krmfn("generate", "-", data=WIDE)
    assert (made.code, made.out.count("kind: PodGroup"), made.out.count("kind: CompositePodGroup")) == (0, 13, 1)
    assert f"off by default in Kubernetes {NEXT}" in made.err
    old = krmfn("generate", "--kubernetes", OLD, "-", data=WIDE)
    assert old.out.count("kind: CompositePodGroup") > 1, "the lists of the older release are shorter"
    checked = krmfn("validate", "-", data=made.out)
    assert checked.code == 0, checked.out
    refused = krmfn("validate", "--kubernetes", OLD, "-", data=made.out)
    assert "must have at most 8 items" in refused.out
    assert krmfn("tree", "-", data=made.out).out.count("─ RayCluster wide") == 13
    function = krmfn(data=json.dumps({"apiVersion": "v1", "kind": "List", "items": []}))
    assert function.code == 2


def test_plans_and_conversions_know_it(krmfn: Run, tmp_path: Path) -> None:
    (tmp_path / "new.yaml").write_text(krmfn("generate", "-", data=WIDE).out)
    lower = krmfn("convert", "--to", "1.36", str(tmp_path / "new.yaml"))
    assert "the object is unchanged" in lower.err
    wide = krmfn(
        "generate", "--kubernetes", "1.36", "-", data=WIDE.replace("granularity: Group", "granularity: Cluster")
    ).out
    raised = krmfn("convert", "--to", NEXT, "-", data=wide)
    assert raised.code == 0
    assert find_release(OLD).api_version("PodGroup") in raised.out
    (tmp_path / "old.yaml").write_text((tmp_path / "new.yaml").read_text().replace("minCount: 1", "minCount: 2"))
    plan = krmfn("diff", str(tmp_path / "old.yaml"), str(tmp_path / "new.yaml"))
    assert "minCount" in plan.out


@pytest.mark.parametrize("to", [OLD, "1.36"])
def test_what_it_has_more_is_lost_on_the_way_down(to: str, richer: Run) -> None:
    """Its version of a kind, its fields and its modes: nothing stays that the older release would refuse."""
    asked = WIDE.replace("granularity: Group", "granularity: Cluster\n    krmfn.dev/disruption-mode: Graceful")
    made = richer("generate", "-", data=asked)
    assert made.out.count("apiVersion: scheduling.k8s.io/v1\n") == made.out.count("graceful: {}") == 2, made.err
    assert "has no disruption mode Graceful" in richer("generate", "--kubernetes", to, "-", data=asked).err
    weighted = made.out.replace("spec:\n  workloadRef", "spec:\n  weight: 3\n  workloadRef")
    assert richer("validate", "-", data=weighted).code == 0
    done = richer("convert", "-v", "--to", to, "-", data=weighted)
    assert {field: f"has no {field}: it was dropped" in done.err for field in ("disruptionMode", "weight")} == {
        "disruptionMode": True,
        "weight": True,
    }, done.err
    checked = richer("validate", "--kubernetes", to, "-", data=done.out)
    assert checked.code == 0, checked.out
    again = richer("convert", "--to", NEXT, "-", data=done.out).out
    assert again.count("apiVersion: scheduling.k8s.io/v1\n") == 2


def test_a_schema_that_cannot_be_compiled_is_no_kind_that_is_not_served(spoiled: Run) -> None:
    done = spoiled("validate", "-", data=QUOTA.replace("GroupQuota", "PodGroup"))
    assert (done.code, "KeyError: '$defs'" in done.err) == (3, True)


def test_a_kind_that_only_it_has(richer: Run) -> None:
    wrong = richer("validate", "-", data=QUOTA.replace("most", "mots")).out
    assert 'unknown field "spec.mots"' in wrong
    assert "Did you mean `most`?" in wrong
    assert richer("validate", "-", data=QUOTA).code == 0
    assert f"Kubernetes {OLD} has no GroupQuota" in richer("validate", "--kubernetes", OLD, "-", data=QUOTA).out
    assert richer("convert", "--to", NEXT, "-", data=QUOTA).out == QUOTA
    assert f"Kubernetes {OLD} has no GroupQuota" in richer("convert", "--to", OLD, "-", data=QUOTA).err


def test_a_pin_holds_in_conversions(richer: Run, tmp_path: Path) -> None:
    asked = cut(WIDE)
    (tmp_path / "made.yaml").write_text(richer("generate", "-", data=asked).out)
    pins = {"version": NEXT, "apiVersions": {"PodGroup": "v1beta1"}}
    head = {"apiVersion": "krmfn.dev/v1alpha1", "kind": "GangScheduling", "metadata": {"name": "a"}}
    (tmp_path / "krmfn.yaml").write_text(json.dumps(head | {"spec": {"kubernetes": pins}}))
    versions = [f"apiVersion: scheduling.k8s.io/{version}\n" for version in ("v1", "v1beta1")]
    kept, back = (richer("convert", "--to", to, str(tmp_path / "made.yaml")) for to in (NEXT, OLD))
    assert [kept.out.count(version) for version in versions] == [1, 1], kept.err
    assert [back.out.count(version) for version in versions] == [0, 2], back.err


def test_its_own_spelling_is_read_and_written(renamed: Run, tmp_path: Path) -> None:
    """Links, references and modes: what one release wrote is understood and converted, there and back."""
    made = {release: renamed("generate", "--kubernetes", release, "-", data=WIDE).out for release in (OLD, NEXT)}
    cluster = {key: renamed("generate", "--kubernetes", key, "-", data=cut(WIDE)).out for key in (OLD, NEXT)}
    assert cluster[NEXT].count("gang:\n            group: raycluster-wide\n") == 13
    assert [cluster[NEXT].count(f"{word}:") for word in ("policy", "leaves", "schedulingPolicy")] == [2, 1, 0]
    assert [made[NEXT].count(f"{word}:") for word in ("above", "trees", "least")] == [13, 1, 28]
    assert cluster[NEXT].count("    template: cluster\n") == 1
    assert cluster[NEXT].count("whole: {}") == 2
    for value in (made[NEXT], cluster[NEXT]):
        checked = renamed("validate", "--fail-on", "error", "-", data=value)
        assert (checked.code, "group-unused" in checked.out, "template-missing" in checked.out) == (0, False, False)
        assert renamed("generate", "-", data=value).out == value
        assert renamed("tree", "-", data=value).out.count("─ RayCluster wide") == 13
    cluster["1.36"] = renamed("convert", "-q", "--to", "1.36", "-", data=cluster[OLD]).out
    for old, new in ((OLD, NEXT), (NEXT, OLD), (NEXT, "1.36")):
        done = renamed("convert", "-q", "--to", new, "-", data=cluster[old]).out
        assert [*yaml.safe_load_all(done)] == [*yaml.safe_load_all(cluster[new])], (old, new)
    for release, value in cluster.items():
        (tmp_path / f"{release}.yaml").write_text(value)
    plan = renamed("diff", str(tmp_path / f"{OLD}.yaml"), str(tmp_path / f"{NEXT}.yaml"))
    assert "scheduled one by one" not in plan.out
    assert "Object.spec.ganging{gang: Object.spec.ganging.gang{group: variables.group}}" in renamed("bridge").out
    wrong = cluster[NEXT].replace("group: raycluster-wide\n", "group: raycluster-wild\n")
    assert "raycluster-wild" in renamed("validate", "-", data=wrong).out
    few = cluster[NEXT].replace("least: 25", "least: 24")
    assert (
        "set least (annotation krmfn.dev/min-count on RayCluster wide) to 25" in renamed("validate", "-", data=few).out
    )
    why = renamed("why", "podgroup/default/a", "--cluster", "-", "--kubernetes", NEXT, data=DUMP).out
    assert "two classes" in why
    assert "one scheduler, one priority" in why


def test_every_rule_speaks_in_its_words(renamed: Run) -> None:
    """The examples of all rules in its words: the same findings, at fields that the objects have."""
    done = renamed(OLD, NEXT, "words", program=(str(Path(__file__).with_name("compare_releases.py")),))
    assert done.code == 0, done.out + done.err
    assert int(done.out) > 200


def cut(wide: str) -> str:
    return wide.replace("granularity: Group", "granularity: Cluster")


def test_init_writes_it(krmfn: Run, tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(WIDE)
    assert krmfn("init", str(tmp_path)).code == 0
    assert NEXT in (tmp_path / "krmfn.yaml").read_text()


def test_every_rule_still_speaks(krmfn: Run) -> None:
    """The examples of all rules, and all fixtures, are told the same as for the release that was copied."""
    done = krmfn(OLD, NEXT, program=(str(Path(__file__).with_name("compare_releases.py")),))
    assert done.code == 0, done.out + done.err
    examples, fixtures, rules = map(int, done.out.split())
    assert (examples > 100, fixtures > 100, rules > 150) == (True, True, True), done.out
