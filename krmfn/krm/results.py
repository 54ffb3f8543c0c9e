"""Results of a KRM function: what was found, where, and how much it matters.

Source of the shape: KRM Functions Specification, section "ResourceList", field `results`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal, NamedTuple

from krmfn.krm.paths import Fields

Severity = Literal["error", "warning", "info"]


class _Absent:
    __slots__ = ()

    def __reduce__(self) -> str:
        return "ABSENT"  # there is one, in every process


#: Marks an absent `field.currentValue` or `field.proposedValue`; None is a value (YAML null).
ABSENT: Any = _Absent()

#: Where objects without a namespace go, unless the applier is told otherwise.
DEFAULT_NAMESPACE = "default"
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "info")


class ResourceRef(NamedTuple):
    """The identity of an object. `namespace` is empty when the manifest has none."""

    api_version: str
    kind: str
    name: str
    namespace: str = ""

    @property
    def group(self) -> str:
        """The API group, empty for the core group."""
        return self.api_version.rpartition("/")[0]

    @property
    def group_kind(self) -> tuple[str, str]:
        """The API group and the kind, by which tables of kinds are asked."""
        return self.group, self.kind

    @property
    def space(self) -> str:
        """The namespace that an applier uses: `default` where the manifest names none."""
        return self.namespace or DEFAULT_NAMESPACE

    @property
    def key(self) -> tuple[str, str]:
        """What objects of a kind are told apart by: the namespace that an applier uses, and the name."""
        return self.namespace or DEFAULT_NAMESPACE, self.name

    def __str__(self) -> str:
        """`PodGroup ml/train`, or `PodGroup train` without a namespace, and `PodGroup (no name)` without a name."""
        name = self.name or "(no name)"
        return f"{self.kind} {self.namespace}/{name}" if self.namespace else f"{self.kind} {name}"

    def to_json(self) -> dict[str, str]:
        """The identity as the specification spells it."""
        ref = {"apiVersion": self.api_version, "kind": self.kind, "name": self.name}
        return {**ref, "namespace": self.namespace} if self.namespace else ref


class FileRef(NamedTuple):
    """A place in a file. `index` counts documents from 0, `line` and `column` from 1 (0: unknown)."""

    path: str
    index: int = 0  # type: ignore[assignment]  # hides tuple.index, which nobody needs of a place
    line: int = 0
    column: int = 0

    def spell(self) -> str:
        """`base/job.yaml:3:5`, without what is not known."""
        numbers = [str(number) for number in (self.line, self.line and self.column) if number]
        return ":".join([self.path, *numbers])

    def tell(self, message: str) -> str:
        """The place, and what there is to say of it: `base/job.yaml:3:5: mapping values are not allowed here`."""
        return f"{self.spell()}: {message}"

    def to_json(self) -> Fields:
        """The place as the specification spells it."""
        file = {"path": self.path, "index": self.index}
        return {**file, "line": self.line, "column": self.column} if self.line else file


class Edit(NamedTuple):
    """A replacement in a file: from line and column up to, not including, the end; all count from 1."""

    line: int
    column: int
    end_line: int
    end_column: int
    text: str

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Edit:
        """The edit as reports spell it. Raises KeyError and TypeError for anything else."""
        start, end = value["start"], value["end"]
        return cls(start["line"], start["column"], end["line"], end["column"], value["text"])

    def to_json(self) -> Fields:
        """The edit as reports spell it."""
        start, end = {"line": self.line, "column": self.column}, {"line": self.end_line, "column": self.end_column}
        return {"start": start, "end": end, "text": self.text}


class Result(NamedTuple):
    """One finding. `path` is a field path in text form; `tags` holds at least `rule` for findings of rules.

    `edit` is the change of `file` that would mend it, where one is known.
    """

    message: str
    severity: Severity = "error"
    ref: ResourceRef | None = None
    path: str = ""
    current: Any = ABSENT
    proposed: Any = ABSENT
    file: FileRef | None = None
    tags: Mapping[str, str] = {}  # read-only
    edit: Edit | None = None

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Result:
        """A result of a report. Raises KeyError, TypeError and ValueError for what is none."""
        ref, field, place = (value.get(key) or {} for key in ("resourceRef", "field", "file"))
        tags = value.get("tags") or {}
        found = cls(
            value["message"],
            SEVERITIES[SEVERITIES.index(value["severity"])],
            ResourceRef(ref["apiVersion"], ref["kind"], ref["name"], ref.get("namespace", "")) if ref else None,
            field.get("path", ""),
            field.get("currentValue", ABSENT),
            field.get("proposedValue", ABSENT),
            FileRef(place["path"], place["index"], place.get("line", 0), place.get("column", 0)) if place else None,
            tags,
            Edit.from_json(value["edit"]) if value.get("edit") else None,
        )
        file, edit = found.file or (), found.edit or ()
        texts = (found.message, found.path, *(found.ref or ()), *file[:1], *edit[4:], *tags, *tags.values())
        numbers = (*file[1:], *edit[:4])
        if not all(isinstance(text, str) for text in texts) or not all(type(number) is int for number in numbers):
            raise TypeError("a result has something else than a text, or a place something else than a number")
        return found

    def to_json(self) -> Fields:
        """The result as the specification spells it; keys without a value are left out."""
        out: Fields = {"message": self.message, "severity": self.severity}
        if self.ref:
            out["resourceRef"] = self.ref.to_json()
        if self.path:
            field: Fields = {"path": self.path}
            if self.current is not ABSENT:
                field["currentValue"] = self.current
            if self.proposed is not ABSENT:
                field["proposedValue"] = self.proposed
            out["field"] = field
        if self.file:
            out["file"] = self.file.to_json()
        if self.tags:
            out["tags"] = dict(self.tags)
        return out


def has_errors(results: Iterable[Result], threshold: Severity = "error") -> bool:
    """Whether a result is at or above `threshold` (error, then warning, then info)."""
    return any(SEVERITIES.index(result.severity) <= SEVERITIES.index(threshold) for result in results)
