"""Manifests spoiled by chance, always the same for the same seed: in their bytes, and in what they say.

Knows YAML and the shape of a ResourceList; not what the function makes of it.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator
from typing import Any

import yaml

#: What somebody types, pastes or generates where something else belongs. A text in « » is put into the YAML as it is.
ODD_VALUES: tuple[Any, ...] = (
    None, [], {}, "", " ", -1, 0, 1, 2**31, 2**63, 10**400, 1.5, True, False, "«1e400»", "«.nan»", "«-.inf»",
    "«0o17»", "«12:30»", "«1_000»", "«2026-01-31»", "«!!binary aGk=»", "«!custom x»", "«&anchor x»", "«'4'»", "«yes»",
    "«<<»", "«?»", "4", "-1", "null", "true", "x" * 300, "a/b/c", "a.b", "ü", "\x7f", "\u2028", "\U0001f600", "a\nb\n",
    [None], [[]], [{}], ["a", 1, None], {"": None}, {"a": {"b": {"c": []}}}, [[[[[[[["deep"]]]]]]]], {"name": {}},
    {"gang": {}, "basic": {}}, {"gang": {"minCount": 10**20}}, "Always", "Volcano", "${VAR}", "{{ .Values.x }}",
)  # fmt: skip
ODD_KEYS: tuple[Any, ...] = (
    None,
    1,
    -1.5,
    True,
    "",
    " ",
    "<<",
    "=",
    "a.b/c",
    "ü",
    "name",
    "metadata",
    "spec",
    "«? [a]»",
)
#: Pieces of YAML and JSON, and bytes that are no text.
ODD_BYTES = (
    b"\x00", b"\xff", b"\xef\xbb\xbf", b"\xed\xa0\x80", b"\r", b"\r\n", b"\n", b"\t", b" ", b"  ", b"\n\n", b": ",
    b"- ", b"-", b"? ", b"{", b"}", b"[", b"]", b",",
    b"'", b'"', b"|", b">", b"&a ", b"*a", b"<<: *a\n", b"<<: {a: 1}", b"#",
    b" #", b"!!str ", b"!x ", b"%YAML 1.1\n", b"\n---\n", b"\n...\n", b"\\", b"\\/", b"\xe2\x80\xa8", b"\xc2\x85",
    b"{{", b"[" * 300, b"{a: " * 300, b"- " * 300, b"null", b"~", b"0x", b"\x1b",
)  # fmt: skip

Path = tuple[Any, ...]


def spoil_bytes(chance: random.Random, data: bytes) -> bytes:
    """`data` with one to four pieces taken out, doubled, moved, replaced or put in."""
    for _ in range(chance.randint(1, 4)):
        start = chance.randrange(len(data) + 1)
        end = min(len(data), start + chance.choice((0, 1, 1, 2, 5, 20, 100)))
        piece = data[start:end]
        kind = chance.randrange(6)
        if kind == 0:
            data = data[:start] + data[end:]
        elif kind == 1:
            data = data[:end] + piece + data[end:]
        elif kind == 2:
            place = chance.randrange(len(data) + 1)
            data = data[:place] + piece + data[place:]
        elif kind == 3 and chance.random() < 0.2:
            data = data[:start]
        elif kind == 4:
            data = data[:start] + bytes([chance.randrange(256)]) + data[end:]
        else:
            data = data[:start] + chance.choice(ODD_BYTES) + data[end if chance.random() < 0.5 else start :]
    return data


def spoil_value(chance: random.Random, document: dict[str, Any]) -> dict[str, Any]:
    """`document` with one to three values taken out, replaced, renamed, doubled or shared, anywhere below the top."""
    document = copy.deepcopy(document)
    for _ in range(chance.randint(1, 3)):
        paths = [path for path in walk(document) if len(path) > 1]
        if not paths:
            break
        *inner, key = chance.choice(paths)
        parent = document
        for part in inner:
            parent = parent[part]
        _spoil_entry(chance, parent, key, document)
    return document


def _spoil_entry(chance: random.Random, parent: Any, key: Any, document: dict[str, Any]) -> None:
    kind = chance.randrange(6)
    if kind == 0:
        del parent[key]
    elif kind == 1 and isinstance(parent, dict):
        value = parent.pop(key)
        parent[chance.choice(ODD_KEYS)] = value
    elif kind == 2 and isinstance(parent, list):
        parent.insert(chance.randrange(len(parent) + 1), copy.deepcopy(parent[key]))
    elif kind == 3:
        parent[key] = _pick(chance, document)  # the same object: written as an alias, or as a value out of place
    elif kind == 4 and isinstance(parent, dict):
        parent[chance.choice(ODD_KEYS)] = chance.choice(ODD_VALUES)
    else:
        parent[key] = copy.deepcopy(chance.choice(ODD_VALUES))


def _pick(chance: random.Random, document: dict[str, Any]) -> Any:
    value: Any = document
    for part in chance.choice(list(walk(document))):
        value = value[part]
    return value if chance.random() < 0.5 and not _holds_itself(value) else copy.deepcopy(value)


def _holds_itself(value: Any) -> bool:
    return isinstance(value, dict) and ("items" in value or "kind" in value)


def walk(value: Any, path: Path = (), above: frozenset[int] = frozenset()) -> Iterator[Path]:
    """The paths of everything in `value`, itself left out; stops where it comes back to itself, or gets too deep."""
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    above |= {id(value)}
    for key, entry in entries:
        yield (*path, key)
        if len(path) < 30 and id(entry) not in above:
            yield from walk(entry, (*path, key), above)


def write(document: dict[str, Any]) -> bytes:
    """The YAML of a ResourceList, with the texts in « » as they are."""
    return _unquote(yaml.dump(document, Dumper=yaml.CSafeDumper, sort_keys=False, allow_unicode=True))


def write_stream(document: dict[str, Any]) -> bytes:
    """The items of a ResourceList as a stream of documents."""
    items = document.get("items")
    parts = items if isinstance(items, list) else [items]
    return _unquote(yaml.dump_all(parts, Dumper=yaml.CSafeDumper, sort_keys=False, allow_unicode=True))


def _unquote(text: str) -> bytes:
    for odd in (*ODD_VALUES, *ODD_KEYS):
        if isinstance(odd, str) and odd.startswith("«"):
            for quoted in (f"'{odd.replace(chr(39), chr(39) * 2)}'", f'"{odd}"', odd):
                text = text.replace(quoted, odd[1:-1])
    return text.encode("utf-8", "surrogatepass")
