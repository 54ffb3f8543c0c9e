"""What is often written for what was meant: one round of edits makes nearly all of it valid, and none of it worse."""

from __future__ import annotations

import io
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from conformance.build import find_program
from conformance.versions import read_releases
from krmfn import server
from tests.front_door import ROOT, call

TEXT = "".join((Path(__file__).parent / name).read_text() for name in ("mistakes.yaml", "agents.yaml"))
CASES = dict(re.findall(r"^---\n# (.*)\n((?:(?!---\n).*\n)+)", TEXT, re.MULTILINE))
#: What cannot be known, and where something is left to say after the edits.
LEFT = {
    "a KAI PodGroup whose version alone was changed": ["spec.subGroups"],
    "a Kueue Workload whose version alone was changed": ["spec.podGroupTemplates[0].template"],
    "a Volcano Job's tasks in a Workload": ["spec.minAvailable"],
    "a workloadRef that is a name, without a template": ["spec.workloadRef"],
    "a CompositePodGroup with children": ["spec.children"],
    "a CompositePodGroup with podGroups and minGroups": ["spec.podGroups"],
    "a Job with the workloadRef of 1.35": ["spec.template.spec.workloadRef"],
    "a CompositePodGroup in the version of PodGroups, without a template": ["spec.workloadRef"],
    "a PodGroup in a list of constraints with key and value": ["spec.schedulingConstraints.topology[0].values"],
    "a Pod with the workloadRef of 1.35": ["spec.workloadRef"],
    "a preemption policy in a struct": ["spec.preemptionPolicy"],
    "a word that is in no dialect": ["spec.retryPolicy"],
}


def judge(text: str) -> list[str]:
    """What the API server of 1.37 refuses, in its words."""
    from krmfn.releases.release import find_release

    verdict = server.answer(yaml.safe_load(text), "1.37", dict.fromkeys(find_release("1.37").gates, True))
    causes = [cause.message for cause in verdict.causes] if verdict else []
    return [] if verdict and verdict.accepted else causes or ["not served"]


def run(*words: str) -> Any:
    return call(words=["validate", "--kubernetes", "1.37", "--stage", "server", *words])


def validate(path: Path) -> list[dict[str, Any]]:
    done = run("-o", "json", str(path))
    results: list[dict[str, Any]] = json.loads(done.out)["results"]
    return [each for each in results if each["severity"] == "error"]


def make_edits(text: str, results: list[dict[str, Any]]) -> str:
    """The text after all edits, from its end to its start."""
    edits = {json.dumps(each["edit"]): each["edit"] for each in results if "edit" in each}
    starts = [0]
    for line in io.StringIO(text, newline=""):
        starts.append(starts[-1] + len(line))

    def find(place: dict[str, int]) -> int:
        return starts[place["line"] - 1] + place["column"] - 1

    for edit in sorted(edits.values(), key=lambda edit: -find(edit["start"])):
        text = text[: find(edit["start"])] + edit["text"] + text[find(edit["end"]) :]
    return text


@pytest.mark.parametrize("name", CASES)
def test_one_round(name: str, tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(CASES[name])
    results = validate(path)
    assert results, "it is a mistake"
    assert judge(CASES[name]), "the server refuses it, too"
    edited = make_edits(CASES[name], results)
    assert run("--fix", str(path)).code in (0, 1)
    assert path.read_text() == edited, "the edits are those of --fix"
    left = validate(path)
    assert [each["field"]["path"] for each in left] == LEFT.get(name, [])
    assert all(each["tags"].get("hint") for each in left), "the next step is said"
    assert bool(judge(edited)) == bool(left)
    assert len(left) <= len(results)


@pytest.mark.parametrize("name", CASES)
def test_what_is_left_out_is_named(name: str, tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(CASES[name])
    results = validate(path)
    edited = yaml.safe_load(make_edits(CASES[name], results))
    kept = {str(leaf) for _, leaf in list_leaves(edited)}
    named = {word for each in results for word in re.findall(r"Remove ([^:]*):", each["tags"].get("hint", ""))}
    words = {*", ".join(named).split(", "), *IMPLIED}
    places = {each["field"]["path"] for each in results}
    for place, leaf in list_leaves(yaml.safe_load(CASES[name])):
        steps = [".".join(place[: number + 1]) for number in range(len(place))]
        said = any(step in places for step in steps if step == steps[-1] or is_removed(step, results))
        assert str(leaf) in kept or said or words & {*place}, place


#: Words that the field into which a reference goes, or the form of a mode, says by itself.
IMPLIED = {"apiVersion", "kind", "apiGroup", "gang", "disruption", "preemption"}


def is_removed(place: str, results: list[dict[str, Any]]) -> bool:
    return any(each["field"]["path"] == place and "Remove it" in each["tags"].get("hint", "") for each in results)


def list_leaves(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    if isinstance(value, dict):
        for key, child in value.items():
            yield from list_leaves(child, (*path, str(key)))
    elif isinstance(value, list):
        for number, child in enumerate(value):
            yield from list_leaves(child, (*path[:-1], f"{path[-1]}[{number}]"))
    elif value is not None:
        yield path, value


@pytest.mark.slow
@pytest.mark.skipif(not find_program(read_releases()["1.37"], "kube-apiserver"), reason="python -m conformance build")
def test_the_api_server_takes_what_was_edited(tmp_path: Path) -> None:
    if shutil.which("etcd") is None:
        pytest.skip("apt-get install etcd-server")
    written, edited = [], []
    for number, text in enumerate(CASES.values()):
        own = re.sub(r"(metadata:(?: \{name: |\n  name: ))a\b", rf"\g<1>a{number}", text, count=1)
        (tmp_path / "a.yaml").write_text(own)
        written.append(own)
        edited.append(make_edits(own, validate(tmp_path / "a.yaml")))

    def send(texts: list[str]) -> str:
        (tmp_path / "sent.yaml").write_text("---\n".join(texts))
        words = [sys.executable, "-m", "conformance", "accept", "1.37", str(tmp_path / "sent.yaml")]
        done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
        return done.stdout + done.stderr

    assert "\n0 accepted" in send(written)
    assert f"{len(CASES) - len(LEFT)} accepted" in send(edited)


def test_there_are_enough() -> None:
    assert len(CASES) >= 200
    assert len(LEFT) <= len(CASES) * 0.05


def test_a_version_that_is_gone_is_replaced_only_where_the_fields_are_the_same(tmp_path: Path) -> None:
    """The backend of an Ingress has other fields in v1: the version alone would break what is right by the old one."""
    path = tmp_path / "a.yaml"
    head = "apiVersion: extensions/v1beta1\nkind: Ingress\nmetadata: {name: a}\n"
    for backend, expected in (
        ("{serviceName: a, servicePort: 80}", None),
        ("{service: {name: a, port: {number: 80}}}", 1),
    ):
        rule = f"{{http: {{paths: [{{path: /, pathType: Prefix, backend: {backend}}}]}}}}"
        path.write_text(f"{head}spec: {{rules: [{rule}]}}\n")
        (found,) = validate(path)
        assert found["message"] == 'no matches for kind "Ingress" in version "extensions/v1beta1"'
        assert ("edit" in found) == bool(expected)


def test_a_number_in_an_environment_is_put_in_quotes_and_not_shown(tmp_path: Path) -> None:
    """It may be a secret: --fix mends the file, and no report says the value."""
    path = tmp_path / "a.yaml"
    env = "[{name: PIN, value: 73519}, {name: DEBUG, value: true}, {name: B, value: [73519]}]"
    path.write_text(
        f"apiVersion: v1\nkind: Pod\nmetadata: {{name: a}}\nspec: {{containers: [{{name: a, image: b, env: {env}}}]}}\n"
    )
    assert b"73519" not in run("-o", "json", str(path)).out
    done = run("--fix", str(path))
    assert b"73519" not in done.out + done.err
    assert 'value: "73519"}, {name: DEBUG, value: "true"}, {name: B, value: [73519]}' in path.read_text()


@pytest.mark.parametrize("labels", ["{app: b}", "{app: a, tier: web}", "null"])
def test_a_selector_of_other_labels_is_left_alone(labels: str, tmp_path: Path) -> None:
    """What the labels of the template do not say may be anything."""
    path = tmp_path / "a.yaml"
    template = f"{{metadata: {{labels: {labels}}}, spec: {{containers: [{{name: a, image: b}}]}}}}"
    path.write_text(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\n"
        f"spec: {{selector: {{app: a, tier: db}}, template: {template}}}\n"
    )
    found = {each["field"]["path"]: "edit" in each for each in validate(path)}
    assert not found["spec.selector.tier"]


def test_what_is_written_twice_and_mistyped_inside_is_told(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(
        "apiVersion: scheduling.k8s.io/v1beta1\nkind: PodGroup\nmetadata: {name: a}\nspec:\n"
        "spec: {schedulingPolicy: {gang: {minCuont: 4}}}\n"
    )
    assert {"spec", "spec.schedulingPolicy.gang.minCuont"} <= {each["field"]["path"] for each in validate(path)}
