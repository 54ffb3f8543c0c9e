"""What the server answers to one request."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from krmfn.checks.server.causes import Cause
from krmfn.checks.server.strategy import RANDOM, STORED_UID
from krmfn.krm.paths import Path, format_path
from krmfn.krm.records import NamedTuple

_NOTHING: dict[str, Any] = {}


class Verdict(NamedTuple):
    """The answer. `code` is the HTTP status; accepted means below 300.

    `causes` are the refusals by field (for 400 the decoder's problems, for 403 the plugin's one); `message` is the
    server's whole text. `dropped` are paths that were sent and are silently removed, because a gate is off. `stored` is
    the object as the server holds it afterwards, in normal form (see decode): what `write_object` turns into JSON.
    """

    code: int
    message: str = ""
    causes: tuple[Cause, ...] = ()
    dropped: tuple[tuple[Path, str], ...] = ()
    warnings: tuple[str, ...] = ()
    stored: dict[str, Any] = _NOTHING

    @property
    def accepted(self) -> bool:
        """Whether the object would be stored."""
        return self.code < 300


def refuse(kind: str, group: str, name: str, causes: list[Cause], generated: str = "") -> Verdict:
    """The 422 of validation. The uid is the server's secret: it is shown as `<uid>`.

    Of a `generated` name only the part is shown that is known, which is what the manifest says.
    """
    if generated:
        known = generated.removesuffix(RANDOM)
        name = known
        causes = [cause._replace(message=cause.message.replace(generated, known)) for cause in causes]
    if any(STORED_UID in cause.message for cause in causes):
        causes = [cause._replace(message=cause.message.replace(STORED_UID, "<uid>")) for cause in causes]
    texts = list(dict.fromkeys(f"{format_path(cause.path)}: {cause.message}" for cause in causes))
    body = texts[0] if len(texts) == 1 else "[" + ", ".join(texts) + "]"
    qualified = f"{kind}.{group}" if group else kind
    return Verdict(422, f'{qualified} "{name}" is invalid: {body}', tuple(causes))


def guard(answer: Callable[..., Verdict], *arguments: Any) -> Verdict:
    """The answer, or a refusal where the object is nested deeper than Python can follow: no real one is."""
    try:
        return answer(*arguments)
    except RecursionError:
        text = "the object is nested too deeply"
        return Verdict(400, text, (Cause("Decode", (), text, "bad-value"),))
