"""The colours of pictures and pages can be read by everybody, on light and on dark ground (WCAG 2.2, 1.4.3)."""

from __future__ import annotations

import re

import pytest

from krmfn.reports.channels import read_asset
from krmfn.reports.outlook_view import PALETTE

#: What is written, and on what.
TEXTS = ("text", ".d", ".s", ".runs", ".never", ".waits", ".open")
GROUNDS = (".bg", ".dom", ".card")


def contrast(one: str, other: str) -> float:
    """The ratio of the luminances of two colours, 1 to 21."""
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def luminance(colour: str) -> float:
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def read_fills(style: str) -> dict[str, str]:
    """The fill of each selector."""
    found: dict[str, str] = {}
    for selectors, body in re.findall(r"([^{}]+)\{([^{}]*)\}", style):
        fill = re.search(r"fill:(#[0-9a-f]{6})", body)
        for selector in selectors.split(",") if fill else ():
            found[selector.strip()] = fill[1] if fill else ""
    return found


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_words_of_the_picture_can_be_read(scheme: str) -> None:
    light, _, dark = read_asset("outlook-picture.css").partition("@media (prefers-color-scheme:dark){")
    fills = read_fills(light) | (read_fills(dark) if scheme == "dark" else {})
    faint = [(text, ground) for text in TEXTS for ground in GROUNDS if contrast(fills[text], fills[ground]) < 4.5]
    assert not faint
    assert contrast(fills[".bar"], fills[".track"]) >= 3


@pytest.mark.parametrize(("fill", "ink"), PALETTE)
def test_letters_can_be_read_on_the_colour_of_a_gang(fill: str, ink: str) -> None:
    assert contrast(fill, ink) >= 4.5


@pytest.mark.parametrize(("ground", "part"), [("#ffffff", 0), ("#121212", 1)])
def test_verdicts_of_the_page_can_be_read(ground: str, part: int) -> None:
    styles = read_asset("outlook.css").partition("@media (prefers-color-scheme:dark)")
    colours = re.findall(r" b\{color:(#[0-9a-f]{6})", styles[2 * part])
    assert len(colours) == 3
    assert all(contrast(colour, ground) >= 4.5 for colour in colours)


def test_no_two_gangs_have_one_colour() -> None:
    assert len({fill for fill, _ in PALETTE}) == len(PALETTE)
