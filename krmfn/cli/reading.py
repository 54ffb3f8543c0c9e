"""What commands read: the manifests that their arguments name, with progress where that takes long."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from krmfn.cli.progress import track
from krmfn.workspace.files import Inputs
from krmfn.workspace.manifests import Manifests, load


def read(inputs: Inputs, options: Mapping[str, Any]) -> Manifests:
    """The files, read."""
    return load(track(inputs.files, "reading", options), inputs.left_out)
