"""Resources that ask for a gang although nothing can be generated for their kind: silence would look like success.

Looks at the bytes of an item before anything is read of it, since most items ask for nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from krmfn.config.problems import find_nearest
from krmfn.config.selection import OPT_IN
from krmfn.krm.item import Item
from krmfn.model.findings import Finding
from krmfn.model.kinds import KINDS
from krmfn.sources import is_read


def find_strangers(items: Iterable[Item]) -> Iterator[Finding]:
    """A finding for every item of `items` that carries krmfn.dev/gang: "true" and is of no kind that is read."""
    mark = OPT_IN.encode()
    for item in items:
        if item.source.data.find(mark, item.start, item.end) < 0 or is_read(item.ref.group, item.kind):
            continue
        if item.annotations.get(OPT_IN) == "true":
            message = f"{item.api_version} {item.kind} cannot become a gang: krmfn does not support this kind"
            path = ("metadata", "annotations", OPT_IN)
            yield Finding(item, path, message, "true", hint=_suggest(item), rule="kind-not-supported")


def _suggest(item: Item) -> str:
    """The kind that was probably meant: the same word in another group, or a similar one."""
    read = [key for key in KINDS if is_read(*key)]
    kinds = sorted({kind for _, kind in read})
    nearest = item.kind if item.kind in kinds else find_nearest(item.kind, kinds, 0.8)
    groups = sorted(group for group, kind in read if kind == nearest)
    if not nearest:
        return 'Remove the annotation. "What each kind becomes" in the documentation lists the supported kinds.'
    return f"Did you mean {' or '.join(f'{nearest} of {group}' if group else f'{nearest} of v1' for group in groups)}?"
