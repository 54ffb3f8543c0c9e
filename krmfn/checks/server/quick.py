"""Whether a pattern that anybody may have written is read quickly.

Go's own patterns take linear time; those of Python may take for ever, and then nothing stops them.
"""

from __future__ import annotations

from krmfn.krm.types import Any, Final

_LONGEST_PATTERN: Final = 1000
_LONGEST_TEXT: Final = 4096
#: Two repetitions make the time quadratic at the most, as long as none is repeated itself.
_REPETITIONS: Final = 2
#: Each choice doubles the time at the most.
_CHOICES: Final = 8


def is_quick(pattern: str, value: Any) -> bool:
    """Whether the pattern repeats little, and nothing that repeats or chooses.

    >>> is_quick("^[a-z]+(-[a-z]+)?$", "a"), is_quick("(a+)+", "a"), is_quick("(a|a)*", "a")
    (True, False, False)
    """
    if len(pattern) > _LONGEST_PATTERN or (isinstance(value, str) and len(value) > _LONGEST_TEXT):
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
    return repetitions <= _REPETITIONS and choices <= _CHOICES
