"""Gang scheduling for Git: Workload, PodGroup and CompositePodGroup from the manifests that need them."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from krmfn.api import Findings, Generated, generate, validate

__all__ = ["Findings", "Generated", "__version__", "generate", "validate"]
__version__ = "0.1.0"


def __getattr__(name: str) -> object:
    """The Python API, imported when it is used: the function's start-up is paid on every build."""
    if name in {"Findings", "Generated", "generate", "validate"}:
        from krmfn import api

        return getattr(api, name)
    raise AttributeError(f"module 'krmfn' has no attribute {name!r}")
