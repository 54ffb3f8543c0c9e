"""What is printed, made harmless for where it is printed: one escape for each channel.

Names, values and paths come from files that anybody may have written. They must not move the cursor of a terminal, give
commands to a CI runner, change the direction of the text, or become markup. What they hold stays visible.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

#: Control characters, C1 included; what orders text from right to left or is invisible; line ends of Unicode; halves of
#: surrogate pairs (bytes of a file name that are not UTF-8).
_STEERING = (
    "\x00-\x1f\x7f-\x9f\xad\u0600-\u0605\u061c\u06dd\u070f\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b-\u200f"
    "\u2028-\u202e\u2060-\u206f\u3164\ud800-\udfff\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U000e0000-\U000e0fff"
)
#: `##[group]`, `##vso[…]`, `##teamcity[…]`: runners look for these anywhere in a line.
_COMMAND = r"(?<=#)#(?=\w*\[)"
_LINE = re.compile(f"[{_STEERING}]|{_COMMAND}")
_TEXT = re.compile(f"[{_STEERING}]".replace("\x00-\x1f", "\x00-\x08\x0b-\x1f") + f"|{_COMMAND}")
#: In JSON line feeds and their like are written as escapes already.
_JSON = re.compile(f"[{_STEERING}]".replace("\x00-\x1f", "") + f"|{_COMMAND}")
#: What GitHub's runner takes for a command is at the start of a line, blanks not counted.
_START = re.compile(r"^([ \t]*)::", re.MULTILINE)
#: Everything that can be markup in Markdown, or is made a link: mentions, issues, addresses.
_MARKUP = re.compile(r"[\\`*_{}\[\]<>&|~@#!$]|://|(?<=www)\.", re.IGNORECASE)
_MERMAID = re.compile(r"[\"#&<>`%;\\]")


def line(text: str) -> str:
    """Text as a part of one line, for a terminal or a log: line feeds become blanks, the rest `\\x1b`, `\\u202e`.

    >>> line("a\\nb\\x1b[31m")
    'a b\\\\x1b[31m'
    """
    if text.isprintable() and "##" not in text and "::" not in text:
        return text
    text = text.replace("\r\n", " ").replace("\n", " ").replace("\t", " ")
    return _START.sub(r"\1\\x3a:", _LINE.sub(_spell, text))


def lines(text: str) -> str:
    """Text of several lines, such as a difference of files: line feeds and tabs stay."""
    return _START.sub(r"\1\\x3a:", _TEXT.sub(_spell, text))


def diff(text: str) -> str:
    """A unified difference. Its lines begin with a sign, behind which a runner would not look for commands; the rest
    is as for `lines`.

    >>> diff("+::set-output\\n ::group::\\n")
    '+::set-output\\n \\\\x3a:group::\\n'
    """
    return lines(text)


def json(value: Any, *, indent: int | None = 2) -> str:
    """JSON in which everything that could steer anything is an escape; the values are what they were."""
    from json import dumps

    text = dumps(value, indent=indent, ensure_ascii=False, default=str)
    return _JSON.sub(_spell_json, text) + "\n"


def yaml(text: str) -> str:
    """YAML of double-quoted texts, as PyYAML writes it: the same."""
    return _JSON.sub(_spell_json, text)


def xml(text: str) -> str:
    """The content of an element or of an attribute in double quotes. Line feeds stay."""
    text = _TEXT.sub(_spell, text.replace("\r\n", "\n"))
    for char, entity in _ENTITIES.items():
        text = text.replace(char, entity)
    return text


def github(text: str) -> str:
    """The message of a workflow command. Line feeds become `%0A`, which the page shows as such."""
    return _TEXT.sub(_spell, text.replace("\r\n", "\n")).replace("%", "%25").replace("\n", "%0A")


def github_property(text: str) -> str:
    """A property of a workflow command."""
    return github(line(text)).replace(":", "%3A").replace(",", "%2C")


def markdown(text: str) -> str:
    """Text on a line of Markdown: no markup, no HTML, no link, no mention.

    >>> markdown("<b> @team")
    '&#60;b&#62; &#64;team'
    """
    return _MARKUP.sub(lambda found: "".join(f"&#{ord(char)};" for char in found[0]), line(text))


def code(text: str) -> str:
    """Text as a code span of Markdown, also in a cell of a table: nothing in it is read as markup.

    >>> code("a`b|c")
    '`` a`b\\\\|c ``'
    """
    text = line(text).replace("|", "\\|")
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * (longest + 1)
    return f"{fence} {text} {fence}" if longest or text != text.strip() or not text else f"{fence}{text}{fence}"


def mermaid(text: str) -> str:
    """A label of Mermaid in double quotes. Directives (`%%{`) are looked for everywhere, so also there."""
    return _MERMAID.sub(lambda found: f"#{ord(found[0])};", line(text))


def dot(text: str) -> str:
    """A label of DOT in double quotes."""
    return line(text).replace("\\", "\\\\").replace('"', '\\"')


def _spell(found: re.Match[str]) -> str:
    number = ord(found[0])
    if 0xDC80 <= number <= 0xDCFF:  # a byte of a file name
        return f"\\x{number - 0xDC00:02x}"
    return f"\\x{number:02x}" if number < 256 else f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"


def _spell_json(found: re.Match[str]) -> str:
    number = ord(found[0])
    if number < 0x10000:
        return f"\\u{number:04x}"
    number -= 0x10000
    return f"\\u{0xD800 + (number >> 10):04x}\\u{0xDC00 + (number & 0x3FF):04x}"


_ENTITIES: Mapping[str, str] = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"}
