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
        return "ABSENT"  # pickled by its name, because it is compared with `is`


#: Marks an absent `field.currentValue` or `field.proposedValue`; None is a value (YAML null).
ABSENT: Any = _Absent()

#: Where objects without a namespace go, unless the applier is told otherwise.
DEFAULT_NAMESPACE = "default"
#: All severities, the worst first.
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "info")


class ResourceRef(NamedTuple):
    """The identity of an object. `namespace` is empty if the manifest has none."""

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
        """The API group and the kind: the key of tables of kinds."""
        return self.group, self.kind

    @property
    def space(self) -> str:
        """The namespace that an applier uses: `default` where the manifest names none."""
        return self.namespace or DEFAULT_NAMESPACE

    @property
    def key(self) -> tuple[str, str]:
        """The namespace that an applier uses, and the name: different for all objects of a kind."""
        return self.space, self.name

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
        """`base/job.yaml:3:5`, without the numbers that are unknown."""
        numbers = [str(number) for number in (self.line, self.line and self.column) if number]
        return ":".join([self.path, *numbers])

    def tell(self, message: str) -> str:
        """A message about the place: `base/job.yaml:3:5: mapping values are not allowed here`."""
        return f"{self.spell()}: {message}"

    def to_json(self) -> Fields:
        """The place as the specification spells it."""
        file = {"path": self.path, "index": self.index}
        return {**file, "line": self.line, "column": self.column} if self.line else file


class Edit(NamedTuple):
    """A replacement of the text from `line` and `column` up to, not including, the end. All four count from 1."""

    line: int
    column: int
    end_line: int
    end_column: int
    text: str

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Edit:
        """An edit as reports spell it. Raises KeyError or TypeError for anything else."""
        start, end = value["start"], value["end"]
        return cls(start["line"], start["column"], end["line"], end["column"], value["text"])

    def to_json(self) -> Fields:
        """The edit as reports spell it."""
        start, end = {"line": self.line, "column": self.column}, {"line": self.end_line, "column": self.end_column}
        return {"start": start, "end": end, "text": self.text}


class Result(NamedTuple):
    """One finding. `path` is a field path in text form; `tags` holds at least `rule` for findings of rules.

    `edit` is the change of `file` that fixes it, if one is known.
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

    @property
    def subject(self) -> str:
        """The object and the field: `PodGroup ml/train spec.minCount`. Empty where both are unknown."""
        return " ".join(str(part) for part in (self.ref, self.path) if part)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Result:
        """A result of a report. Raises AttributeError, KeyError, TypeError or ValueError for anything else."""
        if value["severity"] not in SEVERITIES:
            raise ValueError("not a severity")
        ref, field, file, edit = (value.get(key) or {} for key in ("resourceRef", "field", "file", "edit"))
        found = cls(
            value["message"],
            value["severity"],
            ResourceRef(ref["apiVersion"], ref["kind"], ref["name"], ref.get("namespace", "")) if ref else None,
            field.get("path", ""),
            field.get("currentValue", ABSENT),
            field.get("proposedValue", ABSENT),
            FileRef(file["path"], file["index"], file.get("line", 0), file.get("column", 0)) if file else None,
            value.get("tags") or {},
            Edit.from_json(edit) if edit else None,
        )
        texts = [found.message, found.path, *(found.ref or ()), *found.tags, *found.tags.values()]
        numbers: list[object] = []
        if found.file:
            texts.append(found.file.path)
            numbers += found.file[1:]
        if found.edit:
            texts.append(found.edit.text)
            numbers += found.edit[:4]
        if not all(isinstance(text, str) for text in texts) or not all(type(number) is int for number in numbers):
            raise TypeError("a text or a number of the result has another type")
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
    """Whether a result is as severe as `threshold`, or more."""
    counted = SEVERITIES[: SEVERITIES.index(threshold) + 1]
    return any(result.severity in counted for result in results)
