"""Kubernetes quantities (`500m`, `2Gi`, `1e3`), exact, as whole numbers of billionths.

Source: k8s.io/apimachinery/pkg/api/resource; nothing below a billionth can be written there. Knows no resource.
"""

from __future__ import annotations

_UNITS = {
    "n": 1, "u": 10**3, "m": 10**6, "": 10**9,
    "k": 10**12, "M": 10**15, "G": 10**18, "T": 10**21, "P": 10**24, "E": 10**27,
    "Ki": 10**9 << 10, "Mi": 10**9 << 20, "Gi": 10**9 << 30, "Ti": 10**9 << 40, "Pi": 10**9 << 50, "Ei": 10**9 << 60,
}  # fmt: skip


def parse_quantity(value: object) -> int | None:
    """Billionths of the unit; None when `value` is no quantity.

    >>> parse_quantity("500m"), parse_quantity(2), parse_quantity("1.5Gi") == 3 * 2**29 * 10**9, parse_quantity("x")
    (500000000, 2000000000, True, None)
    """
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    text = str(value)
    number = text.rstrip("numkKMGTPEi")
    factor = _UNITS.get(text[len(number) :])
    exponent = 0
    if factor is None:
        return None
    for mark in "eE":
        number, found, power = number.partition(mark)
        if found:
            if not power.lstrip("+-").isdigit():
                return None
            exponent = int(power)
    whole, _, fraction = number.partition(".")
    digits = whole.lstrip("+-") + fraction
    if not digits.isdigit() or len(digits) > 40 or abs(exponent) > 30:
        return None
    scale = exponent - len(fraction)
    amount: int = int(digits) * factor
    amount = amount * 10**scale if scale >= 0 else -(-amount // 10**-scale)
    return -amount if whole.startswith("-") else amount


def format_quantity(amount: int) -> str:
    """The shortest usual spelling of so many billionths.

    >>> format_quantity(1_500_000_000), format_quantity(3 * 2**30 * 10**9), format_quantity(12 * 10**9)
    ('1500m', '3Gi', '12')
    """
    for unit in ("Ei", "Pi", "Ti", "Gi", "Mi"):
        if amount and amount % _UNITS[unit] == 0:
            return f"{amount // _UNITS[unit]}{unit}"
    for unit in ("", "m", "u"):
        if amount % _UNITS[unit] == 0:
            return f"{amount // _UNITS[unit]}{unit}"
    return f"{amount}n"
