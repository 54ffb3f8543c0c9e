"""Whether the schema of a CustomResourceDefinition is one: who writes it may write anything, and a server refuses it.

Source: the type JSONSchemaProps of apiextensions.k8s.io/v1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from krmfn.krm.types import Any


def is_schema(value: Any) -> bool:
    """Whether every keyword of a schema, and of the schemas in it, has the type that it has to have."""
    if not isinstance(value, dict) or "$ref" in value:
        return False
    return all(_KEYWORDS[key](each) for key, each in value.items() if key in _KEYWORDS)


def _is(*types: type) -> Callable[[Any], bool]:
    """true and false are no numbers."""
    return lambda value: isinstance(value, types) and (bool in types or not isinstance(value, bool))


_is_text, _is_flag, _is_count, _is_number, _is_list = _is(str), _is(bool), _is(int), _is(int, float), _is(list)


def _is_names(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_text, value))


def _is_schemas(value: Any) -> bool:
    return isinstance(value, list) and all(map(is_schema, value))


def _is_fields(value: Any) -> bool:
    return isinstance(value, dict) and all(map(is_schema, value.values()))


def _is_rules(value: Any) -> bool:
    return isinstance(value, list) and all(
        isinstance(rule, dict)
        and isinstance(rule.get("rule"), str)
        and all(isinstance(rule.get(key, ""), str) for key in ("message", "messageExpression", "reason", "fieldPath"))
        for rule in value
    )


_KEYWORDS: Mapping[str, Callable[[Any], bool]] = {
    **dict.fromkeys(("type", "format", "pattern", "x-kubernetes-list-type", "x-kubernetes-map-type"), _is_text),
    **dict.fromkeys(("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"), _is_count),
    **dict.fromkeys(("minimum", "maximum"), _is_number),
    "multipleOf": lambda value: _is_number(value) and value > 0,
    **dict.fromkeys(("nullable", "uniqueItems", "exclusiveMinimum", "exclusiveMaximum"), _is_flag),
    **dict.fromkeys(
        (
            "x-kubernetes-preserve-unknown-fields",
            "x-kubernetes-embedded-resource",
            "x-kubernetes-int-or-string",
        ),
        _is_flag,
    ),
    **dict.fromkeys(("required", "x-kubernetes-list-map-keys"), _is_names),
    "enum": _is_list,
    **dict.fromkeys(("items", "not"), is_schema),
    **dict.fromkeys(("allOf", "anyOf", "oneOf"), _is_schemas),
    "properties": _is_fields,
    "additionalProperties": lambda value: _is_flag(value) or is_schema(value),
    "x-kubernetes-validations": _is_rules,
}
