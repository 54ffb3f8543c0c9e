"""Properties are checked on the same examples every time; time says nothing on a shared machine."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("same", deadline=None, derandomize=True, max_examples=100)
settings.load_profile("same")
