"""Why a body cannot be decoded: the decoder's walk again, with paths and the server's words.

Runs only when the fast decoder has given up. Source: as decode.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from krmfn.krm.paths import Path, format_path
from krmfn.model.gotext import BadTime, quote, read_microtime, read_time
from krmfn.model.quantity import BadQuantity
from krmfn.model.values import Fields
from krmfn.server.amounts import read_amount
from krmfn.server.decode import zero_of
from krmfn.server.formats import find_corrupt_base64
from krmfn.server.schema import Type
from krmfn.server.verdict import Cause

_INT32 = range(-(2**31), 2**31)
_INT64 = range(-(2**63), 2**63)
_MAX_STRICT = 100
_NO_QUANTITY = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"


class Decoded(NamedTuple):
    """`value` is normal; `problems` is empty or ends the request (HTTP 400) with `text` behind "cannot be handled
    as"."""

    value: Fields
    problems: tuple[Cause, ...]
    text: str


class _Hard(Exception):
    """An unmarshaler's own error: reported at once, before type errors that came first."""

    def __init__(self, path: Path, message: str) -> None:
        super().__init__(message)
        self.path = path
        self.message = message


def explain(root: Type, value: Any, version: str, duplicates: Iterable[Path] = ()) -> Decoded:
    """What is wrong with `value`, or its normal form. `version` names the Go package of the kind's own types in
    messages, `duplicates` are the paths of keys that the text had twice (a dict cannot say so)."""
    return _Explainer(version, duplicates).run(root, value)


class _Explainer:
    """One walk. Type errors are kept (the first counts), strict errors are collected."""

    def __init__(self, version: str, duplicates: Iterable[Path]) -> None:
        self.version = version
        self.duplicates = {format_path(path): path for path in duplicates}
        self.first: Cause | None = None
        self.strict: dict[tuple[str, str], Cause] = {}

    def run(self, root: Type, value: Any) -> Decoded:
        try:
            out = self.read(root, value, (), "", ()) if value is not None else {}
        except _Hard as error:
            return Decoded({}, (Cause("Decode", error.path, error.message, "bad-value"),), error.message)
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
                self._wrong(name_json_type(value), of.go, path, struct, stack)
                return []
            assert of.item is not None
            return [self._item(of.item, item, (*path, index), struct, stack) for index, item in enumerate(value)]
        if kind == "map":
            if not isinstance(value, dict):
                self._wrong(name_json_type(value), of.go, path, struct, stack)
                return {}
            assert of.item is not None
            out: Fields = {}
            for key, item in getattr(value, "pairs", None) or value.items():
                self._duplicate((*path, key), key in out)
                out[key] = self._item(of.item, item, (*path, key), struct, stack)
            return out
        if kind in ("int32", "int64"):
            return self._integer(of, value, path, struct, stack)
        if kind in ("time", "microtime"):
            return self._time(value, path, struct, stack, read_time if kind == "time" else read_microtime)
        if kind == "any":
            return value
        if kind == "quantity":
            if not isinstance(value, (str, int, float)) or isinstance(value, bool):
                raise _Hard(path, _NO_QUANTITY)
            try:
                return read_amount(getattr(value, "text", value), bool(of.keywords.get("exponents")))
            except BadQuantity as mistake:
                raise _Hard(path, str(mistake)) from None
        if kind == "intorstring":
            if type(value) is str:
                return value
            if type(value) is int and value in _INT32:
                return value
            raise _Hard(path, self._message(_number_word(value), "int32", struct, stack))
        if kind == "bytes" and type(value) is list:
            for index, item in enumerate(value):
                if item is not None and (type(item) is not int or not 0 <= item <= 255):
                    self._wrong(_number_word(item), "uint8", (*path, index), struct, stack)
            return value
        if kind == "float64":
            wanted: Any = (int, float)
        else:
            wanted = bool if kind == "bool" else str
        if not isinstance(value, wanted) or (kind == "float64" and type(value) is bool):
            self._wrong(name_json_type(value), of.go, path, struct, stack)
            return None
        if kind == "bytes":
            self._bytes(value, path)
        return value

    def _bytes(self, value: str, path: Path) -> None:
        at = find_corrupt_base64(value)
        if at is not None and self.first is None:
            self.first = Cause("Decode", path, f"illegal base64 data at input byte {at}", "bad-value")

    def _item(self, of: Type, value: Any, path: Path, struct: str, stack: tuple[str, ...]) -> Any:
        return zero_of(of)() if value is None else self.read(of, value, path, struct, stack)

    def _struct(self, of: Type, value: Any, path: Path, struct: str, stack: tuple[str, ...]) -> Any:
        if not isinstance(value, dict):
            self._wrong(name_json_type(value), of.go, path, struct, stack)
            return {}
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
            names = (field.embedded, key) if field.embedded else (key,)
            read = self.read(field.type, item, where, name, (*stack, *names))
            if read or (field.pointer and read is not None):
                out[key] = read
        return out

    def _integer(self, of: Type, value: Any, path: Path, struct: str, stack: tuple[str, ...]) -> Any:
        limits = _INT32 if of.kind == "int32" else _INT64
        if type(value) is int and value in limits:
            return value
        self._wrong(_number_word(value), of.go, path, struct, stack)
        return None

    def _time(self, value: Any, path: Path, struct: str, stack: tuple[str, ...], read: Callable[[str], str]) -> str:
        if type(value) is not str:
            raise _Hard(path, self._message(name_json_type(value), "string", struct, stack))
        try:
            return read(value)
        except BadTime as error:
            raise _Hard(path, str(error)) from None

    def _duplicate(self, path: Path, again: bool) -> None:
        if again or (self.duplicates and self.duplicates.get(format_path(path)) == path):
            self._strict("duplicate-field", "duplicate field", path)

    def _strict(self, kind: str, word: str, path: Path) -> None:
        text = f"{word} {quote(format_path(path))}"
        self.strict.setdefault((kind, text), Cause("Decode", path, text, kind))

    def _wrong(self, word: str, go: str, path: Path, struct: str, stack: tuple[str, ...]) -> None:
        if self.first is None:
            self.first = Cause("Decode", path, self._message(word, go, struct, stack), "wrong-type")

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
