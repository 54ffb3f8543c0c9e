"""Formats of CI services, read back the way the services read them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
import xmlschema

from krmfn.krm.results import FileRef, ResourceRef, Result
from krmfn.reports import order, render

JUNIT = xmlschema.XMLSchema(Path(__file__).parent / "schemas" / "junit-10.xsd")
POD = ResourceRef("v1", "Pod", "p")


def read_commands(text: str) -> list[tuple[str, dict[str, str], str]]:
    """Workflow commands as GitHub's runner splits and unescapes them (actions/runner, `ActionCommand.TryParseV2`)."""
    commands = []
    for line in text.splitlines():
        match = re.fullmatch(r"::(\w+)(?: ([^:]*))?::(.*)", line)
        assert match, line
        properties = dict(pair.split("=", 1) for pair in (match[2] or "").split(","))
        values = {key: value.replace("%0D", "\r").replace("%0A", "\n") for key, value in properties.items()}
        values = {key: value.replace("%3A", ":").replace("%2C", ",") for key, value in values.items()}
        message = match[3].replace("%0D", "\r").replace("%0A", "\n").replace("%25", "%")
        commands.append((match[1], {key: value.replace("%25", "%") for key, value in values.items()}, message))
    return commands


def test_github_commands_survive_odd_characters(results: list[Result]) -> None:
    commands = read_commands(render(results, "github"))
    assert [command for command, _, _ in commands].count("notice") == 1
    assert [(properties.get("file"), properties.get("line")) for _, properties, _ in commands] == [
        ("a b/ray:1,.yaml", None),
        ("base/podgroup.yaml", "3"),
        ("base/podgroup.yaml", "3"),
        ("base/podgroup.yaml", None),
        ("base/podgroup.yaml", "12"),
        (None, None),
        (None, None),
    ]
    assert any("ü 100%: a, b\nsecond line" in message for _, _, message in commands)


def test_github_form(minimum: Result) -> None:
    assert render([minimum._replace(message="100%:\nb")], "github") == (
        "::error file=base/podgroup.yaml,line=12,col=17,title=krmfn minimum::"
        "PodGroup ml/train spec.schedulingPolicy.gang.minCount: 100%25:%0Ab%0AWrite the number of pods, 4.\n"
    )


def test_a_message_cannot_start_a_command_of_its_own() -> None:
    text = render([Result("a\r\n::stop-commands::x\n::error::y")], "github")
    assert len(text.splitlines()) == 1


def test_gitlab_has_what_the_documentation_requires(results: list[Result]) -> None:
    issues = json.loads(render(results, "gitlab"))
    assert len(issues) == len(order(results))
    for issue in issues:
        assert set(issue) == {"description", "check_name", "fingerprint", "severity", "location"}
        assert issue["severity"] in {"info", "minor", "major", "critical", "blocker"}
        assert not issue["location"]["path"].startswith("./")
        assert issue["location"]["lines"]["begin"] >= 1
    assert len({issue["fingerprint"] for issue in issues}) == len(issues)


def test_gitlab_form(minimum: Result) -> None:
    (issue,) = json.loads(render([minimum], "gitlab"))
    del issue["fingerprint"]
    assert issue == {
        "description": "PodGroup ml/train spec.schedulingPolicy.gang.minCount: Invalid value: -1: must be greater than "
        "or equal to 1 (Write the number of pods, 4.)",
        "check_name": "krmfn/minimum",
        "severity": "major",
        "location": {"path": "base/podgroup.yaml", "lines": {"begin": 12}},
    }


def read_junit(text: str) -> ElementTree.Element:
    """The document, valid for Jenkins, with counts that are right."""
    JUNIT.validate(text)
    root = ElementTree.fromstring(text)
    for element in [root, *root.iter("testsuite")]:
        assert int(element.attrib["tests"]) == len(list(element.iter("testcase")))
        assert int(element.attrib["failures"]) == len(list(element.iter("failure")))
    assert all(len(case.findall("failure")) <= 1 for case in root.iter("testcase"))
    return root


def test_junit_groups_by_file_and_object(results: list[Result]) -> None:
    root = read_junit(render(results, "junit"))
    cases = {(suite.attrib["name"], case.attrib["name"]) for suite in root for case in suite}
    assert cases == {
        ("a b/ray:1,.yaml", "RayCluster demo"),
        ("base/podgroup.yaml", "PodGroup ml/train"),
        ("krmfn", "RayCluster demo"),
        ("krmfn", "manifests"),
    }
    failure = root.find("testsuite[@name='base/podgroup.yaml']/testcase/failure")
    assert failure is not None
    assert failure.attrib["message"] == "PodGroup ml/train spec: second of the object (and 1 more)"
    assert "must be greater than or equal to 1 [minimum]" in (failure.text or "")
    assert "third of the object" not in (failure.text or "")


def test_junit_names_objects_without_findings() -> None:
    checked = [(POD, FileRef("a.yaml")), (POD._replace(name="q"), FileRef("a.yaml"))]
    root = read_junit(render([Result("m", ref=POD, file=FileRef("a.yaml"))], "junit", checked=checked))
    assert root.attrib["tests"] == "2"
    assert root.attrib["failures"] == "1"


@pytest.mark.parametrize(("fail_on", "failures"), [("error", "0"), ("warning", "1")])
def test_junit_follows_the_threshold(fail_on: str, failures: str) -> None:
    assert fail_on in {"error", "warning"}
    text = render([Result("m", "warning", POD)], "junit", fail_on="warning" if fail_on == "warning" else "error")
    assert read_junit(text).attrib["failures"] == failures


def test_junit_of_nothing() -> None:
    assert read_junit(render([], "junit")).attrib["tests"] == "0"
