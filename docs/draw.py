"""Draws the pictures of docs/concepts.md as SVG, from what krmfn prints for files of the repository.

`docs/generate.py` writes them. Knows how to draw a tree of groups, and nothing of what makes one.
"""

from __future__ import annotations

import html
import json
import os
import shutil
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[1]
WIDTH, GAP, RISE, MARGIN = 240, 22, 42, 20
DOTS = 8  # in a row
#: Both looks of the site: a picture in a page follows the browser's choice.
STYLE = """\
svg{font:12px system-ui,"DejaVu Sans",sans-serif;--ground:#fff;--panel:#f5f6fa;--line:#c4c9d8;--ink:#1c2030;\
--quiet:#5d6478;--workload:#5d6478;--composite:#6a3fa0;--group:#3c4bbf;--pods:#1f6b43;--never:#b3261e}
@media(prefers-color-scheme:dark){svg{--ground:#14161d;--panel:#1c1f2a;--line:#464c61;--ink:#e8eaf2;--quiet:#a0a7bd;\
--workload:#a0a7bd;--composite:#c8a6ff;--group:#9aa6ff;--pods:#8fd6ac;--never:#ff8f86}}
.ground{fill:var(--ground)}.box{fill:var(--panel);stroke:var(--line)}.line{fill:none;stroke:var(--line);stroke-width:2}
text{fill:var(--quiet)}.name{fill:var(--ink);font-weight:600;font-size:13px}.kind{font-weight:600;font-size:11px}
.workload{fill:var(--workload)}.composite{fill:var(--composite)}.group{fill:var(--group)}.pods{fill:var(--pods)}.never{fill:var(--never)}
.pod{fill:var(--pods);stroke:var(--pods);stroke-width:2}.waits{fill:none;stroke:var(--quiet);stroke-width:2}
.missing{fill:none;stroke:var(--never);stroke-width:2;stroke-dasharray:3 2}"""


class Box(NamedTuple):
    """A box with its lines of text, its dots (`pod`, `waits` or `missing`), and the boxes below it."""

    look: str
    kind: str
    name: str
    lines: Sequence[str] = ()
    dots: Sequence[str] = ()
    below: Sequence[Box] = ()

    @property
    def height(self) -> int:
        rows = -(-len(self.dots) // DOTS)
        return 44 + 16 * len(self.lines) + (rows * 22 + 4 if rows else 0)


def render_drawings() -> dict[str, str]:
    """The pictures, by their path below docs/."""
    job = ask("tree", "-q", "-o", "json", "examples/job/job.yaml")["trees"]
    config = "examples/raycluster/gangs.yaml"
    ray = ask("tree", "-q", "-o", "json", "--config", config, "examples/raycluster/raycluster.yaml")["trees"]
    silent = ask("tree", "-q", "-o", "json", "examples/troubleshooting/silent.yaml")["trees"]
    few = [tree for tree in silent if tree.get("pods", 0) < tree.get("minCount", 0) and tree.get("below")]
    whole = [read_node(tree, pods=True) for tree in job]
    groups = [each for tree in job for each in tree["below"]]
    return {
        "drawings/gang.svg": draw("A gang: one Workload, one PodGroup, eight pods", whole),
        "drawings/tree.svg": draw("A tree: a CompositePodGroup over three PodGroups", map(read_node, ray)),
        "drawings/quorum.svg": draw("minCount against the pods that can exist", map(read_node, [*groups, *few])),
        "drawings/silent.svg": draw_way(ask("validate", "-o", "json", "examples/troubleshooting/silent.yaml")),
    }


def ask(*words: str) -> Any:
    """What a command of krmfn prints as JSON: of the examples alone, without a configuration of the checkout."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(ROOT / "examples", Path(folder, "examples"))
        done = subprocess.run(
            [sys.executable, "-m", "krmfn", *words],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=False,
        )
    return json.loads(done.stdout)


def read_node(node: dict[str, Any], pods: bool = False) -> Box:
    """A node of `krmfn tree -o json`. Pods are dots in the box of their group, or with `pods` boxes of their own."""
    kind, name = (node.get("object") or node["name"]).split(" ", 1)
    below = [each for each in node.get("below", ()) if pods or each["shape"] != "pods"]
    dots: list[str] = []
    if node["shape"] == ("pods" if pods else "group"):
        there, wanted = node.get("pods", 0), node.get("minCount", 0)
        dots = ["waits" if node.get("neverStarts") else "pod"] * there + ["missing"] * max(wanted - there, 0)
    look = "never" if node.get("neverStarts") else node["shape"]
    return Box(look, kind, name, textwrap.wrap(node["words"], 31), dots, [read_node(each, pods) for each in below])


def measure(box: Box) -> int:
    """How wide a box is with all that is below it."""
    below = sum(map(measure, box.below)) + GAP * max(len(box.below) - 1, 0)
    return max(WIDTH, below)


def draw(title: str, boxes: Iterable[Box]) -> str:
    """A picture of trees, beside each other."""
    parts: list[str] = []
    left, bottom = MARGIN, 0
    for box in boxes:
        bottom = max(bottom, place(box, left, MARGIN, parts))
        left += measure(box) + GAP
    return frame(title, left - GAP + MARGIN, bottom + MARGIN, parts)


def place(box: Box, left: int, top: int, parts: list[str]) -> int:
    """Draws a box in the middle above those below it. Returns where the lowest of them ends."""
    x = left + (measure(box) - WIDTH) // 2
    bottom = top + box.height
    lowest = bottom
    for below in box.below:
        middle = left + measure(below) // 2
        turn = bottom + RISE // 2
        parts.append(f'<path class="line" d="M{x + WIDTH // 2} {bottom}V{turn}H{middle}V{bottom + RISE}"/>')
        lowest = max(lowest, place(below, left, bottom + RISE, parts))
        left += measure(below) + GAP
    parts += write_box(box, x, top)
    return lowest


def write_box(box: Box, x: int, y: int) -> Iterator[str]:
    yield f'<rect class="box" x="{x}" y="{y}" width="{WIDTH}" height="{box.height}" rx="8"/>'
    yield f'<rect class="{box.look}" x="{x}" y="{y}" width="5" height="{box.height}" rx="2"/>'
    yield f'<text class="kind {box.look}" x="{x + 16}" y="{y + 18}">{html.escape(box.kind)}</text>'
    yield f'<text class="name" x="{x + 16}" y="{y + 35}">{html.escape(box.name)}</text>'
    for at, line in enumerate(box.lines):
        yield f'<text x="{x + 16}" y="{y + 53 + 16 * at}">{html.escape(line)}</text>'
    top = y + 53 + 16 * len(box.lines)
    for at, look in enumerate(box.dots):
        yield f'<circle class="{look}" cx="{x + 24 + 22 * (at % DOTS)}" cy="{top + 22 * (at // DOTS)}" r="7"/>'


def draw_way(found: dict[str, Any]) -> str:
    """The way of a pod, and the findings of a file whose pods stop where nothing is reported."""
    rules = sorted({each["tags"]["rule"] for each in found["results"] if each["severity"] == "error"})
    wrong, asked = ["a wrong number or a wrong name", "makes a valid object"], "group, root and quorum there?"
    steps = [
        Box("workload", "kube-apiserver", "stores the objects", wrong),
        Box("workload", "a controller", "creates the pods", ["each with the link of its", "template"]),
        Box("never", "kube-scheduler", "before its queue", [asked, "no condition and no event"]),
        Box("group", "kube-scheduler", "in its queue", ["do all pods of the gang fit?", "if not: FailedScheduling"]),
        Box("pods", "kubelet", "all pods start", [], ["pod"] * DOTS),
    ]
    parts: list[str] = []
    top, side, middle = MARGIN, MARGIN + WIDTH + 2 * GAP, MARGIN + WIDTH // 2
    for step in steps:
        if step is not steps[0]:
            parts.append(f'<path class="line" d="M{middle} {top - GAP}v{GAP - 3}m-5 -6l5 6l5 -6"/>')
        if step.look == "never":
            stopped = Box("never", "what stops here", "krmfn validate reports it", rules)
            parts.append(f'<path class="line" d="M{side - 2 * GAP} {top + 22}h{2 * GAP - 3}m-6 -5l6 5l-6 5"/>')
            parts += write_box(stopped, side, top)
        parts += write_box(step, MARGIN, top)
        top += step.height + GAP
    return frame("Where pods of a gang stop, and who reports it", side + WIDTH + MARGIN, top - GAP + MARGIN, parts)


def frame(title: str, width: int, height: int, parts: Iterable[str]) -> str:
    size = f'width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">'
    ground = f'<rect class="ground" width="{width}" height="{height}" rx="12"/>'
    return "\n".join([head, f"<title>{title}</title>", f"<style>{STYLE}</style>", ground, *parts, "</svg>", ""])
