"""`krmfn.validate`, the checks as a function."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

import krmfn
from krmfn.api import ConfigError, InputMissing, Unreadable

GROUP: dict[str, Any] = {
    "apiVersion": "scheduling.k8s.io/v1beta1",
    "kind": "PodGroup",
    "metadata": {"name": "train", "namespace": "ml"},
    "spec": {"schedulingPolicy": {"gang": {"minCount": 1}}},
}


def group(count: Any, **spec: Any) -> dict[str, Any]:
    return {**GROUP, "spec": {"schedulingPolicy": {"gang": {"minCount": count}}, **spec}}


def test_an_object_as_values() -> None:
    findings = krmfn.validate(group(0), stages=["server"])
    assert [finding.path for finding in findings.errors] == ["spec.schedulingPolicy.gang.minCount"]
    assert "PodGroup ml/train" in str(findings)
    assert not krmfn.validate(group(1), stages=["server"])


def test_every_form_of_manifests_says_the_same(tmp_path: Path) -> None:
    path = tmp_path / "group.yaml"
    path.write_text(yaml.safe_dump(group(0)))
    forms: list[Any] = [group(0), [group(0)], path.read_bytes(), str(path), path, tmp_path, [path]]
    said = {tuple((each.message, each.path, each.ref) for each in krmfn.validate(form).errors) for form in forms}
    assert len(said) == 1


def test_the_release_decides_what_is_known() -> None:
    assert not krmfn.validate(group(1), kubernetes="1.37", stages=["server"]).errors
    assert krmfn.validate(group(1), kubernetes="1.36", stages=["server"]).errors


def test_an_older_state_brings_the_rules_of_updates() -> None:
    assert not krmfn.validate(group(2), against=group(1), stages=["server"]).errors
    changed = krmfn.validate(group(1, priorityClassName="high"), against=group(1), stages=["server"])
    assert [finding.path for finding in changed.errors] == ["spec.priorityClassName"]


def test_findings_can_be_asked_for_by_rule_and_severity() -> None:
    findings = krmfn.validate(group(0))
    rule = findings.errors[0].tags["rule"]
    assert findings.of(rule) == tuple(each for each in findings if each.tags["rule"] == rule)
    assert not findings.of("no-such-rule")
    assert {each.severity for each in findings.warnings} <= {"warning"}
    assert repr(findings).startswith("Findings(\n")
    assert repr(krmfn.Findings()) == "Findings()"


def test_no_configuration_is_looked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "krmfn.yaml").write_text("not a configuration")
    monkeypatch.chdir(tmp_path)
    assert not krmfn.validate(group(1), stages=["server"])


def test_the_configuration_is_an_argument() -> None:
    config = {"spec": {"kubernetes": {"version": "1.36"}}}
    assert krmfn.validate(group(1), config=config, stages=["server"]).errors
    assert not krmfn.validate(group(1), config=config, kubernetes="1.37", stages=["server"]).errors


def test_what_cannot_be_read_is_raised(tmp_path: Path) -> None:
    with pytest.raises(InputMissing):
        krmfn.validate(tmp_path / "nowhere.yaml")
    with pytest.raises(Unreadable):
        krmfn.validate(b"a: [")
    with pytest.raises(ConfigError):
        krmfn.validate(group(1), kubernetes="1.12")
    with pytest.raises(ConfigError):
        krmfn.validate(group(1), config={"spec": {"kubernetes": {"versoin": "1.37"}}})


def test_lists_as_values() -> None:
    listed = {"apiVersion": "v1", "kind": "List", "items": [group(0), group(1)]}
    assert [str(each.ref) for each in krmfn.validate(listed, stages=["server"]).errors] == ["PodGroup ml/train"]


@pytest.mark.parametrize("form", [{"metadata": {"name": "a"}, "kind": "Job"}, b"kind: Job\nmetadata: {name: a}\n"])
def test_what_is_no_object_is_said(form: Any) -> None:
    assert krmfn.validate(form).errors.of("kind-missing")


def test_arguments_that_mean_nothing_are_refused() -> None:
    gates = {"GenericWorkload": "true"}
    for wrong in ({"stages": ["bogus"]}, {"stages": "server"}, {"update": "bogus"}, {"feature_gates": gates}):
        with pytest.raises(ValueError, match=r"no such|neither True nor False"):
            krmfn.validate(group(1), **wrong)
    with pytest.raises(ConfigError):
        krmfn.validate(group(1), feature_gates={"GenericWorkloads": True})
    assert not krmfn.validate(
        group(1), feature_gates={"AllAlpha": True, "SomethingElse": False}, stages=["server"]
    ).errors


def test_importing_the_package_loads_none_of_it() -> None:
    program = "import sys, krmfn; print(*(name for name in sys.modules if name.startswith('krmfn.')))"
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert done.stdout.split() == []


def test_generate_adds_groups_and_changes_nothing_that_has_them() -> None:
    made = krmfn.generate("examples/job/job.yaml", kubernetes="1.37")
    assert [each["kind"] for each in made.objects] == ["Job", "Workload", "PodGroup"]
    assert made.objects[0]["spec"]["template"]["spec"]["schedulingGroup"] == {"podGroupName": "job-allreduce"}
    assert krmfn.generate(made.objects, kubernetes="1.37").objects == made.objects
    assert not krmfn.validate(made.objects, kubernetes="1.37").errors


def test_generate_tells_what_it_cannot_count() -> None:
    with open("examples/job/job.yaml", "rb") as stream:
        broken = stream.read().replace(b"parallelism: 8", b"parallelism: many")
    assert krmfn.generate(broken, kubernetes="1.37").findings.errors
