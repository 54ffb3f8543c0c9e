"""How the server writes values into texts: Go's quoting, and objects as JSON in the API's or in the internal spelling.
At the end, quantities: whole numbers that compare by value and remember how they were written.

Source: strconv.Quote; k8s.io/apimachinery/pkg/util/validation/field/errors.go (Error.ErrorBody).
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from krmfn.krm.paths import Path, dig
from krmfn.model.gotext import quote
from krmfn.model.quantity import Quantity, quantity_of, quantity_with_exponent
from krmfn.server.schema import Type


class Key(str):
    """A key of a map in a path, which the server puts in brackets."""

    __slots__ = ()


def read_written(new: Any, *path: str | int) -> Any:
    """What was written at a place of an object, before it was made normal: there an empty list is not none."""
    return dig(getattr(new, "written", None), *path)


def spell_path(path: Path) -> str:
    """A path as the server writes it: `spec.containers[0].resources.limits[cpu]`."""
    text = ""
    for part in path:
        if isinstance(part, (int, Key)):
            text += f"[{part}]"
        else:
            text += f".{part}" if text else part
    return text or "<nil>"


def spell(value: Any) -> str:
    """A plain value as an error prints it: strings quoted, numbers and booleans bare, nil as null."""
    if value is None:
        return "null"
    if isinstance(value, str | Amount):
        return quote(str(value))
    if type(value) is bool:
        return "true" if value else "false"
    return str(value)


def write_json(value: Any) -> str:
    """JSON as Go's encoder writes it: no blanks, and <, >, & and line separators escaped."""
    import json

    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def to_api(of: Type, value: Any) -> Any:
    """A normal value as the server returns it: keys in Go's order, required keys written even when empty."""
    if of.kind == "struct":
        out = {}
        for field in of.fields.values():
            if field.name in value:
                out[field.name] = to_api(field.type, value[field.name])
            elif field.always_written:
                out[field.name] = None if field.pointer else _zero(field.type)
            elif field.is_plain_struct:
                out[field.name] = to_api(field.type, {})
        return out
    if of.kind == "list" and of.item:
        return [to_api(of.item, item) for item in value]
    if of.kind == "map" and of.item:
        return {key: to_api(of.item, item) for key, item in sorted(value.items())}
    if of.kind == "quantity":
        return str(value)
    return value


def _zero(of: Type) -> Any:
    if of.kind == "struct":
        return to_api(of, {})
    return {"string": "", "bool": False, "int32": 0, "int64": 0, "float64": 0}.get(of.kind)


def to_internal(of: Type, value: Any, written: Any, pointer: bool = False) -> Any:
    """A normal value in the spelling of hand-written rules: Go's names, every field there.

    `written` is the value before it was made normal: an empty list in it is spelled `[]`, an absent one `null`.
    """
    if value is None and (pointer or of.kind != "struct"):
        return written if written in ([], {}) else None if pointer else _zero(of)
    if of.kind == "struct":
        return {
            each.go_name: to_internal(each.type, (value or {}).get(name), dig(written, name), each.pointer)
            for name, each in of.fields.items()
        }
    if of.kind == "list" and of.item:
        return [to_internal(of.item, item, dig(written, index)) for index, item in enumerate(value)]
    return value


BILLION = 10**9
_MILLION = 10**6


class Amount(int):
    """Billionths of the unit. `written` is the quantity that it was read from."""

    written: Quantity

    def __str__(self) -> str:
        """The canonical spelling."""
        return str(self.written)


def as_amount(quantity: Quantity) -> Amount:
    amount = Amount(quantity.billionths)
    amount.written = quantity
    return amount


def read_amount(value: object, exponents: bool = False) -> Amount:
    """The quantity in a value of a request; `exponents` says that large ones keep theirs. Raises BadQuantity."""
    if type(value) is str:
        return _read_text(value, exponents)
    return as_amount(quantity_with_exponent(value) if exponents else quantity_of(value))


@lru_cache(1024)  # the pods of an input have few sizes
def _read_text(text: str, exponents: bool) -> Amount:
    return as_amount(quantity_with_exponent(text) if exponents else quantity_of(text))


def round_up(amount: Amount) -> Amount:
    """To whole thousandths, away from 0, as the server stores what is requested of resources."""
    if amount % _MILLION == 0:
        return amount
    thousandths = -(-abs(amount) // _MILLION)
    return as_amount(Quantity(-thousandths if amount < 0 else thousandths, -3, amount.written.form))


def is_integer(amount: Amount) -> bool:
    """Whether the server takes it for a whole number. Of one that does not fit into 64 bits it looks at the last bits
    of the thousandths."""
    if abs(amount) < 2**63 * BILLION:
        return amount % BILLION == 0
    thousandths = (amount // _MILLION + 2**63) % 2**64 - 2**63
    return thousandths % 1000 == 0


def add(one: Amount, other: Amount) -> Amount:
    """The sum, written as the first is."""
    return as_amount(Quantity(int(one) + int(other), -9, (one or other).written.form))
