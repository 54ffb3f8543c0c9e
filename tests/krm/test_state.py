"""What was read or refused before decides nothing: items remember their text and their edits, and nothing else."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from krmfn.krm import EditRefused, Item, ResourceList, Stream, Unreadable

HEAD = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\n"


def list_of(items: str, more: str = "") -> ResourceList:
    return ResourceList.parse((HEAD + "items:\n" + items + more).encode())


def test_an_item_is_whole_after_any_number_of_others_were_read() -> None:
    items = list_of("".join(f"- apiVersion: v1\n  kind: A\n  spec:\n    w: {n}\n" for n in range(300))).items
    for item in items:
        item.set(("spec", "m"), 1)
    for number, item in enumerate(items):
        scalar = item.scalar(("spec", "w"))
        assert scalar is not None
        assert scalar.source == str(number)
        assert item.value["spec"] == {"w": number, "m": 1}


def test_an_item_can_be_edited_any_number_of_times() -> None:
    (item,) = list_of("- apiVersion: v1\n  kind: A\n  spec:\n  - &t {a: 1}\n" + "  - *t\n" * 99).items
    for place in range(100):
        item.set(("spec", place, "b"), place)
    assert item.value["spec"] == [{"a": 1, "b": place} for place in range(100)]


def test_a_released_item_is_read_again_with_its_edits() -> None:
    item = Item.parse(b"apiVersion: v1\nkind: A\nspec: {w: 1} # c\n")
    item.set(("spec", "w"), 2)
    item.release()
    assert item.text == "apiVersion: v1\nkind: A\nspec: {w: 2} # c\n"
    assert item.get(("spec", "w")) == 2
    new = Item.new({"a": 1})
    new.release()
    assert new.value == {"a": 1}


@pytest.mark.parametrize("path", [("b", "c"), ("b", "d", 0), ("spec", 5), ("name", "x"), ("m", "x")])
def test_a_refused_edit_changes_nothing(path: tuple[str | int, ...]) -> None:
    text = "name: n\nspec: [1]\na: &a {c: 1}\nb:\n  d: [*a]\n  <<: *a\nm: {<<: *a}\n"
    item = Item.parse(text.encode())
    item.set(("name",), "o")
    before = item.value
    edits: list[Callable[[], None]] = [
        lambda: item.remove(path),
        lambda: item.set((*path, "q", 7), {"x": 1}),
        lambda: item.set(path, {3: "x"}),
    ]
    refused = 0
    for edit in edits:
        try:
            edit()
        except (EditRefused, ValueError):
            refused += 1
            assert item.text == text.replace("name: n", "name: o")
            assert item.value == before == Item.parse(item.text.encode()).value
        else:
            item = Item.parse(text.encode())
            item.set(("name",), "o")
    assert refused


def test_an_edit_that_is_refused_half_way_is_taken_back() -> None:
    """The alias is written out before the anchor's other user turns out to be another object."""
    resources = list_of("- a: &x {v: 1}\n  b: *x\n- c: *x\n")
    item = resources.items[0]
    with pytest.raises(EditRefused, match="used by another object"):
        item.set(("a", "v"), 2)
    assert not item.changed
    assert resources.render() == (HEAD + "items:\n- a: &x {v: 1}\n  b: *x\n- c: *x\n").encode()


def test_several_edits_are_made_together_or_not_at_all() -> None:
    item = Item.parse(b"a: 1\nb: &b {c: 1}\nd: {<<: *b}\n")

    def edit() -> None:
        item.set(("a",), 2)
        item.remove(("d", "c"))

    with pytest.raises(EditRefused):
        item.atomically(edit)
    assert not item.touched
    assert item.text == "a: 1\nb: &b {c: 1}\nd: {<<: *b}\n"


ANCHORED = "- kind: A\n  a: &x {v: 1}\n  k: &k key\n"


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ("functionConfig:\n  kind: C\n  a: *x # why\n", "functionConfig:\n  kind: C\n  a: # why\n    v: 1\n"),
        ("functionConfig: *x\n", "functionConfig:\n  v: 1\n"),
        ("other: [*x, {*k : *k}]\n", 'other: [{v: 1}, {"key" : key}]\n'),
        ("other:\n  ? *k\n  : *x\n", "other:\n  ? key\n  : {v: 1}\n"),
        ("results:\n- message: *k\n", "results:\n- message: key\n"),
    ],
)
def test_what_uses_the_anchor_of_an_item_that_goes_gets_the_value(more: str, expected: str) -> None:
    resources = list_of(ANCHORED + "- kind: B\n  b: *x\n", more)
    resources.remove(resources.items[0])
    assert resources.render().decode() == HEAD + "items:\n- kind: B\n  b:\n    v: 1\n" + expected


def test_what_uses_another_anchor_stays_as_it_is() -> None:
    resources = list_of("- kind: A\n  a: &x 1\n- kind: B\n  a: &y 2\n- kind: C\n  b: [*x, *y]\n")
    resources.remove(resources.items[0])
    assert resources.render().decode() == HEAD + "items:\n- kind: B\n  a: &y 2\n- kind: C\n  b: [1, *y]\n"


def test_what_uses_the_anchor_of_results_that_are_replaced_gets_the_value() -> None:
    from krmfn.krm import Result

    text = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nresults:\n- message: &m old\nitems:\n- a: *m\n"
    expected = text.replace("- message: &m old", "- message: new\n  severity: info").replace("*m", "old")
    resources = ResourceList.parse(text.encode())
    assert resources.render([Result("new", "info")]).decode() == expected
    assert resources.render_original([Result("new", "info")]).decode() == expected


def test_a_broken_item_that_defines_anchors_is_told_each_time() -> None:
    resources = list_of("- a: &x 1\n  b: *unknown\n- c: *x\n")
    for _ in range(2):
        with pytest.raises(Unreadable, match="line 5, column 6: unknown anchor referenced"):
            assert resources.items[1].value


def test_anchors_of_items_are_found_in_any_order() -> None:
    text = "- a: &x 0\n" + "".join(f"- b: [*x]\n  a: &x {n}\n" for n in range(1, 5))
    for order in ([4, 3, 2, 1], [1, 2, 3, 4], [3, 1, 4, 2]):
        items = list_of(text).items
        assert {place: items[place].get(("b", 0)) for place in order} == {1: 0, 2: 1, 3: 2, 4: 3}


def test_streams_and_lists_in_them_are_released_too() -> None:
    stream = Stream.parse(b"apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: A\n  w: 1\n")
    stream.items[0].release()
    assert stream.items[0].get(("w",)) == 1
