"""Pictures of `krmfn fit` in odd cases."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import yaml

from tests.cli.conftest import Call
from tests.cli.test_fit import SVG, make_job


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
