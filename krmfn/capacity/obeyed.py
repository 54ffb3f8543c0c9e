"""What of a manifest the scheduler of a cluster obeys, by its release and its feature gates."""

from __future__ import annotations

from typing import NamedTuple


class Obeyed(NamedTuple):
    """What the cluster's scheduler does: whether it knows composite groups and topology constraints, and whether a
    pod of a gang meets those that the same attempt placed before it in every respect. 1.36 forgets their claims and
    their anti-affinity. `claims`: a group can have claims, which its pods share."""

    trees: bool
    keys: bool
    remembers: bool
    claims: bool
