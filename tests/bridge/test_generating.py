"""Groups for pods that are linked when they are created: annotations as written, read as the policies read them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml

from conformance.bridge.operators import list_pods
from conformance.bridge.pods import INDEX, label_leader
from conformance.bridge.predicting import predict
from tests.cli.conftest import Call, krmfn
from tests.front_door import ROOT, call

__all__ = ["krmfn"]

FIXTURES = ROOT / "fixtures" / "accept" / "kinds"
Value = dict[str, Any]


def find_link(pod: Value) -> str:
    """What the policies link a pod to, after the webhook that labels leaders."""
    index = label_leader(pod["metadata"])
    labels = pod["metadata"]["labels"] | ({INDEX["lws"]: index} if index else {})
    return predict({**pod["metadata"], "labels": labels}).link


@pytest.mark.parametrize("name", ["bridge-replicas", "bridge-dropped", "slices"])
def test_every_group_gets_as_many_pods_as_it_waits_for(name: str) -> None:
    items = yaml.safe_load(call((FIXTURES / f"{name}.yaml").read_bytes()).out)["items"]
    quorums = {
        item["metadata"]["name"]: item["spec"]["schedulingPolicy"]["gang"]["minCount"]
        for item in items
        if item["kind"] == "PodGroup"
    }
    links = Counter(find_link(pod) for item in items for pod in list_pods(item))
    outside = links.pop("", 0)
    assert links == quorums
    assert outside == (name == "bridge-dropped")  # the launcher that is made when the workers are ready


def test_a_second_run_changes_nothing() -> None:
    once = call((FIXTURES / "bridge-replicas.yaml").read_bytes()).out
    items = yaml.safe_load(once)["items"]
    assert yaml.safe_load(call(once).out)["items"] == items


@pytest.mark.parametrize("first", ["Bridge", "Template"])
def test_the_other_link_is_taken_out(first: str) -> None:
    """Between both ways nothing of the other one stays behind."""
    other = "Template" if first == "Bridge" else "Bridge"
    text = (FIXTURES / "bridge-1-36.yaml").read_text()
    assert "link: Bridge" in text
    once = call(text.replace("link: Bridge", f"link: {first}").encode()).out.decode()
    assert ("krmfn.dev/pod-group: job-train" in once, "podGroupName: job-train" in once) == (
        first == "Bridge",
        first == "Template",
    )
    twice = yaml.safe_load(call(once.replace(f"link: {first}", f"link: {other}").encode()).out)["items"]
    direct = yaml.safe_load(call(text.replace("link: Bridge", f"link: {other}").encode()).out)["items"]
    assert twice == direct


def test_a_replica_without_its_group_is_told(krmfn: Call, tmp_path: Path) -> None:
    """Scaled up by hand, and not generated anew: the new pods are never scheduled."""
    items = yaml.safe_load(call((FIXTURES / "bridge-replicas.yaml").read_bytes()).out)["items"]
    (tmp_path / "old.yaml").write_text(yaml.safe_dump_all(items))
    assert "group-missing" not in krmfn("validate", "old.yaml").out
    next(item for item in items if item["kind"] == "LeaderWorkerSet")["spec"]["replicas"] = 4
    (tmp_path / "new.yaml").write_text(yaml.safe_dump_all(items))
    done = krmfn("validate", "new.yaml")
    assert done.code == 1
    assert done.out.count('"leaderworkerset-serve-3"') >= 1
    assert "group-missing" in done.out
    assert "leaderworkerset-serve-3" in krmfn("diff", "old.yaml", "new.yaml").out
