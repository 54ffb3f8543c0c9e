"""Colours that tell gangs apart, also for people who see fewer of them (after Okabe and Ito, 2008), each with an ink
that can be read on it."""

from __future__ import annotations

from typing import Final

LIGHT: Final = (
    ("#0072b2", "#ffffff"),
    ("#e69f00", "#111111"),
    ("#009e73", "#111111"),
    ("#cc79a7", "#111111"),
    ("#56b4e9", "#111111"),
    ("#d55e00", "#111111"),
    ("#f0e442", "#111111"),
    ("#6a51a3", "#ffffff"),
)
