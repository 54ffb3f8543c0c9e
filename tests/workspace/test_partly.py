"""A kustomization with a part that cannot be had (a chart, a remote base) is checked without that part."""

from __future__ import annotations

import json
import posixpath
import re
import subprocess
from pathlib import Path

import pytest

from krmfn import validate
from krmfn.workspace.world import Rendering
from krmfn.workspace.worlds import find_worlds
from tests.workspace.repositories import JOB, commit
from tests.workspace.test_worlds import GROUP, LINKED, folder, kustomize, names, run, write

__all__ = ["folder", "kustomize"]
pytestmark = pytest.mark.usefixtures("kustomize")
CHART = "helmCharts: [{name: loki, repo: https://example.com}]\n"
BASE = "https://example.com/base?ref=v1"
PATCH = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: far}\nspec: {replicas: 3}\n"
GENERATOR = """\
apiVersion: example.com/v1
kind: Secrets
metadata:
  name: secrets
  annotations: {config.kubernetes.io/function: 'exec: {path: ./decrypt}'}
"""
PARTS = {
    "chart": ("resources: [job.yaml]\n" + CHART, "the Helm chart loki"),
    "chart and a word": (
        "resources: [job.yaml]\nhelmCharts: [loki, {name: loki, repo: https://example.com}]\n",
        "the Helm chart loki",
    ),
    "chart of old": (
        "resources: [job.yaml]\nhelmChartInflationGenerator: [{chartName: loki}, {chartName: loki}]\n",
        "the Helm chart loki",
    ),
    "base": (f"resources: [job.yaml, '{BASE}']\n", BASE),
    "both": (f"resources: [job.yaml, '{BASE}']\n" + CHART, f"the Helm chart loki + {BASE}"),
    "below": ("resources: [job.yaml, below]\n", "the Helm chart loki"),
    "in a component": ("resources: [job.yaml]\ncomponents: [part]\n", "the Helm chart loki"),
    "generator": ("resources: [job.yaml]\ngenerators: [decrypt.yaml]\n", "what the program ./decrypt generates"),
    "remote generator": (f"resources: [job.yaml]\ngenerators: ['{BASE}']\n", BASE),
    "file": (
        "resources: [job.yaml]\nconfigMapGenerator: [{name: a, files: [x=no.txt], envs: [no.env]}]\n",
        "no.txt, which does not exist and no.env, which does not exist",
    ),
    "remote file": (
        "resources: [job.yaml]\nconfigMapGenerator: [{name: a, files: [x=https://a/b, 'https://a/c.json']}]\n",
        "https://a/b and https://a/c.json",
    ),
    "secret": (
        "resources: [job.yaml]\nsecretGenerator: [{name: a, files: [secret]}]\n",
        "a file of a Secret, which does not exist",
    ),
    "plugin": ("resources: [job.yaml]\ngenerators: [plugin.yaml]\n", "what the Sops generates"),
}


#: How they are counted; the others are warnings, because somebody can mend them or see to what is run.
COUNTED = {
    **dict.fromkeys(("chart", "chart and a word", "chart of old", "below", "in a component"), "Helm charts"),
    **dict.fromkeys(("base", "remote generator", "remote file"), "remote files"),
    "plugin": "kustomize plugins",
}


def fill(folder: Path, kustomization: str) -> None:
    component = "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\n"
    files = {
        "kustomization.yaml": kustomization,
        "job.yaml": JOB,
        "below/kustomization.yaml": CHART,
        "part/kustomization.yaml": component + CHART,
        "decrypt.yaml": GENERATOR,
        "plugin.yaml": "apiVersion: example.com/v1\nkind: Sops\nmetadata: {name: a}\n",
    }
    listed = {
        name: text for name, text in files.items() if name.partition("/")[0] in f"kustomization.yaml {kustomization}"
    }
    write(folder, {f"app/{name}": text for name, text in listed.items()})


@pytest.mark.parametrize("part", PARTS)
def test_the_rest_is_checked(part: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text, name = PARTS[part]
    fill(folder, "namePrefix: a-\n" + text)
    found = find_worlds(["app"], Rendering())
    assert "Job a-train" in names(found)["."]
    assert run(capsys, "validate", "--fail-on", "warning", "--select", "not-rendered", "app")[0] == 0
    out = run(capsys, "validate", "-o", "json", "app")[1]
    told = [each for each in json.loads(out)["results"] if each["message"].startswith("checked without")]
    place = {"below": "app/below", "in a component": "app/part"}.get(part, "app") + "/kustomization.yaml"
    assert {each["file"]["path"] for each in told} == {place}
    assert {each["message"].removeprefix("checked without ") for each in told} == {*name.split(" + ")}
    sorts = {each["tags"].get("sort", "") for each in told}
    assert sorts == ({COUNTED.get(part, "")} if part != "both" else {"Helm charts", "remote files"})
    rule = ("info", "skipped") if all(sorts) else ("warning", "not-rendered")
    assert {(each["severity"], each["tags"]["rule"]) for each in told} == {rule}
    code, out, _ = run(capsys, "validate", "--require-render", "app")
    assert code == 2
    assert "error: not checked: it" in out


def test_a_part_that_several_build_on_is_told_once(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of the kustomization that has the entry, and with every shard, so that reports can be merged."""
    lists = "resources: [../base]\nnamePrefix: {}-\n"
    overlays = {f"{name}/kustomization.yaml": lists.format(name) for name in "abcd"}
    base = "resources: [job.yaml]\nconfigMapGenerator: [{name: a, envs: [no.env]}]\n"
    write(folder, {**overlays, "base/kustomization.yaml": base, "base/job.yaml": JOB})
    out = run(capsys, "validate", "--select", "not-rendered", ".")[1]
    assert out.count("checked without") == 1
    assert "base/kustomization.yaml: warning: checked without no.env, which does not exist [not-rendered]" in out


@pytest.mark.parametrize(
    ("field", "missing", "template"),
    [
        ("configMapGenerator: [{name: a, envs: [a.env]}]", "a.env", "a.env.example"),
        ("configMapGenerator: [{name: a, envs: [a.env]}]", "a.env", "templates/a.tpl.env"),
        ("resources: [made.yaml]", "made.yaml", "made.yaml.in"),
        ("patches: [{path: p.yaml}]", "p.yaml", "p.yaml.tmpl"),
        ("resources: [sub]", "sub, a folder without a kustomization.yaml", "sub/kustomization.yaml.in"),
    ],
    ids=["beside", "in templates", "resource", "patch", "kustomization"],
)
def test_what_a_template_makes_is_counted(
    field: str, missing: str, template: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A patch and a kustomization may change what the others are."""
    files = {"kustomization.yaml": f"namePrefix: a-\nresources: [job.yaml]\n{field}\n", "job.yaml": JOB}
    files["kustomization.yaml"] = files["kustomization.yaml"].replace("yaml]\nresources: [", "yaml, ")
    is_whole = field.startswith("patches") or "sub" in field
    for more, sort in (({}, ""), ({template: "a: 1\n"}, "files that templates fill in")):
        write(folder, {f"app/{name}": text for name, text in {**files, **more, "sub/job.yaml": JOB}.items()})
        out = run(capsys, "validate", "-o", "json", ".")[1]
        (told,) = (each for each in json.loads(out)["results"] if missing in each["message"])
        expected = f"kustomizations that need {sort}" if sort and is_whole else sort
        assert told["tags"].get("sort", "") == expected
        assert told["severity"] == ("info" if sort else "warning")


def test_a_part_is_missing_only_where_git_does_not_ignore_it(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The oracle is git check-ignore."""
    write(folder, {".gitignore": "env/\n*.secret.yaml\n!kept.secret.yaml\n", "app/deep/.gitignore": "/local.yaml\n"})
    names = ["env/a.yaml", "a.secret.yaml", "kept.secret.yaml", "local.yaml", "deep/local.yaml", "deep/a/local.yaml"]
    names += ["deep/env/b.yaml", "../env/c.yaml"]
    paths = [posixpath.normpath(f"app/{name}") for name in names]
    git = subprocess.run(
        ["git", "check-ignore", "--no-index", *paths], cwd=folder, capture_output=True, text=True, check=False
    )
    ignored = git.stdout.split()
    assert 0 < len(ignored) < len(paths)
    for name, path in zip(names, paths, strict=True):
        write(folder, {"app/kustomization.yaml": f"resources: [job.yaml, {name}]\n", "app/job.yaml": JOB})
        (folder / "app/deep").mkdir(exist_ok=True)
        (told,) = [
            (each["tags"].get("sort", ""), each["message"])
            for each in json.loads(run(capsys, "validate", "-o", "json", ".")[1])["results"]
            if "does not exist" in each["message"]
        ]
        start = "checked without" if path in ignored else "not checked: it uses"
        assert told == ("files that git ignores" if path in ignored else "", f"{start} {name}, which does not exist")


@pytest.mark.parametrize("text", [CHART, f"resources: ['{BASE}']\n"], ids=["chart", "base"])
def test_nothing_is_left(text: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(folder, {"app/kustomization.yaml": "namePrefix: a-\n" + text})
    assert re.search(r"; not checked: (Helm charts|remote files) \(1\)", run(capsys, "validate", "app")[2])
    assert "error: not checked: it " in run(capsys, "validate", "--require-render", "app")[1]


@pytest.mark.parametrize(
    "text",
    [
        f"components: ['{BASE}']\n",
        CHART + "replicas: [{name: far, count: 3}]\n",
        CHART + "configMapGenerator: [{name: far, behavior: merge, literals: [a=b]}]\n",
        CHART + "patches: [{target: {kind: Job}, patch: '[{op: remove, path: /spec/far}]'}]\n",
    ],
    ids=["component", "replicas", "merge", "wrong patch"],
)
def test_what_may_change_the_rest(text: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nobody knows what the rest would be."""
    write(folder, {"app/kustomization.yaml": "resources: [job.yaml]\n" + text, "app/job.yaml": JOB})
    code, out, err = run(capsys, "validate", "app")
    assert (code, out) == (0, "")
    assert re.search(r"; not checked: kustomizations that need (Helm charts|remote files) \(1\)", err)
    assert "error: not checked: it " in run(capsys, "validate", "--require-render", "app")[1]


def test_patches_of_the_part_are_left_out_with_it(folder: Path) -> None:
    """Those of one file that have a target are applied; so is one alike in another kustomization."""
    near = PATCH.replace("Deployment", "Job").replace("apps/", "batch/").replace("replicas: 3", "suspend: true")
    mine = near.replace("far", "train").replace("suspend: true", "parallelism: 3")
    lists = "bases: [../base, ../other]\nresources: [job.yaml]\n" + CHART
    write(
        folder,
        {
            "app/kustomization.yaml": f"{lists}patchesStrategicMerge: {json.dumps(['patch.yaml', near])}\n",
            "app/job.yaml": JOB,
            "app/patch.yaml": f"{PATCH}---\n{mine}",
            "base/kustomization.yaml": CHART + "patches: [{path: one.yaml}, {path: one.yaml}]\n",
            "base/one.yaml": PATCH.replace("name: far", "name: far, namespace: ml"),
            "other/kustomization.yaml": "resources: [job.yaml]\npatches: [{path: patch.yaml}]\n",
            "other/job.yaml": JOB.replace("name: train", "name: far"),
            "other/patch.yaml": near.replace("suspend: true", "parallelism: 5"),
        },
    )
    (world,) = find_worlds(["."], Rendering()).worlds
    values = {item.name: item.value["spec"] for item in world.items}
    assert {name: (spec["parallelism"], spec.get("suspend")) for name, spec in values.items()} == {
        "train": (3, None),
        "far": (5, True),
    }


def test_a_value_of_a_missing_file_is_unknown(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nobody knows it; the rest is checked."""
    target = "targets: [{select: {kind: Job}, fieldPaths: [PATH]}]"
    places = {"name": "metadata.name", "image": "spec.template.spec.containers.0.image"}
    replacements = [
        f"{{source: {{kind: ConfigMap, name: a, fieldPath: data.{name}}}, {target.replace('PATH', place)}}}"
        for name, place in places.items()
    ]
    lists = "resources: [job.yaml]\nconfigMapGenerator: [{name: a, envs: [no.env]}, {name: b, files: [no.txt]}]\n"
    wrong = JOB.replace("completions: 8", "completions: -8")
    write(
        folder, {"app/kustomization.yaml": f"{lists}replacements: [{', '.join(replacements)}]\n", "app/job.yaml": wrong}
    )
    (world,) = find_worlds(["app"], Rendering()).worlds
    (job,) = (item for item in world.items if item.kind == "Job")
    assert (job.name, job.value["spec"]["template"]["spec"]["containers"][0]["image"]) == ("${name}", "${image}")
    _, out, _ = run(capsys, "validate", "app")
    assert out.count(" error: ") == 1, "what was wrong before"


def test_what_is_missing_may_be_in_the_part(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(folder, {"app/kustomization.yaml": "resources: [job.yaml]\n" + CHART, "app/job.yaml": LINKED})
    code, out, _ = run(capsys, "validate", "app")
    assert code == 0
    assert 'warning: Job train spec.template.spec.schedulingGroup.podGroupName: no PodGroup "train"' in out
    (found,) = (each for each in validate("app") if each.tags["rule"] == "group-missing")
    assert found.severity == "warning"
    assert "It may also be in what was not checked together with this: the Helm chart loki." in out


@pytest.mark.parametrize("side", ["old", "new"])
def test_diff_compares_states_without_the_same_part(
    folder: Path, capsys: pytest.CaptureFixture[str], side: str
) -> None:
    """A part that only one of them has to do without is neither new nor removed."""
    lists = "resources: [job.yaml, group.yaml]\n"
    write(folder, {"app/kustomization.yaml": lists + CHART, "app/job.yaml": LINKED, "app/group.yaml": GROUP})
    commit(folder)
    write(folder, {"app/group.yaml": GROUP.replace(": 8", ": 4")})
    assert "minCount: 8 -> 4" in run(capsys, "diff", "git:HEAD", ".")[1]
    lists = "resources: [job.yaml]\n"
    write(folder, {"app/kustomization.yaml": lists + (f"bases: ['{BASE}']\n" if side == "new" else "")})
    assert run(capsys, "diff", "git:HEAD", ".")[:2] == (2, ""), "nothing was compared"


def test_files_of_another_folder_are_used_and_told(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`kustomize build` needs an option for it."""
    space = "apiVersion: v1\nkind: Namespace\nmetadata: {name: ml}\n"
    patch = '[{"op": "add", "path": "/metadata/labels", "value": {"a": "b"}}]'
    own = "resources: [../namespace.yaml]\npatches: [{path: ../patch.yaml, target: {kind: Namespace}}]\n"
    write(folder, {"namespace.yaml": space, "patch.yaml": patch, "app/kustomization.yaml": own})
    write(folder, {"plain/kustomization.yaml": "resources: [../namespace.yaml]\n"})
    worlds = find_worlds(["app", "plain"], Rendering()).worlds
    assert [item.labels for world in worlds for item in world.items] == [{"a": "b"}, {}]
    code, out, _ = run(capsys, "validate", "app")
    told = "../namespace.yaml and 1 other, not below its folder: kustomize build needs --load-restrictor"
    assert (code, f"app/kustomization.yaml: info: checked with {told}" in out) == (0, True)
    assert "plain/kustomization.yaml: info: checked with ../namespace.yaml, not" in run(capsys, "validate", "plain")[1]
    code, out, _ = run(capsys, "validate", "--require-render", "app", "plain")
    assert (code, out.count("which is not below its folder: kustomize refuses that [not-rendered]")) == (2, 2)


def test_an_empty_list_of_charts_inflates_none(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(folder, {"kustomization.yaml": "namePrefix: a-\nresources: [job.yaml]\nhelmCharts: []\n", "job.yaml": JOB})
    code, out, told = run(capsys, "validate", ".")
    assert (code, "chart" in out + told, "1 kustomization" in told) == (0, False, True)
