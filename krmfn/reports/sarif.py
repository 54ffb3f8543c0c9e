"""Results as SARIF 2.1.0, the format that code scanning services read.

Source: OASIS "Static Analysis Results Interchange Format (SARIF) Version 2.1.0"; numbers in comments are its sections.
"""

from __future__ import annotations

from urllib.parse import quote

from krmfn import __version__
from krmfn.krm.results import Edit, FileRef, ResourceRef, Result
from krmfn.model.findings import Rule
from krmfn.model.values import Fields
from krmfn.releases.release import find_release, list_releases
from krmfn.reports import channels
from krmfn.reports.pages import read_page
from krmfn.reports.report import Report, describe, find_page, find_site, fingerprint, rule_id

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_LEVELS = {"error": "error", "warning": "warning", "info": "note"}  # 3.27.10: there is no level "info"


def render(report: Report) -> str:
    """A log with one run; its rules are those that were found, with the help of their rows."""
    ids = sorted({rule_id(result) for result in report.results} - {""})
    places = {id_: number for number, id_ in enumerate(ids)}
    prints = fingerprint(report.results)
    run = {
        "tool": {
            "driver": {
                "name": "krmfn",
                "version": __version__,
                **({"informationUri": f"{find_site()}/"} if find_site() else {}),
                "rules": [_describe_rule(id_, report.rules.get(id_)) for id_ in ids],
            }
        },
        "columnKind": "unicodeCodePoints",
        "results": [
            _describe_result(result, places, print_) for result, print_ in zip(report.results, prints, strict=True)
        ],
    }
    return channels.json({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]})


def _describe_rule(id_: str, rule: Rule | None) -> Fields:
    described: Fields = {"id": id_} | ({"helpUri": find_page(id_)} if find_page(id_) else {})
    if rule is None:
        return described
    described["shortDescription"] = {"text": rule.sentence}
    sections = read_page(id_).sections
    why, fix = sections["What goes wrong"], sections.get("How to fix it")
    described["fullDescription"] = {"text": why}
    help_ = "\n\n".join(part for part in (rule.sentence, why, fix) if part)
    described["help"] = {"text": help_, "markdown": help_}
    described["defaultConfiguration"] = {"level": _LEVELS[rule.severity]}
    releases = (
        [release for release in list_releases() if rule.holds(find_release(release))]
        if rule.needs or rule.lacks
        else ()
    )
    described["properties"] = {"tags": [rule.stage, *(f"kubernetes-{release}" for release in releases)]}
    return described


def _describe_result(result: Result, places: dict[str, int], print_: str) -> Fields:
    described: Fields = {}
    rule, hint = rule_id(result), result.tags.get("hint", "")
    if rule:
        described |= {"ruleId": rule, "ruleIndex": places[rule]}
    described["level"] = _LEVELS[result.severity]
    words = channels.line(describe(result)) + (f"\n{channels.line(hint)}" if hint else "")
    described["message"] = {"text": words}
    location: Fields = {}
    if result.file and result.file.path:
        location["physicalLocation"] = _locate(result.file)
    if result.ref or result.path:
        location["logicalLocations"] = [_locate_object(result.ref, result.path)]
    if location:
        described["locations"] = [location]
    described["partialFingerprints"] = {"krmfnFinding/v1": print_}
    if result.edit and result.file and result.file.path:
        described["fixes"] = [_describe_fix(result.file, result.edit, hint)]
    extra = {key: value for key, value in result.tags.items() if key not in {"rule", "hint"}}
    if extra:
        described["properties"] = extra
    return described


def _describe_fix(file: FileRef, edit: Edit, hint: str) -> Fields:
    region = {
        "startLine": edit.line,
        "startColumn": edit.column,
        "endLine": edit.end_line,
        "endColumn": edit.end_column,
    }
    replacement = {"deletedRegion": region, "insertedContent": {"text": edit.text}}
    return {
        "description": {"text": hint or "Write the proposed value"},
        "artifactChanges": [{"artifactLocation": {"uri": _uri(file.path)}, "replacements": [replacement]}],
    }


def _locate(file: FileRef) -> Fields:
    place: Fields = {"artifactLocation": {"uri": _uri(file.path)}}
    if file.line:
        place["region"] = {"startLine": file.line} | ({"startColumn": file.column} if file.column else {})
    return place


def _locate_object(ref: ResourceRef | None, path: str) -> Fields:
    """The field, or the object itself: `fullyQualifiedName` is `Kind.group/namespace/name#path` (3.33.5)."""
    if ref is None:
        return {"fullyQualifiedName": path, "kind": "member"}
    kind = f"{ref.kind}.{ref.group}" if ref.group else ref.kind
    name = "/".join(part for part in (kind, ref.namespace, ref.name) if part)
    return {
        "name": path or ref.name,
        "fullyQualifiedName": f"{name}#{path}" if path else name,
        "kind": "member" if path else "object",
    }


def _uri(path: str) -> str:
    """A relative reference for a relative path, `file://…` for an absolute one (3.4.3)."""
    try:
        data = path.encode("utf-8", "surrogateescape")  # the bytes of the name, whatever they are
    except UnicodeEncodeError:  # a name that no file can have, out of an annotation
        data = path.encode("utf-8", "surrogatepass")
    if path.startswith("/"):
        return "file://" + quote(data)
    # A colon in the first segment would read as a scheme.
    return quote(data.removeprefix(b"./"), safe="/")
