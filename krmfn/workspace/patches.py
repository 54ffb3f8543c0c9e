"""What follows for a copy of a kustomization from what it does without: patches that have no object, unknown values."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from krmfn.workspace.overlays import NotRendered, is_path, read_objects
from krmfn.workspace.staging import spell_json
from krmfn.workspace.trees import KUSTOMIZATIONS

#: kustomize 5.8, api/resmap/reswrangler.go.
_WITHOUT_TARGET = re.compile(r"failed to find unique target for patch (\S+)$")
_VALUE = re.compile(rb"""fieldPath["']?:\s*["']?data\.([\w.-]+)""")
_FOLDER = re.compile(r"recursed accumulation of path '([^']+)'")


def supply_values(places: Sequence[str], files: Iterable[str]) -> bool:
    """Writes placeholders for all values that `files` read from ConfigMaps into the files at `places`, which kustomize
    makes ConfigMaps of: without them it would build nothing. False where no value is read."""
    names: set[bytes] = set()
    for path in files if places else ():
        with open(path, "rb") as stream:
            names.update(_VALUE.findall(stream.read()))
    text = b"".join(b"%b=${%b}\n" % (name, name) for name in sorted(names))
    for place in places:
        with open(place, "wb") as stream:
            stream.write(text)
    return bool(text)


def find_patch(said: Sequence[str], folder: str) -> tuple[str, str] | None:
    """The patch of which kustomize says that it has no target: the folder that lists it, which is the copy in `folder`
    or one that it builds on, and the object that it is for. None where that is not what kustomize says."""
    line = next((line for line in said if line.startswith("Error:")), "")
    found = _WITHOUT_TARGET.search(line)
    return ([folder, *_FOLDER.findall(line)][-1], found[1]) if found else None


def drop_patch(folder: str, target: str) -> bool:
    """Takes the patch for an object out of the copy of a kustomization; False where there is none."""
    path = os.path.join(folder, KUSTOMIZATIONS[0])
    if not os.path.exists(path):
        return False
    with open(path, "rb") as stream:
        value = json.load(stream)
    kept = {
        field: [rest for patch in value[field] or () for rest in _leave(patch, folder, target, field == "patches")]
        for field in ("patches", "patchesStrategicMerge")
        if field in value
    }
    if all(kept[field] == (value[field] or []) for field in kept):
        return False
    with open(path, "wb") as stream:
        stream.write(spell_json({**value, **kept}))
    return True


def _leave(patch: object, folder: str, target: str, named: bool) -> list[Any]:
    """A patch without what is for the object: the same, or what is left of it, patch by patch, `named` as an entry of
    `patches` is."""
    texts = None if isinstance(patch, dict) and patch.get("target") else _read(patch, folder)
    rest = [text for text in texts or () if _spell_id(text) != target]
    if texts is None or len(rest) == len(texts):
        return [patch]
    alone = [spell_json(each).decode() for each in rest]
    others = {key: each for key, each in patch.items() if key != "path"} if isinstance(patch, dict) else {}
    return [{**others, "patch": each} for each in alone] if others or named else alone


def _read(patch: object, folder: str) -> list[dict[str, Any]] | None:
    """The objects of a strategic merge patch, None for what is none."""
    text = patch.get("patch") or patch.get("path") if isinstance(patch, dict) else patch
    if not isinstance(text, str):
        return None
    data = text.encode("utf-8", "replace")
    if is_path(text) and os.path.isfile(os.path.join(folder, text)):
        with open(os.path.join(folder, text), "rb") as stream:
            data = stream.read()
    try:
        return read_objects(data, "")
    except NotRendered:
        return None


def _spell_id(value: Mapping[str, Any]) -> str:
    """How kustomize spells which object a patch is for."""
    group, _, version = str(value.get("apiVersion") or "").rpartition("/")
    metadata = value.get("metadata")
    name, namespace = (metadata.get(key) if isinstance(metadata, dict) else None for key in ("name", "namespace"))
    kind = f"{value.get('kind')}.{version or '[noVer]'}.{group or '[noGrp]'}"
    return f"{kind}/{name or '[noName]'}.{namespace or '[noNs]'}"
