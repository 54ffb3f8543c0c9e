"""What rules are and what they find, before it becomes a result of the function.

Sources and targets leave *notes* (a rule id, a path, a message); checks yield *findings* (a note on an item).
The pipeline turns both into results with the severity and stage of the rule's row. Knows no rule.
"""

from __future__ import annotations

from typing import Any, Literal

from krmfn.krm.item import Item
from krmfn.krm.paths import Path, format_path
from krmfn.krm.records import NamedTuple
from krmfn.krm.results import ABSENT, Result, Severity

Stage = Literal["server", "scheduler", "operator", "gitops"]


class Rule(NamedTuple):
    """A row of the catalogue. `id` is permanent; `releases` empty means all.

    `sentence` says in one line what is wrong; `why` and `fix` are the paragraphs of the rule's page;
    `sources` name what the rule rests on (rule ids of the API reference, KEPs).
    """

    id: str
    stage: Stage
    severity: Severity
    sentence: str
    why: str = ""
    fix: str = ""
    releases: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()


class Note(NamedTuple):
    """A finding without its object: `path` is in the manifest that the user wrote, `hint` says what to do."""

    rule: str
    path: Path
    message: str
    current: Any = ABSENT
    proposed: Any = ABSENT
    hint: str = ""
    type: str = ""


class Member(NamedTuple):
    """A pod template of an item and how many pods of it exist at once; None: the manifest does not say.

    `path` leads to the PodTemplateSpec (empty for a Pod, which is its own), `count_path` to the field that a person
    changes to change `pods`. What the pods link to is read from the item, not from here.
    """

    item: Item
    path: Path
    pods: int | None
    count_path: Path


class Finding(NamedTuple):
    """A note on an item. `severity` overrides the rule's where facts decide."""

    item: Item
    note: Note
    severity: Severity | None = None


def to_result(finding: Finding, rule: Rule) -> Result:
    """The finding as a result of the function, with its rule's severity and stage and its place in the file."""
    item, note, severity = finding
    tags = {"rule": rule.id, "stage": rule.stage}
    if note.type:
        tags["type"] = note.type
    if note.hint:
        tags["hint"] = note.hint
    file = item.locate(note.path)
    return Result(
        note.message,
        severity or rule.severity,
        item.ref,
        format_path(note.path),
        note.current,
        note.proposed,
        file if file.path else None,
        tags,
    )
