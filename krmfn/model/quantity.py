"""Kubernetes quantities (`500m`, `2Gi`, `1e3`), read and spelled as the API server does.

Source: k8s.io/apimachinery/pkg/api/resource; the tests replay recorded answers of that package. Knows no resource.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from krmfn.model.gotext import parse_int

#: Possessive, because backtracking would take time that grows with the square of a text's length.
_SHAPE = r"([+-]?)0*+([0-9]*+)(?:(\.)([0-9]*+))?([eEinumkKMGTP]*+[-+]?[0-9]*+)"
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_SPELLED = {exponent: suffix for suffix, exponent in _DECIMAL.items()}
#: Around a quantity in JSON Go trims these. Other blanks are escaped in JSON, and an escape is refused.
_BLANKS = " \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000"
_MAX_INT64 = 2**63 - 1
_MIN_INT32 = -(2**31)
_NANO = -9
_EXA = 18
#: Powers of ten above this one are not told apart: no cluster has so much, and the whole number would take long.
_HIGHEST = 1000
#: As many digits of a number are read. Python prints numbers of at most 4,300.
_MOST_DIGITS = 3000


class BadQuantity(ValueError):
    """The text is not a quantity; the message is Go's."""


class Quantity(NamedTuple):
    """`amount` times ten to the `exponent`. `form` is how the text was written: decimal (`1k`), binary (`1Ki`) or
    exponent (`1e3`); `text` is the text itself where servers keep it as it is."""

    amount: int
    exponent: int
    form: str
    text: str = ""

    @property
    def billionths(self) -> int:
        """The value in billionths: every quantity is a whole number of them."""
        amount: int = self.amount * 10 ** min(self.exponent - _NANO, _HIGHEST)
        return amount

    def __str__(self) -> str:
        """The canonical form, which servers store and print."""
        if self.text or not self.amount:
            return self.text or "0"
        amount, exponent = self.amount, self.exponent
        if self.form == "binary":
            whole, rest = divmod(amount, 10**-exponent)  # of a binary quantity the exponent is never positive
            if not rest and abs(whole) >= 1024:
                power = 0
                while whole % 1024 == 0:
                    whole, power = whole // 1024, power + 1
                return f"{whole}{tuple(_BINARY)[power - 1] if power else ''}"
        digits = str(amount)
        zeros = len(digits) - len(digits.rstrip("0"))
        amount, exponent = amount // 10**zeros, exponent + zeros
        amount, exponent = amount * 10 ** (exponent % 3), exponent - exponent % 3
        if self.form == "exponent":
            return f"{amount}e{exponent}" if exponent else str(amount)
        return f"{amount}{_SPELLED.get(exponent, '')}"  # beyond an exa Go forgets the suffix


@lru_cache(1024)  # the pods of an input have few sizes
def read_quantity(text: str) -> Quantity:
    """The quantity in a text, as Go's ParseQuantity reads it. Raises BadQuantity."""
    found = re.fullmatch(_SHAPE, text)
    if not found or not text:
        shape = "^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$"
        raise BadQuantity(f"quantities must match the regular expression '{shape}'")
    sign, whole, _, fraction, suffix = found.groups("")
    form, power = _read_suffix(suffix)
    digits = (whole or "0") + fraction
    amount, surplus = _read_digits(digits)
    if form == "binary":
        amount, exponent = amount << power, surplus - len(fraction)
        is_short = not fraction and len(digits) + power * 3 // 10 <= 14
        is_canonical = (amount >> power) % 8 != 0
    else:
        exponent = surplus + _to_int32(power - len(fraction))
        is_short = len(digits) <= 18
        is_canonical = exponent % 3 == 0 and not digits.endswith("000") and digits[0] != "0"
    # Go reads in two ways. The fast one is for what surely fits into 64 bits; it keeps canonical texts as they are.
    if not is_short or exponent < _NANO or amount > _MAX_INT64:
        if not re.search("[0-9]", text[: found.start(5)]):
            raise BadQuantity("unable to parse numeric part of quantity")
        form, amount, exponent = _round(form, amount, exponent)
        is_canonical = False
    return Quantity(-amount if sign == "-" else amount, exponent, form, text if is_canonical else "")


def _read_digits(digits: str) -> tuple[int, int]:
    """The first _MOST_DIGITS of a number, rounded up, and how many digits follow them."""
    digits = digits.lstrip("0")
    rest = digits[_MOST_DIGITS:]
    return int(digits[:_MOST_DIGITS] or "0") + bool(rest.strip("0")), len(rest)


def _round(form: str, amount: int, exponent: int) -> tuple[str, int, int]:
    """Rounded up to whole billionths. A binary quantity is cut at 64 bits; below 1 it is a decimal one."""
    if exponent < _NANO:
        surplus = _NANO - exponent
        amount = -(-amount // 10 ** min(surplus, _MOST_DIGITS * 2))
        exponent = _NANO
    if form == "binary":
        one = 10 ** max(0, -exponent)
        if amount > _MAX_INT64 * one:
            return form, _MAX_INT64, 0
        if amount < one:
            return "decimal", amount, exponent
    return form, amount, exponent


def _read_suffix(suffix: str) -> tuple[str, int]:
    if suffix in _DECIMAL:
        return "decimal", _DECIMAL[suffix]
    if suffix in _BINARY:
        return "binary", _BINARY[suffix]
    if suffix[:1] in ("e", "E") and (number := parse_int(suffix[1:])) is not None:
        return "exponent", _to_int32(number)
    raise BadQuantity("unable to parse quantity's suffix")


def _to_int32(number: int) -> int:
    """The number that is left of its lowest 32 bits, as Go converts it to an int32."""
    return (number + 2**31) % 2**32 - 2**31


def quantity_of(value: object) -> Quantity:
    """The quantity in a value of JSON or YAML: a text, or a number as a client would send it. Raises BadQuantity."""
    if isinstance(value, str):
        return read_quantity(value.strip(_BLANKS))
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise BadQuantity("a quantity is a text or a number")
    return read_quantity(write_float(value) if isinstance(value, float) else str(value))


def quantity_with_exponent(value: object) -> Quantity:
    """quantity_of() as servers since 1.38 read it: above an exa the canonical form has an exponent, and one of -2^31,
    with which older servers never finish, is refused. Raises BadQuantity."""
    found = quantity_of(value)
    shape = re.fullmatch(_SHAPE, value.strip(_BLANKS)) if isinstance(value, str) else None
    if shape and _read_suffix(shape[5]) == ("exponent", _MIN_INT32):
        raise BadQuantity("unable to parse quantity's suffix")
    written = found._replace(form="exponent")
    is_above = found.form == "decimal" and not found.text and int(str(written).partition("e")[2] or 0) > _EXA
    return written if is_above else found


def write_float(value: float) -> str:
    """The text of a number in Go's JSON: with an exponent below 1e-6 and from 1e21 on."""
    text = repr(value)
    number, mark, power = text.partition("e")
    if not mark:
        return text.removesuffix(".0")
    if not -7 < int(power) < 21:
        return f"{number}e{int(power):+d}"
    sign, digits = ("-", number[1:]) if number.startswith("-") else ("", number)
    whole, _, fraction = digits.partition(".")
    if int(power) < 0:
        return f"{sign}0.{'0' * (-int(power) - 1)}{whole}{fraction}"
    return f"{sign}{whole}{fraction.ljust(int(power), '0')}"


def parse_quantity(value: object) -> int | None:
    """The quantity in `value` in billionths; None when it is not one.

    >>> parse_quantity("500m"), parse_quantity(2), parse_quantity("1.5Gi") == 3 * 2**29 * 10**9, parse_quantity("x")
    (500000000, 2000000000, True, None)
    """
    try:
        return quantity_of(value).billionths
    except BadQuantity:
        return None


def add(total: dict[str, int], amounts: Mapping[str, int], times: int = 1) -> None:
    """Add amounts to `total`, name by name, as many `times`."""
    for name, amount in amounts.items():
        total[name] = total.get(name, 0) + amount * times


def format_quantity(amount: int) -> str:
    """The shortest usual spelling of so many billionths.

    >>> format_quantity(1_500_000_000), format_quantity(3 * 2**30 * 10**9), format_quantity(12 * 10**9)
    ('1500m', '3Gi', '12')
    """
    for unit, power in reversed(_BINARY.items()):
        if power > 10 and amount and amount % (10**9 << power) == 0:
            return f"{amount // (10**9 << power)}{unit}"
    exponent = next(exponent for exponent in (0, -3, -6, -9) if amount % 10 ** (exponent - _NANO) == 0)
    return f"{amount // 10 ** (exponent - _NANO)}{_SPELLED[exponent]}"
