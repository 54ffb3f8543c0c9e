"""The number of a pod among those of a group, told by its labels, and that of the slice that it is in.

It is text of three forms, as the annotation `krmfn.dev/pod-group-by` has it. `a` is a label, whose value stands behind
the name of the group as it is. `a / 16` is the slice of a pod whose label has its number: the whole part. With
`(a*4 + b) / 16` a set has 4 pods, `a` is the number of the set and `b` that of the pod in its set.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_SUMMAND = "[^ ()*]+([*][1-9][0-9]{0,8})?"
#: The second and the third form, as a regular expression of Python and of RE2, which policies use.
SLICE = f"^[(]?{_SUMMAND}( [+] {_SUMMAND})*[)]? / [1-9][0-9]{{0,8}}$"


class PodNumber(NamedTuple):
    """The sum of labels' values, each times its stride, divided by `size`, the pods of a slice."""

    terms: tuple[tuple[str, int], ...]
    size: int


def add_labels(*digits: tuple[str, int]) -> str:
    """The sum that is a pod's number: by labels, each with how many values it has, the one that counts most first.

    >>> add_labels(("a", 3), ("b", 4)), add_labels(("a", 3), ("b", 1)), add_labels(("a", 2), ("b", 3), ("c", 4))
    ('a*4 + b', 'a', 'a*12 + b*4 + c')
    """
    terms, stride = list[str](), 1
    for place, (label, values) in enumerate(reversed(digits)):
        if place == len(digits) - 1 or values > 1:
            terms.insert(0, f"{label}*{stride}" if stride > 1 else label)
        stride *= values
    return " + ".join(terms)


def count_numbered(number: str, sets: int, pods: int) -> int:
    """How many pods have such numbers: those of all sets, also of other templates, or the `pods` of one template.

    >>> count_numbered("a*4 + b", 3, 9), count_numbered("b", 1, 9)
    (12, 9)
    """
    *_, summand = number.rpartition(" + ")[0].split(" + ")
    return sets * int(summand.rpartition("*")[2]) if summand else pods


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
