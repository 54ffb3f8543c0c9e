"""The configuration as a ConfigMap: `data` with dotted keys and text values, as `kpt fn eval -- key=value` makes it.

Turns the texts into the values that the schema wants. Holds no key of the configuration.
"""

from __future__ import annotations

from typing import Any

from krmfn.config.problems import Mistake
from krmfn.config.schema import Schema, is_type, resolve
from krmfn.krm.paths import Path
from krmfn.model.gotext import parse_int
from krmfn.model.values import Fields, Value


def read_data(data: Value, schema: Schema) -> tuple[Fields, list[Mistake]]:
    """The nested form of `data` by the schema of `spec`, and what could not be read.

    Lists are written `a,b`, maps `key=value,key=value`, anything deeper as JSON. A part of a key behind a map's
    own name is the key in that map: `kubernetes.featureGates.CompositePodGroup: "true"`.
    """
    nested: Fields = {}
    problems: list[Mistake] = []
    for dotted, text in data.items():
        path: Path = ("data", str(dotted))
        try:
            _insert(nested, str(dotted), text, schema)
        except ValueError as mistake:
            problems.append(Mistake(path, str(mistake)))
    return nested, problems


def _insert(nested: Fields, dotted: str, text: Any, schema: Schema) -> None:
    """Put `text` at `dotted` in `nested`, as the type that the schema has there. Raises ValueError."""
    keys = dotted.split(".")
    for depth, key in enumerate(keys):
        found = _find_child(resolve(schema), key)
        rest = ".".join(keys[depth:])
        if found is None:  # unknown: it stays, and the schema names the nearest key
            nested[key] = text
            return
        schema = resolve(found)
        if depth == len(keys) - 1:
            nested[key] = _convert(text, schema)
            return
        if isinstance(resolve(schema).get("additionalProperties"), dict):  # label keys have dots
            inner = ".".join(keys[depth + 1 :])
            nested.setdefault(key, {})[inner] = _convert(text, resolve(schema["additionalProperties"]))
            return
        nested = nested.setdefault(key, {})
        if not isinstance(nested, dict):
            raise ValueError(f"{rest} excludes {'.'.join(keys[: depth + 1])}")


def _find_child(schema: Schema, key: str) -> Schema | None:
    for branch in schema.get("oneOf", (schema,)):
        child = resolve(branch).get("properties", {}).get(key)
        if child is not None:
            return dict(child)
    return None


def _convert(text: Any, schema: Schema) -> Any:
    """`text` as the first type of `schema` that it can be; as it is where it can be none."""
    if not isinstance(text, str):
        return text
    if text[:1] in ("{", "["):
        from krmfn.krm.json_reading import load_json

        try:
            return load_json(text)
        except ValueError as mistake:
            raise ValueError(f"invalid JSON: {mistake}") from None
    for branch in map(resolve, schema.get("oneOf") or schema.get("anyOf") or (schema,)):
        value = _convert_to(text, branch)
        if is_type(value, branch.get("type", "string")) and value in branch.get("enum", (value,)):
            return value
    return text


def _convert_to(text: str, schema: Schema) -> Any:
    kind = schema.get("type")
    if kind == "boolean":
        return {"true": True, "false": False}.get(text.lower(), text)
    if kind == "integer":
        number = parse_int(text)
        return text if number is None else number
    if kind == "array":
        return [part.strip() for part in text.split(",") if part.strip()]
    if kind == "object":
        pairs = dict(part.strip().partition("=")[::2] for part in text.split(",") if "=" in part)
        properties = schema.get("properties", {})
        others = schema.get("additionalProperties")
        fallback = others if isinstance(others, dict) else {}
        return {key: _convert(value, resolve(properties.get(key, fallback))) for key, value in pairs.items()} or text
    return text
