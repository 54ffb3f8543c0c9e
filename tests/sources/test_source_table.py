"""The table of sources and the rules behind their notes."""

from __future__ import annotations

import ast
from pathlib import Path
from string import Formatter
from typing import Any

import pytest

import krmfn.sources
from krmfn.model.kinds import KINDS
from krmfn.model.rules import PARTS, RULES
from krmfn.model.schedulers import SCHEDULERS
from krmfn.releases import schemastore
from krmfn.server.shipped import Shipped, find_shipped
from krmfn.sources import READERS
from tests.sources.manifests import manifest, read

READ = [key for key, row in KINDS.items() if row.has_gangs or row.reason]
FOLDER = Path(krmfn.sources.__file__).parent


@pytest.mark.parametrize(("group", "kind"), READ)
@pytest.mark.parametrize("spec", [None, {}, [], "x", 7, {"template": 1, "replicas": [], "jobTemplate": {}}])
def test_any_source_survives_nonsense(group: str, kind: str, spec: Any) -> None:
    reading = read(manifest(f"{group}/v1" if group else "v1", kind, spec))
    assert reading.group is None
    assert reading.notes


@pytest.mark.parametrize("key", KINDS)
def test_a_row_is_whole(key: tuple[str, str]) -> None:
    row = KINDS[key]
    assert key == (row.group, row.name)
    assert not (row.reason and row.gang == "ByDefault")
    assert bool(row.managed_by) == bool(row.manager)
    assert bool(row.rival) == bool(row.rival_name)
    assert row.keeper is None or row.group not in ("", "apps", "batch")
    for template in row.templates:
        stars = [path.split(".").count("*") for path in (template.path, template.counted)]
        assert stars[1] <= stars[0], "a count belongs to its template"
        assert not template.roles or "*" in template.path


@pytest.mark.parametrize("key", READERS)
def test_a_function_that_reads_a_kind_exists(key: tuple[str, str]) -> None:
    assert KINDS[key].has_gangs
    module, _, function = READERS[key].partition(".")
    text = (FOLDER / f"{module}.py").read_text()
    assert f"def {function}(" in text


@pytest.mark.parametrize(
    ("group", "kind"), [key for key, row in KINDS.items() if row.early_keeper is not None and row.group != "ray.io"]
)
def test_the_definitions_of_the_projects_say_who_keeps_the_link(group: str, kind: str) -> None:
    """The rows repeat what the CustomResourceDefinitions say that come with krmfn."""
    row = KINDS[group, kind]
    shipped = find_shipped(group, kind, "v1alpha2" if kind == "JobSet" else "v1", {})
    assert isinstance(shipped, Shipped)
    template = [0 if step == "*" else step for step in (*row.templates[-1].path.split("."), "spec")]
    fields = {version: structure.list_fields(tuple(template)) for version, structure in shipped.structures.items()}
    early = [version for version, names in fields.items() if "workloadRef" in names]
    late = [version for version, names in fields.items() if "schedulingGroup" in names]
    assert early == ([row.early_keeper.rpartition(" v")[2]] if row.early_keeper else [])
    assert row.keeper is not None
    assert row.keeper.rpartition(" v")[2].startswith(f"{late[0]}.")


_NOTING = ("note", "tell", "decline")


def _noted_rules() -> set[str]:
    """The first argument of every call of `note` and `decline` in the sources."""
    found = set()
    for path in FOLDER.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _NOTING:
                rule = node.args[0]
                if isinstance(rule, ast.Constant):
                    found.add(str(rule.value))
    managers = schemastore.load("kuberay/managers.json").values()
    found |= {row["rule"] for rows in managers if isinstance(rows, list) for row in rows}
    decided_elsewhere = {"kind-not-supported", "kind-passed-over", "scheduler-elsewhere"}
    return found | decided_elsewhere  # at run time, and in krmfn.survey.gangs


def test_texts_of_rows_name_what_they_are_told() -> None:
    """Of calls that write their rule and case out; each case of a row is told somewhere."""
    told: set[object] = {*SCHEDULERS}
    places = (*FOLDER.glob("*.py"), *(FOLDER.parent / "targets").glob("*.py"), *(FOLDER.parent / "survey").glob("*.py"))
    for path in (*places, FOLDER.parent / "reconcile" / "__init__.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            told |= {each.value for each in ast.walk(node) if isinstance(each, ast.Constant)}
            name = getattr(node.func, "attr", getattr(node.func, "id", "")) if isinstance(node, ast.Call) else ""
            if not isinstance(node, ast.Call) or name not in ("tell", "decline"):
                continue
            names = [each.arg for each in node.keywords]
            rule, _, *more = node.args
            literal = all(isinstance(each, ast.Constant) for each in (rule, *more[:1]))
            if literal and isinstance(rule, ast.Constant) and None not in names:
                row = RULES[str(rule.value)]
                case = str(getattr(more[0], "value", "")) if more else ""
                texts = row.cases[case] if case else {}
                for text in (texts.get("message", row.message), texts.get("hint", row.hint)):
                    fields = {str(name).partition(".")[0] for _, name, _, _ in Formatter().parse(text) if name}
                    assert fields <= {"kind", "current", "proposed", *names}, (row.id, text)
    rows = (rule for part in ("sources", "targets", "config") for rule in PARTS[part].values())
    assert {case for rule in rows for case in rule.cases} <= told


def test_rules_are_those_that_are_noted() -> None:
    """What an annotation asks for is a rule of the configuration, also where only the pods show that it cannot be."""
    assert PARTS["sources"].keys() == _noted_rules() - PARTS["config"].keys()
