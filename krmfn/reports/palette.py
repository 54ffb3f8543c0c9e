"""Colours that tell gangs apart, also for people who see fewer of them (after Okabe and Ito, 2008), each with an ink
that can be read on it."""

from __future__ import annotations

from typing import Final

LIGHT: Final = (
    ("#0072b2", "#ffffff"),
    ("#e69f00", "#1b1b1b"),
    ("#009e73", "#1b1b1b"),
    ("#cc79a7", "#1b1b1b"),
    ("#56b4e9", "#1b1b1b"),
    ("#d55e00", "#1b1b1b"),
    ("#f0e442", "#1b1b1b"),
    ("#6a51a3", "#ffffff"),
)
