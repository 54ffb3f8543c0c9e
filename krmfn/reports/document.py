"""Results as one document: `{"results": [...], "summary": {"error": 1, "warning": 0, "info": 2}}`, as JSON or YAML.

A result has the shape of the KRM Functions Specification; `edit` is ours.
"""

from __future__ import annotations

import json
import re
from typing import Any

import yaml

from krmfn.reports import channels
from krmfn.reports.ordering import count
from krmfn.reports.report import Report

# Strings that every YAML reader of a Kubernetes pipeline takes for a string when they stand without quotes.
_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_./-]*\Z")
_WORDS = frozenset(["y", "n", "yes", "no", "on", "off", "true", "false", "null", "nan", "inf", "none"])


def render_json(report: Report) -> str:
    """The document as indented JSON."""
    return channels.json(_document(report))


def render_yaml(report: Report) -> str:
    """The document as YAML without anchors; every string that some reader could take for something else is quoted."""
    return write_yaml(_document(report))


def write_yaml(document: dict[str, Any]) -> str:
    """Any document as such YAML."""
    plain = json.loads(json.dumps(document, default=str))
    return channels.yaml(yaml.dump(plain, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=2**31))


def _document(report: Report) -> dict[str, Any]:
    results = [
        {**result.to_json(), **({"edit": result.edit.to_json()} if result.edit else {})} for result in report.results
    ]
    part = {"shard": dict(report.part)} if report.part else {}
    return {"results": results, "summary": count(report.results), **part}


class _Dumper(yaml.SafeDumper):
    def ignore_aliases(self, data: Any) -> bool:
        return True


def _represent_text(dumper: _Dumper, text: str) -> yaml.ScalarNode:
    plain = _PLAIN.match(text) and text.lower() not in _WORDS
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=None if plain else '"')


_Dumper.add_representer(str, _represent_text)
