"""A hand-kept kustomization gets entries and keeps everything else; a folder is prepared once."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from krmfn.workspace.kustomization import add_entries, find_kustomization, plan_init
from krmfn.workspace.trees import InputMissing, WriteFailed

JOB = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: train}\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(
            "resources:\n- a.yaml # the first\n\n# patches come next\npatches: []\n",
            "resources:\n- a.yaml # the first\n- b.yaml\n\n# patches come next\npatches: []\n",
            id="comments and blank lines stay",
        ),
        pytest.param(
            "resources:\n    - a.yaml\n    - 'c.yaml'\nnamePrefix: x-\n",
            "resources:\n    - a.yaml\n    - 'c.yaml'\n    - b.yaml\nnamePrefix: x-\n",
            id="indentation of the neighbours",
        ),
        pytest.param("resources: [a.yaml]\n", "resources: [a.yaml, b.yaml]\n", id="flow style"),
        pytest.param("resources: []\nnamespace: ml\n", None, id="empty list"),
        pytest.param("resources:\nnamespace: ml\n", None, id="null"),
        pytest.param("namespace: ml\n", None, id="no list"),
        pytest.param("namespace: ml", None, id="no newline at the end"),
        pytest.param("resources:\r\n- a.yaml\r\n", "resources:\r\n- a.yaml\r\n- b.yaml\r\n", id="CRLF"),
    ],
)
def test_an_entry_is_appended_and_the_rest_stays(before: str, after: str | None) -> None:
    text = add_entries(before.encode(), "kustomization.yaml", {"resources": ["b.yaml"]}).decode()
    if after is not None:
        assert text == after
    old, new = yaml.safe_load(before), yaml.safe_load(text)
    assert new == {**old, "resources": [*(old.get("resources") or []), "b.yaml"]}
    assert add_entries(text.encode(), "kustomization.yaml", {"resources": ["b.yaml"]}) == text.encode()


def test_the_same_file_in_another_spelling_is_not_added_again() -> None:
    text = b"resources:\n- ./b.yaml\n"
    assert add_entries(text, "kustomization.yaml", {"resources": ["b.yaml"]}) == text


def test_a_field_that_is_no_list_is_refused_by_name() -> None:
    with pytest.raises(WriteFailed, match=r"k\.yaml:1: resources is not a list"):
        add_entries(b"resources: {a: b}\n", "k.yaml", {"resources": ["b.yaml"]})


def test_a_list_that_others_share_keeps_its_other_users() -> None:
    text = add_entries(b"components: &all [a]\nresources: *all\n", "k.yaml", {"resources": ["b"]})
    assert yaml.safe_load(text) == {"components": ["a"], "resources": ["a", "b"]}


def test_two_kustomizations_in_a_folder_are_refused(tmp_path: Path) -> None:
    (tmp_path / "kustomization.yaml").touch()
    (tmp_path / "Kustomization").touch()
    with pytest.raises(WriteFailed, match="one of them only"):
        find_kustomization(str(tmp_path))


def init(folder: Path, release: str = "1.37") -> list[str]:
    """Do what the plan says; the names of the files that changed."""
    changed = []
    for file in plan_init(str(folder), release):
        if file.new is not None and file.old != file.new:
            Path(file.path).write_bytes(file.new)
            changed.append(Path(file.path).name)
    return changed


def test_init_of_a_kustomization(tmp_path: Path) -> None:
    kustomization = tmp_path / "kustomization.yaml"
    kustomization.write_text("# ours\nresources:\n- job.yaml # the job\ntransformers:\n- other.yaml\n")
    (tmp_path / "job.yaml").write_text(JOB)
    (tmp_path / "other.yaml").write_text("apiVersion: builtin\nkind: PrefixTransformer\nmetadata: {name: x}\n")
    assert init(tmp_path, "1.36") == ["krmfn.yaml", ".krmfn.schema.json", "krmfn-names.yaml", "kustomization.yaml"]
    assert kustomization.read_text() == (
        "# ours\nresources:\n- job.yaml # the job\ntransformers:\n- other.yaml\n- krmfn.yaml\n"
        "configurations:\n- krmfn-names.yaml\n"
    )
    config = yaml.safe_load((tmp_path / "krmfn.yaml").read_text())
    assert config["spec"]["kubernetes"]["version"] == "1.36"
    assert yaml.safe_load(config["metadata"]["annotations"]["config.kubernetes.io/function"]) == {
        "exec": {"path": "krmfn"}
    }
    assert "nameReference" in yaml.safe_load((tmp_path / "krmfn-names.yaml").read_text())
    assert init(tmp_path) == []


def test_init_makes_a_kustomization_of_the_manifests(tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text(JOB)
    (tmp_path / "values.yaml").write_text("a: 1\n")
    (tmp_path / "kind.yaml").write_text("apiVersion: kind.x-k8s.io/v1alpha4\nkind: Cluster\n")
    base = tmp_path / "base"
    base.mkdir()
    (base / "kustomization.yaml").write_text("resources: []\n")
    (tmp_path / "plain").mkdir()
    init(tmp_path)
    assert yaml.safe_load((tmp_path / "kustomization.yaml").read_text()) == {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": ["base", "job.yaml"],
        "configurations": ["krmfn-names.yaml"],
        "transformers": ["krmfn.yaml"],
    }
    assert init(tmp_path) == []


def test_init_keeps_an_existing_configuration(tmp_path: Path) -> None:
    (tmp_path / "kustomization.yaml").write_text("resources: []\n")
    config = tmp_path / "krmfn.yaml"
    config.write_text(
        "apiVersion: krmfn.dev/v1alpha1\nkind: GangScheduling\nmetadata:\n  name: mine\nspec: {select: All} # all\n"
    )
    init(tmp_path)
    value = yaml.safe_load(config.read_text())
    assert value["spec"] == {"select": "All"}
    assert "# all" in config.read_text()
    assert value["metadata"]["annotations"] == {"config.kubernetes.io/function": "exec: {path: krmfn}\n"}
    assert init(tmp_path) == []


@pytest.mark.parametrize("spelling", ["./krmfn.yaml", "inline", "mine.yaml"])
def test_init_does_not_list_the_function_twice(tmp_path: Path, spelling: str) -> None:
    inline = "apiVersion: krmfn.dev/v1alpha1\nkind: GangScheduling\nmetadata: {name: x}\n"
    (tmp_path / "mine.yaml").write_text(inline)
    entry = inline if spelling == "inline" else spelling
    (tmp_path / "kustomization.yaml").write_text(yaml.safe_dump({"resources": [], "transformers": [entry]}))
    init(tmp_path)
    assert yaml.safe_load((tmp_path / "kustomization.yaml").read_text())["transformers"] == [entry]


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        ({}, "neither a kustomization.yaml nor manifests"),
        ({"kustomization.yaml": "generators:\n- ./krmfn.yaml\n"}, "under generators:, which receive no resources"),
        ({"kustomization.yaml": "resources: []\n", "krmfn.yaml": "kind: ConfigMap\n"}, "is a ConfigMap"),
    ],
)
def test_init_refuses_and_says_what_to_do(tmp_path: Path, files: dict[str, str], reason: str) -> None:
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    with pytest.raises(WriteFailed, match=reason):
        plan_init(str(tmp_path), "1.37")


def test_init_of_a_missing_folder(tmp_path: Path) -> None:
    with pytest.raises(InputMissing, match="no such folder"):
        plan_init(str(tmp_path / "nowhere"), "1.37")


def test_without_the_function_only_names_are_prepared(tmp_path: Path) -> None:
    (tmp_path / "manifests.yaml").write_text(JOB)
    files = plan_init(str(tmp_path), "1.37", function=False)
    assert [Path(file.path).name for file in files] == ["krmfn-names.yaml", "kustomization.yaml"]
    assert yaml.safe_load(files[1].new or b"") == {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": ["manifests.yaml"],
        "configurations": ["krmfn-names.yaml"],
    }
