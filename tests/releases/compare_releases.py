"""Run by test_next_release in an installation that has another release: what differs between two releases in what is
said about the examples of the rules and about the fixtures. Prints how many were compared, and how many rules spoke."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from krmfn.releases.release import find_release
from tests.checks.cases import CHECKED, find_all, read_case
from tests.front_door import ROOT, call


def compare(old: str, new: str) -> int:
    rules: set[str] = set()
    examples = fixtures = 0
    for rule in CHECKED:
        case = read_case(rule, "bad")
        if case.settings.release.name not in (old, new):
            continue
        told = [
            sorted(finding.rule for finding in find_all(case._replace(settings=case.settings._replace(release=each))))
            for each in (find_release(old), find_release(new))
        ]
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
            print(f"{path}:\n{out.decode()}")
            return 1
        rules.update(re.findall(r"rule: ([a-z0-9-]+)", out.decode()))
        fixtures += 1
    print(examples, fixtures, len(rules))
    return 0


if __name__ == "__main__":
    Path.cwd()
    sys.exit(compare(*sys.argv[1:]))
