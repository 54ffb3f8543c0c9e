"""Compares the offline checker's answers with recorded ones and groups what disagrees.

Agreement means: the same HTTP code, the same set of (reason, field), the same texts where they are deterministic, and
the same warnings about metadata.
"""

from __future__ import annotations

import json
import re
import time
import traceback
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from conformance.offline import Unanswered, answer, answer_apply, answer_living
from conformance.storage import Record
from conformance.versions import Profile, read_profiles
from krmfn.server import Mode
from krmfn.server.spell import spell_path
from krmfn.server.strategy import STORED_UID
from krmfn.server.verdict import Verdict

REASONS = {
    "Required": "FieldValueRequired",
    "Invalid": "FieldValueInvalid",
    "NotSupported": "FieldValueNotSupported",
    "Duplicate": "FieldValueDuplicate",
    "Forbidden": "FieldValueForbidden",
    "TooMany": "FieldValueTooMany",
    "TooLong": "FieldValueTooLong",
    "NotFound": "FieldValueNotFound",
    "InternalError": "InternalError",
}
POD_WARNINGS = (
    'annotation "',
    "v1 Endpoints is deprecated",
    "endpoints[",
    "subsets[",
    "spec.",
    "template.",
    "metadata.annotations",
    'volume "',
)
#: Why a value is needed: servers with declarative rules do not say it any more.
DETAILS = re.compile(
    "^Required value: (verbs must contain at least one value|must be set and greater than 0"
    "|must contain at least 1 address)$"
)
#: What a server says because of what else it holds, or how it is set up; and of expressions, which are not compiled.
OF_CLUSTERS = (
    "provided port is", "configured on this cluster", "configured for dual-stack", "failed to allocate",
    "There is already", "value as indicated by", "compilation failed: ", "must evaluate to ",
)  # fmt: skip
#: Paths that lead nowhere, and those that are meant: users get the latter.
MISNAMED = {"metadata.taints[": "spec.taints[", "spec.attachedRequired": "spec.attachRequired"}
APPLIES: dict[str, Mode] = {"apply": "server-side-apply", "threeWay": "apply"}


class Disagreement(NamedTuple):
    """`group` says how: code, fields, texts, crash or unanswered."""

    group: str
    record: Record
    ours: Any
    theirs: Any


def compare_records(
    records: Iterable[Record], profiles: Mapping[str, Profile] | None = None
) -> tuple[list[Disagreement], int, float]:
    """(disagreements, answers compared, seconds in the checker). `profiles` are those of the list unless given."""
    profiles = profiles or read_profiles()
    found: list[Disagreement] = []
    count, spent = 0, 0.0
    for record in records:
        profile = profiles[record["profile"]]
        for way, verdict in read_answers(record):
            began = time.perf_counter()
            difference = compare_answer(profile, record, way, verdict)
            spent += time.perf_counter() - began
            count += 1
            if difference:
                found.append(difference)
    return found, count, spent


def read_answers(record: Record) -> Iterator[tuple[str, dict[str, Any]]]:
    """The main answer of a record, and those to applies that were made."""
    yield "", record["verdict"]
    for way in APPLIES:
        if way in record and "skipped" not in record[way]:
            yield way, record[way]
    for way in ("live.threeWay", "live.replace", "managed.apply"):
        state, _, manner = way.partition(".")
        if manner in record.get(state, ()):
            yield way, record[state][manner]


def compare_answer(profile: Profile, record: Record, way: str, verdict: dict[str, Any]) -> Disagreement | None:
    try:
        if "." in way:
            ours = answer_living(profile, record, way)
        else:
            ours = answer_apply(profile, record, APPLIES[way]) if way else answer(profile, record)
    except Unanswered as problem:
        return Disagreement(f"{way} unanswered {problem}", record, None, verdict)
    except Exception:  # a crash is a finding, too: it must not end the comparison
        return Disagreement(f"{way} crash", record, traceback.format_exc(limit=-3), verdict)
    if way.endswith("threeWay") and is_client_matter(record, verdict, ours):
        return None
    if any(text in verdict.get("message", "") for text in OF_CLUSTERS) and ours.code in (200, 201, verdict["code"]):
        return None
    if way.endswith("apply") and "Unicode" in verdict.get("message", ""):
        return None  # the body could not be sent as YAML
    difference = compare_verdicts(verdict, ours)
    if way.endswith("threeWay") and difference in ("texts", "warnings"):
        return None  # texts show lists that the patch has merged
    return Disagreement(f"{way} {difference}".strip(), record, describe(ours), verdict) if difference else None


def mean(field: str) -> str:
    """The path that is meant by one that leads nowhere."""
    return next((right + field[len(wrong) :] for wrong, right in MISNAMED.items() if field.startswith(wrong)), field)


def compare_verdicts(verdict: dict[str, Any], ours: Verdict) -> str:
    """What differs, or an empty string."""
    expected = verdict["code"]
    if ours.code != expected:
        return f"code {expected}, ours {ours.code}"
    if expected == 422:
        theirs = [{**cause, "field": mean(cause["field"])} for cause in verdict.get("causes", ())]
        if {(REASONS[cause.type], spell_path(cause.path)) for cause in ours.causes} != {
            (cause["reason"], cause["field"]) for cause in theirs
        }:
            return "fields"
        cut = {cause["field"] for cause in theirs if cause["message"].endswith("<cut>")}
        texts = {(spell_path(cause.path), clean(cause.message)) for cause in ours.causes}
        expected_texts = {(cause["field"], clean(cause["message"])) for cause in theirs}
        if any(field not in cut for field, _ in texts ^ expected_texts):
            return "texts"
    elif expected >= 300 and not tells_same(clean(verdict["message"]), clean(ours.message)):
        return f"text of {expected}"
    # Of what a server warns about the content of pods, the checker says nothing.
    warnings = tuple(text for text in verdict.get("warnings", ()) if not text.startswith(POD_WARNINGS))
    return "" if ours.warnings == warnings else "warnings"


def is_client_matter(record: Record, verdict: dict[str, Any], ours: Verdict) -> bool:
    """Whether what kubectl makes of a manifest decides, not the manifest.

    A patch is decoded by other rules than a body: large integers wrap, `1.0` is 1, null keys vanish, directives for
    lists hit fields that a gate took away, items with one key melt into one, and some patches cannot be computed. The
    checker says what a PUT says: the manifest is wrong anyway.
    """
    if is_patch(verdict) or "client" in verdict or ours.code in (400, 409):
        return True
    return verdict["code"] in (400, 409, 500) and not ours.accepted


def is_patch(verdict: Mapping[str, Any]) -> bool:
    """Whether the server could not read the object that a patch made: it then calls the whole patch invalid."""
    return any(cause["field"] == "patch" for cause in verdict.get("causes", ()))


def mask(text: str) -> str:
    """Cut as records are; what is not known yet is not shown."""
    if len(text) > 3000 and not text.endswith("<cut>"):
        text = text[:3000] + "…<cut>"
    return text.replace(STORED_UID, "<uid>").replace("<random>", "")


def clean(text: str) -> str:
    """Masked; internal spellings of objects (Go names, pointers) are not compared."""
    text = mask(text)
    if text.startswith("Forbidden: ") and ("pod updates may not change" in text or "immutable after creation" in text):
        text = text.split("\n")[0]  # what follows is a diff by a library that makes no promise
    if text.endswith(": field is immutable"):
        text = "Invalid value: null: field is immutable"  # which value is shown differs from rule to rule
    text = DETAILS.sub("Required value", text)
    start = re.match(r"(Invalid|Duplicate|Unsupported) value: (?=[\[{])", text)
    if not start:
        return text
    if text[start.end() :].startswith("{…}"):
        return f"{start[0]}{{}}{text[start.end() + 3 :]}"
    try:
        _, end = json.JSONDecoder().raw_decode(text, start.end())
    except ValueError:
        return text  # not JSON: what a text says of a union, or one that was cut
    return f"{start[0]}{{}}{text[end:]}"


def tells_same(theirs: str, ours: str) -> bool:
    """Whether both texts say the same. Of an apply the server reads each map in Go's order, which is no order, and only
    as far as the first field that it does not know: it tells one of those that we list."""
    if not theirs.startswith("failed to create typed patch object"):
        return theirs == ours
    return set(list_problems(theirs)) <= set(list_problems(ours))


def list_problems(text: str) -> list[str]:
    """The problems in a text about an apply, without Go's view of a wrong value."""
    text, cut, _ = text.partition("…<cut>")
    head, several, rest = text.partition("errors:\n")
    lines = [head + line.strip() for line in rest.split("\n  ")] if several else [head]
    found = [line.split(", got")[0] for line in lines]
    return found[:-1] if cut else found


def describe(ours: Any) -> Any:
    return {
        "code": ours.code,
        "message": ours.message[:1500],
        "causes": [f"{cause.type} {spell_path(cause.path)}: {cause.message}"[:300] for cause in ours.causes],
    }


def write_report(found: list[Disagreement], examples: int) -> Iterator[str]:
    """Lines: groups by size, some examples of each."""
    groups: dict[tuple[str, str, str], list[Disagreement]] = defaultdict(list)
    for each in found:
        groups[each.record["profile"], f"{each.record['kind']}.{each.record['operation']}", each.group].append(each)
    for (profile, subject, group), members in sorted(groups.items(), key=lambda row: -len(row[1])):
        yield f"## {len(members)} × {profile} {subject}: {group}"
        members.sort(key=lambda each: len(json.dumps(each.record)))
        for each in members[:examples]:
            record = each.record
            yield f"- {record['id']} `{record['category']}`"
            yield f"  sent:   {shorten(record.get('object', record.get('raw')))}"
            if "old" in record:
                yield f"  old:    {shorten(record['old'])}"
                yield f"  update: {shorten(record.get('update'))}"
            yield f"  server: {shorten(each.theirs)}"
            yield f"  ours:   {shorten(each.ours)}"


def shorten(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) < 1400 else f"{text[:1400]}…"
