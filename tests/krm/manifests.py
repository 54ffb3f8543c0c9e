"""Strategies: values of manifests, and texts that spell them in every style that people and tools use."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

KEYS = st.one_of(
    st.sampled_from(
        ["a", "b", "c", "spec", "template", "x-y", "ray.io/name", "on", "12", "a b", "é", "k:v", "#h", "~"]
    ),
    st.text("abcXY 1-_./é:#'\"\\😀", min_size=1, max_size=6),
)
STRINGS = st.one_of(
    st.sampled_from(
        ["", "yes", "x", "a: b", "- a", "# no", "line\n", "two\nlines", "  lead", "trail ", "é😀", "1e3", "{", "*a"]
    ),
    st.text("ab 1:#-\n'\"\\é&*!%@`{}[],|>?\t", max_size=12),
)
SCALARS = st.one_of(STRINGS, st.integers(-5, 70000), st.booleans(), st.none(), st.sampled_from([0.5, -2.25]))
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(KEYS, inner, max_size=3)),
    max_leaves=12,
)
OBJECTS = st.dictionaries(KEYS, VALUES, min_size=1, max_size=4)


class Speller:
    """Spells a value as YAML; every choice of style is drawn."""

    def __init__(self, draw: Any, newline: str) -> None:
        self.draw = draw
        self.newline = newline
        self.step = draw(st.sampled_from([1, 2, 2, 4]))
        self.wide = draw(st.booleans())
        self.noisy = draw(st.booleans())
        self.kept = False  # whether a `|+` stands right before, to which blank lines would belong

    def pick(self, *choices: str) -> str:
        return str(self.draw(st.sampled_from(choices)))

    def comment(self) -> str:
        return self.pick("", "", "", "  # note", " # 'odd\" {") if self.noisy else ""

    def filler(self, indent: int) -> str:
        """Lines of no meaning between entries."""
        kept, self.kept = self.kept, False
        if not self.noisy or kept:
            return ""
        return self.pick("", "", "", self.newline, " " * indent + "# - dash: {" + self.newline)

    def quoted(self, text: str) -> str:
        from krmfn.krm.writing import quote

        if self.pick("single", "double") == "single" and text.isprintable() and "\n" not in text:
            return "'" + text.replace("'", "''") + "'"
        return quote(text)

    def key(self, text: str) -> str:
        from krmfn.krm.writing import is_plain

        return text if is_plain(text) and self.draw(st.booleans()) else self.quoted(text)

    def scalar(self, value: Any) -> str:
        from krmfn.krm.writing import is_plain, write_scalar

        if isinstance(value, str) and not is_plain(value):
            return self.quoted(value)
        if value is None:
            return self.pick("null", "~")
        return write_scalar(value)

    def flow(self, value: Any) -> str:
        comma = self.pick(", ", ",", "," + self.newline + " " * 9)
        if isinstance(value, dict):
            return "{" + comma.join(f"{self.quoted(key)}: {self.flow(child)}" for key, child in value.items()) + "}"
        if isinstance(value, list):
            return "[" + comma.join(self.flow(child) for child in value) + "]"
        return self.scalar(value)

    def literal(self, text: str, indent: int) -> str | None:
        """A block scalar, for texts that have one in which nothing is lost."""
        lines = text.split("\n")
        if not text.strip() or any(not line.isprintable() or line != line.strip() or not line for line in lines[:-1]):
            return None
        if lines[-1]:
            mark, body = "|-", lines
        else:
            mark, body = self.pick("|", "|+"), lines[:-1]
        if not body[-1].isprintable() or body[-1] != body[-1].strip() or not body[0]:
            return None
        self.kept = mark == "|+"
        blank = self.pick("", self.newline) if mark != "|+" and self.noisy else ""
        return mark + "".join(self.newline + " " * indent + line for line in body) + blank

    def after_colon(self, value: Any, indent: int) -> str:
        """What follows a colon, with the line break."""
        if isinstance(value, dict | list) and value and self.pick("block", "block", "flow") == "block":
            wide = isinstance(value, dict) or self.wide
            return self.comment() + self.newline + self.block(value, indent + (self.step if wide else 0))
        if isinstance(value, dict | list):
            return " " + self.flow(value) + self.comment() + self.newline
        if isinstance(value, str) and (text := self.literal(value, indent + self.step)) and self.draw(st.booleans()):
            return " " + text + self.newline
        if value is None and self.draw(st.booleans()):
            return self.comment() + self.newline
        return self.pick(" ", "   ") + self.scalar(value) + self.comment() + self.newline

    def block(self, value: Any, indent: int) -> str:
        """Lines of a mapping or list that is not empty, from column 0."""
        text = ""
        if isinstance(value, dict):
            for key, child in value.items():
                text += self.filler(indent) + " " * indent + self.key(key) + ":" + self.after_colon(child, indent)
            return text
        for child in value:
            gap = self.pick(" ", " ", "   ")
            text += self.filler(indent) + " " * indent + "-"
            inner = indent + 1 + len(gap)
            if isinstance(child, dict | list) and child and self.pick("block", "flow") == "block":
                text += gap + self.block_inline(child, inner)
            elif isinstance(child, dict | list):
                text += gap + self.flow(child) + self.comment() + self.newline
            else:
                text += gap + self.scalar(child) + self.comment() + self.newline
        return text

    def block_inline(self, value: Any, indent: int) -> str:
        """A block whose first line stands behind a dash."""
        noisy, self.noisy = self.noisy, False
        text = self.block(value, indent)[indent:]
        self.noisy = noisy
        return text


@st.composite
def spelled_objects(draw: Any) -> tuple[dict[str, Any], str]:
    """An object and a text that spells it."""
    value = draw(OBJECTS)
    speller = Speller(draw, draw(st.sampled_from(["\n", "\n", "\r\n"])))
    text = speller.block(value, 0)
    if draw(st.booleans()) and not text.endswith(("\n\n", "\r\n\r\n")):
        # A block scalar would lose its line break, so only other endings go without.
        last = text.rstrip("\r\n")
        if not draw(st.booleans()) or "|" not in text:
            text = last if "|" not in text else text
    return value, text


def list_paths(value: Any, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """All paths that exist in a value, the root left out."""
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    found = []
    for part, child in children:
        found.append((*path, part))
        found += list_paths(child, (*path, part))
    return found
