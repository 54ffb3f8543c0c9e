"""Run by test_next_release in an installation that has another release: what differs between two releases in what is
said about the examples of the rules and about the fixtures. Prints how many were compared, and how many rules spoke."""

from __future__ import annotations

import re
import sys
from difflib import unified_diff

from krmfn.convert.board import Board
from krmfn.convert.fitting import respell
from krmfn.releases.release import GROUP, find_release
from tests.checks.cases import CHECKED, SHOWN, Case, find_all, read_case, run
from tests.front_door import ROOT, call


def in_release(case: Case, name: str) -> Case:
    return case._replace(settings=case.settings._replace(release=find_release(name)))


def compare(old: str, new: str) -> int:
    rules: set[str] = set()
    examples = fixtures = 0
    for rule in CHECKED:
        case = read_case(rule, "bad")
        if case.settings.release.name not in (old, new):
            continue
        told = [sorted(finding.rule for finding in find_all(in_release(case, each))) for each in (old, new)]
        if told[0] != told[1]:
            print(f"{rule}: {told}")
            return 1
        rules.update(told[0])
        examples += 1
    for path in sorted((ROOT / "fixtures").rglob("*.yaml")):
        golden = ROOT / "golden" / path.relative_to(ROOT / "fixtures").with_suffix(".out")
        if not golden.exists() or b"version:" in path.read_bytes() or path.parts[-3] not in ("accept", "reject"):
            continue
        wanted = golden.read_bytes()
        if b"groups-nested" in wanted:
            continue  # the longer lists have room for them
        out = call(path.read_bytes()).out.replace(new.encode(), old.encode())
        if out != wanted:
            print(f"{path} differs from its golden file, of the default release: see tests/test_goldens.py")
            lines = wanted.decode().splitlines(), out.decode().splitlines()
            print(*unified_diff(*lines, "golden", new, lineterm="", n=1), sep="\n")
            return 1
        rules.update(re.findall(r"rule: ([a-z0-9-]+)", out.decode()))
        fixtures += 1
    print(examples, fixtures, len(rules))
    return 0


def compare_words(old: str, new: str) -> int:
    """The same where `new` calls everything otherwise, with the examples in its words: what is told, at fields that
    the objects have."""
    examples, words = 0, find_release(new).names
    for rule in SHOWN:
        case = read_case(rule, "bad")
        if case.settings.release.name not in (old, new) or case.command != "validate" or rule in OF_THE_TEXT:
            continue
        told = sorted(result.tags["rule"] for result in run(in_release(case, old)))
        case = read_case(rule, "bad")
        for items in (case.items, case.old or []):
            respell(Board(items, find_release(new)), find_release(new), [find_release(old)])
        results = run(in_release(case, new))
        fields = {part for one in results if one.ref and one.ref.group == GROUP for part in re.split(r"[.[]", one.path)}
        if told != sorted(result.tags["rule"] for result in results) or words.keys() & fields:
            print(f"{rule}: {told} {[(result.tags['rule'], result.path) for result in results]}")
            return 1
        examples += 1
    print(examples)
    return 0


#: How a value is written is gone once it is respelled; the list is longer; the mode of Jobs is none of groups; a
#: mistyped word is near one of the old release; an object of a version that nobody serves keeps its words.
OF_THE_TEXT = {
    *("ambiguous-scalar", "duplicate-field", "merged-key-set-twice", "max-items", "all-needs-gang"),
    *("unknown-field", "version-not-served"),
}


if __name__ == "__main__":
    sys.exit((compare_words if "words" in sys.argv else compare)(*sys.argv[1:3]))
