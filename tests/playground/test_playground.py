"""The playground in a real browser: what it answers, how fast, by keyboard, on a phone, for screen readers, and for
input that wants to run script. The browser is Debian's; browser.mjs drives it once through all scenarios."""

import functools
import http.server
import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from krmfn.model.rules import RULES
from playground.rules import find_symptoms
from tests.e2e.tools import CACHE, ROOT, require

Seen = dict[str, dict[str, Any]]
SCRIPT = Path(__file__).with_name("browser.mjs")


class Handler(http.server.SimpleHTTPRequestHandler):
    """Any web server's: files as they are."""

    extensions_map = {  # noqa: RUF012  # the class's own attribute
        **http.server.SimpleHTTPRequestHandler.extensions_map,
        ".mjs": "text/javascript",
        ".wasm": "application/wasm",
    }

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing."""


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where the page is served, built from this checkout."""
    require("npm", "apt-get install npm")
    site = tmp_path_factory.mktemp("site")
    built = subprocess.run(
        [sys.executable, ROOT / "playground" / "build.py", site], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert built.returncode == 0, built.stderr
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=str(site)))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


@pytest.fixture(scope="module")
def seen(address: str, tmp_path_factory: pytest.TempPathFactory) -> Seen:
    """What each scenario of browser.mjs saw, by its name."""
    chromium = require("chromium", "apt-get install chromium")
    modules = CACHE / "playground" / "node_modules"
    done = subprocess.run(
        ["node", SCRIPT, modules, address, tmp_path_factory.mktemp("pictures")],
        env={**os.environ, "CHROMIUM": chromium},
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    return {told["name"]: told for told in map(json.loads, done.stdout.splitlines())}


def take(seen: Seen, scenario: str) -> dict[str, Any]:
    told = seen[scenario]
    assert "failed" not in told, told["failed"]
    return told


def test_the_first_verdict_comes_soon_and_from_our_files_alone(address: str, seen: Seen) -> None:
    told = take(seen, "desktop")
    assert told["items"] == 8  # a Workload, a CompositePodGroup, three PodGroups with pods
    assert told["wrong"] == 0
    assert told["errors"] == []
    assert all(request.startswith((address, "data:")) for request in told["requests"]), told["requests"]
    assert not any(request.endswith("code.zip") for request in told["requests"])  # modules come with the memory
    assert told["verdict"] < 12_000  # 5 s on a quiet machine


def test_a_browser_without_the_memory_of_the_build_answers_as_well(seen: Seen) -> None:
    told = take(seen, "slow")
    assert told["items"] == 3
    assert told["status"].startswith("0 errors")


def test_a_keystroke_in_fifty_objects_is_answered_at_once(seen: Seen) -> None:
    told = take(seen, "typing")
    assert sorted(told["times"])[len(told["times"]) // 2] < 900, told["times"]  # 300 ms on a quiet machine
    assert "0 errors" in told["status"]


def test_three_thousand_objects_leave_the_page_usable(seen: Seen) -> None:
    told = take(seen, "large")
    assert told["told"].startswith("0 errors")
    assert told["blocked"] < 1_500  # 100 ms on a quiet machine
    assert told["elements"] < 6_000
    assert told["heap"] < 100
    assert told["memory"] < 1_000
    assert told["more"] == "2,800 more trees are not shown."
    assert told["status"].startswith("Not checked: 4.6 MB")
    assert "takes up to 4 MB" in told["status"]


def test_a_finding_leads_to_its_line(seen: Seen) -> None:
    told = take(seen, "finding")
    assert "must be greater than or equal to 0" in told["text"]
    assert told["line"] == "  parallelism: -1"
    assert told["marks"] == 1


def test_an_example_is_drawn_before_python_is_there(seen: Seen) -> None:
    told = take(seen, "early")
    assert told["items"] == 8
    assert told["dots"] == 12  # one for each pod


def test_what_never_starts_is_drawn_so(seen: Seen) -> None:
    told = take(seen, "silent")
    assert told["never"] == 6  # of the groups and pods of four Jobs
    assert told["first"].startswith("error")
    assert told["found"] == []


def test_rules_are_found_by_what_people_see_and_by_keyboard(seen: Seen) -> None:
    told = take(seen, "rules")
    assert told["all"] == told["broken"] == len(RULES)
    assert told["symptom"] == "symptom"
    assert told["all"] > told["pending"] > told["scheduler"] > len(told["words"]) > 0
    assert "min-count-above-pods" in told["words"]
    assert told["first"] == told["words"][0]
    assert told["hash"] == "#symptom=pending&stage=scheduler&words=minCount+is"
    assert (told["found"], told["errors"]) == ([], [])
    assert told["told"]["phone"]["wide"] == 390


def test_symptoms_find_the_rules_that_the_page_for_them_names() -> None:
    """The oracle is docs/troubleshooting.md, whose headings are symptoms and whose links are rules."""
    sections = re.split(r"^## ", (ROOT / "docs" / "troubleshooting.md").read_text(), flags=re.MULTILINE)
    expected = {
        "A pod is Pending and has no event": "pending",
        "The pods start one by one": "apart",
        "A replacement pod is never scheduled": "pending",
        "The API server refuses an object": "refused",
    }
    for section in sections:
        if symptom := expected.pop(section.splitlines()[0], ""):
            named = {name for name in re.findall(r"\(rules/([a-z-]+)\.md\)", section) if name in RULES}
            found = {name for name in named if symptom in set(find_symptoms(RULES[name]))}
            assert len(found) >= 0.8 * len(named), named - found
    assert expected == {}
    assert sum(1 for rule in RULES.values() if any(find_symptoms(rule))) > 0.85 * len(RULES)


def test_every_view_shows_what_its_command_prints(seen: Seen) -> None:
    told = take(seen, "views")
    assert told["loaded"]
    assert "never" in told["fit"]
    assert "spec.parallelism: 8 -> 4" in told["plan"]


def test_several_files_are_opened_and_removed(seen: Seen) -> None:
    told = take(seen, "files")
    assert told["names"] == ["train.yaml", "one.yaml", "two.yaml"]
    assert told["notice"] == "Not text in UTF-8, so not opened: picture.png."
    assert "picture.png" not in told["tabs"]


def test_a_link_carries_the_state_and_a_broken_one_is_none(seen: Seen) -> None:
    told = take(seen, "link")
    assert "name: shared" in told["text"]
    assert told["kubernetes"] == "1.36"
    assert (told["broken"], told["errors"]) == (8, [])
    broken, cut, whole = told["notices"]
    assert broken == cut
    assert "damaged or cut off" in cut
    assert whole == ""


def test_a_phone_needs_no_scrolling_sideways(seen: Seen) -> None:
    assert take(seen, "phone")["wide"] == 390


def test_a_keyboard_alone_gets_everywhere(seen: Seen) -> None:
    told = take(seen, "keyboard")
    assert {"example-0", "kubernetes", "gates", "share", "open", "tab-tree", "tab-generated"} <= set(told["stops"])
    assert told["first"] == "# typed"
    assert told["item"].startswith("CompositePodGroup raycluster-llama")


def test_screen_readers_find_nothing_wrong(seen: Seen) -> None:
    found = take(seen, "reader")["found"]
    assert [problem for problem in found if problem["impact"] in ("serious", "critical")] == []


def test_a_manifest_cannot_run_script(address: str, seen: Seen) -> None:
    told = take(seen, "hostile")
    assert (told["hacked"], told["images"], told["dialogs"], told["errors"]) == (None, 0, 0, [])
    assert all(request.startswith((address, "data:", f"blob:{address}")) for request in told["requests"])
    assert "0 errors" in told["status"]  # it still answers
    assert told["wrong"] == 0
    assert re.search("[\u200b-\u200f\u202a-\u202e]", told["hidden"]) is None
    assert "a\\u202eb\\u200b" in told["hidden"]
    assert "unreadable" in told["half"]


def test_links_of_the_page_lead_to_pages_of_the_documentation() -> None:
    pages = [(ROOT / "playground/src" / name).read_text() for name in ("index.html", "rules.html")]
    links = [link for page in pages for link in re.findall(r'href="(?:\.\./)?docs/([^"]*)/"', page)]
    assert len(links) > 10
    missing = [
        link for link in links if not any((ROOT / "docs" / f"{link}{end}").exists() for end in (".md", "/index.md"))
    ]
    assert missing == []
