"""What rules are and what they find, before it becomes a result of the function.

Sources and targets, which see one manifest, leave *notes*; a note on an item is a *finding*, and that is what checks
yield. The pipeline turns findings into results with the severity and stage of the rule's row. Knows no rule.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

from krmfn.krm.item import Item
from krmfn.krm.paths import Path, Texts, format_path
from krmfn.krm.results import ABSENT, Result, Severity
from krmfn.model.values import Value
from krmfn.releases.release import Release

Stage: TypeAlias = 'Literal["server", "scheduler", "operator", "gitops"]'
STAGES: tuple[Stage, ...] = ("server", "scheduler", "operator", "gitops")


class Rule(NamedTuple):
    """A row of the catalogue. `id` is permanent, `sentence` says in one line what is wrong.

    It holds for the releases of Kubernetes that have the feature `needs` and do not have the feature `lacks` (empty:
    for all). `message` says what was found and `hint` what to do, with {places} that are filled in; `cases` has other
    texts by the names that the rule's function gives them, and takes those that it lacks from the row. Of its `traits`,
    "absence" says what is not there, or too little of it, which may be where nobody looked; "setting" is what a setting
    or the version of a cluster does to every gang alike; "unmade" and "deadlock" are about gangs for which a controller
    makes no pods, or the later ones when the earlier ones run; "hindering" about those that wait for somebody to change
    something. Everything else is on its page, `docs/rules/<id>.md`.
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
    """A change of an object: `value` at `path`, which is taken out where it is ABSENT; or its key becomes `key`."""

    path: Path
    value: Any = ABSENT
    key: str = ""


class Note(NamedTuple):
    """A finding whose object is not known yet: `path` is in the manifest that the user wrote, `hint` says what to
    do, and `mend` are the steps that do it, where a value at `path` does not."""

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
        rule, path, message, current, proposed, hint, type, mend = self
        return Finding(item, path, message, current, proposed, hint, type, rule, severity, mend)


class Member(NamedTuple):
    """A pod template of an item and how many pods of it exist at once; None: the manifest does not say.

    `path` leads to the PodTemplateSpec (empty for a Pod, which is its own), `count_path` to the field that a person
    changes to change `pods`. What the pods link to is read from the item, not from here. The pods are `replicas` sets
    alike, which the label `by` tells apart (0: not known); `number` is the sum of labels that is a pod's own number
    among all `numbered` pods (model.podnumber). `value` is the manifest where `path` leads to the template:
    that of the item, with what it takes from other objects. With `apart` the path leads to an entry with the pods'
    annotations, and fields of their spec are there.
    """

    item: Item
    path: Path
    pods: int | None
    count_path: Path
    replicas: int = 0
    by: str = ""
    number: str = ""
    numbered: int = 0
    value: Value | None = None
    apart: Path = ()


class Finding(NamedTuple):
    """What a rule found in an item. The engine fills in `rule`; `severity` overrides the rule's where facts decide."""

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
        """The field of which object it is about: the item by its identity, and the path."""
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
