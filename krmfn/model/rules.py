"""The catalogue: every rule is a row of `schemas/rules.json`, in the part that finds it.

Those of the API server stand for keywords and hand-written checks; their messages are the server's own. The texts of
what targets and the others note are where they are found.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from krmfn.model.findings import Rule
from krmfn.releases import schemastore

#: Which parts there are, each with its rules by id.
PARTS: Final[Mapping[str, Mapping[str, Rule]]] = {
    part: {id: Rule(id, **row) for id, row in rows.items()} for part, rows in schemastore.load("rules.json").items()
}
RULES: Final[Mapping[str, Rule]] = dict(sorted((id, rule) for rules in PARTS.values() for id, rule in rules.items()))


def tell_retired(rule_id: str) -> str:
    """What became of a rule that is no longer there; empty for an id that never was one. Retired ids stay reserved."""
    row = schemastore.load("retired.json").get(rule_id)
    return f"{rule_id} was retired in {row['since']}: {row['see']}." if row else ""


def list_rules_of(path: str) -> list[str]:
    """The rules that find something at a field, such as `PodGroup.spec.schedulingPolicy` (`[]` is every element), as
    the examples on their pages show it."""
    found: list[str] = schemastore.load("fieldrules.json").get(path, [])
    return found
