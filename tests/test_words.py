"""What people read is plain English: no turn of phrase that had to be read twice, in messages, help, pages and docs."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from krmfn.model.rules import RULES
from krmfn.releases.release import list_releases
from krmfn.reports.pages import read_page

ROOT = Path(__file__).parents[1]
#: What was written, and what to write instead.
BANNED = {
    r"\bfor ever\b": "never scheduled, never starts, forever",
    r"(?<!there )\b(is|are) no (?!longer\b|more\b)": "is not a",
    r"\bask(s|ed)? for\b": "needs, sets, opts in, requests",
    r"\b(holds|held) (back|room|it|them|a|an|no|the|its|\d)\b": "contains, has, uses, delays",
    r"\bno word for\b": "does not exist in",
    r"\banew\b": "again",
    r"\bwithout a word\b": "silently",
    r"\b(which|that) the input does not\b": "not in the files checked",
    r"\bSwitch .{1,60} (on|off)\b": "Turn … on",
    r"\b([a-z]{2,}) \1\b": "the word once",
    r"\bis found beside\b": "reports the same",
    r"\b(it )?is (only )?said\b": "reports, shows",
    r"\b(is|are) told\b": "is reported, knows, gets",
    r"\b(is|are) mended\b|\bmends?\b": "fixes, repairs",
    r"\bwholly\b|\bthereby\b|\banyhow\b": "completely, and so, a shorter sentence",
    r"\bgives what\b": "prints, its output",
    r"\b(stand|stands) (in|there|by|where|on|for)\b": "is, exists, are, mean",
    r"\b(of|by) (its|their|your) own\b(?! \w)": "a separate …, your …",
    r"\b(left|stays?) as (it is|they are)\b": "unchanged",
    r"\bin parts\b": "incomplete",
    r"\b(is|are) made\b(?! of| up)": "is created",
    r"\bjudge[sd]?\b": "checks, validates",
    r"\bwhat (it|they|krmfn|kubectl|kustomize) (prints?|gives?|has|says?)\b": "the output of, the data of",
    r"\bmakes? ((a|an|no|its|the|separate) )?(gangs?|groups|(a |no |its )(pod)?group|secret|pods)\b"
    r"(?! (smaller|or its|small|finish|wait|a gang|impossible))": "creates",
    r"\bonce for (a|the) cluster\b": "once per cluster",
    r"(?<!there )\b(is|are) (?-i:none)\b": "is not one",
    r"\bwould say of\b": "would treat",
}
#: Whole phrases that readers stumbled over once: they come back nowhere, in no comment, page, message or golden either.
GONE = (
    *("is expected on stdin", "which the input does not hold", "no word for", "cannot be checked without facts"),
    *("put what kubectl get", "in the input is for it", "memory: they fit on any node", "2 members again, but"),
    *("says how the gang is formed", "nothing asks for", "pods of one count for the other", "running pods stay…"),
    *("cannot be read as the time", "is none of the values that", "exclude each other none", "stands without a gang"),
    *("name is no dns label", "group's size is taken from them", "see the message.", "stays outside the gang"),
    *("not the one that it is sent to", "release that gets the manifests", "needed are on", "what they stand for"),
    *("what kustomize allows them", "have their last form there", "one gated pod holds all"),
)
NUMBER = re.compile(rf"(?<![\d.v])({'|'.join(map(re.escape, list_releases()))})(?!\d)")
MODULES = sorted((ROOT / "krmfn").rglob("*.py"))
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md")), *sorted(ROOT.glob("examples/*/README.md"))]
#: Examples to copy, what pre-commit shows of a hook, the developer's commands, images and the site.
OTHERS = [
    *(ROOT / name for name in (".pre-commit-hooks.yaml", "dev", "Dockerfile", "mkdocs.yml", "pyproject.toml")),
    *sorted(path for path in (ROOT / "examples").rglob("*") if path.suffix in (".yaml", ".yml", ".py", ".sh", ".json")),
]
_CODE = re.compile(r"^ *```.*?^ *```|`[^`\n]*`", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"^\* .*https?://.*$", re.MULTILINE)
#: Sources that are no texts: what real clusters did.
_OBSERVED = re.compile(r"observed |decisions of Kubernetes", re.IGNORECASE)


def find_banned(text: str) -> list[str]:
    """The banned phrases in a text, each with what to write."""
    found = [(match[0], instead) for bad, instead in BANNED.items() for match in re.finditer(bad, text, re.IGNORECASE)]
    return [f"{phrase!r}: write {instead}" for phrase, instead in found]


def list_texts(path: Path) -> Iterator[tuple[int, str]]:
    """The string literals of a module that may be read by people, with their lines; no docstrings."""
    tree = ast.parse(path.read_text())
    docs = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            parts = [part.value if isinstance(part, ast.Constant) else "…" for part in node.values]
            yield node.lineno, "".join(map(str, parts))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs:
            yield node.lineno, node.value


@pytest.fixture(scope="module")
def texts() -> list[tuple[str, str]]:
    """Each text of the code, with its place."""
    return [(f"{path}:{line}", text) for path in MODULES for line, text in list_texts(path)]


def test_messages(texts: list[tuple[str, str]]) -> None:
    assert [(place, text, bad) for place, text in texts for bad in find_banned(text)] == []


def test_no_message_shows_the_name_of_a_variable(texts: list[tuple[str, str]]) -> None:
    """A text with `{member.kind}` is meant to be filled in: it lacks its f."""
    assert [(place, text) for place, text in texts if re.search(r"\{[a-z_]+\.[a-z_.]+\}", text)] == []


def test_no_text_names_a_release(texts: list[tuple[str, str]]) -> None:
    """A number in a text is wrong under the next release: name `settings.release`, or `first_release(feature)`.
    `v1.37.2` only shows how a version is spelled."""
    assert [(place, text) for place, text in texts if NUMBER.search(text)] == []


def test_ways_out() -> None:
    assert find_banned((ROOT / "schemas/ways.json").read_text()) == []


def test_texts_of_rules() -> None:
    for rule in RULES.values():
        cases = [text for case in rule.cases.values() for text in case.values()]
        for text in (rule.sentence, rule.message, rule.hint, *cases):
            assert (rule.id, find_banned(re.sub(r"\{[^{}]*\}", "…", text))) == (rule.id, [])
            assert not NUMBER.search(text), rule.id


def test_pages() -> None:
    banned = {path: find_banned(_CODE.sub("`…`", path.read_text())) for path in PAGES}
    assert {path: found for path, found in banned.items() if found} == {}


def test_other_files_that_people_read() -> None:
    commands = re.compile(r"^.*\b(COPY|run --rm|rendered rendered)\b.*$", re.MULTILINE)
    banned = {path: find_banned(commands.sub("", path.read_text())) for path in OTHERS}
    assert {path: found for path, found in banned.items() if found} == {}


def test_phrases_that_are_gone_stay_away() -> None:
    texts = [*MODULES, *PAGES, *OTHERS, *sorted(path for path in (ROOT / "golden").rglob("*") if path.is_file())]
    spelled = {path: " ".join(path.read_text(errors="replace").lower().split()) for path in texts}
    found = {(path, phrase) for path, text in spelled.items() for phrase in GONE if phrase in text}
    assert found == set()


def test_the_schema_of_the_configuration() -> None:
    text = (ROOT / "schemas/krmfn/v1alpha1/gangscheduling.json").read_text()
    assert find_banned(text) == []


#: Rules about krmfn itself: its annotations, its configuration, what it generated, what it cannot read.
_OWN = (
    *("annotation-value", "annotation-without-gang", "convert-generate", "facts-missing", "gang-group-conflict"),
    *("generated-left-over", "generated-not-selected", "group-topology-unused", "ignore-unused", "kind-not-supported"),
    *("kind-passed-over", "min-count-for-groups", "not-rendered", "unknown-annotation", "unreadable"),
)


def test_sources_can_be_opened() -> None:
    """What a page refers to is a link, or what was observed in a real cluster. Who says something about a cluster or
    another program refers to something."""
    for rule in RULES:
        entries = [line for line in read_page(rule).sections.get("Sources", "").splitlines() if line.startswith("* ")]
        assert bool(entries) != (rule in _OWN), rule
        assert [line for line in entries if not _LINK.match(line) and not _OBSERVED.search(line)] == []


def test_what_is_banned_is_found() -> None:
    text = "The name is no label, but but the pods wait for ever: the group, which the input does not hold, asks for 4."
    assert len(find_banned(text)) == 5
    assert find_banned("There is no file; it is no longer needed; the pods are never scheduled.") == []


GOLDENS = sorted((ROOT / "golden").rglob("*.err"))
_SUBJECT = re.compile(r"(?:error|warning|info): ([A-Z]\w+ [\w./-]+)(?: [\w.\[\]/-]+)?: \1\b")


def test_no_message_repeats_its_subject() -> None:
    """Every report prints the object before the message."""
    assert len(GOLDENS) > 100
    lines = [line for path in GOLDENS for line in path.read_text().splitlines()]
    assert [line for line in lines if _SUBJECT.search(line)] == []
    assert _SUBJECT.search("a.yaml:1:1: error: Job ml/a spec.b[0]: Job ml/a has too many [rule]")
