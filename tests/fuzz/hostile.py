"""Hostile names, values and paths through every channel, read back by programs that know nothing of krmfn.

A terminal emulator, readers of XML, JSON, YAML, Markdown and DOT, the rules by which CI runners find commands: whatever
the texts hold, the structure that is read is the one that was written, and nothing steers.
"""

from __future__ import annotations

import json
import random
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable

import pyte
import yaml
from markdown_it import MarkdownIt

from krmfn.forecast import Load, Outlook, Place, Standing
from krmfn.forecast.roster import Pod
from krmfn.krm.results import FileRef, ResourceRef, Result
from krmfn.plan.records import Change, Entry, Plan, Reason
from krmfn.reports import render
from krmfn.reports.outlook_view import View
from krmfn.reports.outlooks import render_outlooks
from krmfn.reports.plans import render_plan
from krmfn.reports.trees import Forest, render_forests
from krmfn.survey.forest import Branch

_PIECES = (
    *(
        "\x1b[2J",
        "\x1b]0;title\x07",
        "\x1b[1A",
        "\x9b31m",
        "\x07",
        "\x08" * 9,
        "\r",
        "\n",
        "\r\n",
        "\x85",
        "\x0b",
        "\0",
    ),
    *("\u2028", "\u2029", "\u202e", "\u2066", "\u200f", "\u200b", "\ufeff", "\U000e0041", "\udcff", "\ud83d", "\xad"),
    *("::error::", "\n::set-output name=a::b", "::add-mask::x", "##[group]", "##[command]", "##vso[task.setvariable]"),
    *("<img src=x onerror=alert(1)>", "<script>", "&lt;", "&#60;", "]]>", "<!--", "-->", '"', "'", "`", "``", "```"),
    *("|", "\\|", "**", "__", "[a](javascript:x)", "![a](//b)", "@team", "#1", "https://a.b", "www.a.b", "# ", "* "),
    *("\n- ", "\n---\n", "%%{init: {'securityLevel': 'loose'}}%%", '"]\n', "click n0 call x()", "#quot;", "%0A", "%"),
    *(
        "\\",
        '\\"',
        "\\n",
        "];",
        "}",
        "{",
        "]",
        "[",
        "$a$",
        "~~",
        ": ",
        " #",
        "&a",
        "*a",
        "!!x",
        "a",
        "train",
        "ü",
        "日本",
    ),
    *("\t", "  ", "a" * 300, ""),
)
#: What may not arrive anywhere: controls besides line feeds and tabs, direction, line ends of Unicode, surrogates.
_STEERS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff\U000e0000-\U000e0fff]"
)
_RUNNER = re.compile(r"##\w*\[|^\s*::", re.MULTILINE)
#: The lexer of Graphviz: in double quotes only `\\"` and `\\\\` are escapes.
_DOT = re.compile(
    r"""digraph\ groups\ {\n\ \ node\ \[fontname=sans\];\n
    (\ \ n\d\ \[shape=\w+,\ label="([^"\\]|\\.)*"\];\n|\ \ n\d\ ->\ n\d;\n){7}}\n""",
    re.VERBOSE,
)
_GITHUB = re.compile(r"::(error|warning|notice) ([^:]*)::(.*)")


def make_text(chance: random.Random) -> str:
    """A name as nobody would write it in good faith."""
    return "".join(chance.choice(_PIECES) for _ in range(chance.randint(1, 5)))


def check(chance: random.Random) -> None:
    """One case: findings, a plan, a tree and an outlook of hostile texts in every format. Raises AssertionError."""
    for check in (_check_findings, _check_plan, _check_tree, _check_outlook):
        check(chance)


def _check_findings(chance: random.Random) -> None:
    text: Callable[[], str] = lambda: make_text(chance)  # noqa: E731  # short, because it is everywhere below
    results = [
        Result(
            text(),
            chance.choice(["error", "warning", "info"]),
            ResourceRef(text(), text(), text(), text()),
            text(),
            text(),
            {text(): text()},
            FileRef(text() or "x", 0, 3, 4),
            {"rule": "minimum", "stage": "server", "hint": text()},
        )
        for _ in range(2)
    ]
    count = len({repr(result) for result in results})
    _check_terminal(render(results, "text", color=False), 2 * count)
    _check_terminal(render(results, "text", color=True), 2 * count, colored=True)
    assert len(_read_json(render(results, "json"))["results"]) == count
    found = _read_json(render(results, "json"))["results"]
    assert {result["message"] for result in found} == {_repair(result.message) for result in results}
    document = render(results, "yaml")
    _check_stream(document)
    assert len(yaml.safe_load(document)["results"]) == count
    assert len(_read_json(render(results, "sarif"))["runs"][0]["results"]) == count
    assert len(_read_json(render(results, "gitlab"))) == count
    xml = render(results, "junit")
    _check_stream(xml)
    assert len(ET.fromstring(xml.encode()).findall("*/testcase")) >= 1
    commands = render(results, "github")
    assert not _STEERS.search(commands)
    assert commands.count("\n") == count
    for line in commands.splitlines():
        matched = _GITHUB.fullmatch(line)
        assert matched, line
        assert set(re.findall(r"(?:^|,)(\w+)=", matched[2])) <= {"file", "line", "col", "title"}
        assert not re.search(r"##\w*\[", line)


def _check_plan(chance: random.Random) -> None:
    refs = [ResourceRef(make_text(chance), make_text(chance), make_text(chance), make_text(chance)) for _ in range(2)]
    entries = tuple(
        Entry(
            "replace",
            ref,
            FileRef(make_text(chance), 0, 1, 1),
            (Change((make_text(chance), 0), make_text(chance), {make_text(chance): make_text(chance)}),),
            (Reason((make_text(chance),), "minimum", "Invalid", make_text(chance)),),
            (make_text(chance),),
        )
        for ref in refs
    )
    plan = Plan(entries)
    _check_terminal(render_plan(plan, "text"), None)
    assert len(_read_json(render_plan(plan, "json"))["entries"]) == 2
    _check_markdown(render_plan(plan, "markdown"), rows=2)


def _check_tree(chance: random.Random) -> None:
    leaves = [Branch("pods", make_text(chance), make_text(chance), {}) for _ in range(3)]
    tree = Branch("workload", make_text(chance), make_text(chance), {}, tuple(leaves))
    _check_terminal(render_forests([Forest("", [tree], [make_text(chance)])], "text"), 6)
    assert len(_read_json(render_forests([Forest("", [tree], [])], "json"))["trees"]) == 1
    mermaid = render_forests([Forest("", [tree], [])], "mermaid")
    _check_stream(mermaid)
    lines = mermaid.splitlines()
    assert len(lines) == 1 + 4 + 3
    assert all(
        re.fullmatch(r'  n\d(\[\[|\[)"[^"`%\\;]*(#\d+;[^"`%\\;]*)*"(\]\]|\])|  n0 --> n\d', each) for each in lines[1:]
    )
    assert not re.search(r"<(?!br/>)|>(?![^\n]*n\d|\s*\")", re.sub(r"-->|<br/>", "", mermaid))
    dot = render_forests([Forest("", [tree], [])], "dot")
    _check_stream(dot)
    assert _DOT.fullmatch(dot), dot
    assert dot.count("->") >= 3


def _check_outlook(chance: random.Random) -> None:
    names = [make_text(chance) for _ in range(2)]
    pods = [Pod(make_text(chance), {}, None, "") for _ in range(3)]
    node = make_text(chance)
    places = (Place(pods[0], node), Place(pods[1], "", make_text(chance)), Place(pods[2], node))
    standings = (
        Standing(names[0], None, (), "runs", places[:1]),
        Standing(names[1], None, (), "never", places[1:2], make_text(chance), make_text(chance), "rule"),
    )
    amounts = {"cpu": 10**9, make_text(chance) + "/x": 2 * 10**9}
    load = Load(node, make_text(chance), amounts, amounts, {names[0]: 1}, 1, False)
    free = Load(make_text(chance), make_text(chance), amounts, {}, {}, 0, True)
    views = [View("", Outlook(standings, (load, free), make_text(chance), places[2:]))]
    _check_terminal(render_outlooks(views, "text"), None)
    assert len(_read_json(render_outlooks(views, "json"))["gangs"]) == 2
    document = yaml.safe_load(render_outlooks(views, "yaml"))
    assert len(document["nodes"]) == 2
    for form in ("yaml", "markdown", "mermaid", "svg", "html"):
        _check_stream(render_outlooks(views, form))
    root = ET.fromstring(render_outlooks(views, "svg"))
    assert {element.tag.rpartition("}")[2] for element in root.iter()} == {
        *("svg", "title", "desc", "style", "rect", "g", "text"),
    }
    page = render_outlooks(views, "html").replace("<!DOCTYPE html>", "")
    page = re.sub("(<meta [^>]*)>", r"\1/>", page)
    tags = {element.tag.rpartition("}")[2] for element in ET.fromstring(page).iter()}
    assert not tags & {"script", "img", "a", "b" if "<b>" not in page else ""}
    assert len(ET.fromstring(page).findall(".//table")) == 2
    markdown = MarkdownIt("gfm-like", {"html": True, "linkify": False}).parse(render_outlooks(views, "markdown"))
    assert sum(token.type == "tr_open" for token in markdown) == 3 + 3
    inline = [child for token in markdown for child in token.children or ()]
    assert not {token.type for token in inline} & {"html_inline", "link_open", "image"}
    mermaid = render_outlooks(views, "mermaid")
    labels = re.findall(r'"([^"\n]*)"', mermaid)
    assert mermaid.count('"') == 2 * len(labels)
    assert not any(re.search(r"[`%\\]|<(?!br/>)", label) for label in labels)


def _check_stream(text: str) -> None:
    found = _STEERS.search(text)
    assert not found, f"{found[0]!r} in {text!r}" if found else ""
    assert not _RUNNER.search(text), text
    text.encode()


def _check_terminal(text: str, lines: int | None, colored: bool = False) -> None:
    """Every line stands where it was printed: no text has moved the cursor, cleared a line or set a title."""
    plain = re.sub(r"\x1b\[[0-9;]*m", "", text) if colored else text
    _check_stream(plain)
    assert lines is None or plain.count("\n") <= lines
    rows = plain.count("\n") + 1
    width = max(len(line) for line in plain.split("\n")) * 2 + 10
    screen = pyte.Screen(width, rows)
    screen.set_mode(pyte.modes.LNM)
    pyte.Stream(screen).feed(text)
    assert screen.title == ""
    shown = ["".join(row.split()) for row in screen.display]
    assert shown == ["".join(line.split()) for line in plain.split("\n")]


def _check_markdown(text: str, rows: int) -> None:
    _check_stream(text)
    tokens = MarkdownIt("gfm-like", {"html": True, "linkify": False}).parse(text)
    inline = [child for token in tokens for child in token.children or ()]
    assert not {token.type for token in (*tokens, *inline)} & {
        "html_block",
        "html_inline",
        "link_open",
        "image",
        "fence",
    }
    assert sum(token.type == "tr_open" for token in tokens) == rows + 1
    assert sum(token.type == "td_open" for token in tokens) == rows * 3
    assert sum(token.type == "heading_open" for token in tokens) == 1 + rows
    outside = "".join(child.content for child in inline if child.type == "text")
    source = re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)", "", text)
    assert not re.search(r"(?<!&)[#@]\w|https?:|www\.", source.replace("## Update plan", "")), source
    assert "Update plan" in outside


def _read_json(text: str) -> dict[str, list[dict[str, str]]]:
    _check_stream(text)
    found: dict[str, list[dict[str, str]]] = json.loads(text)
    return found


def _repair(text: str) -> str:
    """What JSON makes of two halves of a surrogate pair that stand beside each other."""
    loaded: str = json.loads(json.dumps(text))
    return loaded
