"""Every option of every command succeeds, and changes something: what is printed, the exit status, or a file. The
commands that have none succeed as well.

Knows what each command does without options (`WORDS`) and a value for each option (`VALUES`). A new option has a row
here, or this fails.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from krmfn.cli import COMMANDS
from krmfn.cli.options import Option, read_command
from tests.cli.conftest import RAYCLUSTER, Call
from tests.cli.test_fit import SIMULATOR, make_job, make_node
from tests.e2e.tools import require_kustomize

#: What a command is called with, and what its options change: a folder with groups, an overlay, data of a cluster.
WORDS: Mapping[str, tuple[str, ...]] = {
    "bridge": (),
    "convert": ("--to", "1.35", "apps/groups.yaml"),
    "diff": ("old", "new"),
    "explain": ("Workload.spec",),
    "facts": ("cluster.yaml",),
    "fit": ("--cluster", "cluster.yaml", "apps"),
    "fleet": ("fleet.yml",),
    "generate": ("plain",),
    "init": ("apps/overlay",),
    "kinds": (),
    "merge": ("report.json", "a=report.json"),
    "rules": (),
    "schema": ("podgroup",),
    "tree": ("apps",),
    "upgrade": ("--kubernetes", "1.36", "--to", "1.37", "apps"),
    "validate": ("apps",),
    "why": ("--cluster", "dump.yaml", "job/ml/fits"),
}
#: A value of an option that changes something, where there is no list of choices.
VALUES: Mapping[str, str] = {
    "--annotate": "job/unasked",
    "--api-version": "scheduling.volcano.sh/v1beta1",
    "--allow-exec": "apps/odd/stranger.sh,new/odd/stranger.sh",
    "--against": "old",
    "--baseline": "known.txt",
    "--cache": "cluster.yaml",  # no folder, which it says; tests/cli/test_cache.py has the rest
    "--cluster": "cluster.yaml",
    "--config": "other.yaml",
    "--crds": "crds",
    "--exclude": "job*",
    "--from": "drones.yaml",
    "--feature-gates": "GenericWorkload=false",
    "--ignore": "group-unused",
    "--into": "other",
    "--jobs": "1",
    "--kubernetes": "1.35",
    "--namespace-selector": "team=ml",
    "--select": "server",
    "--severity": "group-unused=error",
    "--shard": "1/2",
    "--simulator": "./simulator",
    "--to-kubernetes": "1.37",
    "--to": "1.36",
}
#: Where a command needs another one.
VALUES_OF: Mapping[tuple[str, str], str] = {
    ("bridge", "--kubernetes"): "1.36",
    ("convert", "--config"): "pinned.yaml",
    ("generate", "--shard"): "2/2",
    ("why", "--cluster"): "events.yaml",
}
_NEVER = ("--simulator", "./never", "--cluster")
#: Other words for one option, on both sides: where it says something about another one, or only speaks there.
WORDS_FOR: Mapping[tuple[str, str], tuple[str, ...]] = {
    ("convert", "--config"): ("--to", "1.37", "earlier.yaml"),
    ("diff", "--simulator"): (*_NEVER, "cluster.yaml", "old", "new"),
    ("diff", "--to-kubernetes"): ("--kubernetes", "1.36", "old", "new"),
    ("fit", "--cluster"): ("apps",),
    ("fit", "--prove"): (*_NEVER, "cluster.yaml", "apps"),
    ("fit", "--simulator"): (*_NEVER, "cluster.yaml", "apps"),
    ("generate", "--fail-on-change"): ("--write", "plain"),
    ("explain", "--api-version"): ("PodGroup",),
    ("generate", "--shard"): ("--check", "plain"),
    ("init", "--move"): ("apps/overlay/base",),
    ("merge", "--write-baseline"): ("--baseline", "known.txt", "report.json"),
    ("upgrade", "--config"): ("--to", "1.37", "apps"),
    ("validate", "--fail-on"): ("plain",),
    ("validate", "--update"): ("--against", "old", "new"),
    ("validate", "--write-baseline"): ("--baseline", "known.txt", "apps"),
    ("why", "--prove"): (*_NEVER, "dump.yaml", "job/ml/fits"),
    ("why", "--simulator"): (*_NEVER, "dump.yaml", "job/ml/fits"),
}
_WRITTEN = ("--baseline", "known.txt", "--write-baseline")
#: What is called first in both folders.
FIRST = {
    (command, name): (command, path, *_WRITTEN)
    for command, path in (("validate", "apps"), ("merge", "report.json"))
    for name in ("--baseline", "--write-baseline")
}
#: What prints nothing that this option could take away, or does not differ in the releases that have it.
INERT = {
    ("why", "--quiet"),
    ("bridge", "--kubernetes"),
    ("convert", "--verbose"),
    ("explain", "--crds"),  # what is below the folder is found without it: tests/cli/test_explain.py
}


class Row(NamedTuple):
    """An option of a command, with a value of it."""

    command: str
    option: Option
    value: str

    def __str__(self) -> str:
        return " ".join(filter(None, [self.command, self.option.names[-1], self.value]))


def list_rows() -> list[Row]:
    rows = []
    for command in COMMANDS:
        for option in read_command(command).options:
            name = option.names[-1]
            given = ("",) if option.flag else option.choices or (VALUES_OF.get((command, name), VALUES.get(name, "")),)
            rows += [Row(command, option, value) for value in given if value != option.default]
    return rows


@pytest.mark.slow
@pytest.mark.parametrize("row", list_rows(), ids=str)
def test_every_option_changes_something(row: Row, tmp_path: Path, krmfn: Call) -> None:
    require_kustomize()
    name = row.option.names[-1]
    words = [*WORDS_FOR.get((row.command, name), WORDS[row.command])]
    if row.option.choices:  # against the one before; both ways to apply do the same to what nobody else has changed
        before = row.option.choices[row.option.choices.index(row.value) - 1]
        words += [name, "replace" if row.value == "server-side-apply" else before]
    more = [*words, name, *filter(None, [row.value])]  # the last one counts
    ends = []
    for folder, given in ((tmp_path / "without", words), (tmp_path / "with", more)):
        make_folder(folder)
        if (row.command, name) in FIRST:
            krmfn(*FIRST[row.command, name], folder=folder)
        there = read(folder)
        done = krmfn(row.command, *given, folder=folder)
        assert "Traceback" not in done.err
        if given is more:
            assert done.code in ({2} if name == "--require-render" else {0, 1}), done.err
        ends.append((done, {path: text for path, text in read(folder).items() if there.get(path) != text}))
    assert ((row.command, name) in INERT) == (ends[0] == ends[1]), ends[0][0]


@pytest.mark.parametrize("words", ["version", "--version", "help", "--help", "-h", "help tree", "completion bash"])
def test_commands_without_options(words: str, krmfn: Call) -> None:
    done = krmfn(*words.split())
    assert (done.err, done.code) == ("", 0)
    assert done.out


def test_no_option_is_left_out() -> None:
    asked = {
        (command, option.names[-1])
        for command in COMMANDS
        for option in read_command(command).options
        if not option.flag and not option.choices
    }
    left_out = {(command, name) for command, name in asked - VALUES_OF.keys() if name not in VALUES}
    assert left_out == set(), "give each a value in VALUES that changes something"


def test_no_command_is_left_out() -> None:
    without = {command for command in COMMANDS if not read_command(command).options}
    assert without == {"version", "help", "completion", "mcp", "lsp"}
    assert without | set(WORDS) == set(COMMANDS)


def read(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def define_drones() -> dict[str, Any]:
    """A definition with a pod template."""
    pod = {"properties": {"spec": {"properties": {"containers": {"type": "array"}}}}}
    schema = {"openAPIV3Schema": {"properties": {"spec": {"properties": {"template": pod}}}}}
    version = {"name": "v1", "served": True, "storage": True, "schema": schema}
    spec = {"group": "example.com", "names": {"kind": "Drone", "plural": "drones"}, "versions": [version]}
    head = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"}
    return {**head, "metadata": {"name": "drones.example.com"}, "spec": spec}


def make_folder(folder: Path) -> None:
    """A repository in which every option has something to do."""
    for name in ("", "apps", "plain", "old", "new", "crds"):
        (folder / name).mkdir()
    write(folder / "drones.yaml", define_drones())
    pair = [make_job(name, 2, 1) for name in ("held", "with-it")]
    for job in pair:
        job["metadata"]["annotations"]["krmfn.dev/gang-group"] = "pair"
    pair[0]["spec"]["suspend"] = True
    lost = [make_job(f"lost-{number}", 2, 1) for number in range(4)]
    for job in lost:  # says how, but not that
        job["metadata"]["annotations"] = {"krmfn.dev/min-count": "1"}
    for name in ("apps", "plain"):
        write(folder / name / "job.yaml", make_job("train", 3, 1))
        write(folder / name / "pair.yaml", *pair, *lost)
        write(folder / name / "ray.yaml", yaml.safe_load(RAYCLUSTER))
    groups = [
        make("PodGroup", name, spec={"schedulingPolicy": {"gang": {"minCount": 2}}, "disruptionMode": {"all": {}}})
        for name in ("mine", "theirs", "hers", "his")
    ]
    write(folder / "apps/groups.yaml", *groups)
    earlier = {**groups[0], "apiVersion": "scheduling.k8s.io/v1alpha2"}
    write(folder / "earlier.yaml", {**earlier, "spec": {"schedulingPolicy": {"gang": {"minCount": 2}}}})
    write(folder / "apps/fits.yaml", make_job("fits", 2, 1))
    linked = make_job("linked", 1, 1)
    linked["metadata"]["annotations"] = {}
    linked["spec"]["template"]["spec"]["schedulingGroup"] = {"podGroupName": "mine"}  # which wants two pods
    write(folder / "apps/linked.yaml", linked)
    toy = {"apiVersion": "a.io/v1", "kind": "Toy", "metadata": {"name": "x"}}
    write(folder / "apps/toy.yaml", {**toy, "size": "large"})
    for state, pods in (("old", 3), ("new", 4)):
        step = make_job("step", pods, 1)
        if state == "old":  # no longer said in the new state
            step["spec"]["completionMode"] = "Indexed"
        else:
            write(folder / state / "more.yaml", make_job("fits", 2, 1))
        write(folder / state / "job.yaml", step)
        write(folder / state / "toy.yaml", {**toy, "size": state})
        make_overlay(folder / state / "app", "plain")
        make_overlay(folder / state / "odd", "stranger", program=True)
    make_overlay(folder / "apps/overlay", "over")
    unasked = make_job("unasked", 2, 1)
    del unasked["metadata"]["annotations"]
    (folder / "apps/overlay/base").mkdir()
    write(folder / "apps/overlay/base/unasked.yaml", unasked)
    write(folder / "apps/overlay/base/kustomization.yaml", {"resources": ["unasked.yaml"]})
    write(folder / "apps/overlay/kustomization.yaml", {"resources": ["over.yaml", "base"], "namePrefix": "my-"})
    make_overlay(folder / "apps/odd", "stranger", program=True)
    source = {"repoURL": "https://example.com/repo"}
    argo = {"apiVersion": "argoproj.io/v1alpha1", "kind": "Application", "metadata": {"name": "charted"}}
    for state in ("apps", "plain", "old", "new"):
        (folder / state / "chart/templates").mkdir(parents=True)
        (folder / state / "chart/Chart.yaml").write_text("apiVersion: v2\nname: app\nversion: 0.1.0\n")
        job = make_job("charted", 2, 1 + (state == "new"))
        write(folder / state / "chart/templates/job.yaml", job)
        here = {"source": {**source, "path": f"{state}/chart"}, "destination": {"namespace": "ml"}}
        write(folder / state / "charted.yaml", {**argo, "spec": here})
    write(folder / "fleet.yml", {"repositories": [{"folder": "plain"}, {"folder": "apps"}]})
    for name, text in (("simulator", SIMULATOR), ("never", SIMULATOR.replace('"fits": True', '"fits": False'))):
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    for name in ("apps", "plain", "old", "new"):  # a template of Helm, which is no manifest
        (folder / name / "template.yaml").write_text("{{- if .Values.on }}\nkind: Job\n{{- end }}\n")
    nodes = [make_node("gpu-1", "a"), make_node("gpu-2", "b")]
    listed = {"apiVersion": "v1", "kind": "List"}
    other = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "other", "namespace": "ml"}}
    other["spec"] = {"nodeName": "gpu-1", "containers": [{"name": "a", "image": "a"}]}
    (folder / "cluster.yaml").write_text(json.dumps({**listed, "items": [*nodes, other]}))
    event = {"apiVersion": "v1", "kind": "Event", "metadata": {"name": "e", "namespace": "ml"}}
    event |= {"reason": "FailedScheduling", "message": "0/2 nodes are available", "type": "Warning"}
    event["involvedObject"] = {"kind": "Pod", "name": "fits-0", "namespace": "ml"}
    (folder / "events.yaml").write_text(json.dumps({**listed, "items": [event]}))
    (folder / "dump.yaml").write_text(json.dumps({**listed, "items": [*nodes, *make_live()]}))
    schema = {"type": "object", "properties": {"size": {"type": "integer"}}}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"kind": "Toy", "plural": "toys", "singular": "toy", "listKind": "ToyList"}
    spec = {"group": "a.io", "scope": "Namespaced", "names": names, "versions": [version]}
    crd = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "spec": spec}
    write(folder / "crds/toys.yaml", {**crd, "metadata": {"name": "toys.a.io"}})
    notes = [{"message": f"note {number}", "severity": "info", "tags": {"rule": "group-unused"}} for number in range(5)]
    warning = {"message": "no pods", "severity": "warning", "file": {"path": "a.yaml", "index": 0}}
    found = [*notes, {**warning, "tags": {"rule": "group-unused"}}]
    (folder / "report.json").write_text(json.dumps({"results": found, "summary": {}}))
    config = {"apiVersion": "krmfn.dev/v1alpha1", "kind": "GangScheduling", "metadata": {"name": "gangs"}}
    write(folder / "other.yaml", {**config, "spec": {"kubernetes": {"version": "1.35"}}})
    pins = {"PodGroup": "v1alpha3"}
    write(folder / "pinned.yaml", {**config, "spec": {"kubernetes": {"version": "1.37", "apiVersions": pins}}})


def make(kind: str, name: str, **fields: object) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "ml"}
    return {"apiVersion": "scheduling.k8s.io/v1beta1", "kind": kind, "metadata": metadata, **fields}


def make_live() -> list[dict[str, Any]]:
    """A Job whose pods wait, as they are before the scheduler has looked at them."""
    job = make_job("fits", 2, 1)
    job["metadata"]["uid"] = "1"
    job["spec"]["template"]["spec"]["schedulingGroup"] = {"podGroupName": "fits"}
    group = make("PodGroup", "fits", spec={"schedulingPolicy": {"gang": {"minCount": 2}}})
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "fits", "uid": "1", "controller": True}
    pods = [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": f"fits-{number}",
                "namespace": "ml",
                "labels": {"job-name": "fits"},
                "ownerReferences": [owner],
            },
            "spec": job["spec"]["template"]["spec"],
            "status": {"phase": "Pending"},
        }
        for number in range(2)
    ]
    return [job, group, *pods]


def make_overlay(folder: Path, job: str, program: bool = False) -> None:
    """A kustomization; with a `program` that changes its Job, and that nobody knows."""
    folder.mkdir()
    write(folder / f"{job}.yaml", make_job(job, 2, 1))
    listed = {"resources": [f"{job}.yaml"], "namePrefix": "my-"}
    write(folder / "kustomization.yaml", {**listed, "transformers": ["function.yaml"]} if program else listed)
    if program:
        declared = {"config.kubernetes.io/function": "exec: {path: ./stranger.sh}"}
        metadata = {"name": "stranger", "annotations": declared}
        write(folder / "function.yaml", {"apiVersion": "a.io/v1", "kind": "Stranger", "metadata": metadata})
        (folder / "stranger.sh").write_text("#!/bin/sh\nsed 's/parallelism: 2/parallelism: 1/'\n")
        (folder / "stranger.sh").chmod(0o755)


def write(path: Path, *documents: object) -> None:
    path.write_text(yaml.safe_dump_all(documents))
