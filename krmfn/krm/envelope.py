"""What a ResourceList is made of, however it was read."""

from __future__ import annotations

from krmfn.krm.errors import Unreadable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from krmfn.krm.item import Item
    from krmfn.krm.listing import Listing


class Found:
    """The parts of a ResourceList that matter."""

    __slots__ = ("api_version", "function_config", "kind", "listing")

    def __init__(self, api_version: str, kind: str, listing: Listing, function_config: Item | None) -> None:
        """A plain record."""
        self.api_version = api_version
        self.kind = kind
        self.listing = listing
        self.function_config = function_config


def check_version(api_version: str, kind: str) -> None:
    """Raise Unreadable unless these belong to a ResourceList."""
    if kind != "ResourceList" or not api_version.startswith("config.kubernetes.io/"):
        found = f"{api_version} {kind}".strip() or "something else"
        raise Unreadable(f"expected a ResourceList of config.kubernetes.io/v1, found {found}")
