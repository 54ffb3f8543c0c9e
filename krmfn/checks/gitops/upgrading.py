"""What a cluster has to be rid of before it is upgraded."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from krmfn.checks.rule import Match, rule, tell
from krmfn.config import Settings
from krmfn.releases.stored import find_writer, tell_damage
from krmfn.survey.census import Census

#: What only an API server writes: an object with one of them was read from a cluster.
_STORED: Final = ("uid", "resourceVersion", "creationTimestamp")


@rule("stored-version-unreadable")
def find_unreadable(census: Census, settings: Settings) -> Iterator[Match]:
    """Objects of a dump that would stop the cluster after its upgrade to the settings' release."""
    release = settings.release
    for item in census.objects if any(map(census.has_text, _STORED)) else ():
        metadata = item.value.get("metadata")
        if not isinstance(metadata, dict) or not any(metadata.get(key) for key in _STORED):
            continue
        writer = find_writer(item.value, release)
        if writer:
            yield tell(
                item,
                ("apiVersion",),
                item.api_version,
                writer=writer,
                release=release,
                damage=tell_damage(item.kind, release),
            )
