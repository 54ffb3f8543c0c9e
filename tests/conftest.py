"""Programs that `./dev` built into the cache are found by `pytest` alone, too."""

import os

from tests.e2e.tools import PATH

os.environ["PATH"] = PATH
