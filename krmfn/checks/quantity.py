"""Quantities, for checks. They are read and written the same way by targets, so they stand in `krmfn.quantity`."""

from krmfn.quantity import format_quantity, parse_quantity

__all__ = ["format_quantity", "parse_quantity"]
