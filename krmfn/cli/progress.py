"""Progress of a long run, on a terminal's stderr and nowhere else."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence

from krmfn.krm.types import Any

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeVar

    _Thing = TypeVar("_Thing")
_LONG = 200


def track(things: Sequence[_Thing], label: str, options: Mapping[str, Any]) -> Iterable[_Thing]:
    """`things`, with a bar while they are consumed when there are many and somebody watches."""
    if len(things) < _LONG or options.get("quiet") or sys.stderr is None or not sys.stderr.isatty():
        return things
    return _show(things, label)


def _show(things: Sequence[_Thing], label: str) -> Iterator[_Thing]:
    import click

    with click.progressbar(things, label=label, file=sys.stderr) as bar:
        yield from bar
