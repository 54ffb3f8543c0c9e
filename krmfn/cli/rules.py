"""`krmfn rules [ID]`: the catalogue, or the page of one rule."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from krmfn.cli import streams
from krmfn.cli.findings import is_colored
from krmfn.cli.options import UsageError
from krmfn.config.problems import ask_about
from krmfn.model.findings import STAGES
from krmfn.model.rules import RULES, tell_retired
from krmfn.reports.pages import read_page


def list_words() -> Iterable[str]:
    return RULES


def run(words: Sequence[str], options: Mapping[str, Any]) -> int:
    """Writes to stdout. Raises UsageError for an unknown id."""
    if words:
        rule = RULES.get(words[0])
        if rule is None:
            hint = tell_retired(words[0]) or ask_about(words[0], RULES) or "krmfn rules lists them"
            raise UsageError(f"there is no rule {words[0]!r}. {hint}")
        page = read_page(rule.id)
        streams.write(page.paint() if is_colored({}) else page.text)
        return 0
    stages = options["stage"].split(",") if options["stage"] else STAGES
    rows = [rule for rule in RULES.values() if rule.stage in stages]
    width = max((len(rule.id) for rule in rows), default=0)
    for rule in sorted(rows, key=lambda rule: (STAGES.index(rule.stage), rule.id)):
        streams.write(f"{rule.stage:9} {rule.severity:7} {rule.id:{width}}  {rule.sentence}\n")
    return 0
