"""What is printed, made harmless for where it is printed: one escape for each channel.

Names, values and paths come from files that anybody may have written. They must not move the cursor of a terminal, give
commands to a CI runner, change the direction of the text, or become markup. What they hold stays visible.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from krmfn.krm.terminal import COMMAND, START, STEERING, line, spell
from krmfn.releases.schemastore import read_text

__all__ = ["line"]

#: Of an output, one after the other.
Lines = Iterator[str]

# Patterns are compiled where they are used first: a run speaks to one channel.
_TEXT = f"[{STEERING}]".replace("\x00-\x1f", "\x00-\x08\x0b-\x1f") + f"|{COMMAND}"
#: In JSON line feeds and their like are written as escapes already.
_JSON = f"[{STEERING}]".replace("\x00-\x1f", "") + f"|{COMMAND}"
#: Everything that can be markup in Markdown, or is made a link: mentions, issues, addresses.
_MARKUP = r"(?i)[\\`*_{}\[\]<>&|~@#!$]|://|(?<=www)\."
_MERMAID = r"[\"#&<>`%;\\]"


def lines(text: str) -> str:
    """Text of several lines, such as a difference of files: line feeds and tabs stay. Behind a sign at the beginning of
    a line no runner looks for commands.

    >>> lines("+::set-output\\n ::group::\\n")
    '+::set-output\\n \\\\x3a:group::\\n'
    """
    return re.sub(START, r"\1\\x3a:", re.sub(_TEXT, spell, text))


def json(value: Any) -> str:
    """JSON in which everything that could steer anything is an escape; the values are what they were."""
    from json import dumps

    text = dumps(value, indent=2, ensure_ascii=False, default=str)
    return re.sub(_JSON, _spell_json, text) + "\n"


def yaml(text: str) -> str:
    """YAML of double-quoted texts: the same. Its escapes are those of JSON but for large numbers."""
    return re.sub(_JSON, lambda found: f"\\U{ord(found[0]):08x}" if found[0] > "\uffff" else _spell_json(found), text)


def xml(text: str) -> str:
    """The content of an element or of an attribute in double quotes. Line feeds stay."""
    return re.sub(_TEXT, spell, text.replace("\r\n", "\n")).translate(_ENTITIES)


def markup(text: str) -> str:
    """The same of a text that is one line."""
    return xml(line(text))


def read_asset(name: str) -> str:
    """A style or a script that is written into pages, from schemas/pages."""
    return read_text(f"pages/{name}").rstrip("\n")


def open_page(title: str, style: str, policy: str = "") -> str:
    """The start of an HTML page that loads nothing, with the style of a name. `policy` allows its scripts."""
    policy = f"default-src 'none'; style-src 'unsafe-inline'{policy}"
    return "\n".join(
        [
            "<!DOCTYPE html>",
            '<html lang="en"><head><meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{markup(title)}</title><style>{read_asset(style)}</style></head><body>",
        ]
    )


def draw(width: int, height: int, title: str, told: str, style: str, parts: Iterable[str], mark: str = "") -> str:
    """An SVG of these parts, and what it shows in words. `mark` is in its identifiers: a page may have several."""
    size = f'width="{width}" height="{height}"'
    labels = f'role="img" aria-labelledby="title{mark} told{mark}"'
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} viewBox="0 0 {width} {height}" {labels}>',
            f'<title id="title{mark}">{markup(title)}</title>',
            f'<desc id="told{mark}">{markup(told)}</desc>',
            f"<style>{read_asset(style)}</style>",
            f'<rect class="bg" {size}/>',
            *parts,
            "</svg>",
            "",
        ]
    )


def github(text: str) -> str:
    """The message of a workflow command. Line feeds become `%0A`, which the page shows as such."""
    return re.sub(_TEXT, spell, text.replace("\r\n", "\n")).replace("%", "%25").replace("\n", "%0A")


def github_property(text: str) -> str:
    """A property of a workflow command."""
    return github(line(text)).replace(":", "%3A").replace(",", "%2C")


def markdown(text: str) -> str:
    """Text on a line of Markdown: no markup, no HTML, no link, no mention.

    >>> markdown("<b> @team")
    '&#60;b&#62; &#64;team'
    """
    return re.sub(_MARKUP, lambda found: "".join(f"&#{ord(char)};" for char in found[0]), line(text))


def code(text: str) -> str:
    """Text as a code span of Markdown, also in a cell of a table: nothing in it is read as markup.

    >>> code("a`b|c")
    '`` a`b\\\\|c ``'
    """
    text = line(text).replace("|", "\\|")
    longest = max(map(len, re.findall("`+", text)), default=0)
    fence = "`" * (longest + 1)
    return f"{fence} {text} {fence}" if longest or text != text.strip() or not text else f"{fence}{text}{fence}"


def mermaid(text: str) -> str:
    """A label of Mermaid in double quotes. Directives (`%%{`) are looked for everywhere, so also there."""
    return re.sub(_MERMAID, lambda found: f"#{ord(found[0])};", line(text))


def dot(text: str) -> str:
    """A label of DOT in double quotes."""
    return line(text).replace("\\", "\\\\").replace('"', '\\"')


def _spell_json(found: re.Match[str]) -> str:
    """A character as JSON escapes it: by its units of UTF-16."""
    return re.sub("....", r"\\u\g<0>", found[0].encode("utf-16-be", "surrogatepass").hex())


_ENTITIES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"})
