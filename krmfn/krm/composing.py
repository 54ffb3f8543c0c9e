"""Reads YAML text into nodes, through the events of libyaml and an anchor table of our own.

PyYAML's own composer is not used: it refuses anchors that are defined twice, which kpt produces when it puts several
files into one ResourceList, and it resolves scalars by another dialect. Knows nothing about Kubernetes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from krmfn.krm.errors import Unreadable
from krmfn.krm.nodes import Alias, Mapping, Node, Scalar, Sequence, follow

#: Deeper documents are refused: nothing in Kubernetes comes near, and Python's stack is finite.
MAX_DEPTH = 200

#: Looks an anchor up outside the text: name -> node, or None.
FindAnchor = Callable[[str], Node | None]


def compose(text: str, find_anchor: FindAnchor | None = None, first_line: int = 1) -> Node | None:
    """Read the only document in `text`; None when there is none. Raises Unreadable.

    `first_line` is the number of the text's first line, for positions in messages.
    """
    documents = compose_all(text, find_anchor, first_line)
    if len(documents) > 1:
        line = first_line + text.count("\n", 0, documents[1].start)
        raise Unreadable("a second document begins where one was expected", line, 1)
    return documents[0] if documents else None


def compose_all(text: str, find_anchor: FindAnchor | None = None, first_line: int = 1) -> list[Node]:
    """Read all documents in `text`; documents without content are left out. Raises Unreadable."""
    import yaml
    from yaml._yaml import CParser

    documents: list[Node] = []
    parser: Any = None
    try:
        parser = CParser(text)
        if not parser.check_event(yaml.StreamStartEvent):
            return documents
        parser.get_event()
        while not parser.check_event(yaml.StreamEndEvent):
            parser.get_event()
            root = _compose_document(parser, find_anchor, first_line)
            parser.get_event()
            if not (isinstance(root, Scalar) and root.start == root.end and not root.style):
                documents.append(root)
    except yaml.YAMLError as error:
        raise explain_error(error, text, first_line) from None
    except UnicodeEncodeError as error:
        raise Unreadable("a lone surrogate is no character", first_line + text.count("\n", 0, error.start)) from None
    finally:
        if parser is not None:
            parser.dispose()
    return documents


def _compose_document(parser: Any, find_anchor: FindAnchor | None, first_line: int) -> Node:
    """Read one document; an explicit stack, so that depth costs no Python frames."""
    import yaml

    scalar, mapping, sequence, alias = (
        yaml.ScalarEvent,
        yaml.MappingStartEvent,
        yaml.SequenceStartEvent,
        yaml.AliasEvent,
    )
    anchors: dict[str, Node] = {}
    root: Node | None = None
    stack: list[Mapping | Sequence] = []
    keys: list[Node | None] = []
    get_event = parser.get_event
    while True:
        event = get_event()
        kind = type(event)
        start = event.start_mark.index
        node: Node
        opened: Mapping | Sequence | None = None
        if kind is scalar:
            style = event.style or ""
            tag = event.tag
            end = event.end_mark.index
            node = Scalar(start, end, event.anchor, tag, event.value, style)
        elif kind is mapping:
            opened = Mapping(start, start, event.anchor, event.tag, bool(event.flow_style))
            node = opened
        elif kind is sequence:
            opened = Sequence(start, start, event.anchor, event.tag, bool(event.flow_style))
            node = opened
        elif kind is alias:
            node = _resolve_alias(event, anchors, find_anchor, stack, first_line)
        else:
            node = _close(event, stack.pop())
            keys.pop()
            if not stack:
                return node
            if isinstance(stack[-1], Mapping):
                # A closed collection is a value, or a key that waits for its value.
                _extend(stack[-1], node)
            else:
                stack[-1].end = node.end
            continue
        if node.anchor is not None:
            anchors[node.anchor] = node
        if not stack:
            root = node
        else:
            _attach(stack[-1], keys, node)
        if opened is not None:
            if len(stack) >= MAX_DEPTH:
                raise Unreadable(f"nested deeper than {MAX_DEPTH} levels", first_line + event.start_mark.line)
            stack.append(opened)
            keys.append(None)
        elif not stack:
            assert root is not None
            return root


def _attach(parent: Mapping | Sequence, keys: list[Node | None], node: Node) -> None:
    """Put a node into the open collection: an element, a key, or the value of the waiting key."""
    parent.end = node.end
    if isinstance(parent, Sequence):
        parent.items.append(node)
        return
    key = keys[-1]
    if key is None:
        keys[-1] = node
    else:
        parent.pairs.append((key, node))
        keys[-1] = None


def _extend(parent: Mapping, node: Node) -> None:
    parent.end = node.end


def _close(event: Any, node: Mapping | Sequence) -> Node:
    """Flow collections end with their bracket; block collections have ended with their last child."""
    if node.flow:
        node.end = event.end_mark.index
    return node


def _resolve_alias(
    event: Any, anchors: dict[str, Node], find_anchor: FindAnchor | None, stack: list[Mapping | Sequence], line: int
) -> Node:
    """Find what an alias stands for: the latest definition before it, in this text or outside."""
    name = event.anchor
    target = anchors.get(name)
    outside = target is None
    if target is None and find_anchor is not None:
        target = find_anchor(name)
    mark = event.start_mark
    if target is None:
        raise Unreadable(f"unknown anchor '{name}' referenced", line + mark.line, mark.column + 1)
    target = follow(target)
    if any(target is open_node for open_node in stack):
        raise Unreadable(f"anchor '{name}' value contains itself", line + mark.line, mark.column + 1)
    return Alias(mark.index, event.end_mark.index, name, target, outside)


def explain_error(error: Exception, text: str, first_line: int) -> Unreadable:
    """Turn an error of the parser into ours, with the position in the file."""
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    problem = getattr(error, "problem", None) or getattr(error, "reason", None) or str(error).splitlines()[0]
    if mark is not None:
        return Unreadable(str(problem), first_line + mark.line, mark.column + 1)
    position = getattr(error, "position", None)
    if isinstance(position, int):
        # The reader's positions count bytes of UTF-8.
        before = text.encode("utf-8", "replace")[:position].decode("utf-8", "replace")
        column = len(before) - (before.rfind("\n") + 1) + 1
        return Unreadable(str(problem), first_line + before.count("\n"), column)
    return Unreadable(str(problem))
