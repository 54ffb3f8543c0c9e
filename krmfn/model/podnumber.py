"""The number of a pod among those of a group, told by its labels, and that of the slice that it is in.

It is text of three forms, as the annotation `krmfn.dev/pod-group-by` has it. `a` is a label, whose value stands behind
the name of the group as it is. `a / 16` is the slice of a pod whose label has its number: the whole part. With
`(a*4 + b) / 16` a set has 4 pods, `a` is the number of the set and `b` that of the pod in its set.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

_SUMMAND: Final = "[^ ()*]+([*][1-9][0-9]{0,8})?"
#: The second and the third form, as a regular expression of Python and of RE2, which policies use.
SLICE: Final = f"^[(]?{_SUMMAND}( [+] {_SUMMAND})*[)]? / [1-9][0-9]{{0,8}}$"


class PodNumber(NamedTuple):
    """The sum of labels' values, each times its stride, divided by `size`, the pods of a slice."""

    terms: tuple[tuple[str, int], ...]
    size: int


def add_labels(label: str, sets: str = "", size: int = 1) -> str:
    """The sum that is a pod's number, by the label that counts within a set of `size` pods and the one that counts the
    sets.

    >>> add_labels("b", "a", 4), add_labels("b", "a"), add_labels("b")
    ('a*4 + b', 'a', 'b')
    """
    if not sets:
        return label
    return f"{sets}*{size} + {label}" if size > 1 else sets


def count_numbered(number: str, sets: int, pods: int) -> int:
    """How many pods have such numbers: those of all sets, of which other templates may make some; or the `pods` of one
    template.

    >>> count_numbered("a*4 + b", 3, 9), count_numbered("b", 1, 9)
    (12, 9)
    """
    summand, plus, _ = number.partition(" + ")
    return sets * int(summand.rpartition("*")[2]) if plus else pods


def divide(number: str, size: int) -> str:
    """The number of the slice, of pods with such numbers.

    >>> divide("a*4 + b", 16), divide("b", 16)
    ('(a*4 + b) / 16', 'b / 16')
    """
    return f"({number}) / {size}" if " + " in number else f"{number} / {size}"


def read_slice(text: str) -> PodNumber | None:
    """What the text says; None where it is a label alone, or nothing that is understood.

    >>> read_slice("(a*4 + b) / 16")
    PodNumber(terms=(('a', 4), ('b', 1)), size=16)
    """
    if not re.match(SLICE, text):
        return None
    total, _, size = text.partition(" / ")
    terms = (term.partition("*") for term in total.strip("()").split(" + "))
    return PodNumber(tuple((label, int(stride or 1)) for label, _, stride in terms), int(size))
