"""The function SDK: ResourceLists and manifests as text that is read when asked and edited in place.

Usable on its own: it imports nothing of the rest. Names are loaded when they are first used, because a function's
start-up is paid on every build.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from krmfn.krm.errors import EditRefused, Misconfigured, Unreadable
    from krmfn.krm.item import Item
    from krmfn.krm.paths import Path, format_path
    from krmfn.krm.results import ABSENT, FileRef, ResourceRef, Result, has_errors
    from krmfn.krm.running import ResourceList, guard, run, spell_result
    from krmfn.krm.stream import Skipped, Stream
    from krmfn.krm.values import Problem

__all__ = [
    "ABSENT",
    "EditRefused",
    "FileRef",
    "Item",
    "Misconfigured",
    "Path",
    "Problem",
    "ResourceList",
    "ResourceRef",
    "Result",
    "Skipped",
    "Stream",
    "Unreadable",
    "format_path",
    "guard",
    "has_errors",
    "run",
    "spell_result",
]

_HOMES = {
    "errors": ("EditRefused", "Misconfigured", "Unreadable"),
    "item": ("Item",),
    "paths": ("Path", "format_path"),
    "results": ("ABSENT", "FileRef", "ResourceRef", "Result", "has_errors"),
    "running": ("ResourceList", "guard", "run", "spell_result"),
    "values": ("Problem",),
    "stream": ("Skipped", "Stream"),
}


def __getattr__(name: str) -> object:
    """Load a public name from its module."""
    for module, names in _HOMES.items():
        if name in names:
            loaded = __import__(f"{__name__}.{module}", fromlist=[name])
            value = getattr(loaded, name)
            globals()[name] = value
            return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """The public names, loaded or not."""
    return sorted(__all__)
