"""The reports of the command line on real findings, read by what reads them in CI."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from xml.etree import ElementTree

import jsonschema
import pytest
import xmlschema
import yaml

from krmfn.cli.entry import main
from krmfn.reports import FORMATS

ROOT = Path(__file__).parents[2]
SCHEMAS = ROOT / "tests" / "reports" / "schemas"


@pytest.fixture(params=FORMATS)
def report(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> tuple[str, str]:
    """A format, and the example's findings in it."""
    shutil.copy(ROOT / "examples" / "reports" / "manifests.yaml", tmp_path)
    monkeypatch.chdir(tmp_path)
    assert main(["validate", "-o", request.param, "manifests.yaml"]) == 1
    return request.param, capsys.readouterr().out


def test_every_format_names_the_error_and_its_place(report: tuple[str, str]) -> None:
    format, text = report
    assert "min-count-above-pods" in text
    READERS[format](text)


def read_text(text: str) -> None:
    assert any(line.startswith("manifests.yaml:29:17: error: ") for line in text.splitlines())


def read_json(text: str) -> None:
    document = json.loads(text)
    (error,) = (each for each in document["results"] if each["severity"] == "error")
    assert error["file"] == {"path": "manifests.yaml", "index": 1, "line": 29, "column": 17}
    assert error["field"]["proposedValue"] == 4
    assert document["summary"]["error"] == 1


def read_yaml(text: str) -> None:
    read_json(json.dumps(yaml.safe_load(text)))


def read_sarif(text: str) -> None:
    log = json.loads(text)
    jsonschema.Draft4Validator(json.loads((SCHEMAS / "sarif-schema-2.1.0.json").read_text())).validate(log)
    (run,) = log["runs"]
    (error,) = (each for each in run["results"] if each["level"] == "error")
    (fix,) = error["fixes"]
    (replacement,) = fix["artifactChanges"][0]["replacements"]
    assert replacement == {
        "deletedRegion": {"startLine": 29, "startColumn": 17, "endLine": 29, "endColumn": 18},
        "insertedContent": {"text": "4"},
    }
    assert run["tool"]["driver"]["rules"][error["ruleIndex"]]["help"]["text"]


def read_junit(text: str) -> None:
    xmlschema.XMLSchema(SCHEMAS / "junit-10.xsd").validate(text)
    root = ElementTree.fromstring(text)
    assert (root.attrib["tests"], root.attrib["failures"]) == ("2", "1")


def read_github(text: str) -> None:
    assert "::error file=manifests.yaml,line=29,col=17,title=krmfn min-count-above-pods::" in text


def read_gitlab(text: str) -> None:
    (error,) = (each for each in json.loads(text) if each["severity"] == "major")
    assert error["location"] == {"path": "manifests.yaml", "lines": {"begin": 29}}


READERS = {
    "text": read_text,
    "json": read_json,
    "yaml": read_yaml,
    "sarif": read_sarif,
    "junit": read_junit,
    "github": read_github,
    "gitlab": read_gitlab,
}
