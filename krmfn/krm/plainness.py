"""The quick half of `boundaries`: a proof that holds for what kustomize and kpt write, by counting quotes.

On its own, because `boundaries` needs regular expressions, which take long to import.
"""

from __future__ import annotations

_EMPTY_MAPS = (b"}\n", b"}\r")
_EMPTY_LISTS = (b"]\n", b"]\r")


def closes_plainly(data: bytes) -> bool:
    """A quick proof for what kustomize and kpt write: quotes in pairs on a line, `{}` and `[]` at its end.

    Sound because a quote that may begin a scalar (a blank stands before it) is never the second of a pair here.
    """
    if b"\t" in data:
        return False
    for quote in (b"'", b'"'):
        if quote in data:
            parts = data.split(quote)
            inside = quote.join(parts[1::2])
            if (
                len(parts) % 2 == 0
                or b"\n" in inside
                or b" " + quote in inside
                or inside.endswith(b" ")
                or b"" in parts[2:-1:2]  # two quotes in a row are one that is escaped
                or (quote == b'"' and b"\\" in inside)
            ):
                return False
    if b"{" in data and not all(part.startswith(_EMPTY_MAPS) for part in data.split(b"{")[1:]):
        return False
    return b"[" not in data or all(part.startswith(_EMPTY_LISTS) for part in data.split(b"[")[1:])
