"""Programs that `./dev` built into the cache are found by `pytest` alone, too.

Properties are checked on the same examples every time; `HYPOTHESIS_PROFILE=deep` looks for new ones.
"""

import os

from hypothesis import settings

from tests.e2e.tools import PATH

os.environ["PATH"] = PATH
settings.register_profile("same", deadline=None, derandomize=True, max_examples=100)
settings.register_profile("deep", deadline=None, max_examples=3000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))
