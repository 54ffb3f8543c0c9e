"""Where orchestrators say that an object came from: annotations with the path and the index of its document.

Source: KRM Functions Specification, annotations; kyaml sends both spellings, older senders only the short one.
"""

from __future__ import annotations

from krmfn.krm.results import FileRef

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

_PATHS = ("internal.config.kubernetes.io/path", "config.kubernetes.io/path")
_INDICES = ("internal.config.kubernetes.io/index", "config.kubernetes.io/index")


def read_address(annotations: Mapping[str, str], index: int) -> FileRef:
    """The file that the annotations name; an empty path and `index` where they name none."""
    path = next((annotations[key] for key in _PATHS if key in annotations), "")
    if not path:
        return FileRef("", index)
    number = next((annotations[key] for key in _INDICES if key in annotations), "")
    return FileRef(path, int(number) if number.isdecimal() and len(number) < 10 else 0)
