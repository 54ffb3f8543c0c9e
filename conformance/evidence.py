"""Where each rule fired, or who says that users meet what it finds: counts as data, and their page.

`python -m conformance evidence` writes `evidence.json` and the page. It counts again what is in the repository:
recorded answers, live scenarios, tests, golden files, sources. Folders that it is given are public repositories: their
counts replace those of the same name; all others keep theirs, so nobody needs their files.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import yaml

from conformance.compare import APPLIES
from conformance.offline import Unanswered, answer, answer_apply
from conformance.storage import Record, read_records
from conformance.versions import HERE, Profile, read_profiles
from krmfn.model.rules import RULES

ROOT = HERE.parent
COUNTS = HERE / "evidence.json"
PAGE = ROOT / "docs" / "evidence.md"
_LINK = re.compile(r"\((https?://[^)\s]+)\)")
_ISSUE = re.compile(r"github\.com/[^/]+/[^/]+/(issues|pull|discussions)/\d+")
_CODE = re.compile(r"github\.com/[^/]+/[^/]+/(tree|blob)/")
_DOCUMENT = re.compile(r"\.md(#|$)|/(docs|site|keps)/")
_NAMED = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)+|(?<=\[)[a-z]+(?=\])")
#: Tests that list rules and plant nothing.
_LISTS = ("test_evidence.py", "test_golden_coverage.py", "test_severities.py", "test_words.py")

#: What counts as evidence, in the order of the page: the key in the file, the head of the column.
COLUMNS: Mapping[str, str] = {
    "repositories": "repositories",
    "recorded": "recorded answers",
    "live": "live",
    "planted": "planted",
    "tests": "tests",
    "golden": "golden files",
    "observed": "observed",
    "issues": "issues",
    "documents": "documents",
}
INTRODUCTION = """\
<!-- Made by `python -m conformance evidence` from conformance/evidence.json. -->

# Evidence of the rules

Every rule must have fired somewhere other than in the example on its own page, or have a source which says that users
meet the problem. A test checks this.

| column | what is counted |
|---|---|
| repositories | public repositories in which `krmfn validate` reports the rule, of {repositories}: {names} |
| recorded answers | answers of real API servers in which the rule is a cause of the refusal, of {records} |
| live | lines of [the live proof](live.md) that name the rule: real schedulers and controllers behaved as claimed |
| planted | incidents and defects of people who knew no rule, planted in a running gang (`tests/scheduler/defects`) |
| tests | files of tests that plant the defect and name the rule |
| golden files | recorded outputs that report the rule |
| observed | whether the sources say on which real release or operator the behaviour was observed |
| issues | issues and pull requests of other projects, as sources of the rule or as test cases |
| documents | documentation and enhancement proposals among the sources |

A blank cell is 0. [More public repositories](public-repositories.md) were measured, without counts by rule.

## Rules

"""


class Evidence(NamedTuple):
    """`folders` are public repositories: how often each rule was found there. `counts` are by column and rule."""

    folders: Mapping[str, Mapping[str, int]]
    records: int
    counts: Mapping[str, Mapping[str, int]]

    def of(self, rule: str) -> dict[str, int]:
        """What there is for a rule, by column; columns without anything are left out."""
        found = {column: self.counts.get(column, {}).get(rule, 0) for column in COLUMNS}
        found["repositories"] = sum(rule in rules for rules in self.folders.values())
        return {column: number for column, number in found.items() if number}


def read_evidence() -> Evidence:
    return Evidence(**json.loads(COUNTS.read_text()))


def run(folders: Sequence[str]) -> int:
    """Counts again, writes both files; 1 when a rule has no evidence."""
    counted = count_evidence(read_evidence(), folders)
    COUNTS.write_text(write_counts(counted))
    PAGE.write_text(write_page(counted))
    bare = [rule for rule in RULES if not counted.of(rule)]
    print("\n".join(f"{rule}: no evidence but its own example" for rule in bare))
    return int(bool(bare))


def count_evidence(before: Evidence, folders: Sequence[str]) -> Evidence:
    """`folders` are the top folders of public repositories."""
    from conformance.repositories import survey_repository

    surveys = [survey_repository(folder, None) for folder in folders]
    found = {each.name: Counter(dict.fromkeys(RULES, 0)) for each in surveys}
    for each in surveys:
        for (_, rule), number in each.found.items():
            found[each.name][rule] += number
    total, recorded = count_recorded()
    counts = {"recorded": recorded, **count_files()}
    folders_now = {**before.folders, **{name: +rules for name, rules in found.items()}}
    return Evidence(dict(sorted(folders_now.items())), total, counts)


def count_files() -> dict[str, Mapping[str, int]]:
    """What the files of the repository say: everything but the recorded answers and the public repositories."""
    issues, documents, observed = Counter[str](), Counter[str](), Counter[str]()
    for rule in RULES:
        sources = (ROOT / "docs" / "rules" / f"{rule}.md").read_text().partition("## Sources")[2]
        links = _LINK.findall(sources)
        observed[rule] = sources.lower().count("observed ")
        issues[rule] = sum(bool(_ISSUE.search(link)) for link in links)
        documents[rule] = sum(
            not _ISSUE.search(link) and bool(not _CODE.search(link) or _DOCUMENT.search(link)) for link in links
        )
    told = [case for path in (ROOT / "tests" / "issues").glob("*.yaml") for case in yaml.safe_load(path.read_text())]
    issues.update(rule for case in told for rule in set(case["told"]))
    planted = Counter[str]()
    for path in (ROOT / "tests" / "scheduler" / "defects").glob("*.yaml"):
        cases = yaml.safe_load(path.read_text())
        for case in cases if isinstance(cases, list) else ():
            planted.update((case["rule"], *case.get("also", ())) if case.get("rule") in RULES else ())
    live = (ROOT / "docs" / "live.md").read_text().splitlines()
    tests = (path.read_text() for path in sorted((ROOT / "tests").rglob("*.py")) if path.name not in _LISTS)
    golden = (path.read_text() for path in sorted((ROOT / "golden").rglob("*")) if path.is_file())
    return {
        "live": Counter(rule for line in live for rule in _find_named(line)),
        "planted": Counter({rule: number for rule, number in planted.items() if rule in RULES}),
        "tests": Counter(rule for text in tests for rule in _find_named(text)),
        "golden": Counter(rule for text in golden for rule in _find_named(text)),
        "observed": +observed,
        "issues": +issues,
        "documents": +documents,
    }


def _find_named(text: str) -> set[str]:
    """The rules that a text names: ids of one word only in brackets, `required` is a word of other things too."""
    return {word for word in _NAMED.findall(text) if word in RULES}


def count_recorded() -> tuple[int, Mapping[str, int]]:
    """How many recorded answers there are, and in how many each rule is a cause."""
    profiles, total, found = read_profiles(), 0, Counter[str]()
    for path in sorted((HERE / "data").glob("*/*.jsonl.xz")):
        for record in read_records(path):
            if "verdict" in record and record.get("profile") in profiles:
                total += 1
                found.update(_find_causes(profiles[record["profile"]], record))
    return total, found


def _find_causes(profile: Profile, record: Record) -> Iterable[str]:
    """The rules of an answer and of the applies of the same change."""
    found = set[str]()
    for way in ("", *(way for way in APPLIES if way in record)):
        try:
            verdict = answer_apply(profile, record, APPLIES[way]) if way else answer(profile, record)
        except Unanswered:
            continue
        found |= {cause.rule for cause in verdict.causes if cause.rule in RULES}
    return found


def write_counts(evidence: Evidence) -> str:
    counts = {name: dict(sorted(rules.items())) for name, rules in evidence.counts.items()}
    folders = {name: dict(sorted(rules.items())) for name, rules in evidence.folders.items()}
    value: Mapping[str, Any] = {"folders": folders, "records": evidence.records, "counts": counts}
    return json.dumps(value, indent=1) + "\n"


def write_page(evidence: Evidence) -> str:
    """The page, from the counts alone."""
    head = INTRODUCTION.format(
        repositories=len(evidence.folders), names=", ".join(evidence.folders), records=f"{evidence.records:,}"
    )
    return head + "\n".join(_list_rows(evidence)) + "\n"


def _list_rows(evidence: Evidence) -> Iterator[str]:
    yield f"| rule | stage | {' | '.join(COLUMNS.values())} |"
    yield "|---" * (len(COLUMNS) + 2) + "|"
    for id, rule in RULES.items():
        found = evidence.of(id)
        cells = (f"{found[column]:,}" if column in found else "" for column in COLUMNS)
        yield f"| [{id}](rules/{id}.md) | {rule.stage} | {' | '.join(cells)} |"
