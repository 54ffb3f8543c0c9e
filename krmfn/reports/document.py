"""Results as one document: `{"results": [...], "summary": {"error": 1, "warning": 0, "info": 2}}`, as JSON or YAML.

A result has the shape of the KRM Functions Specification; `edit` is ours.
"""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any

from krmfn.krm.writing import is_plain, write_scalar
from krmfn.model.values import Fields
from krmfn.reports import channels
from krmfn.reports.report import Report, count


def render_json(report: Report) -> str:
    """The document as indented JSON."""
    return channels.json(_document(report))


def render_yaml(report: Report) -> str:
    """The document as YAML without anchors; every string that some reader could take for something else is quoted."""
    return write_yaml(_document(report))


def write_yaml(document: Fields) -> str:
    """Any document as such YAML."""
    pieces: list[str] = []
    _Writer(document).write(document, "", pieces)
    return "".join([*pieces, "\n"])


def _document(report: Report) -> Fields:
    results = [
        {**result.to_json(), **({"edit": result.edit.to_json()} if result.edit else {})} for result in report.results
    ]
    part = {"shard": dict(report.part)} if report.part else {}
    return {"results": results, "summary": count(report.results), **part}


class _Writer:
    """Writes a value. What is in it more than once, being the same object, is spelled once for each indentation."""

    def __init__(self, document: object) -> None:
        seen: set[int] = set()
        self._shared: set[int] = set()
        waiting = [document]
        while waiting:
            value = waiting.pop()
            if isinstance(value, dict | list | tuple):
                if id(value) in seen:
                    self._shared.add(id(value))
                    continue
                seen.add(id(value))
                waiting += value.values() if isinstance(value, dict) else value
        self._known: dict[tuple[int, str], str] = {}

    def write(self, value: Any, margin: str, into: list[str]) -> None:
        """Adds the pieces of a value that is not empty in block form, the first line without its margin."""
        if id(value) not in self._shared:
            self._write_block(value, margin, into)
            return
        key = (id(value), margin)
        if key not in self._known:
            pieces: list[str] = []
            self._write_block(value, margin, pieces)
            self._known[key] = "".join(pieces)
        into.append(self._known[key])

    def _write_block(self, value: Any, margin: str, into: list[str]) -> None:
        start = ""
        if not isinstance(value, dict):
            for child in value:
                if isinstance(child, dict | list | tuple) and child:
                    into.append(f"{start}- ")
                    self.write(child, margin + "  ", into)
                else:
                    into.append(f"{start}- {_spell(child)}")
                start = "\n" + margin
            return
        for key, child in value.items():
            name = _spell_text(key if isinstance(key, str) else json.dumps(key))
            if isinstance(child, dict | list | tuple) and child:
                inner = margin + "  " if isinstance(child, dict) else margin
                into.append(f"{start}{name}:\n{inner}")
                self.write(child, inner, into)
            else:
                into.append(f"{start}{name}: {_spell(child)}")
            start = "\n" + margin


def _spell(value: Any) -> str:
    if isinstance(value, str):
        return _spell_text(value)
    if isinstance(value, dict | list | tuple):
        return "{}" if isinstance(value, dict) else "[]"
    try:
        text = write_scalar(value)
    except ValueError:
        return _spell_text(str(value))
    return text.replace("e", ".0e") if isinstance(value, float) and "." not in text else text  # in YAML 1.1 a number


@lru_cache(1 << 14)
def _spell_text(text: str) -> str:
    return text if is_plain(text) else channels.yaml(json.dumps(text, ensure_ascii=False))
