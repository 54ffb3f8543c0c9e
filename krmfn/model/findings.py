"""Rules, and what they find before it becomes a result of the function.

Sources and targets, which see one manifest, leave *notes*; a note on an item is a *finding*, which is also what checks
yield. The pipeline makes *results* of findings, with the severity and the stage of the rule. Knows no rule.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

from krmfn.krm.item import Item
from krmfn.krm.paths import Path, Texts, format_path
from krmfn.krm.results import ABSENT, Result, Severity
from krmfn.releases.release import Release

Stage = Literal["server", "scheduler", "operator", "gitops"]
STAGES: tuple[Stage, ...] = ("server", "scheduler", "operator", "gitops")


class Rule(NamedTuple):
    """A row of the catalogue, whose page is `docs/rules/<id>.md`. Its `id` is permanent, `sentence` is one line.

    It holds for the releases of Kubernetes that have the feature `needs` and lack the feature `lacks` ("": for all).
    `message` says what was found and `hint` what to do, with {fields} that are filled in. `cases` are other texts by
    the names that the rule's function gives them; what one leaves out is taken from the row. `traits` are of:

    * "absence": something is missing, but may be where nobody looked
    * "setting": a setting or the version of the cluster does the same to every gang
    * "unmade": a controller makes no pods of the gang
    * "deadlock": a controller makes the later pods of the gang only when the earlier ones run
    * "hindering": the gang waits until somebody changes something
    """

    id: str
    stage: Stage
    severity: Severity
    sentence: str
    needs: str = ""
    lacks: str = ""
    traits: Sequence[str] = ()
    message: str = ""
    hint: str = ""
    cases: Mapping[str, Texts] = {}

    def holds(self, release: Release) -> bool:
        """Whether the rule holds for a release."""
        return (not self.needs or release.has(self.needs)) and not (self.lacks and release.has(self.lacks))


class EditStep(NamedTuple):
    """A change of an object: `path` is set to `value`, removed where that is ABSENT, or its last key becomes `key`."""

    path: Path
    value: Any = ABSENT
    key: str = ""


class Note(NamedTuple):
    """A finding whose item is not known yet. `path` is in the manifest that the user wrote, `current` is what is there
    and `proposed` the one that would mend it; `mend` are the steps where one value is not enough. `hint` says what to
    do, `type` is the server's type of cause ("" for findings of other stages)."""

    rule: str
    path: Path
    message: str
    current: Any = ABSENT
    proposed: Any = ABSENT
    hint: str = ""
    type: str = ""
    mend: tuple[EditStep, ...] = ()

    def on(self, item: Item, severity: Severity | None = None) -> Finding:
        """The finding on an item; `severity` overrides the rule's where facts decide."""
        return Finding(item=item, severity=severity, **self._asdict())


class Finding(NamedTuple):
    """What a rule found in an item: a `Note` with the item. `severity` overrides the rule's where facts decide."""

    item: Item
    path: Path
    message: str
    current: Any = ABSENT
    proposed: Any = ABSENT
    hint: str = ""
    type: str = ""
    rule: str = ""
    severity: Severity | None = None
    mend: tuple[EditStep, ...] = ()

    @property
    def place(self) -> tuple[int, Path]:
        """The object (by the identity of its item) and the path that it is about."""
        return id(self.item), self.path

    @property
    def is_mendable(self) -> bool:
        """Whether it says how its object has to be changed."""
        return bool(self.mend) or self.proposed is not ABSENT


Findings: TypeAlias = Iterator[Finding]
Notes: TypeAlias = Iterator[Note]
NoteTuple: TypeAlias = tuple[Note, ...]


def to_result(finding: Finding, rule: Rule) -> Result:
    """The finding as a result of the function, with its rule's severity and stage and its place in the file."""
    from krmfn.model.showing import close, cut, show  # many runs find nothing

    tags = {"rule": rule.id, "stage": rule.stage}
    if finding.type:
        tags["type"] = finding.type
    if finding.hint:
        tags["hint"] = finding.hint
    file = finding.item.locate(finding.path)
    path, message = close(finding.item.kind, finding.path), finding.message
    if path != finding.path:
        message = message.replace(format_path(finding.path), format_path(path))
    current, proposed = (show(finding.item.kind, finding.path, value) for value in (finding.current, finding.proposed))
    return Result(
        cut(message),
        finding.severity or rule.severity,
        finding.item.ref,
        format_path(path),
        current,
        proposed,
        file if file.path else None,
        tags,
    )
