"""The reference page and the example function do what they say."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import subprocess
import sys
from pathlib import Path

import krmfn.krm
from krmfn.krm import Item, ResourceList

ROOT = Path(__file__).parent.parent.parent
PAGE = ROOT / "docs" / "reference" / "krm-sdk.md"
EXAMPLE = ROOT / "examples" / "functions" / "set_labels.py"

LIST = """\
apiVersion: config.kubernetes.io/v1
kind: ResourceList
items:
- apiVersion: v1
  kind: A
  metadata: {name: a} # first
- apiVersion: v1
  kind: B
  metadata:
    name: b
    labels:
      team: ml
"""


def test_the_reference_page() -> None:
    text = PAGE.read_text().replace("```", "")
    runner = doctest.DocTestRunner()
    test = doctest.DocTestParser().get_doctest(text, {}, PAGE.name, str(PAGE), 0)
    assert test.examples
    assert runner.run(test).failed == 0


def test_docstrings() -> None:
    """Of all rooms."""
    for module in pkgutil.walk_packages(krmfn.__path__, "krmfn."):
        if not module.name.endswith("__main__"):
            assert doctest.testmod(importlib.import_module(module.name)).failed == 0, module.name


def test_the_function_declaration_of_the_page_configures_the_example() -> None:
    declaration = PAGE.read_text().partition("```yaml\n")[2].partition("```")[0]
    config = "".join(f"  {line}\n" for line in declaration.splitlines())
    done = call(LIST + "functionConfig:\n" + config)
    assert done.returncode == 0
    items = ResourceList.parse(done.stdout).items
    assert [dict(item.labels) for item in items] == [{"team": "ml"}, {"team": "ml"}]
    assert "  metadata: {name: a, labels: {team: ml}} # first\n" in done.stdout.decode()
    assert done.stderr.decode() == "info: A a metadata.labels.team: label set\n"


def test_the_example_without_labels_changes_nothing() -> None:
    done = call(LIST)
    assert done.returncode == 1
    assert done.stdout.decode().startswith(LIST)
    assert "has no labels in data" in done.stderr.decode()


def test_the_example_is_short_and_uses_the_sdk_alone() -> None:
    lines = EXAMPLE.read_text().splitlines()
    assert len(lines) < 30
    assert [line for line in lines if line.startswith(("import", "from"))][1:] == [
        "from krmfn.krm import ABSENT, ResourceList, Result, run"
    ]


def test_every_public_name_can_be_loaded() -> None:
    assert all(getattr(krmfn.krm, name) is not None for name in krmfn.krm.__all__)
    assert Item in vars(krmfn.krm).values()


def call(text: str) -> subprocess.CompletedProcess[bytes]:
    """The example as a program."""
    return subprocess.run([sys.executable, EXAMPLE], input=text.encode(), capture_output=True, check=False, cwd=ROOT)
