"""`diff` of rendered manifests takes the groups that they hold, whatever configuration they were made with."""

from __future__ import annotations

from pathlib import Path

import pytest

from krmfn.cli.entry import main

EXAMPLE = Path(__file__).parents[2] / "examples" / "raycluster"


def test_groups_that_are_there_are_not_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    monkeypatch.chdir(tmp_path)
    source = (EXAMPLE / "raycluster.yaml").read_text()
    for name, text in (("old", source), ("new", source.replace("eplicas: 3", "eplicas: 5"))):
        (tmp_path / "raycluster.yaml").write_text(text)
        assert main(["generate", "--quiet", "--config", str(EXAMPLE / "gangs.yaml"), "raycluster.yaml"]) == 0
        (tmp_path / f"{name}.yaml").write_bytes(capfdbinary.readouterr().out)
    assert main(["diff", "old.yaml", "new.yaml"]) == 0
    plan = capfdbinary.readouterr().out.decode()
    assert "PodGroup raycluster-llama-g-loaders" in plan
    assert "minCount: 3 -> 5" in plan
    assert "3 updated in place, 3 unchanged" in plan
