"""The pictures of the documentation: what is in them is what krmfn prints, and they cannot do more than be seen."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml

from docs.draw import ask, render_drawings
from docs.generate import render_rooms
from docs.rooms import draw_rooms

ROOT = Path(__file__).parents[2]
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def drawings() -> dict[str, ElementTree.Element]:
    pictures = render_drawings() | {"drawings/rooms.svg": render_rooms()["drawings/rooms.svg"]}
    return {name: ElementTree.fromstring(text) for name, text in pictures.items()}


def count(drawing: ElementTree.Element, look: str) -> int:
    return sum(1 for circle in drawing.iter(f"{SVG}circle") if circle.get("class") == look)


def test_every_pod_is_a_dot(drawings: dict[str, ElementTree.Element]) -> None:
    assert count(drawings["drawings/gang.svg"], "pod") == 8
    assert count(drawings["drawings/tree.svg"], "pod") == 8 + 3 + 1
    quorum = drawings["drawings/quorum.svg"]
    assert [count(quorum, look) for look in ("pod", "waits", "missing")] == [8, 4, 1]


def test_what_is_silent_is_what_validate_reports(drawings: dict[str, ElementTree.Element]) -> None:
    texts = {text.text for text in drawings["drawings/silent.svg"].iter(f"{SVG}text")}
    results = ask("validate", "-o", "json", "examples/troubleshooting/silent.yaml")["results"]
    rules = {result["tags"]["rule"] for result in results if result["severity"] == "error"}
    assert len(rules) == 4
    assert rules <= texts


def test_pictures_have_a_title_and_load_nothing(drawings: dict[str, ElementTree.Element]) -> None:
    for drawing in drawings.values():
        assert drawing.findtext(f"{SVG}title")
        assert not [each for each in drawing.iter() if each.tag.endswith(("script", "image", "use", "foreignObject"))]
        assert not re.search(r"url\(|@import", drawing.findtext(f"{SVG}style") or "")


def list_points(path: str) -> Iterator[tuple[float, float]]:
    """Points on the way of an arrow, up to its head: close together on curves, a few on straight lines."""
    x = y = 0.0
    for letter, text in re.findall(r"([MCL])([^MCLm]*)", path):
        numbers = [float(each) for each in text.split()]
        ends = list(zip(numbers[::2], numbers[1::2], strict=True))
        ways = [(x, y), *ends] if letter == "C" else [(x, y)] * 2 + [ends[-1]] * 2
        for step in range(33):
            share = step / 32
            weights = [(1 - share) ** 3, 3 * share * (1 - share) ** 2, 3 * share**2 * (1 - share), share**3]
            if letter != "M":
                yield tuple(sum(w * way[at] for w, way in zip(weights, ways, strict=True)) for at in (0, 1))  # type: ignore[misc]
        x, y = ends[-1]


def test_no_arrow_runs_behind_a_room(drawings: dict[str, ElementTree.Element]) -> None:
    drawing = drawings["drawings/rooms.svg"]
    boxes = [rect for rect in drawing.iter(f"{SVG}rect") if rect.get("class") == "box"]
    places = [tuple(int(box.attrib[name]) for name in ("x", "y", "width", "height")) for box in boxes]
    arrows = [path.attrib["d"] for path in drawing.iter(f"{SVG}path") if path.get("class") == "line"]
    assert len(arrows) > len(boxes)
    behind = [
        (arrow, place)
        for arrow in arrows
        for px, py in list_points(arrow)
        for place in places
        if place[0] < px < place[0] + place[2] and place[1] < py < place[1] + place[3]
    ]
    assert behind == []


def test_text_stays_in_its_box(drawings: dict[str, ElementTree.Element]) -> None:
    """A letter of these fonts is at most 7 wide on average, a bold one 7.8."""
    for drawing in drawings.values():
        boxes = [rect for rect in drawing.iter(f"{SVG}rect") if rect.get("class") == "box"]
        edges = {int(box.attrib["x"]): int(box.attrib["width"]) for box in boxes}
        for text in drawing.iter(f"{SVG}text"):
            width = len(text.text or "") * (7.8 if text.get("class") == "name" else 7.0)
            assert width <= edges[int(text.attrib["x"]) - 16] - 16, text.text


def test_every_room_is_a_box_above_those_that_it_imports() -> None:
    imports = {"ground": [], "wall": ["ground"], "roof": ["ground", "wall"], "shed": []}
    drawing = ElementTree.fromstring(draw_rooms(imports, {"roof"}))
    height = {text.text: int(text.attrib["y"]) for text in drawing.iter(f"{SVG}text")}
    assert height["ground"] == height["shed"] > height["wall"] > height["roof"]
    assert len(list(drawing.iter(f"{SVG}path"))) == 2  # that of the roof to the ground follows


def test_the_drawing_has_every_room(drawings: dict[str, ElementTree.Element]) -> None:
    rooms = yaml.safe_load((ROOT / "docs" / "rooms.yaml").read_text())
    assert {text.text for text in drawings["drawings/rooms.svg"].iter(f"{SVG}text")} == rooms.keys()
