"""Numbers of five thousand digits, which Python's `int` refuses to read: in every key of the configuration, in every
annotation and option, and in the fields that are counted. The program says what is wrong; it never breaks."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from random import Random
from typing import Any

import pytest

from krmfn.cli import COMMANDS
from krmfn.cli.entry import main
from krmfn.cli.options import read_command
from tests.front_door import call

ROOT = Path(__file__).parents[2]
SCHEMA: dict[str, Any] = json.loads((ROOT / "schemas/krmfn/v1alpha1/gangscheduling.json").read_text())
MANY = "9" * 5000
#: As a number, a text, a version, a quantity, and a number with an exponent.
VALUES = (MANY, f'"{MANY}"', f'"1.{MANY}"', f'"v{MANY}.1"', f'"{MANY}Gi"', f"1e{MANY}", f'"1.{MANY}.{MANY}"')
JOB = """\
apiVersion: batch/v1
kind: Job
metadata:
  name: train
  annotations:
    krmfn.dev/gang: "true"
spec:
  parallelism: 2
  completions: 2
  template:
    spec:
      restartPolicy: Never
      containers: [{name: main, image: a, resources: {requests: {cpu: "1"}}}]
"""


def list_keys(node: Mapping[str, Any], path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths of all values that have no keys of their own; `x` stands for any key."""
    if "$ref" in node:
        node = SCHEMA["$defs"][node["$ref"].rpartition("/")[2]]
    choices = [*node.get("oneOf", ()), *node.get("anyOf", ())]
    inside = [(key, each) for key, each in node.get("properties", {}).items()]
    if isinstance(node.get("additionalProperties"), dict):
        inside.append(("x", node["additionalProperties"]))
    if "items" in node:
        inside.append((0, node["items"]))
    for each in choices:
        yield from list_keys(each, path)
    for key, each in inside:
        yield from list_keys(each, (*path, key))
    if not inside and not choices:
        yield path


def nest(path: tuple[Any, ...]) -> str:
    """A configuration in flow style with the mark `@` at a path."""
    text = "@"
    for key in reversed(path):
        text = f"[{text}]" if key == 0 else f"{{{key}: {text}}}"
    return f"apiVersion: krmfn.dev/v1alpha1\nkind: GangScheduling\nmetadata: {{name: a}}\nspec: {text}\n"


KEYS = sorted(set(list_keys(SCHEMA["properties"]["spec"])), key=str)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "job.yaml").write_text(JOB)
    return tmp_path


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    code = main(words)
    return code, capsys.readouterr().err


@pytest.mark.parametrize("path", KEYS, ids=lambda path: ".".join(map(str, path)))
def test_in_a_configuration(path: tuple[Any, ...], folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for value in VALUES:
        (folder / "krmfn.yaml").write_text(nest(path).replace("@", value))
        code, said = run(capsys, "validate", "job.yaml")
        assert code in (0, 1, 2), said[-500:]
        assert code != 2 or "krmfn.yaml" in said or path[-1] == 0, "an error names the file"


def test_the_keys_are_all() -> None:
    assert ("kuberay", "version") in KEYS
    assert len(KEYS) > 70


ANNOTATIONS = sorted(SCHEMA["x-krmfn-annotations"])


@pytest.mark.parametrize("name", ANNOTATIONS)
def test_in_an_annotation(name: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for value, command in itertools.product(
        (f'"{MANY}"', f'"x={MANY}"', f'"-{MANY}"'), ("generate", "validate", "tree")
    ):
        (folder / "job.yaml").write_text(JOB.replace("spec:\n", f"    {name}: {value}\nspec:\n", 1))
        code, said = run(capsys, command, "job.yaml")
        assert code in (0, 1, 2), said[-500:]


FACTS = (
    "nodes: [{name: a, count: @}]",
    "nodes: [{name: a, allocatable: {cpu: @, pods: @}}]",
    "priorityClasses: {high: @}",
    "resourceQuotas: [{name: a, namespace: default, hard: {requests.cpu: @}}]",
    "items: [{apiVersion: v1, kind: Namespace, metadata: {name: default, labels: {"
    "pod-security.kubernetes.io/enforce: restricted, pod-security.kubernetes.io/enforce-version: @}}}]",
)


@pytest.mark.parametrize("fact", FACTS)
def test_in_a_fact(fact: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for value, command in itertools.product(VALUES, ("validate", "fit")):
        (folder / "krmfn.yaml").write_text(nest(("cluster",)).replace("@", f"{{{fact}}}".replace("@", value)))
        code, said = run(capsys, command, "job.yaml")
        assert code in (0, 1, 2), said[-500:]


FIELDS = ("parallelism", "completions", "cpu")


@pytest.mark.parametrize("field", FIELDS)
def test_in_what_is_counted(field: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for value, command in itertools.product(VALUES, ("generate", "validate", "tree", "fit")):
        old = f'{field}: "1"' if field == "cpu" else f"{field}: 2"
        (folder / "job.yaml").write_text(JOB.replace(old, f"{field}: {value}"))
        code, said = run(capsys, command, "job.yaml")
        assert code in (0, 1, 2), said[-500:]


ZEROS = "0" * 5000


@pytest.mark.parametrize(
    ("schedule", "is_one"),
    [
        (f"@every {MANY}h", False),
        (f"@every 1.{MANY}h", True),
        (f"@every 1.{ZEROS}1h", True),
        (f"@every 1.{ZEROS[:400]}1h", True),
        (f"{MANY} * * * *", False),
        (f"*/{MANY} * * * *", False),
    ],
)
def test_in_a_schedule(schedule: str, is_one: bool, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Go reads a fraction of any length."""
    pods = "{restartPolicy: Never, containers: [{name: main, image: a}]}"
    head = "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: train}\n"
    spec = f'spec: {{schedule: "{schedule}", jobTemplate: {{spec: {{template: {{spec: {pods}}}}}}}}}\n'
    (folder / "job.yaml").write_text(head + spec)
    code, said = run(capsys, "validate", "--stage", "server", "job.yaml")
    assert code == (0 if is_one else 1), said[-500:]


SPOT = re.compile(r"(?<=: )\"?[\w./-]+\"?(?=[,}\n ])")


@pytest.mark.parametrize("seed", range(40))
def test_anywhere_in_a_manifest(seed: int, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In the place of any value of the fixtures and examples."""
    rng = Random(seed)
    files = sorted([*(ROOT / "fixtures").rglob("*.yaml"), *(ROOT / "examples").rglob("*.yaml")])
    for path in rng.sample(files, 3):
        text = path.read_text()
        spots = list(SPOT.finditer(text))
        if spots:
            spot = rng.choice(spots)
            (folder / "job.yaml").write_text(text[: spot.start()] + rng.choice(VALUES) + text[spot.end() :])
            for command in ("generate", "validate", "tree"):
                code, said = run(capsys, command, "job.yaml")
                assert code in (0, 1, 2), said[-500:]


def list_options() -> Iterator[tuple[str, str]]:
    for command in COMMANDS:
        for option in read_command(command).options:
            if not option.flag:
                yield command, option.names[-1]


@pytest.mark.parametrize(("command", "option"), list(list_options()))
def test_in_an_option(command: str, option: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for value in (MANY, f"1.{MANY}", f"v{MANY}.1.1", f"a={MANY}"):
        code, said = run(capsys, command, f"{option}={value}", "job.yaml")
        assert code in (0, 1, 2), said[-500:]


def test_the_version_of_a_definition_and_the_flag_of_an_autoscaler(tmp_path: Path) -> None:
    version = {"name": f"v{MANY}", "schema": {"openAPIV3Schema": {"type": "object", "properties": {"a": {}}}}}
    spec = {"group": "example.com", "names": {"kind": "Swarm"}, "versions": [version]}
    head = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "a"}}
    (tmp_path / "definition.json").write_text(json.dumps({**head, "spec": spec}))
    done = call(b"", ("explain", "--crds", "definition.json", "swarm"), tmp_path)
    assert (done.code, b"Swarm" in done.out) == (0, True), done.err
    box = {"name": "a", "image": "cluster-autoscaler", "command": [f"--nodes=1:{MANY}:a", "--nodes=1:2:b"]}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": {"containers": [box]}}
    done = call(json.dumps(pod).encode(), ("facts", "-"), tmp_path)
    assert (done.code, done.out.count(b"max: ")) == (0, 1), done.out + done.err
