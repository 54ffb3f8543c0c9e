"""Streams: documents, markers, directives, lists, templates and what is no Kubernetes object."""

from __future__ import annotations

import pytest

from krmfn.krm import FileRef, Item, ResourceRef, Stream, Unreadable

A = "apiVersion: v1\nkind: A\nmetadata:\n  name: a\n"
B = A.replace("A", "B")


def kinds(text: str | bytes) -> list[str]:
    return [item.kind for item in Stream.parse(text if isinstance(text, bytes) else text.encode()).items]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("# nothing\n", []),
        ("---\n---\n", []),
        (A, ["A"]),
        (f"---\n{A}", ["A"]),
        (f"{A}---\n{B}", ["A", "B"]),
        (f"{A}---   \n# c\n---\n{B}---\n", ["A", "B"]),
        (f"{A}--- # c\n{B}", ["A", "B"]),
        (f"{A}...\n---\n{B}...\n", ["A", "B"]),
        (f"{A}...\n{B}", ["A", "B"]),
        (f"%YAML 1.1\n---\n{A}", ["A"]),
        ("--- {apiVersion: v1, kind: A}\n", ["A"]),
        ("\ufeff" + A, ["A"]),
        (f"{A}---\n\ufeff{B}", ["A", "B"]),
        (f"a: 1\n---\n{A}---\n- x\n---\ntext\n", ["A"]),
        (f"{A}----\n", None),
        (A.replace("\n", "\r\n") + "---\r\n" + B, ["A", "B"]),
        *((start + A.replace("\n", "\r"), ["A"]) for start in ("# c\r", "--- # c\r")),
        ("apiVersion: v1\nkind: A\nx: |\n  ---\n  kind: C\n", ["A"]),
        ('{"apiVersion": "v1", "kind": "A"}\n{"apiVersion": "v1", "kind": "B"}', ["A", "B"]),
        ('{"apiVersion": "v1", "kind": "A"}\n---\n{"apiVersion": "v1", "kind": "B"}', ["A", "B"]),
        ('{"kind": "A", "apiVersion": "v1", # no JSON\n}', ["A"]),
    ],
)
def test_documents_are_found(text: str, expected: list[str] | None) -> None:
    if expected is None:
        with pytest.raises(Unreadable):
            kinds(text)
    else:
        assert kinds(text) == expected
        assert Stream.parse(text.encode()).render() == text.encode()


@pytest.mark.parametrize(
    ("text", "code", "line"),
    [
        (f"%YAML 1.1\n---\n{A}", "yaml-directive", 1),
        ("--- {apiVersion: v1, kind: A}\n", "content-after-marker", 1),
        (f"{B}...\n{A}", "content-after-end", 6),
    ],
)
def test_frames_that_other_tools_refuse_are_problems(text: str, code: str, line: int) -> None:
    (problem,) = Stream.parse(text.encode()).items[-1].problems
    assert (problem.code, problem.line, problem.path) == (code, line, ())


@pytest.mark.parametrize("kind", ["List", "RayClusterList"])
def test_lists_are_unpacked(kind: str) -> None:
    text = f"apiVersion: v1\nkind: {kind}\nitems:\n- apiVersion: v1\n  kind: A\n# c\n- {{apiVersion: v1, kind: B}}\n"
    assert kinds(text) == ["A", "B"]


def test_a_json_list_is_unpacked() -> None:
    assert kinds('{"kind": "List", "apiVersion": "v1", "items": [{"apiVersion": "v1", "kind": "A"}]}') == ["A"]


def test_a_resource_list_in_a_file_is_unpacked() -> None:
    head = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n"
    assert kinds(head + "- apiVersion: v1\n  kind: A\n") == ["A"]


def test_a_template_is_skipped_with_a_note() -> None:
    stream = Stream.parse(f"{A}---\n{{{{- if .x }}}}\na: 1\n---\nname: {{{{ .Values.x }}}}\n".encode(), "t.yaml")
    assert [item.kind for item in stream.items] == ["A"]
    assert [(note.path, note.index, note.line) for note in stream.skipped] == [("t.yaml", 1, 6), ("t.yaml", 2, 9)]


def test_braces_in_a_string_make_no_template() -> None:
    assert kinds(A + "spec: {x: '{{ .labels }}'}\n") == ["A"]


def test_an_error_is_located_in_the_file() -> None:
    with pytest.raises(Unreadable) as refused:
        Stream.parse(f"{A}---\na: b: c\n".encode())
    assert (refused.value.line, refused.value.column) == (6, 5)


@pytest.mark.parametrize(
    ("text", "place"),
    [("a: 1\nb: [c,\n d\n\n", (2, 4)), ("a: 'b\n\n", (1, 4)), ("a: 1\nb: [\n", (2, 4)), ("a: [\n# c\n---\n", (2, 3))],
)
def test_what_is_not_closed_is_told_where_it_begins_or_the_text_ends(text: str, place: tuple[int, int]) -> None:
    with pytest.raises(Unreadable, match=r"what begins here is not closed|the text ends too early") as refused:
        Stream.parse(text.encode())
    assert (refused.value.line, refused.value.column) == place


@pytest.mark.parametrize("data", [b"a: \xff\n", b"\xff\xfea\0", b"a: \xed\xa0\x80\n"])
def test_bytes_that_are_no_utf8_are_unreadable(data: bytes) -> None:
    with pytest.raises(Unreadable, match="not UTF-8"):
        Stream.parse(A.encode() + data)


def test_items_know_who_and_where_they_are() -> None:
    text = f"{A}---\napiVersion: ray.io/v1\nkind: RayCluster\nmetadata: {{name: r, namespace: n, labels: {{a: yes}}}}\n"
    item = Stream.parse(text.encode(), "x/y.yaml").items[1]
    assert item.ref == ResourceRef("ray.io/v1", "RayCluster", "r", "n")
    assert item.file == FileRef("x/y.yaml", 1)
    assert item.labels == {"a": "yes"}
    assert item.annotations == {}
    assert item.locate(("metadata", "namespace")) == FileRef("x/y.yaml", 1, 8, 32)


def test_positions() -> None:
    text = "# head\n" + A + "spec:\n  list:\n  - é: {x: 1}\n    gang:\n      min: 2\n"
    item = Stream.parse(text.encode(), "f").items[0]
    places: dict[tuple[str | int, ...], tuple[int, int]] = {
        (): (2, 1),
        ("spec",): (6, 1),
        ("spec", "list", 0, "é", "x"): (8, 12),
        ("spec", "list", 0, "é"): (8, 8),
        ("spec", "list", 0): (8, 5),
        ("spec", "list", 0, "gang"): (9, 5),
        ("spec", "list", 0, "gang", "min"): (10, 12),
        ("spec", "list", 0, "gang", "missing"): (9, 5),
        ("spec", "list", 5): (7, 3),
        ("nothing",): (2, 1),
    }
    assert {path: item.locate(path)[2:] for path in places} == places


def test_positions_stay_those_of_the_file_after_edits() -> None:
    item = Stream.parse(A.encode(), "f").items[0]
    item.set(("metadata", "labels"), {"a": "b", "c": "d"})
    item.remove(("kind",))
    assert item.locate(("metadata", "name"))[2:] == (4, 9)
    assert item.locate(("metadata", "labels"))[2:] == (3, 1)


def test_positions_in_json() -> None:
    data = b'{"kind": "List", "apiVersion": "v1",\n "items": [{"apiVersion": "v1", "kind": "A"}]}'
    assert Stream.parse(data, "f").items[0].locate(("kind",))[2:] == (2, 41)


def test_removing_and_appending_documents() -> None:
    stream = Stream.parse(f"# a\n{A}---\n# b\n{B}".encode())
    stream.remove(stream.items[0])
    stream.append(Item.new({"apiVersion": "v1", "kind": "C"}))
    assert stream.render().decode() == f"---\n# b\n{B}---\napiVersion: v1\nkind: C\n"


def test_appending_to_an_empty_stream_and_to_a_list() -> None:
    stream = Stream.parse(b"")
    stream.append(Item.new({"apiVersion": "v1", "kind": "C"}))
    assert stream.render() == b"apiVersion: v1\nkind: C\n"
    stream = Stream.parse(b"kind: List\napiVersion: v1\nitems:\n  - apiVersion: v1\n    kind: A")
    stream.append(Item.new({"apiVersion": "v1", "kind": "C"}))
    text = b"kind: List\napiVersion: v1\nitems:\n  - apiVersion: v1\n    kind: A\n  - apiVersion: v1\n    kind: C"
    assert stream.render() == text


@pytest.mark.parametrize(
    ("tail", "message"),
    [
        (b"x: [\n", "the text ends too early"),
        (b"# \xff\n", "not UTF-8"),
        (b"# \x07\n---\n", "control characters"),
        (b"%A \xff\n", "not UTF-8"),
    ],
)
def test_a_document_that_spoils_the_manifests_before_it(tail: bytes, message: str) -> None:
    """kubectl and kustomize refuse the file, also where the document has only a comment."""
    data = b"apiVersion: v1\nkind: A\n---\n" + tail
    with pytest.raises(Unreadable, match=message):
        Stream.parse(data)
    (skipped,) = Stream.parse(data, tolerant=True).skipped
    assert (skipped.line, skipped.sort) == (4, "")
    (foreign,) = Stream.parse(b"x: [\n", tolerant=True).skipped
    assert foreign.sort == "files that are not manifests"
