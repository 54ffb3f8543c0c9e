"""Pictures of `krmfn fit` in odd cases."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml

from tests.cli.conftest import Call
from tests.cli.test_fit import SVG, cluster, make_job, make_node

__all__ = ["cluster"]


def test_a_picture_of_one_pod_a_long_name_and_no_nodes(tmp_path: Path, krmfn: Call) -> None:
    (tmp_path / "none.yaml").write_text("{apiVersion: krmfn.dev/v1alpha1, kind: ClusterFacts, spec: {nodes: []}}")
    job = make_job("m" * 50, 1, 1)
    job["metadata"]["namespace"] = "n" * 63
    (tmp_path / "long.yaml").write_text(yaml.safe_dump(job))
    done = krmfn("fit", "long.yaml", "--cluster", "none.yaml", "--prove", "-o", "svg")
    texts = [
        (float(each.get("x") or 0), each.text or "") for each in ElementTree.fromstring(done.out).iter(f"{SVG}text")
    ]
    text_left, name = next(each for each in texts if "…mmm" in each[1])
    right, _ = next(each for each in texts if each[1] == "0 of 1 pods")
    # Pixels of letters in DejaVu Sans Bold at 13 px, the widest usual font.
    assert text_left + sum(13 if letter == "m" else 9.3 for letter in name) < right
    assert any("no nodes available to schedule pods" in text for _, text in texts)
    html = krmfn("fit", "long.yaml", "--cluster", "none.yaml", "--prove", "-o", "html").out
    assert "<summary>1 pod</summary>" in html


def test_nodes_stand_side_by_side_in_their_frame(tmp_path: Path, krmfn: Call) -> None:
    nodes = [
        {**make_node(f"n{number}", "a"), "status": {"allocatable": {"cpu": f"{number + 1}"}}} for number in range(8)
    ]
    (tmp_path / "nodes.yaml").write_text(yaml.safe_dump_all(nodes))
    (tmp_path / "job.yaml").write_text(yaml.safe_dump(make_job("train", 2, 1)))
    picture = krmfn("fit", "job.yaml", "--cluster", "nodes.yaml", "--prove", "-o", "svg").out
    boxes: dict[str, list[list[float]]] = {"dom": [], "card": []}
    for each in ElementTree.fromstring(picture).iter(f"{SVG}rect"):
        boxes.setdefault(each.get("class", ""), []).append(
            [float(each.get(key) or 0) for key in ("x", "y", "width", "height")]
        )
    (frame,), cards = boxes["dom"], boxes["card"]
    assert len(cards) == 8
    for index, (left, top, width, height) in enumerate(cards):
        assert frame[0] < left < left + width < frame[0] + frame[2]
        assert frame[1] < top < top + height < frame[1] + frame[3]
        others = cards[index + 1 :]
        assert all(x >= left + width or x + wide <= left or y >= top + height for x, y, wide, _ in others)


@pytest.mark.slow
def test_a_thousand_nodes_are_a_card_for_each_domain(tmp_path: Path, krmfn: Call) -> None:
    nodes = [make_node(f"gpu-{number}", f"z{number % 9}") for number in range(1000)]
    pods = [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": f"p{number}", "namespace": "web"},
            "spec": {
                "nodeName": f"gpu-{number}",
                "containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": f"{number + 1}m"}}}],
            },
            "status": {"phase": "Running"},
        }
        for number in range(200)
    ]
    items = {"apiVersion": "v1", "kind": "List", "items": [*nodes, *pods]}
    (tmp_path / "many.yaml").write_text(yaml.safe_dump(items))
    (tmp_path / "job.yaml").write_text(yaml.safe_dump(make_job("train", 2, 1)))
    picture = krmfn("fit", "job.yaml", "--cluster", "many.yaml", "--prove", "-o", "svg").out
    texts = [each.text for each in ElementTree.fromstring(picture).iter(f"{SVG}text")]
    assert [text for text in texts if text and text.startswith("z")] == [f"z{number}" for number in range(9)]
    assert texts.count("111 nodes") == 8
    assert "112 nodes" in texts
    assert "nodes by zone" in texts
    assert len(picture) < 50_000


def test_a_gang_that_depends_on_the_order_names_its_rivals(cluster: Path, krmfn: Call) -> None:
    simulator = cluster / "simulator"
    text = simulator.read_text().replace('"late": trial', '"late": trial.get("seed", 0) % 2 == 0, "big": trial')
    simulator.write_text(text)
    done = krmfn("fit", "jobs.yaml", "--cluster", "cluster.yaml", "--simulator", "./simulator")
    assert "in another order ml/job-odd would start instead" in " ".join(done.out.split())
    assert "in another order it would start instead of ml/job-late" in " ".join(done.out.split())


def test_what_is_taken_for_granted_is_said(cluster: Path, krmfn: Call) -> None:
    job = make_job("fits", 2, 1)
    job["spec"]["template"]["spec"]["volumes"] = [{"name": "d", "persistentVolumeClaim": {"claimName": "data"}}]
    (cluster / "one.yaml").write_text(yaml.safe_dump(job))
    done = krmfn("fit", "one.yaml", "--cluster", "cluster.yaml", "--simulator", "./simulator")
    assert "not checked: whether PersistentVolumeClaim data exists" in done.out
    with (cluster / "cluster.yaml").open("a") as file:
        claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data", "namespace": "ml"}}
        file.write("---\n" + yaml.safe_dump(claim | {"spec": {"volumeName": "v"}}))
    assert "not checked" not in krmfn("fit", "one.yaml", "--cluster", "cluster.yaml", "--simulator", "./simulator").out
