"""The text form of the contract, for people and for the function's standard error stream."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from krmfn.krm.results import FileRef, Result
from krmfn.reports import FORMATS, render, summarize
from krmfn.reports.text import render_short


def test_form_of_the_contract(minimum: Result) -> None:
    assert render([minimum]) == (
        "base/podgroup.yaml:12:17: error: PodGroup ml/train spec.schedulingPolicy.gang.minCount: "
        "Invalid value: -1: must be greater than or equal to 1 [minimum]\n"
        "    Write the number of pods, 4.\n"
    )


@pytest.mark.parametrize(
    ("file", "place"),
    [
        (None, ""),
        (FileRef(""), ""),
        (FileRef("a.yaml"), "a.yaml: "),
        (FileRef("a.yaml", 2, 7), "a.yaml:7: "),
        (FileRef("a.yaml", 2, 7, 1), "a.yaml:7:1: "),
    ],
)
def test_only_the_known_part_of_a_place_is_written(file: FileRef | None, place: str) -> None:
    assert render([Result("m", file=file)]) == f"{place}error: m\n"


def test_one_line_each_and_no_control_characters(results: list[Result]) -> None:
    lines = render(results).splitlines()
    findings = [line for line in lines if not line.startswith("    ")]
    assert len(findings) == len(results) - 1  # one of them is there twice
    assert all(line.isprintable() for line in lines)
    assert any("second line <&\"'> \\x1b[31m \U0001f600 \\x00" in line for line in lines)


def test_colors_add_nothing_but_escapes(results: list[Result]) -> None:
    colored = render(results, color=True)
    assert "\x1b[1;31merror\x1b[0m" in colored
    assert re.sub(r"\x1b\[[0-9;]*m", "", colored) == render(results)


def test_short_form_starts_with_the_summary_and_the_errors(results: list[Result]) -> None:
    summary, *lines = render_short(results).splitlines()
    assert summary == "krmfn: 2 errors, 4 warnings, 1 info"
    severities = [match[1] for line in lines if (match := re.search(r"(?:^|: )(error|warning|info): ", line))]
    assert severities == ["error"] * 2 + ["warning"] * 4 + ["info"]


def test_nothing_found_prints_nothing() -> None:
    assert render([]) == ""
    assert render_short([]) == ""
    assert summarize([]) == "no findings"


def test_unknown_format_names_the_known_ones() -> None:
    with pytest.raises(ValueError, match=r"'xml': use one of text, json, yaml, sarif, junit, github, gitlab"):
        render([], "xml")


@pytest.mark.parametrize("format", FORMATS)
def test_halves_of_surrogate_pairs_can_be_printed(format: str) -> None:
    render([Result("\ud83d", tags={"rule": "r"})], format).encode()


def test_text_imports_no_other_format() -> None:
    program = (
        "import sys, typing; from krmfn.krm.results import Result; before = set(sys.modules);"
        "from krmfn.reports import render; render([Result('m')]);"
        "print(*sorted(set(sys.modules) - before))"
    )
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    loaded = set(done.stdout.split())
    assert "krmfn.reports.text" in loaded
    assert not {module for module in loaded if not module.startswith("krmfn.")}


def test_many_notes_and_equal_warnings_are_folded() -> None:
    """With one text another place is another warning only when there are few; an error is in each file, and in one file
    of old objects it is one."""
    notes = [Result(f"note {number}", "info", tags={"rule": "a"}) for number in range(5)]
    equal = [Result("not run", "warning", file=FileRef(f"{number}.yaml"), tags={"rule": "b"}) for number in range(4)]
    apart = [Result(f"warning {number}", "warning", tags={"rule": "b"}) for number in range(4)]
    errors = [Result("refused", file=FileRef(f"{number}.yaml"), tags={"rule": "c"}) for number in range(4)]
    skipped = [Result("a chart", "info", tags={"rule": "skipped", "sort": "Helm charts"})]
    old = [Result("not served", path="kind", file=FileRef("old.yaml", line), tags={"rule": "d"}) for line in range(4)]
    fields = [Result("required", path=path, file=FileRef("old.yaml"), tags={"rule": "d"}) for path in "abcd"]
    gone = [Result("not served", file=FileRef(f"{a}.yaml"), tags={"rule": "version-not-served"}) for a in range(5)]
    assert render(gone, "text", folded=True).endswith("[version-not-served] and 4 more like it (-v shows them)\n")
    told = render([*old, *fields], "text", folded=True)
    assert [told.count(word) for word in ("not served [d] and 3 more like it", "error", "required")] == [1, 5, 4]
    text = render([*notes, *equal, *apart, *errors, *skipped], "text", folded=True)
    assert "info: note 0 [a] and 4 more like it (-v shows them)\n" in text
    assert "0.yaml: warning: not run [b] and 3 more like it (-v shows them)\n" in text
    assert [text.count(word) for word in ("note", "not run", "warning: warning", "error", "chart")] == [1, 1, 4, 4, 0]
    whole = render([*notes, *equal, *apart, *errors, *skipped], "text")
    assert len(whole.splitlines()) == 18


def test_what_kustomizations_lack_is_folded_by_the_reason() -> None:
    """Each lacks a file of another name: a repository whose env files are ignored by git has one line, not hundreds."""
    tags = {"rule": "not-rendered"}
    lacking = [
        Result(f"not checked: it uses {name}.env, which does not exist", "warning", tags=tags) for name in "abcd"
    ]
    remote = [
        Result(f"not checked: it uses https://{name}", "warning", tags={**tags, "hint": "Keep"}) for name in "abcd"
    ]
    broken = [Result(f"not checked: it has an unknown field, {name}", "warning", tags=tags) for name in "abcd"]
    text = render([*lacking, *remote, *broken], "text", folded=True)
    assert [text.count(word) for word in (".env", "https", "unknown", "3 more like it")] == [1, 1, 4, 2]
