"""Spells values as YAML or JSON text that every reader of Kubernetes manifests reads alike. Decides nothing else.

Strings are quoted unless they are harmless in all dialects; lines are never folded; anchors are never written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from math import isfinite
from typing import Any

from krmfn.krm.nodes import MAX_DEPTH
from krmfn.krm.style import Style

_WORDS = frozenset(["y", "n", "yes", "no", "on", "off", "true", "false", "null", "nan", "inf", "none"])
_PLAIN_MORE = str.maketrans("", "", "_./-")
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}


DEFAULT = Style()


def is_plain(text: str) -> bool:
    """Whether a string means itself without quotes, to Go, to Python, in YAML 1.1 and 1.2.

    >>> [is_plain(text) for text in ("train-1", "yes", "1e3", "a: b", "")]
    [True, False, False, False, False]
    """
    if not text.isascii() or not text[:1].isalpha():
        return False
    rest = text.translate(_PLAIN_MORE)
    return rest.isalnum() and text.lower() not in _WORDS


#: What libyaml takes before a colon, and what is surely shorter with all its escapes.
_LONGEST_KEY, _SHORT = 1024, 100


def quote(text: str, json: bool = False) -> str:
    """Spell a string in double quotes, on one line; `json` uses the escapes that JSON has."""
    if text.isascii() and text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    return '"' + "".join(_ESCAPES.get(char) or _escape(char, json) for char in text) + '"'


def _escape(char: str, json: bool) -> str:
    code = ord(char)
    if code < 0x20 or 0x7F <= code < 0xA0:
        return f"\\u{code:04x}" if json else f"\\x{code:02x}"
    if code in (0x2028, 0x2029, 0xFEFF, 0xFFFE, 0xFFFF):
        return f"\\u{code:04x}"
    if 0xD800 <= code < 0xE000:
        raise ValueError("invalid character: a lone surrogate")
    return char


@lru_cache(4096)
def _spell_word(text: str) -> str:
    return text if is_plain(text) else quote(text)


def write_scalar(value: Any, json: bool = False) -> str:
    """Spell a string, number, boolean or null on one line. Raises ValueError for what has no spelling."""
    if isinstance(value, str):
        return quote(value, json) if json else _spell_word(value)
    if value is None:
        return "null"
    if value is True or value is False:
        return "true" if value else "false"
    if isinstance(value, int):
        return int.__repr__(value)
    if isinstance(value, float):
        if not isfinite(value):
            raise ValueError(f"{value} cannot be written as JSON")
        return float.__repr__(value)
    raise ValueError(f"a {type(value).__name__} cannot be written as YAML")


def to_plain(value: Any, json: bool = False, depth: int = 0) -> Any:
    """Copy a value, which stands in `depth` collections, into plain dicts and lists, as it will be read back. Raises
    ValueError for what has no spelling, and for what would be too deep to be read."""
    if depth >= MAX_DEPTH and (depth > MAX_DEPTH or is_collection(value)):
        raise ValueError(f"nested deeper than {MAX_DEPTH} levels")
    if isinstance(value, dict):
        return {check_key(key): to_plain(child, json, depth + 1) for key, child in value.items()}
    if isinstance(value, str):
        if not value.isascii():
            quote(value)
        return value
    if value is None:
        return value
    if isinstance(value, int):
        if -(1 << 63) <= value < 1 << 64:
            return value
        value = float(str(value))  # infinite where float() would overflow
    if isinstance(value, float) and not json and value.is_integer() and abs(value) < 2**53:
        return int(value)
    if isinstance(value, Mapping):
        return to_plain(dict(value), json, depth)
    if is_collection(value):
        return [to_plain(child, json, depth + 1) for child in value]
    write_scalar(value)
    return value


def check_key(key: Any) -> str:
    """The key, as one of a mapping that is to be written. Raises ValueError for what has no spelling."""
    if not isinstance(key, str):
        raise ValueError(f"the key {key!r} is not a string")
    if len(key) < _SHORT and key.isascii():
        return key
    if len(quote(key)) > _LONGEST_KEY:
        raise ValueError(f"the key {key[:40]}… is longer than {_LONGEST_KEY} characters, which no YAML reader takes")
    return key


def is_collection(value: Any) -> bool:
    """Whether a value is a mapping or a list (strings and bytes are neither)."""
    if isinstance(value, str):
        return False
    if isinstance(value, dict | list):
        return True
    return isinstance(value, Mapping | Sequence) and not isinstance(value, bytes | bytearray)


def write_flow(value: Any, style: Style = DEFAULT) -> str:
    """Spell any value on one line, in flow form."""
    if not is_collection(value):
        return write_scalar(value, style.json)
    if isinstance(value, Mapping):
        pairs = (write_scalar(key, style.json) + style.colon + write_flow(child, style) for key, child in value.items())
        return "{" + style.comma.join(pairs) + "}"
    return "[" + style.comma.join(write_flow(child, style) for child in value) + "]"


def write_indented(value: Any, style: Style, indent: int) -> str:
    """Spell a value in flow form over several lines, as indented JSON is; `indent` is that of the first line."""
    if not is_collection(value) or not value:
        return write_flow(value, style)
    inner = style.newline + " " * (indent + style.step)
    if isinstance(value, Mapping):
        lines = [
            write_scalar(key, style.json) + style.colon + write_indented(child, style, indent + style.step)
            for key, child in value.items()
        ]
        opening, closing = "{", "}"
    else:
        lines = [write_indented(child, style, indent + style.step) for child in value]
        opening, closing = "[", "]"
    return opening + inner + ("," + inner).join(lines) + style.newline + " " * indent + closing


def write_block(value: Any, style: Style = DEFAULT, indent: int = 0) -> str:
    """Spell a mapping or list in block form, the first line without its indentation, without a last newline.

    >>> print(write_block({"a": {"b": [1, {"c": "yes"}]}, "d": {}}))
    a:
      b:
      - 1
      - c: "yes"
    d: {}
    """
    if not is_collection(value) or not value:
        return write_flow(value, style)
    break_line = style.newline + " " * indent
    if not isinstance(value, dict | Mapping):
        return break_line.join(["- " + write_block(child, style, indent + 2) for child in value])
    return break_line.join([write_entry(key, child, style, indent) for key, child in value.items()])


def write_entry(key: Any, value: Any, style: Style, indent: int) -> str:
    """Spell `key: value` in block form, for a mapping whose keys stand in column `indent`."""
    return write_scalar(key, style.json) + ":" + write_after_colon(value, style, indent)


def write_after_colon(value: Any, style: Style, indent: int) -> str:
    """Spell what follows the colon of a block mapping: a blank and a scalar, or a line break and a block."""
    if not value or not is_collection(value):
        return " " + write_flow(value, style)
    wide = isinstance(value, dict | Mapping) or style.wide
    inner = indent + (style.step if wide else 0)
    return style.newline + " " * inner + write_block(value, style, inner)
