"""Programs that `./dev` built into the cache are found by `pytest` alone, too.

Properties are checked on the same examples every time; `HYPOTHESIS_PROFILE=deep` looks for new ones.
"""

import gc
import os
from collections.abc import Iterator

import pytest
from hypothesis import settings

from krmfn.model.kinds import KINDS
from tests.e2e.tools import PATH

os.environ["PATH"] = PATH
os.environ.pop("KRMFN_CACHE", None)  # a run must do what its test is about, not say what an earlier one said
gc.disable()  # until all are collected: millions of recorded objects stay, and looking at them cost half of a minute
settings.register_profile("same", deadline=None, derandomize=True, max_examples=100)
settings.register_profile("deep", deadline=None, max_examples=3000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()


@pytest.fixture(autouse=True)
def forget_kinds() -> Iterator[None]:
    """A process reads the kinds of one user; here tests follow each other in one."""
    yield
    KINDS.forget_own()
