"""From a JSON value to the object that the server holds in memory, or to the text of its HTTP 400.

The result is *normal*: a key is there only when its value is set. Zero values of plain fields, empty lists, empty maps and
nulls are left out; a pointer keeps what was written, also `{}`, `0` and `""`. Two normal objects are equal exactly when the
server's semantic comparison finds them equal.

Expects the values that `json.loads` gives: dict, list, str, bool, int, float, None. A float is written back with repr() in
messages; `reader.Spelled` keeps another spelling, `reader.Repeated` the keys that came twice. Knows no rule of validation.

Source: sigs.k8s.io/json (case-sensitive keys, strict errors, first type error wins, an error of an unmarshaler ends all).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from krmfn.checks.server.gotime import BadTime, parse_time
from krmfn.checks.server.spell import quote
from krmfn.checks.server.types import Type
from krmfn.krm.paths import Path, format_path

_INT32 = range(-(2**31), 2**31)
_INT64 = range(-(2**63), 2**63)
_MAX_STRICT = 100
_NO_QUANTITY = (
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
)


class Normal(dict[str, Any]):
    """The root of a normal object, with the value that it was read from."""

    __slots__ = ("written",)

    def __init__(self, value: dict[str, Any], written: Any) -> None:
        super().__init__(value)
        self.written = written


class Mismatch(NamedTuple):
    """What the decoder refuses. `kind` is unknown-field, duplicate-field, wrong-type or bad-value."""

    kind: str
    path: Path
    message: str


class Decoded(NamedTuple):
    """`value` is normal; `problems` is empty or ends the request (HTTP 400) with `text` behind "cannot be handled as"."""

    value: dict[str, Any]
    problems: tuple[Mismatch, ...]
    text: str


class _Unclean(Exception):  # noqa: N818 - a signal, never seen outside
    pass


class _Hard(Exception):  # noqa: N818 - a signal, never seen outside
    """An unmarshaler's own error: reported at once, before type errors that came first."""

    def __init__(self, path: Path, message: str) -> None:
        super().__init__(message)
        self.path = path
        self.message = message


def decode(root: Type, value: Any, version: str, duplicates: Iterable[Path] = ()) -> Decoded:
    """Decode `value` as `root` in strict mode. `version` names the Go package of the kind's own types in messages.

    `duplicates` are the paths of keys that the text had twice (a dict cannot say so).
    """
    if not duplicates:
        try:
            return Decoded(_decoder(root)(value) if value is not None else {}, (), "")
        except (_Unclean, KeyError):
            pass
    return _Explainer(version, duplicates).run(root, value)


# The fast path: closures that know one type each and give up at the first doubt.


def _decoder(of: Type) -> Callable[[Any], Any]:
    made = of.cache.get("decode")
    if made is None:
        made = of.cache["decode"] = _make(of)
    return made  # type: ignore[no-any-return] # closures of all types live in one cache


def _make(of: Type) -> Callable[[Any], Any]:
    if of.kind == "struct":
        return _make_struct(of)
    if of.kind == "list":
        return _make_list(of)
    if of.kind == "map":
        return _make_map(of)
    return _PLAIN.get(of.kind) or _give_up


def _make_struct(of: Type) -> Callable[[Any], Any]:
    table: dict[str, tuple[Callable[[Any], Any], bool]] = {}

    def decode_struct(value: Any) -> Any:
        if type(value) is not dict:
            raise _Unclean
        if not table and of.fields:
            for field in of.fields.values():
                table[field.name] = (_decoder(field.type), field.pointer)
        out = {}
        for key, item in value.items():
            read, pointer = table[key]
            if item is not None:
                item = read(item)
                if item or pointer:
                    out[key] = item
        return out

    return decode_struct


def _make_list(of: Type) -> Callable[[Any], Any]:
    assert of.item is not None
    read = _decoder(of.item)
    zero = _zero(of.item)

    def decode_list(value: Any) -> Any:
        if type(value) is not list:
            raise _Unclean
        return [zero() if item is None else read(item) for item in value]

    return decode_list


def _make_map(of: Type) -> Callable[[Any], Any]:
    assert of.item is not None
    read = _decoder(of.item)
    zero = _zero(of.item)

    def decode_map(value: Any) -> Any:
        if type(value) is not dict:
            raise _Unclean
        return {key: zero() if item is None else read(item) for key, item in value.items()}

    return decode_map


def _zero(of: Type) -> Callable[[], Any]:
    return {"struct": dict, "map": dict, "list": list, "string": str, "bool": bool}.get(of.kind, int)


def _string(value: Any) -> Any:
    if type(value) is str:
        return value
    raise _Unclean


def _bool(value: Any) -> Any:
    if type(value) is bool:
        return value
    raise _Unclean


def _int32(value: Any) -> Any:
    if type(value) is int and -2147483648 <= value <= 2147483647:
        return value
    raise _Unclean


def _int64(value: Any) -> Any:
    if type(value) is int and value in _INT64:
        return value
    raise _Unclean


def _int_or_string(value: Any) -> Any:
    return value if type(value) is str else _int32(value)


def _any(value: Any) -> Any:
    return value


def _give_up(value: Any) -> Any:
    raise _Unclean


def _time(value: Any) -> Any:
    if type(value) is not str:
        raise _Unclean
    try:
        return parse_time(value)
    except BadTime:
        raise _Unclean from None


def _quantity(value: Any) -> Any:
    from krmfn.checks.quantity import parse_quantity

    found = parse_quantity(value)
    if found is None:
        raise _Unclean
    return found


_PLAIN: dict[str, Callable[[Any], Any]] = {
    "string": _string,
    "bool": _bool,
    "int32": _int32,
    "int64": _int64,
    "bytes": _string,
    "time": _time,
    "microtime": _time,
    "duration": _string,
    "intorstring": _int_or_string,
    "quantity": _quantity,
    "any": _any,
}


# The precise path: the same walk with paths and the server's words.


class _Explainer:
    def __init__(self, version: str, duplicates: Iterable[Path]) -> None:
        self.version = version
        self.duplicates = {format_path(path): path for path in duplicates}
        self.first: Mismatch | None = None
        self.strict: dict[tuple[str, str], Mismatch] = {}

    def run(self, root: Type, value: Any) -> Decoded:
        try:
            out = self.read(root, value, (), "", ()) if value is not None else {}
        except _Hard as error:
            return Decoded({}, (Mismatch("bad-value", error.path, error.message),), error.message)
        if self.first:
            return Decoded({}, (self.first,), self.first.message)
        problems = tuple(self.strict.values())[:_MAX_STRICT]
        if not problems:
            return Decoded(out, (), "")
        return Decoded(out, problems, "strict decoding error: " + ", ".join(problem.message for problem in problems))

    def read(self, of: Type, value: Any, path: Path, struct: str, stack: tuple[str, ...]) -> Any:
        kind = of.kind
        if kind == "struct":
            return self._struct(of, value, path, struct, stack)
        if kind == "list":
            if type(value) is not list:
                return self._wrong(name_json_type(value), of.go, path, struct, stack) or []
            assert of.item is not None
            return [
                self._item(of.item, item, (*path, index), struct, stack) for index, item in enumerate(value)
            ]
        if kind == "map":
            if not isinstance(value, dict):
                return self._wrong(name_json_type(value), of.go, path, struct, stack) or {}
            assert of.item is not None
            out: dict[str, Any] = {}
            for key, item in getattr(value, "pairs", None) or value.items():
                self._duplicate((*path, key), key in out)
                out[key] = self._item(of.item, item, (*path, key), struct, stack)
            return out
        if kind in ("int32", "int64"):
            return self._integer(of, value, path, struct, stack)
        if kind in ("time", "microtime"):
            return self._time(value, path, struct, stack)
        if kind == "any":
            return value
        if kind == "quantity":
            from krmfn.checks.quantity import parse_quantity

            found = parse_quantity(value)
            if found is None:
                raise _Hard(path, _NO_QUANTITY)
            return found
        if kind == "intorstring":
            if type(value) is str:
                return value
            if type(value) is int and value in _INT32:
                return value
            raise _Hard(path, self._message(_number_word(value), "int32", struct, stack))
        if kind == "float64":
            wanted: Any = (int, float)
        else:
            wanted = bool if kind == "bool" else str
        if not isinstance(value, wanted) or (kind == "float64" and type(value) is bool):
            return self._wrong(name_json_type(value), of.go, path, struct, stack)
        return value

    def _item(self, of: Type, value: Any, path: Path, struct: str, stack: tuple[str, ...]) -> Any:
        return _zero(of)() if value is None else self.read(of, value, path, struct, stack)

    def _struct(self, of: Type, value: Any, path: Path, struct: str, stack: tuple[str, ...]) -> Any:
        if not isinstance(value, dict):
            return self._wrong(name_json_type(value), of.go, path, struct, stack) or {}
        fields = of.fields
        name = of.go.rpartition(".")[2]
        out = {}
        seen = set()
        for key, item in getattr(value, "pairs", None) or value.items():
            field = fields.get(key)
            where = (*path, key)
            if field is None:
                self._strict("unknown-field", "unknown field", where)
                continue
            self._duplicate(where, key in seen)
            seen.add(key)
            if item is None:
                continue
            read = self.read(field.type, item, where, name, (*stack, key))
            if read or (field.pointer and read is not None):
                out[key] = read
        return out

    def _integer(self, of: Type, value: Any, path: Path, struct: str, stack: tuple[str, ...]) -> Any:
        limits = _INT32 if of.kind == "int32" else _INT64
        if type(value) is int and value in limits:
            return value
        return self._wrong(_number_word(value), of.go, path, struct, stack)

    def _time(self, value: Any, path: Path, struct: str, stack: tuple[str, ...]) -> str:
        if type(value) is not str:
            raise _Hard(path, self._message(name_json_type(value), "string", struct, stack))
        try:
            return parse_time(value)
        except BadTime as error:
            raise _Hard(path, str(error)) from None

    def _duplicate(self, path: Path, again: bool) -> None:
        if again or (self.duplicates and self.duplicates.get(format_path(path)) == path):
            self._strict("duplicate-field", "duplicate field", path)

    def _strict(self, kind: str, word: str, path: Path) -> None:
        text = f"{word} {quote(format_path(path))}"
        self.strict.setdefault((kind, text), Mismatch(kind, path, text))

    def _wrong(self, word: str, go: str, path: Path, struct: str, stack: tuple[str, ...]) -> None:
        if self.first is None:
            self.first = Mismatch("wrong-type", path, self._message(word, go, struct, stack))

    def _message(self, word: str, go: str, struct: str, stack: tuple[str, ...]) -> str:
        target = self._qualified(go)
        if not struct:
            return f"json: cannot unmarshal {word} into Go value of type {target}"
        return f"json: cannot unmarshal {word} into Go struct field {struct}.{'.'.join(stack)} of type {target}"

    def _qualified(self, go: str) -> str:
        """A type of the kind's own package is written without it in the schema: several versions share the file."""
        prefix, _, name = go.rpartition("]")
        if prefix:
            prefix += "]"
        if name[:1].isupper() and "." not in name:
            name = f"{self.version}.{name}"
        return prefix + name


def name_json_type(value: Any) -> str:
    """What Go's decoder calls the value: object, array, string, number or bool."""
    if type(value) is bool:
        return "bool"
    if isinstance(value, str):
        return "string"
    if isinstance(value, (int, float)):
        return "number"
    return "array" if isinstance(value, list) else "object"


def _number_word(value: Any) -> str:
    """Where a number is wanted, a wrong number is named with its spelling."""
    if isinstance(value, (int, float)) and type(value) is not bool:
        return "number " + (getattr(value, "text", None) or repr(value))
    return name_json_type(value)
