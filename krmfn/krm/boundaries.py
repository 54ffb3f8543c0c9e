"""Proves that a piece of YAML cannot reach into the next one, by looking at its bytes.

Only two things of YAML ignore indentation: quoted scalars and flow collections. Where each of them that may begin in
a piece also ends on its line, a line at a lower indentation is what it looks like. The proof rests on how libyaml
scans: in block context a quote or a bracket begins a token only behind a blank, a tab or a line break. Block scalars
and plain scalars end where a line is indented less, so they need no look. An answer of False proves nothing.
"""

from __future__ import annotations

import re

_DOUBLE = rb'"(?:[^"\\\n]|\\[^\n])*"'
_SINGLE = rb"'(?:[^'\n]|'')*'(?!')"
_OPENERS = re.compile(rb"(?:(?<=[ \t\n])|\A)[\"'\[{]")
_DOUBLE_QUOTED = re.compile(_DOUBLE)
_SINGLE_QUOTED = re.compile(_SINGLE)
_DEEPEST = 8
_FLOW_TOKENS = re.compile(rb"[\[{\]}\n#\"']")


def closes_on_its_lines(data: bytes) -> bool:
    """Prove it opener by opener."""
    for opener in _OPENERS.finditer(data):
        place = opener.start()
        sign = data[place : place + 1]
        if sign == b'"':
            closed = _DOUBLE_QUOTED.match(data, place) is not None
        elif sign == b"'":
            closed = _SINGLE_QUOTED.match(data, place) is not None
        else:
            closed = _closes_flow(data, place)
        if not closed:
            return False
    return True


def _closes_flow(data: bytes, place: int) -> bool:
    """Whether the flow collection that may begin here ends on its line; False when a quote leaves that open."""
    depth = 0
    while True:
        token = _FLOW_TOKENS.search(data, place)
        if token is None:
            return False
        place = token.start()
        sign = token.group()
        if sign in b"[{":
            depth += 1
            if depth > _DEEPEST:
                return False  # every bracket is followed to its end: many in each other take too long
        elif sign in b"]}":
            depth -= 1
            if not depth:
                return True
        elif sign in b"\"'":
            end = _skip_quoted(data, place, sign)
            if end < 0:
                return False
            place = end
            continue
        else:  # the line ends, or a comment may begin
            return False
        place += 1


def _skip_quoted(data: bytes, place: int, sign: bytes) -> int:
    """Offset behind a quoted scalar in a flow collection; -1 unless the quote surely begins one that ends here."""
    line = data[data.rfind(b"\n", 0, place) + 1 : place]
    before = line.rstrip(b" ")
    if before[-1:] not in (b"[", b"{", b",", b":") or not before:
        return -1
    if before[-1:] == b":" and before == line and before[-2:-1] not in (b'"', b"'"):
        return -1  # `a:'b` is one plain scalar
    quoted = (_DOUBLE_QUOTED if sign == b'"' else _SINGLE_QUOTED).match(data, place)
    return quoted.end() if quoted else -1
