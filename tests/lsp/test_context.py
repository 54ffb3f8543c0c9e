"""Where a place of a text is, by its lines, is where another reader finds it."""

from __future__ import annotations

from collections.abc import Iterator

import yaml

from krmfn.cli.lsp.context import Context, find_context

TEXT = """\
--- # the first
apiVersion: v1
kind: Pod
metadata:
  name: a
  labels:

    "one": b
spec:
  containers:
  # the only one
  - name: a
    ports:
      - containerPort: 1
        name: c
    image: b
  hostNetwork: true
---
apiVersion: batch/v1
metadata: {name: train}
kind: Job
spec:
    template:
        spec:
            restartPolicy: Never
"""


def list_keys(node: yaml.Node | None, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], yaml.Node]]:
    """Every key in a value of block style, with the keys that lead to it."""
    if isinstance(node, yaml.MappingNode) and not node.flow_style:
        for key, value in node.value:
            yield path, key
            yield from list_keys(value, (*path, key.value))
    if isinstance(node, yaml.SequenceNode):
        for each in node.value:
            yield from list_keys(each, path)


def test_every_key_is_where_a_yaml_reader_finds_it() -> None:
    for whole in yaml.compose_all(TEXT, yaml.SafeLoader):
        heads = {key.value: value.value for key, value in whole.value}
        for path, key in list_keys(whole):
            found = find_context(TEXT, key.start_mark.line, key.start_mark.column + 1)
            expected = Context(heads["apiVersion"], heads["kind"], path, key.value, found.value, True)
            assert found == expected, key.start_mark


def test_a_key_that_is_begun_or_not_yet_there_is_where_it_will_be() -> None:
    for whole in yaml.compose_all(TEXT, yaml.SafeLoader):
        for path, key in list_keys(whole):
            lines, number, column = TEXT.split("\n"), key.start_mark.line, key.start_mark.column
            begun = lines[number][: column + 1]
            for text, at in ((begun, column + 1), ("", column), (" " * 20, column)):
                lines[number] = text
                found = find_context("\n".join(lines), number, at)
                assert (found.path, found.key, found.on_key) == (path, "", True), key.start_mark


def test_nothing_leads_to_the_first_line() -> None:
    assert find_context("  \nkind: Pod", 0, 2).path == ()
