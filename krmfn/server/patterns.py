"""Patterns of Go as patterns of Python, and which of them are read quickly.

Go's own patterns take linear time; those of Python may take for ever, and then nothing stops them. Source: the syntax
of Go's regexp/syntax (RE2).
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

_CLASSES = {
    "alnum": "0-9A-Za-z", "alpha": "A-Za-z", "ascii": r"\x00-\x7F", "blank": r"\t ", "cntrl": r"\x00-\x1F\x7F",
    "digit": "0-9", "graph": "!-~", "lower": "a-z", "print": " -~", "punct": r"!-/:-@\[-`{-~", "space": r"\t\n\v\f\r ",
    "upper": "A-Z", "word": "0-9A-Za-z_", "xdigit": "0-9A-Fa-f",
}  # fmt: skip
_SPACE = r"\t\n\f\r "
_GROUP = re.compile(r"\(\?(?:P?<\w+>|([imsU]*)(?:-([imsU]+))?([:)]))")
#: That of resource.Quantity, as controller-gen writes it: no two of its parts match the same text.
_QUANTITY = (
    r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$"
)
#: About a hundredth of a second.
_MOST_STEPS = 20_000_000


@cache
def compile_pattern(pattern: str) -> re.Pattern[str] | None:
    """The pattern as Python reads it; None for what Go does not read or Python does not have (`\\p{Greek}`)."""
    try:
        return re.compile(_translate(pattern), re.ASCII)
    except (re.error, ValueError, KeyError):
        return None


def _translate(pattern: str) -> str:
    out: list[str] = []
    #: Of each open group: whether `$` means the end of a line in it, and the groups that were opened in it for flags.
    scopes: list[tuple[bool, list[str]]] = [(False, [])]
    at = 0
    while at < len(pattern):
        lines, opened = scopes[-1]
        char = pattern[at]
        if char in "\\[":
            text, at = (_escape if char == "\\" else _read_class)(pattern, at)
            out.append(text)
            continue
        group = _GROUP.match(pattern, at) if char == "(" else None
        if group and group[3]:
            on, off = group[1] or "", group[2] or ""
            if "U" in on + off:
                raise ValueError("ungreedy patterns match the same texts, but are not written for Python")
            lines = "m" in on or (lines and "m" not in off)
            # `(?i)` counts to the end of the group that it stands in: a group of its own, closed with that one.
            opens = f"(?{on}-{off}:" if off else f"(?{on}:"
            out.append(opens)
            if group[3] == ":":
                scopes.append((lines, []))
            else:
                scopes[-1] = (lines, [*opened, opens])
            at = group.end()
            continue
        if char == "(":
            if pattern.startswith("(?", at) and not group:
                raise ValueError("Go has no such group")
            scopes.append((lines, []))
        elif char == ")":
            if len(scopes) == 1:
                raise ValueError("nothing is open")
            out.append(")" * len(scopes.pop()[1]))
        elif char == "$" and not lines:
            char = r"\Z"
        elif char == "|" and opened:
            char = ")" * len(opened) + "|" + "".join(opened)
        out.append(char)
        at = group.end() if group else at + 1
    out.append(")" * len(scopes[0][1]))
    return "".join(out)


def _escape(pattern: str, at: int) -> tuple[str, int]:
    """What a backslash outside of a class means, and where it ends."""
    char = pattern[at + 1 : at + 2]
    if char == "Q":
        end = pattern.find(r"\E", at)
        text = pattern[at + 2 : end if end >= 0 else len(pattern)]
        return re.escape(text), (end + 2 if end >= 0 else len(pattern))
    if char == "x" and pattern.startswith("{", at + 2):
        end = pattern.index("}", at)
        return re.escape(chr(int(pattern[at + 3 : end], 16))), end + 1
    meant = {"z": r"\Z", "s": f"[{_SPACE}]", "S": f"[^{_SPACE}]"}.get(char, "\\" + char)
    if char in "pPCZ" or char.isdigit():
        raise ValueError(f"\\{char}")
    return meant, at + 2


def _read_class(pattern: str, at: int) -> tuple[str, int]:
    """A class of characters, and where it ends."""
    out = ["["]
    at += 1
    if pattern.startswith("^", at):
        out.append("^")
        at += 1
    first = True
    while first or not pattern.startswith("]", at):
        if at >= len(pattern):
            raise ValueError("the class does not end")
        named = re.match(r"\[:(\^?)(\w+):\]", pattern[at:])
        if named:
            if named[1]:
                raise ValueError("a negated class in a class")
            out.append(_CLASSES[named[2]])
            at += named.end()
        elif pattern[at] == "\\":
            char = pattern[at + 1 : at + 2]
            if char in "pPQ" or char.isdigit():
                raise ValueError(f"\\{char}")
            spaces = {"s": _SPACE, "S": r"\S\x0b"}.get(char)
            text, at = (spaces, at + 2) if spaces else _escape(pattern, at)
            out.append(text)
        else:
            out.append("\\" + pattern[at] if pattern[at] in "[]&~|" else pattern[at])
            at += 1
        first = False
    return "".join(out) + "]", at + 1


def is_quick(pattern: str, value: Any) -> bool:
    """Whether the pattern repeats little, and nothing that repeats or chooses.

    >>> is_quick("^[a-z]+(-[a-z]+)?$", "a"), is_quick("(a+)+", "a"), is_quick("(a|a)*", "a")
    (True, False, False)
    >>> is_quick("a*a*b", "a" * 200), is_quick("a*a*b", "a" * 2_000), is_quick("^a*a*b", "a" * 2_000)
    (True, False, True)
    """
    if pattern == _QUANTITY:
        return True
    if len(pattern) > 1000:
        return False
    repetitions, choices, last, at = 0, 0, "", 0
    while at < len(pattern):
        char = pattern[at]
        if char == "\\":
            if pattern[at + 1 : at + 3] in ("x{", "p{", "P{"):
                return False
            char, at = "x", at + 1
        elif char == "[":
            end = pattern.find("]", at + 2)
            if end < 0 or "\\" in pattern[at:end] or "[" in pattern[at + 1 : end]:
                return False
            char, at = "x", end
        elif char in "*+{":
            if last == ")":
                return False
            repetitions += 1
        choices += char in "?|"
        last, at = char, at + 1
    # Each repetition may end at any character, each search begin at any, and each choice doubles what there is to try.
    loops = repetitions + (not pattern.startswith("^") or "|" in pattern)
    steps: int = (len(value) + 1 if isinstance(value, str) else 1) ** loops << choices
    return steps <= _MOST_STEPS
