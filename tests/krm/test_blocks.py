"""Objects that are read in two parts: the same values, edits and text as those that are read as a whole."""

import pytest

from krmfn.krm import ResourceList, Unreadable, blocks

HEAD = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n"
SPEC = "  spec:\n    replicas: 2\n    template:\n      spec:\n        containers:\n          - name: main\n"


def make_item(name: str, metadata: str = "", rest: str = "") -> str:
    return f"- apiVersion: batch/v1\n  kind: Job\n  metadata:\n    name: {name}\n{metadata}{SPEC}{rest}"


def parse(*items: str) -> ResourceList:
    return ResourceList.parse((HEAD + "".join(items)).encode())


def edit(resources: ResourceList) -> list[object]:
    told: list[object] = []
    for item in resources.items:
        told.append(item.value)
        item.set(("spec", "template", "spec", "schedulingGroup", "podGroupName"), item.name)
        item.set(("spec", "template", "metadata"), {"finalizers": ["a"]})
        item.remove(("spec", "replicas"))
        told.append(item.value)
    return [*told, resources.render()]


@pytest.mark.parametrize(
    ("metadata", "rest", "in_parts"),
    [
        ("", "", True),
        ("", "  status:\n    ready: 1\n", True),
        ("    labels:\n      a: |\n        spec:\n\n", "", True),
        ("    finalizers:\n    - a\n", "", False),
        ("    labels: &labels\n      a: b\n", "  other: *labels\n", False),
        ("", "  spec:\n    replicas: 3\n", True),
        ("", "  kind: Job\n", False),
        ("    labels:\n      a: 'b\n        c'\n", "", False),
    ],
)
def test_parts_make_up_the_whole(metadata: str, rest: str, in_parts: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    items = [
        make_item(f"train-{n}", metadata.replace("&labels", f"&labels{n}"), rest.replace("*labels", f"*labels{n}"))
        for n in range(3)
    ]
    texts = [" " * 2 + item[2:] for item in items]
    assert [blocks.read_in_parts(text, 2) is not None for text in texts] == [in_parts] * 3
    found = edit(parse(*items))
    monkeypatch.setattr(blocks, "read_in_parts", lambda text, pad: None)
    assert found == edit(parse(*items))


def test_equal_specs_are_shared_until_one_is_edited() -> None:
    first, second = parse(make_item("a"), make_item("b")).items
    assert first.value["spec"] is second.value["spec"]
    first.set(("spec", "replicas"), 5)
    assert (first.value["spec"]["replicas"], second.value["spec"]["replicas"]) == (5, 2)


def test_blocks_are_forgotten_when_there_are_many() -> None:
    for n in range(blocks._KEPT + 8):
        assert blocks.find_block(f"  spec:\n    n: {n}\n") is not None
    assert len(blocks._blocks) == blocks._KEPT


def test_a_value_that_json_cannot_hold_is_told_with_its_place() -> None:
    item = parse(make_item("a", "    x: .inf\n")).items[0]
    with pytest.raises(Unreadable, match="no spelling in JSON") as refused:
        assert item.value
    assert refused.value.line == 8
