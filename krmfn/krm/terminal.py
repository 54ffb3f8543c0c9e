"""Text made harmless for a terminal or a log: what manifests say must not move a cursor or give commands to a runner.

Other channels (JSON, Markdown …) are in krmfn.reports.channels.
"""

from __future__ import annotations

import re

#: Control characters, C1 included; what orders text from right to left or is invisible; line ends of Unicode; halves of
#: surrogate pairs (bytes of a file name that are not UTF-8).
STEERING = (
    "\x00-\x1f\x7f-\x9f\xad\u0600-\u0605\u061c\u06dd\u070f\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b-\u200f"
    "\u2028-\u202e\u2060-\u206f\u3164\ud800-\udfff\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U000e0000-\U000e0fff"
)
#: `##[group]`, `##vso[…]`, `##teamcity[…]`: runners look for these anywhere in a line.
COMMAND = r"(?<=#)#(?=\w*\[)"
#: What GitHub's runner takes for a command is at the start of a line, blanks not counted.
START = r"(?m)^([ \t]*)::"


def line(text: str) -> str:
    """Text as a part of one line, for a terminal or a log: line feeds become blanks, the rest `\\x1b`, `\\u202e`.

    >>> line("a\\nb\\x1b[31m")
    'a b\\\\x1b[31m'
    """
    if text.isprintable() and "##" not in text and "::" not in text:
        return text
    text = text.replace("\r\n", " ").replace("\n", " ").replace("\t", " ")
    return re.sub(START, r"\1\\x3a:", re.sub(f"[{STEERING}]|{COMMAND}", spell, text))


def spell(found: re.Match[str]) -> str:
    """The escape of a character."""
    number = ord(found[0])
    if 0xDC80 <= number <= 0xDCFF:  # a byte of a file name
        return f"\\x{number - 0xDC00:02x}"
    return f"\\x{number:02x}" if number < 256 else f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"
