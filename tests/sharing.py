"""Lets a test decide how many processes share the work of a run, however little work there is."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

from krmfn.krm import sharing


@contextmanager
def share_among(processes: int) -> Iterator[None]:
    """So many processes share every list that is that long."""
    with (
        patch.object(sharing, "_allowed", {os.getpid()}),
        patch.object(sharing, "_LEAST_THINGS", 1),
        patch.object(os, "sched_getaffinity", lambda _: set(range(processes))),
    ):
        yield
