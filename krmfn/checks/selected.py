"""Which objects the configuration makes gangs of.

What can be seen in one of those alone, its source or target has noted already; checks speak of the others, and of what
only the whole input shows.
"""

from __future__ import annotations

from krmfn.config import Settings, options_for
from krmfn.krm.item import Item


def is_selected(item: Item, settings: Settings) -> bool:
    """Whether `item` gets a gang, by its own opt-in or by the configuration."""
    return options_for(settings, item).options is not None
