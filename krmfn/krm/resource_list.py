"""The ResourceList: what an orchestrator sends to a function and gets back.

Source: KRM Functions Specification; v1, v1beta1 and v1alpha1 are accepted, the answer has the version received.
"""

from __future__ import annotations

from collections.abc import Iterable

from krmfn.krm.item import Item
from krmfn.krm.listing import Found, check_version, splice
from krmfn.krm.results import Result
from krmfn.krm.source import Source


class ResourceList:
    """Items and a functionConfig. `items` may be changed as a list; their order in the output is that of the input."""

    __slots__ = ("_listing", "_source", "api_version", "function_config", "items")

    def __init__(self, source: Source, found: Found) -> None:
        """Use `parse`."""
        self._source = source
        self._listing = found.listing
        self.api_version = found.api_version
        self.function_config = found.function_config
        self.items: list[Item] = list(found.listing.items)

    @classmethod
    def parse(cls, data: bytes, path: str = "") -> ResourceList:
        """Read a ResourceList in YAML or JSON. Items are split, not parsed. Raises Unreadable."""
        from krmfn.krm.fast_reading import read_fast

        source = Source(data, path)
        found = read_fast(source)
        if found is None:
            from krmfn.krm.stream import read_resource_list

            found = read_resource_list(source)
        check_version(found.api_version, found.kind)
        return cls(source, found)

    def append(self, item: Item) -> None:
        """Add an object behind the others."""
        self.items.append(item)

    def remove(self, item: Item) -> None:
        """Take an object out; orchestrators delete what is missing in the answer. Raises ValueError if it is absent."""
        self.items.remove(item)

    def render(self, results: Iterable[Result] = ()) -> bytes:
        """The list with all edits. Results of an earlier function are replaced when there are new ones."""
        return b"".join(self.render_parts(results))

    def render_original(self, results: Iterable[Result] = ()) -> bytes:
        """The list as it was read, with results: the answer of a function that fails."""
        return b"".join(self._splice(None, results))

    def render_parts(self, results: Iterable[Result] = ()) -> list[memoryview | bytes]:
        """Like `render`, in parts that share the memory of the input."""
        return self._splice(self.items, results)

    def _splice(self, items: list[Item] | None, results: Iterable[Result]) -> list[memoryview | bytes]:
        listing = self._listing if items is not None else self._listing.copy()
        spelled = [result.to_json() for result in results]
        return splice(self._source.data, listing.splice(listing.items if items is None else items, spelled))
