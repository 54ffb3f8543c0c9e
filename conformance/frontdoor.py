"""Asks as a user does: `krmfn validate` on files, for what the servers were asked, and compares what it reports.

Compared are whether something is an error, and where the server names fields the set of (type, field): what stands
between the checker and the report (one finding for one mistake, placeholders, places of others) is compared, too.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from conformance.address import BUILT_IN
from conformance.compare import APPLIES, OF_CLUSTERS, REASONS, Disagreement, is_patch, mean, read_answers
from conformance.fixtures import PRIORITY_CLASSES, list_fixtures
from conformance.storage import Record
from conformance.versions import Profile
from krmfn.cli.entry import main

TYPES = {reason: type for type, reason in REASONS.items()}
#: The options of `--update`, by the way in which a change was recorded.
UPDATES = {"": "replace", **APPLIES}


#: Where a server tells of what the admission of service accounts has written into a pod.
OF_ACCOUNTS = ("spec", "")
#: The names of what the servers of 1.36 held.
HELD = ("train", "gang-pg", "basic-pg")


class Told(NamedTuple):
    """What a report says of an object: its errors of the stage server as (type, field), their messages, and the rules
    of all findings."""

    causes: frozenset[tuple[str, str]]
    messages: tuple[str, ...]
    rules: frozenset[str] = frozenset()


def can_be_asked(record: Record, way: str) -> bool:
    """Whether a user can send this: a manifest in a file. A PUT of the manifest carries the stored version alone."""
    if "raw" in record or "." in way or record["operation"] == "status" or not isinstance(record["object"], dict):
        return False
    if record["operation"] == "update" and not way:
        return bool(record["update"]["resourceVersion"]) and record["update"].get("carry", "none") == "none"
    return True


class Door:
    """`krmfn validate` over files in a folder."""

    def __init__(self, folder: Path, profile: Profile) -> None:
        """What every recorded server holds is among the facts, and in the input where a manifest could hold it."""
        self.folder, self.profile = folder, profile
        classes = [{"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", **row} for row in PRIORITY_CLASSES]
        (folder / "cluster.yaml").write_text(yaml.safe_dump({"apiVersion": "v1", "kind": "List", "items": classes}))
        self.held = list_fixtures(profile) if profile.release.name == "1.36" else []
        gates = ",".join(f"{gate}=true" for gate in profile.gates)
        self.words = ["validate", "new.json", "-o", "json", "--stage", "server", "--cluster", "cluster.yaml"]
        self.words += ["--kubernetes", profile.release.name, "--feature-gates", gates]

    def ask(self, record: Record, way: str) -> Told:
        """What the report says of the object that a record sends."""
        words = self.words
        self._write("new.json", record["object"])
        if "old" in record:
            self._write("old.json", record["old"])
            words = [*words, "--against", "old.json", "--update", UPDATES[way]]
        out, aside = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.StringIO()
        before = os.getcwd()
        os.chdir(self.folder)
        try:
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(aside):
                code = main(words)
        finally:
            os.chdir(before)
        if code not in (0, 1):
            return Told(frozenset({("exit", str(code))}), (aside.getvalue(),))
        out.seek(0)
        return read_report(json.load(out), record["object"])

    def _write(self, name: str, value: Any) -> None:
        text = json.dumps({"apiVersion": "v1", "kind": "List", "items": [value, *self.held]})
        (self.folder / name).write_text(text)


def read_report(report: Mapping[str, Any], value: Mapping[str, Any]) -> Told:
    """The errors of a report about one object: it may name what the servers held, too."""
    metadata = value.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    errors = [
        each
        for each in report["results"]
        if each["severity"] == "error"
        and not (each.get("resourceRef", {}).get("name", "") in HELD and name not in HELD)
    ]
    causes = {(each["tags"].get("type", ""), spell(each.get("field", {}).get("path", ""))) for each in errors}
    rules = frozenset(str(each["tags"].get("rule")) for each in report["results"])
    return Told(frozenset(causes), tuple(each["message"] for each in errors), rules)


def spell(field: str) -> str:
    """A field in one spelling: servers write keys of maps in brackets, reports after a dot where they can."""
    return re.sub(r"""\[["']?([^\]\d"'][^\]"']*|)["']?\]""", r".\1", field)


def find_reason(record: Record, way: str, verdict: Mapping[str, Any], told: Told) -> str:
    """Why a report says something else on purpose; empty where there is no such reason."""
    body, said = record["object"], verdict.get("message", "")
    metadata = body.get("metadata") if isinstance(body.get("metadata"), dict) else {}
    if "value-unknown" in told.rules:
        return "a text that looks like a placeholder is not judged"
    if (
        not body.get("apiVersion")
        or body.get("kind") != record["kind"]
        or body.get("apiVersion") != BUILT_IN.get(record["kind"], body.get("apiVersion"))
    ):
        return "the address stands for the kind: kubectl does not send the file there"
    if "old" in record and any(
        metadata.get(key) != record["old"]["metadata"].get(key) for key in ("name", "namespace")
    ):
        return "another name or namespace is another object"
    if "old" in record and not way and metadata.get("resourceVersion") is not None:
        return "the stored version was sent in the place of that in the file"
    if re.search(r"cannot unmarshal number -?[\d.]+ ", said):
        return "a client writes 2.0 as 2"
    if re.search(r"pod rejected: RuntimeClass|PodGroup rejected: Workload", said):
        return "what is not in the files may be in the cluster"
    types = {type for type, _ in told.causes}
    if way == "threeWay" and (
        is_patch(verdict) or verdict["code"] in (400, 409, 500) or types & {"Decode", "Conflict"}
    ):
        return "what kubectl makes of a manifest that a PUT refuses"
    theirs = {(type, field): message for type, field, message in read_causes(verdict)}
    missing, more = theirs.keys() - told.causes, told.causes - theirs.keys()
    if record["kind"] == "Pod" and all(
        field in OF_ACCOUNTS or "serviceAccount" in field for _, field in missing | more
    ):
        return "the recorded servers had no ServiceAccount admission, which names an account and adds a volume"
    if verdict["code"] != 422 or more:
        return ""
    if metadata.get("generateName") and missing == {("Invalid", "metadata.name")}:
        return "a name that follows from generateName is told once"
    if ("Required", "spec.selector") in told.causes and all(field.endswith("metadata.labels") for _, field in missing):
        return "where there is no selector, no labels fit it"
    said = "; ".join(told.messages)
    if all(theirs[cause].rpartition('": ')[2] in said for cause in missing):
        return "what the server has filled in from another field is told once"
    return ""


def read_causes(verdict: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """The causes of a refusal: type, field and message."""
    for cause in verdict.get("causes", ()) if verdict["code"] == 422 else ():
        yield TYPES.get(cause["reason"], cause["reason"]), spell(mean(cause["field"])), cause["message"]


def compare_records(
    records: Iterable[Record], profiles: Mapping[str, Profile], folder: Path, reasons: Counter[str]
) -> Iterator[Disagreement | None]:
    """For each answer that a user can get: None, or what differs. `reasons` counts what differs on purpose."""
    doors: dict[str, Door] = {}
    for record in records:
        name = record["profile"]
        for way, verdict in read_answers(record):
            if not can_be_asked(record, way) or "client" in verdict:
                continue
            if any(text in verdict.get("message", "") for text in OF_CLUSTERS):
                continue
            if name not in doors:
                (folder / name).mkdir()
                doors[name] = Door(folder / name, profiles[name])
            told = doors[name].ask(record, way)
            difference = compare_told(verdict, told)
            reason = difference and find_reason(record, way, verdict, told)
            if reason:
                reasons[reason] += 1
            ours = {"causes": sorted(told.causes), "told": told.messages}
            yield (
                Disagreement(f"{way} {difference}".strip(), record, ours, verdict)
                if difference and not reason
                else None
            )


def compare_told(verdict: Mapping[str, Any], told: Told) -> str:
    """What differs between a server's answer and a report, or an empty string."""
    if verdict["code"] < 300:
        return "refused, and the server accepts it" if told.causes else ""
    if not told.causes:
        return f"accepted, and the server says {verdict['code']}"
    if verdict["code"] != 422:
        return ""
    theirs = {(type, field) for type, field, _ in read_causes(verdict)}
    counts = {"missing": len(theirs - told.causes), "more": len(told.causes - theirs)}
    return " and ".join(f"{number} {what}" for what, number in counts.items() if number)
