"""The release that is not out yet: never a default, told, and different where its types differ."""

from __future__ import annotations

from pathlib import Path

import pytest

from krmfn.convert import convert
from krmfn.krm.item import Item
from krmfn.releases.release import find_release, list_releases, newest_release
from tests.front_door import call

TREE = """
apiVersion: scheduling.k8s.io/v1alpha3
kind: CompositePodGroup
metadata: {name: run, namespace: ml}
spec:
  workloadRef: {workloadName: run, templateName: run}
  schedulingPolicy: {gang: {minGroupCount: COUNT}}
"""


def test_it_is_no_default() -> None:
    assert not newest_release().preview


def test_it_is_told_once(tmp_path: Path) -> None:
    (tmp_path / "tree.yaml").write_text(TREE.replace("COUNT", "2"))
    for name in list_releases():
        release = find_release(name)
        for words in (["validate"], ["validate", "--stage", "server"]):
            said = call(words=[*words, "--kubernetes", name, "tree.yaml"], folder=tmp_path).out.decode()
            assert said.count(f"(preview: {release.version})") == said.count("(preview: ") == int(release.preview)


def test_quorums_of_composites_change_in_place_from_1_38(tmp_path: Path) -> None:
    for name, count in (("old", "2"), ("new", "3")):
        (tmp_path / f"{name}.yaml").write_text(TREE.replace("COUNT", count))
    words = ["diff", "old.yaml", "new.yaml", "--kubernetes"]
    refused, taken = (call(words=[*words, name], folder=tmp_path).out.decode() for name in ("1.37", "1.38"))
    assert "1 to be replaced" in refused
    assert "1 updated in place" in taken


def test_composites_are_protected_from_1_38(tmp_path: Path) -> None:
    """The finalizer of the preview stands in a plan, in what a manifest must not contain, and in what is stored."""
    (tmp_path / "old.yaml").write_text(TREE.replace("COUNT", "2"))
    (tmp_path / "new.yaml").write_text(TREE.replace("COUNT", "2").replace("templateName: run", "templateName: other"))
    words = ["diff", "old.yaml", "new.yaml", "--kubernetes"]
    free, kept = (call(words=[*words, name], folder=tmp_path).out.decode() for name in ("1.37", "1.38"))
    assert "has no finalizer and is deleted at once" in free
    assert "scheduling.k8s.io/compositepodgroup-protection delays the deletion while child groups" in kept
    text = TREE.replace(
        "namespace: ml}", "namespace: ml, finalizers: [scheduling.k8s.io/compositepodgroup-protection]}"
    )
    (tmp_path / "kept.yaml").write_text(text.replace("COUNT", "2"))
    words = ["validate", "kept.yaml", "--kubernetes"]
    free, kept = (call(words=[*words, name], folder=tmp_path).out.decode() for name in ("1.37", "1.38"))
    assert "[finalizer-in-git]" not in free
    assert "[finalizer-in-git]" in kept


@pytest.mark.parametrize("name", list_releases())
def test_every_release_judges_kinds_that_no_rule_speaks_of(name: str, tmp_path: Path) -> None:
    """A folder of a release has the shapes of all built-in kinds: without them any other object is a crash."""
    (tmp_path / "map.yaml").write_text("{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, dta: {}}")
    done = call(words=["validate", "--kubernetes", name, "map.yaml"], folder=tmp_path)
    assert (done.code, b'unknown field "dta"' in done.out) == (1, True)


def test_versions_that_one_release_serves_are_one_object() -> None:
    """An older served version becomes the most stable one; nothing else changes, and nothing is said."""
    item = Item.new({"apiVersion": "scheduling.k8s.io/v1alpha3", "kind": "PodGroup", "metadata": {"name": "g"}})
    done = convert([item], "1.37")
    assert (item.api_version, done.added, done.removed, [each.rule for each in done.findings]) == (
        "scheduling.k8s.io/v1beta1",
        (),
        (),
        [],
    )
