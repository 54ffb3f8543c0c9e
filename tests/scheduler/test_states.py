"""What `krmfn why` says of gangs in every state that keeps them from running, as real control planes show them."""

from __future__ import annotations

import json
import lzma
import re
from pathlib import Path
from typing import Any

import pytest

from conformance.live.dumps import STATES, list_states
from conformance.scheduler.made.scenario import RECORDED
from tests.docs.pages import matches, read_page
from tests.docs.sessions import ROOT
from tests.scheduler.inside import krmfn

#: State -> how many of how many pods have a node, the rule, and words of the cause.
CAUSES = {
    "whole": ("3 of 3", "", ""),
    "suspended": ("0 of 3", "", "Job g is suspended"),
    "room that another pod holds": ("0 of 4", "", "0/2 nodes are available: 2 Insufficient cpu"),
    "a scheduling gate": ("0 of 3", "", "carries the scheduling gate example.com/wait"),
    "a namespace that enforces restricted pods": ("0 of 3", "pod-refused", "allowPrivilegeEscalation != false"),
    "quota on pods below the gang": ("0 of 3", "quota-too-small", "needs 3 pods, the ResourceQuota quota allows 2"),
    "LimitRange with a maximum below the requests": ("0 of 3", "pod-refused", "less than or equal to cpu limit of 1"),
    "pods of another class than the group": ("0 of 3", "priority-not-groups", "the pods have high"),
    "a claim that does not exist": ("0 of 3", "claim-without-volume", 'persistentvolumeclaim "nowhere" not found'),
    "a selector that no node has": ("0 of 3", "no-node-for-pod", "didn't match Pod's node affinity/selector"),
    "more pods than there are": ("0 of 3", "min-count-above-pods", "minCount is 4, but only 3 pods can exist"),
    "all nodes together too small": ("0 of 9", "nodes-too-small", "needs 18 cpu at once"),
    "another scheduler": ("0 of 3", "", "names the scheduler other, which has not tried to place it"),
    "a link to a group that does not exist": ("0 of 3", "group-missing", "other"),
    "a parent that does not exist": ("0 of 3", "parent-missing", 'the parent "root" is not in the data'),
    "more children than there are": ("0 of 3", "min-group-count-above-children", "minGroupCount is 2"),
    "a priority by hand": ("0 of 3", "pod-refused", "the integer value of priority (100) must not be provided"),
}


def list_dumps() -> list[Any]:
    """Every state of every release: release, name and objects."""
    rows = []
    for release in RECORDED:
        for line in lzma.decompress((STATES / f"{release}.jsonl.xz").read_bytes()).decode().splitlines():
            row = json.loads(line)
            rows.append(pytest.param(release, row["state"], row["items"], id=f"{release} {row['state']}"))
    return rows


@pytest.mark.parametrize(("release", "state", "items"), list_dumps())
def test_why_names_the_cause(release: str, state: str, items: list[Any], tmp_path: Path) -> None:
    dump = tmp_path / "dump.json"
    dump.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    done = krmfn("why", "job/ml/g", "--cluster", str(dump), "--prove", "--kubernetes", release, "-o", "json")
    answer = json.loads(done.stdout)
    placed, rule, words = CAUSES[state]
    assert answer["state"].startswith(placed)
    assert words in (answer["cause"] or "")
    assert (answer["rule"] or "") == rule
    assert (answer["well"], bool(answer["change"])) == (not words, bool(words))


@pytest.mark.parametrize("release", RECORDED)
def test_every_state_is_recorded(release: str) -> None:
    named = [row.values[1] for row in list_dumps() if row.values[0] == release]
    assert named == [name for name, _ in list_states(release)]
    assert set(named) <= CAUSES.keys()


def test_the_page_shows_what_is_printed(tmp_path: Path) -> None:
    """The page calls the Job train."""
    items = next(row.values[2] for row in list_dumps() if row.values[:2] == ("1.37", "quota on pods below the gang"))
    dump = tmp_path / "dump.json"
    dump.write_text(re.sub(r'"g(?=[-"\\])', '"train', json.dumps({"apiVersion": "v1", "kind": "List", "items": items})))
    printed = krmfn("why", "job/ml/train", "--cluster", str(dump), "--prove").stdout
    shown = next(block.text for block in read_page(ROOT / "docs/how-to/why.md").blocks if block.language == "text")
    assert matches(shown, printed), printed
