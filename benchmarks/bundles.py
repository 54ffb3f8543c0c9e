"""Makes each of our schemas a file of its own, for validators that do not look up a `$ref` to a neighbour."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any


def bundle_schemas(source: Path, target: Path, kinds: Iterable[str]) -> Path:
    """Writes the schemas of `kinds` into `target` with what they refer to, without `$id`. Returns `target`."""
    target.mkdir(exist_ok=True)
    files = {path.name: json.loads(path.read_text()) for path in source.glob("*.json")}
    for name in (f"{kind}.json" for kind in kinds):
        definitions: dict[str, Any] = {}
        whole = rewrite(files[name], name, files, definitions)
        whole.pop("$id", None)
        whole["$defs"] = definitions
        (target / name).write_text(json.dumps(whole))
    return target


def rewrite(schema: Any, here: str, files: dict[str, Any], definitions: dict[str, Any]) -> Any:
    """A copy of `schema` whose references point into `definitions`, which is filled with what they need."""
    if isinstance(schema, list):
        return [rewrite(part, here, files, definitions) for part in schema]
    if not isinstance(schema, dict):
        return schema
    copy = {k: rewrite(v, here, files, definitions) for k, v in schema.items() if k != "$defs"}
    if isinstance(copy.get("$ref"), str):
        file, _, definition = copy["$ref"].partition("#/$defs/")
        file = file or here
        key = f"{file.removesuffix('.json')}.{definition}"
        if key not in definitions:
            definitions[key] = {}  # present before it is filled: schemas may refer to themselves
            definitions[key] = rewrite(files[file]["$defs"][definition], file, files, definitions)
        copy["$ref"] = f"#/$defs/{key}"
    return copy
