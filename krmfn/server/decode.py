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
from krmfn.server.formats import find_corrupt_base64
from krmfn.server.schema import Type

_INT64 = range(-(2**63), 2**63)


class Normal(dict[str, "Any"]):
    """The root of a normal object, with the value that it was read from."""

    __slots__ = ("written",)
    written: Any


class Unclean(Exception):
    """Something in the value is not as it should be: `explain` says what."""


def decode(root: Type, value: Any) -> dict[str, Any]:
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
    if of.kind == "list":
        return _make_list(of)
    if of.kind == "map":
        return _make_map(of)
    if of.kind == "quantity":
        return _make_quantity(bool(of.keywords.get("exponents")))
    return _PLAIN.get(of.kind) or _give_up


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


def _make_list(of: Type) -> Callable[[Any], Any]:
    assert of.item is not None
    read = _decoder(of.item)
    zero = zero_of(of.item)

    def decode_list(value: Any) -> Any:
        if type(value) is not list:
            raise Unclean
        return [zero() if item is None else read(item) for item in value]

    return decode_list


def _make_map(of: Type) -> Callable[[Any], Any]:
    assert of.item is not None
    read = _decoder(of.item)
    zero = zero_of(of.item)

    def decode_map(value: Any) -> Any:
        if type(value) is not dict:
            raise Unclean
        return {key: zero() if item is None else read(item) for key, item in value.items()}

    return decode_map


def zero_of(of: Type) -> Callable[[], Any]:
    """What an item of a list or a map is where it is null."""
    if of.kind == "quantity":
        from krmfn.server.amounts import read_amount

        return lambda: read_amount(0)
    return {"struct": dict, "map": dict, "list": list, "string": str, "bytes": str, "bool": bool}.get(of.kind, int)


def _string(value: Any) -> Any:
    if type(value) is str:
        return value
    raise Unclean


def _bytes(value: Any) -> Any:
    if type(value) is list and all(item is None or (type(item) is int and 0 <= item <= 255) for item in value):
        return value  # Go reads bytes one by one, too
    if type(value) is str and find_corrupt_base64(value) is None:
        return value
    raise Unclean


def _bool(value: Any) -> Any:
    if type(value) is bool:
        return value
    raise Unclean


def _int32(value: Any) -> Any:
    if type(value) is int and -2147483648 <= value <= 2147483647:
        return value
    raise Unclean


def _int64(value: Any) -> Any:
    if type(value) is int and value in _INT64:
        return value
    raise Unclean


def _float64(value: Any) -> Any:
    if type(value) is int or type(value) is float:
        return value
    raise Unclean


def _int_or_string(value: Any) -> Any:
    return value if type(value) is str else _int32(value)


def _any(value: Any) -> Any:
    return value


def _give_up(value: Any) -> Any:
    raise Unclean


def _time(value: Any) -> Any:
    if type(value) is not str:
        raise Unclean
    try:
        return read_time(value)
    except BadTime:
        raise Unclean from None


def _microtime(value: Any) -> Any:
    try:
        return read_microtime(value) if type(value) is str else _give_up(value)
    except BadTime:
        raise Unclean from None


def _make_quantity(exponents: bool) -> Callable[[Any], Any]:
    from krmfn.model.quantity import BadQuantity
    from krmfn.server.amounts import read_amount

    def decode_quantity(value: Any) -> Any:
        try:
            return read_amount(value, exponents)
        except BadQuantity:
            raise Unclean from None

    return decode_quantity


#: What is taken as it is, without a call.
_AS_IT_IS = {"string": str, "bool": bool}
_PLAIN: dict[str, Callable[[Any], Any]] = {
    "string": _string,
    "bool": _bool,
    "int32": _int32,
    "int64": _int64,
    "bytes": _bytes,
    "time": _time,
    "microtime": _microtime,
    "duration": _string,
    "intorstring": _int_or_string,
    "float64": _float64,
    "any": _any,
}
