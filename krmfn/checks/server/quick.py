"""Whether a pattern that anybody may have written is read quickly.

Go's own patterns take linear time; those of Python may take for ever, and then nothing stops them.
"""

from __future__ import annotations

from krmfn.krm.types import Any, Final

_LONGEST_PATTERN: Final = 1000
#: About a hundredth of a second.
_MOST_STEPS: Final = 20_000_000


def is_quick(pattern: str, value: Any) -> bool:
    """Whether the pattern repeats little, and nothing that repeats or chooses.

    >>> is_quick("^[a-z]+(-[a-z]+)?$", "a"), is_quick("(a+)+", "a"), is_quick("(a|a)*", "a")
    (True, False, False)
    >>> is_quick("a*a*b", "a" * 200), is_quick("a*a*b", "a" * 2_000), is_quick("^a*a*b", "a" * 2_000)
    (True, False, True)
    """
    if len(pattern) > _LONGEST_PATTERN:
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
