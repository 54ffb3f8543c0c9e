"""Quantities as the server holds them: whole numbers that compare by value and remember how they were written."""

from __future__ import annotations

from functools import lru_cache

from krmfn.model.quantity import Quantity, quantity_of, quantity_with_exponent

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
    """The amount that a value of a request stands for; `exponents` says that large ones keep theirs. Raises
    BadQuantity."""
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
