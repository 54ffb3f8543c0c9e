"""Reads YAML text into nodes, through events of libyaml (or of PyYAML, without it) and an anchor table of our own.

PyYAML's own composer is not used: it refuses anchors that are defined twice, which kpt produces when it puts several
files into one ResourceList, and it resolves scalars by another dialect. Knows nothing about Kubernetes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from krmfn.krm.errors import HOLDS_ITSELF, Unreadable
from krmfn.krm.nodes import MAX_DEPTH, Alias, Mapping, Node, Parent, Scalar, Sequence
from krmfn.krm.places import position

#: Looks an anchor up outside the text: name -> node and where its part of the document begins, or None.
FindAnchor = Callable[[str], tuple[Node, int] | None]


def compose(text: str, find_anchor: FindAnchor | None = None) -> Node | None:
    """Read the only document in `text`; None when there is none that has content. Raises Unreadable."""
    import yaml

    if not text.isascii() and (mark := ("\n" + text).find("\n\ufeff")) >= 0:
        raise Unreadable("a byte order mark inside the text", *position(text, mark))
    try:
        documents = list(_compose_documents(_make_parser(text), find_anchor, text))
    except yaml.YAMLError as error:
        raise explain_error(error, text) from None
    except UnicodeEncodeError as error:
        raise Unreadable("invalid character: a lone surrogate", *position(text, error.start)) from None
    if len(documents) > 1:
        place = position(text, documents[1].start)
        raise Unreadable("a second document begins where one was expected", *place)
    return documents[0] if documents else None


def _make_parser(text: str) -> Any:
    """The parser of libyaml, or the slower one of PyYAML where there is no libyaml, as in a browser: same events."""
    import yaml

    try:
        from yaml._yaml import CParser
    except ImportError:
        return yaml.SafeLoader(text)
    return CParser(text)


def _compose_documents(parser: Any, find_anchor: FindAnchor | None, text: str) -> Iterator[Node]:
    """The documents that have content.

    Not a part of `compose`: where there is no memory left CPython 3.11 never comes out of an `except` that stands
    behind the first 256 instructions of its function.
    """
    import yaml

    parser.get_event()  # the start of the stream
    while not parser.check_event(yaml.StreamEndEvent):
        parser.get_event()
        root = _compose_document(parser, find_anchor, text)
        parser.get_event()
        if not (isinstance(root, Scalar) and root.start == root.end and not root.style):
            yield root


def _compose_document(parser: Any, find_anchor: FindAnchor | None, text: str) -> Node:
    """Read one document; an explicit stack, so that depth costs no Python frames."""
    import yaml

    scalar, mapping, sequence, alias = (
        yaml.ScalarEvent,
        yaml.MappingStartEvent,
        yaml.SequenceStartEvent,
        yaml.AliasEvent,
    )
    anchors: dict[str, Node] = {}
    #: The open collections, and the key that waits for its value in each.
    stack: list[Parent] = []
    keys: list[Node | None] = []
    get_event = parser.get_event
    while True:
        event = get_event()
        kind = type(event)
        start = event.start_mark.index
        node: Node
        if kind is scalar:
            node = Scalar(start, event.end_mark.index, event.anchor, event.tag, event.value, event.style or "")
            if "?" in node.content and not node.style and stack and stack[-1].flow:
                raise _refuse(event, text, "kubectl and kustomize refuse a text with ? and without quotes in {} and []")
            if event.anchor is not None:
                anchors[event.anchor] = node
        elif kind is mapping or kind is sequence:
            make = Mapping if kind is mapping else Sequence
            opened = make(start, start, event.anchor, event.tag, bool(event.flow_style))
            if event.anchor is not None:
                anchors[event.anchor] = opened
            if len(stack) >= MAX_DEPTH:
                raise _refuse(event, text, f"nested deeper than {MAX_DEPTH} levels")
            stack.append(opened)
            keys.append(None)
            continue
        elif kind is alias:
            node = _resolve_alias(event, anchors, find_anchor, stack, text)
        else:
            # Flow collections end with their bracket; block collections have ended with their last child.
            node = closed = stack.pop()
            if closed.flow:
                closed.end = event.end_mark.index
            keys.pop()
        if not stack:
            return node
        top = stack[-1]
        top.end = node.end
        if kind is not scalar:
            top.height = max(top.height, 1 + measure_height(node))
        if type(top) is Sequence:
            top.children.append(node)
        elif keys[-1] is None:
            keys[-1] = node
        else:
            top.children.append((keys[-1], node))
            keys[-1] = None


def measure_height(node: Node) -> int:
    """How many levels of collections a node stands for."""
    target = node.target if isinstance(node, Alias) else node
    return target.height if isinstance(target, Parent) else 0


def _resolve_alias(
    event: Any, anchors: dict[str, Node], find_anchor: FindAnchor | None, stack: list[Parent], text: str
) -> Node:
    """Find what an alias stands for: the latest definition before it, in this text or outside."""
    name = event.anchor
    target, origin = anchors.get(name), None
    if target is None and find_anchor is not None:
        target, origin = find_anchor(name) or (None, None)
    if target is None:
        # Without the name: a password that begins with a * and has no quotes is read as an alias.
        raise _refuse(event, text, "unknown anchor referenced; a text that begins with * needs quotes")
    if any(target is open_node for open_node in stack):
        raise _refuse(event, text, f"anchor '{name}' {HOLDS_ITSELF}")
    alias = Alias(event.start_mark.index, event.end_mark.index, name, target, origin)
    if len(stack) + measure_height(alias) > MAX_DEPTH:
        raise _refuse(event, text, f"nested deeper than {MAX_DEPTH} levels, aliases followed")
    return alias


def _refuse(event: Any, text: str, message: str) -> Unreadable:
    return Unreadable(message, *position(text, event.start_mark.index))


def explain_error(error: Any, text: str) -> Unreadable:
    """Turn an error of the parser into ours, with the position in the file. The parser's reader, which knows no marks,
    tells the byte of UTF-8; all else has the mark of the problem, and often that of what is open."""
    opened = getattr(error, "context_mark", None)
    mark = getattr(error, "problem_mark", opened)
    if mark is None:
        before = text.encode("utf-8", "replace")[: error.position].decode("utf-8", "replace")
        return Unreadable(error.reason, *position(before, len(before)))
    end = len(text.rstrip())
    if mark.index < end or not end:
        return Unreadable(error.problem, *position(text, mark.index))
    # The parser stops behind the last line; what it was reading began at a place that somebody can look at.
    index, told = end - 1, "the text ends too early"
    if opened and opened.index < end:
        index, told = opened.index, "what begins here is not closed"
    return Unreadable(f"{told} ({error.problem})", *position(text, index))
