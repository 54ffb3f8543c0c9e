"""`krmfn mcp`, asked by the real client of the protocol over stdin and stdout, as an agent asks."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from tests.cli.conftest import ROOT
from tests.cli.test_fit import make_node
from tests.meant.test_mistakes import CASES, LEFT
from tests.workspace.repositories import git

JOB = (ROOT / "examples/job/job.yaml").read_text()


def ask(folder: Path, *calls: tuple[str, dict[str, Any]]) -> list[tuple[bool, str]]:
    """The answers to calls of tools: whether each is an error, and its text."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    how = StdioServerParameters(command=sys.executable, args=["-m", "krmfn", "mcp"], cwd=str(folder), env=environment)

    async def run() -> list[tuple[bool, str]]:
        answers = []
        async with Client(stdio_client(how)) as client:
            for tool, arguments in calls:
                result = await client.call_tool(tool, arguments)
                answers.append((bool(result.is_error), "".join(getattr(each, "text", "") for each in result.content)))
        return answers

    return asyncio.run(run())


def test_tools_say_that_they_only_read() -> None:
    from krmfn.mcp import server

    tools = asyncio.run(server.list_tools())
    assert len(tools) == 7
    assert all(each.annotations and each.annotations.read_only_hint for each in tools)


def test_odd_texts(tmp_path: Path) -> None:
    """An empty text is no question about the folder; line separators of Unicode end no line; many calls at once."""
    (tmp_path / "job.yaml").write_text(JOB)
    head = "apiVersion: scheduling.k8s.io/v1beta1\nkind: PodGroup\n"
    text = f'{head}metadata: {{name: a, annotations: {{a: "\u2028\u0085", b: "\U0001f600"}}}}\nspec: {{minMember: 4}}\n'
    empty, odd = ask(tmp_path, ("validate", {"manifests": ""}), ("validate", {"manifests": text, "kubernetes": "1.37"}))
    assert not json.loads(empty[1])["results"]
    fixed = json.loads(odd[1])["fixed"]
    assert fixed == text.replace("{minMember: 4}", "{schedulingPolicy: {gang: {minCount: 4}}}")


def snapshot(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_tools_answer_as_the_commands_do(tmp_path: Path) -> None:
    (tmp_path / "apps").mkdir()
    (tmp_path / "apps/job.yaml").write_text(JOB)
    (tmp_path / "cluster.json").write_text(
        json.dumps({"apiVersion": "v1", "kind": "List", "items": [make_node("a", "z")]})
    )
    git(tmp_path, "init", "-q", "-b", "main")
    git(tmp_path, "add", "-A")
    git(tmp_path, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "a")
    before = snapshot(tmp_path / "apps")
    calls: Sequence[tuple[str, dict[str, Any], str]] = (
        ("generate", {"manifests": JOB}, "minCount: 8"),
        ("generate", {"manifests": json.dumps(yaml.safe_load(JOB))}, "minCount: 8"),
        ("validate", {"manifests": json.dumps(yaml.safe_load(JOB))}, '"fixed"'),
        ("generate", {"paths": ["apps"], "kubernetes": "1.36"}, "scheduling.k8s.io/v1alpha2"),
        ("validate", {"paths": ["apps/job.yaml"]}, '"summary"'),
        ("validate", {"paths": ["apps"], "against": "main"}, '"summary"'),
        ("diff", {"old": "main"}, "4 unchanged"),
        ("fit", {"cluster": "cluster.json", "paths": ["apps"]}, "never"),
        ("explain", {"field": "PodGroup.spec.schedulingPolicy"}, "one of basic or gang"),
        ("rules", {"rule": "min-count-above-pods"}, "# min-count-above-pods"),
        ("rules", {}, "min-count-above-pods"),
    )
    answers = ask(tmp_path, *(call[:2] for call in calls))
    for (tool, arguments, part), (failed, text) in zip(calls, answers, strict=True):
        assert not failed, text
        assert part in text, (tool, arguments)
    assert snapshot(tmp_path / "apps") == before


@pytest.mark.slow
def test_wrong_manifests_come_back_right(tmp_path: Path) -> None:
    cases = [text for name, text in CASES.items() if name not in LEFT][::4]
    answers = ask(tmp_path, *(("validate", {"manifests": case, "kubernetes": "1.37"}) for case in cases))
    fixed = [json.loads(text)["fixed"] for _, text in answers]
    again = ask(tmp_path, *(("validate", {"manifests": text, "kubernetes": "1.37"}) for text in fixed))
    server = [
        [each["tags"]["rule"] for each in json.loads(text)["results"] if each["tags"].get("stage") == "server"]
        for _, text in again
    ]
    assert len(server) >= 50
    assert not [found for found in server if {*found} - {"priority-class-unknown"}]


@pytest.mark.parametrize(
    ("tool", "arguments", "error"),
    [
        ("validate", {"paths": ["/etc"]}, "only paths below"),
        ("validate", {"paths": ["../other"]}, "only paths below"),
        ("validate", {"paths": ["link"]}, "only paths below"),
        ("validate", {"paths": ["--fix"]}, "only paths below"),
        ("validate", {"paths": ["."], "manifests": "a: b"}, "either manifests or paths"),
        ("validate", {"paths": ["missing.yaml"]}, "no such file or folder"),
        ("validate", {"paths": ["missing\0.yaml"]}, "no such file or folder"),
        ("validate", {"paths": ["."], "manifests": "a"}, "either manifests or paths"),
        ("why", {"object": "job/a", "cluster": "/etc/passwd"}, "only paths below"),
        ("why", {"object": "--help", "cluster": "link.yaml"}, ""),
        ("explain", {"field": "PodGruop"}, "Did you mean PodGroup?"),
        ("explain", {"field": "--help"}, "begins with a dash"),
        ("rules", {"rule": "nope"}, "there is no rule"),
        ("rules", {"name": "nope"}, "rules has no argument name; it has rule"),
        ("generate", {"path": "a.yaml", "fix": True}, "no argument fix, path; it has manifests, paths, kubernetes"),
    ],
)
def test_what_is_refused(tool: str, arguments: dict[str, Any], error: str, tmp_path: Path) -> None:
    here = tmp_path / "here"
    here.mkdir()
    (here / "link").symlink_to("/etc")
    ((failed, text),) = ask(here, (tool, arguments))
    assert failed
    assert error in text


def test_without_the_package_it_says_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "mcp.py").write_text("raise ModuleNotFoundError('no', name='mcp')\n")
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"}
    done = subprocess.run(
        [sys.executable, "-m", "krmfn", "mcp"], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert done.stderr == "krmfn: krmfn mcp needs the package mcp: pip install 'krmfn[mcp]'\n"
