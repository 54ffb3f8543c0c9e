"""One mistake is one finding: what one setting does to all gangs, and what several schemas say of one value."""

from __future__ import annotations

from pathlib import Path

import pytest

from krmfn import validate
from krmfn.checks.server.stage import check_items
from krmfn.config import read_settings
from krmfn.krm import Stream
from krmfn.model.findings import STAGES
from krmfn.pipeline import find_all
from krmfn.releases.release import find_release
from tests.workspace.repositories import JOB
from tests.workspace.test_worlds import folder, run, write

__all__ = ["folder"]
CONFIGURATION = "apiVersion: krmfn.dev/v1alpha1\nkind: GangScheduling\nmetadata: {name: gangs}\nspec: "
OFF = "{kubernetes: {featureGates: {GenericWorkload: false}}}"
QUEUE = """\
apiVersion: kueue.x-k8s.io/v1beta1
kind: ClusterQueue
metadata: {name: one}
spec:
  resourceGroups:
  - coveredResources: [cpu]
    flavors: [{name: any, resources: [{name: cpu, nominalQuota: VALUE}]}]
"""


@pytest.mark.parametrize(
    ("spec", "rule"),
    [
        (OFF, "gate-off"),
        ("{kubernetes: {apiVersions: {PodGroup: v1alpha2}}}", "api-version-pinned"),
        ("{link: Bridge}", "bridge-needed"),
    ],
)
def test_a_setting_is_one_cause(spec: str, rule: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(folder, {f"{name}.yaml": JOB.replace("name: train", f"name: {name}") for name in "abc"})
    write(folder, {"krmfn.yaml": CONFIGURATION + spec})
    _, out, _ = run(capsys, "validate", ".")
    assert out.count(f"[{rule}]") == 1
    assert f"; the same is true of 2 other gangs [{rule}]" in out


def test_who_ignores_it_for_one_object_hides_it_for_no_other(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ignored = JOB.replace("annotations: {", "annotations: {krmfn.dev/ignore: gate-off, ")
    write(folder, {"krmfn.yaml": CONFIGURATION + OFF, "a.yaml": ignored.replace("name: train", "name: a")})
    write(folder, {f"{name}.yaml": JOB.replace("name: train", f"name: {name}") for name in "bc"})
    code, out, _ = run(capsys, "validate", ".")
    assert code == 1
    assert out.startswith("b.yaml:1:1: error: Job b: the gang needs the feature gate GenericWorkload")
    assert "; the same is true of 1 other gang [gate-off]" in out


@pytest.mark.parametrize("value", ["true", "1.5", "[1]", "many"])
def test_a_wrong_quantity_is_one_finding(value: str) -> None:
    found = check_items(Stream.parse(QUEUE.replace("VALUE", value).encode()).items, None, read_settings(None), "apply")
    assert len([each for each in found if each.severity is None]) == 1


@pytest.mark.parametrize(("release", "field"), [("1.35", "schedulingGroup"), ("1.37", "workloadRef")])
def test_a_link_of_another_release_is_one_finding(release: str, field: str) -> None:
    job = JOB.replace(
        "      restartPolicy", f"      {field}: {{podGroupName: a, name: a, podGroup: a}}\n      restartPolicy"
    )
    settings = read_settings(None)._replace(release=find_release(release))
    place = ("spec", "template", "spec", field)

    def rules(*stages: str) -> list[str]:
        items = Stream.parse(job.encode()).items
        return [each.rule for each in find_all(items, settings, None, stages, "apply") if each.path == place]

    assert rules("server") == ["unknown-field"]
    assert rules(*STAGES) == ["link-of-other-release"]


@pytest.mark.parametrize(
    "text",
    [
        "kind: Namespace\nmetadata: {name: '${name}', labels: {a: b}}",
        "kind: ServiceAccount\nmetadata: {name: a, namespace: NAMESPACE}",
        "kind: ServiceAccount\nmetadata: {name: replaced by kustomize}",
        "kind: PersistentVolumeClaim\nmetadata: {name: a}\n"
        "spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: '${size}'}}}",
    ],
)
def test_a_name_that_is_filled_in_later(text: str) -> None:
    items = Stream.parse(f"apiVersion: v1\n{text}\n".encode()).items
    assert [each.rule for each in check_items(items, None, read_settings(None), "apply")] == ["value-unknown"]


def test_one_mistake_is_one_finding_whatever_the_server_says_of_it() -> None:
    """It refuses the name of a resource for two reasons, and again where it fills in what follows from the default."""
    head = "apiVersion: v1\nmetadata: {name: most, namespace: ml}\nkind: "
    quota = validate(f"{head}ResourceQuota\nspec: {{hard: {{podz: '4', cpuu: '4'}}}}\n".encode())
    assert [result.path for result in quota.errors] == ["spec.hard.cpuu", "spec.hard.podz"]
    assert "must be a standard resource type or fully qualified; must be a standard" in quota.errors[0].message
    limits = validate(f"{head}LimitRange\nspec: {{limits: [{{type: Container, default: {{cpuu: '1'}}}}]}}\n".encode())
    assert [result.path for result in limits.errors] == ["spec.limits[0].default.cpuu"]
    spec = "{template: {metadata: {labels: {a: b}}, spec: {containers: [{name: a, image: a}]}}}"
    server = validate(f"{head}Deployment\nspec: {spec}\n".replace(" v1", " apps/v1", 1).encode())
    assert [result.path for result in server.errors] == ["spec.selector"]
    lease = validate(
        f"{head}Lease\n".replace(" v1", " coordination.k8s.io/v1", 1)
        .replace("ml}", "ml, annotations: {a/: b}}")
        .encode()
    )
    assert ["name part must be non-empty; name part" in result.message for result in lease.errors] == [True]
