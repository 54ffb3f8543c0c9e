"""From a JSON value to the object that the server holds in memory, or to the text of its HTTP 400.

The result is *normal*: a key is there only when its value is set. Zero values of plain fields, empty lists, empty
maps and nulls are left out; a pointer keeps what was written, also `{}`, `0` and `""`. Two normal objects are equal
exactly when the server's semantic comparison finds them equal.

Expects the values that `json.loads` gives: dict, list, str, bool, int, float, None. A float is written back with
repr() in messages, unless it has another spelling in `text`; a dict with `pairs` had keys twice. Closures that know one
type each read what is right; at the first doubt they give up. Knows no rule of validation.

Source: sigs.k8s.io/json (case-sensitive keys, strict errors, first type error wins, an error of an unmarshaler ends
all).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from krmfn.model.gotext import BadTime, read_microtime, read_time
from krmfn.model.quantity import BadQuantity
from krmfn.model.values import Fields
from krmfn.server.amounts import read_amount
from krmfn.server.formats import find_corrupt_base64
from krmfn.server.schema import Type

_INT32 = range(-(2**31), 2**31)
_INT64 = range(-(2**63), 2**63)


class Normal(dict[str, "Any"]):
    """The root of a normal object, with the value that it was read from."""

    __slots__ = ("written",)
    written: Any


class Unclean(Exception):
    """Something in the value is not as it should be: `explain` says what."""


def decode(root: Type, value: Any) -> Fields:
    """The normal form of `value` as `root`. Raises Unclean."""
    try:
        return _decoder(root)(value) if value is not None else {}
    except KeyError:
        raise Unclean from None


def _decoder(of: Type) -> Callable[[Any], Any]:
    made: Callable[[Any], Any] | None = of.cache.get("decode")
    if made is None:
        made = of.cache["decode"] = _make(of)
    return made


def _make(of: Type) -> Callable[[Any], Any]:
    if of.kind == "struct":
        return _make_struct(of)
    if of.kind in ("list", "map"):
        return _make_items(of)
    if of.kind == "quantity":
        return _make_quantity(bool(of.keywords.get("exponents")))
    return _PLAIN.get(of.kind, _GIVES_UP)


def _make_struct(of: Type) -> Callable[[Any], Any]:
    table: dict[str, tuple[type | None, Callable[[Any], Any], bool]] = {}

    def decode_struct(value: Any) -> Any:
        if type(value) is not dict:
            raise Unclean
        if not table and of.fields:
            for field in of.fields.values():
                table[field.name] = (_AS_IT_IS.get(field.type.kind), _decoder(field.type), field.pointer)
        out = {}
        for key, item in value.items():
            as_it_is, read, pointer = table[key]
            if item is not None:
                content = item if type(item) is as_it_is else read(item)
                if content or pointer:
                    out[key] = content
        return out

    return decode_struct


def _make_items(of: Type) -> Callable[[Any], Any]:
    """The decoder of a list or a map."""
    assert of.item is not None
    as_it_is, read, zero = _AS_IT_IS.get(of.item.kind), _decoder(of.item), zero_of(of.item)

    def decode_list(value: Any) -> Any:
        if type(value) is not list:
            raise Unclean
        return [item if type(item) is as_it_is else zero() if item is None else read(item) for item in value]

    def decode_map(value: Any) -> Any:
        if type(value) is not dict:
            raise Unclean
        return {
            key: item if type(item) is as_it_is else zero() if item is None else read(item)
            for key, item in value.items()
        }

    return decode_list if of.kind == "list" else decode_map


def zero_of(of: Type) -> Callable[[], Any]:
    """What an item of a list or a map is where it is null."""
    if of.kind == "quantity":
        return lambda: read_amount(0)
    return {"struct": dict, "map": dict, "list": list, "string": str, "bytes": str, "bool": bool}.get(of.kind, int)


def _make_plain(fits: Callable[[Any], bool]) -> Callable[[Any], Any]:
    def decode_plain(value: Any) -> Any:
        if fits(value):
            return value
        raise Unclean

    return decode_plain


def _fits_bytes(value: Any) -> bool:
    if type(value) is list:  # Go reads bytes one by one, too
        return all(item is None or (type(item) is int and 0 <= item <= 255) for item in value)
    return type(value) is str and find_corrupt_base64(value) is None


def _make_time(read: Callable[[str], str]) -> Callable[[Any], Any]:
    def decode_time(value: Any) -> Any:
        if type(value) is not str:
            raise Unclean
        try:
            return read(value)
        except BadTime:
            raise Unclean from None

    return decode_time


def _make_quantity(exponents: bool) -> Callable[[Any], Any]:
    def decode_quantity(value: Any) -> Any:
        try:
            return read_amount(value, exponents)
        except BadQuantity:
            raise Unclean from None

    return decode_quantity


#: What is taken as it is, without a call.
_AS_IT_IS = {"string": str, "bool": bool}
_PLAIN = {
    "string": _make_plain(lambda value: type(value) is str),
    "bool": _make_plain(lambda value: type(value) is bool),
    "int32": _make_plain(lambda value: type(value) is int and value in _INT32),
    "int64": _make_plain(lambda value: type(value) is int and value in _INT64),
    "bytes": _make_plain(_fits_bytes),
    "time": _make_time(read_time),
    "microtime": _make_time(read_microtime),
    "duration": _make_plain(lambda value: type(value) is str),
    "intorstring": _make_plain(lambda value: type(value) is str or (type(value) is int and value in _INT32)),
    "float64": _make_plain(lambda value: type(value) is int or type(value) is float),
    "any": _make_plain(lambda value: True),
}
_GIVES_UP = _make_plain(lambda value: False)
