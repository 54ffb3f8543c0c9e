"""The CEL rules of a definition, applied to an object: which it breaks, and which are not judged here.

Rules that speak of `oldSelf` hold for a change of a value that was there. What stays as it was breaks no other rule,
but a rule that cannot be evaluated for it fails.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from krmfn.krm.paths import Path, walk_values
from krmfn.krm.results import ABSENT
from krmfn.server.correlation import find_old, find_schema, is_same
from krmfn.server.spell import spell
from krmfn.server.structure import Structure
from krmfn.server.verdict import Cause

Schema: TypeAlias = "Mapping[str, Any]"
#: What else a rule may say, and is not known here.
_UNKNOWN = ("fieldPath", "messageExpression", "optionalOldSelf")
_TYPES = {"FieldValueRequired": ("Required", "Required value"), "FieldValueForbidden": ("Forbidden", "Forbidden")}


def apply_rules(
    structure: Structure, value: Mapping[str, Any], old: Any, typed: bool = True
) -> Iterator[Cause | tuple[Path, str]]:
    """The causes of an object, and place and text of each rule that is not judged. `old` is ABSENT for a create. Unless
    all values are `typed` as the schema says, no rule is judged."""
    for schema, rule, path, item, before, same in find_rules(structure, structure.resolve(structure.root), value, old):
        if typed:
            yield from _judge(rule, str(schema.get("type", "")), item, before, path, same)
        else:
            yield path, rule["rule"]


def find_rules(
    structure: Structure, schema: Schema, value: Any, old: Any, path: Path = (), same: bool = False
) -> Iterator[tuple[Schema, Mapping[str, Any], Path, Any, Any, bool]]:
    """The rules that a value meets: schema and rule, the place, the value and what it was, and whether the rule may be
    broken because nothing has changed."""
    same = same or (old is not ABSENT and is_same(structure, schema, value, old))
    for rule in schema.get("x-kubernetes-validations", ()):
        changing = "oldSelf" in rule["rule"]
        if not changing or old is not ABSENT:
            yield schema, rule, path, value, old, same and not changing
    parts = range(len(value)) if isinstance(value, list) else value if isinstance(value, dict) else ()
    for part in parts:
        below = find_schema(structure, schema, part)
        if below:
            before = ABSENT if old is ABSENT else find_old(structure, schema, value, old, part)
            yield from find_rules(structure, below, value[part], before, (*path, part), same)


def _judge(
    rule: Mapping[str, Any], type_name: str, value: Any, old: Any, path: Path, passed: bool
) -> Iterator[Cause | tuple[Path, str]]:
    from krmfn.server.cel import EvaluationFailed, Unsupported, compile_rule  # most objects meet no rule

    text = rule["rule"]
    told = str(rule.get("message") or f"failed rule: {text}").strip()
    scope = {"self": value} if old is ABSENT else {"self": value, "oldSelf": old}
    try:
        if any(rule.get(name) for name in _UNKNOWN) or _has_whole_float(value):
            raise Unsupported(text)
        if compile_rule(text)(scope) is True or passed:
            return
        kind, words = _TYPES.get(rule.get("reason", ""), ("Invalid", "Invalid value: "))
        shown = _show(value) if kind == "Invalid" else ": "
        yield Cause(kind, path, f"{words}{shown}{told}", "custom-rule-broken")
    except EvaluationFailed as failure:
        words = f'Invalid value: "{type_name}": {failure}{rule.get("message") or text}'
        yield Cause("Invalid", path, words, "custom-rule-broken")
    except (Unsupported, RecursionError):
        yield path, text


def _has_whole_float(value: Any) -> bool:
    """Whether 3.0 stands somewhere: a schema takes it for an integer, a rule does not."""
    return any(isinstance(each, float) and each.is_integer() for each in walk_values(value))


def _show(value: Any) -> str:
    return "" if isinstance(value, (dict, list)) else f"{spell(value)}: "
