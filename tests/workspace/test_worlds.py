"""Worlds: what is applied together is checked together, and nothing else is."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

import krmfn
from krmfn.cli.entry import main
from krmfn.workspace.world import Rendering
from krmfn.workspace.worlds import Worlds, find_worlds
from tests.e2e.tools import require_kustomize
from tests.workspace.repositories import GANGS, JOB, commit, git

GROUP = """\
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata: {name: train}
spec:
  schedulingPolicy: {gang: {minCount: 8}}
"""
LINKED = JOB.replace(
    "      restartPolicy", "      schedulingGroup: {podGroupName: train}\n      restartPolicy"
).replace('\n  annotations: {krmfn.dev/gang: "true"}', "")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository as working directory."""
    (tmp_path / "repository").mkdir()
    monkeypatch.chdir(tmp_path / "repository")
    git(tmp_path / "repository", "init", "-q", "-b", "main")
    return tmp_path / "repository"


@pytest.fixture
def kustomize(monkeypatch: pytest.MonkeyPatch) -> None:
    """kustomize, or a skip that says how to get it."""
    require_kustomize(monkeypatch)


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def names(found: Worlds) -> dict[str, list[str]]:
    return {world.key: sorted(str(item.ref) for item in world.items) for world in found.worlds}


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = main(words)
    done = capsys.readouterr()
    return code, done.out, done.err


def test_files_of_several_folders_are_one_world(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(folder, {"jobs/job.yaml": LINKED, "groups/group.yaml": GROUP})
    assert names(find_worlds(["."], Rendering())) == {".": ["Job train", "PodGroup train"]}
    assert run(capsys, "validate", "--fail-on", "error", ".")[0] == 0


def test_a_file_by_its_whole_path_is_with_others(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The configuration is then that of the folder in which somebody works."""
    write(folder, {"jobs/job.yaml": LINKED, "groups/group.yaml": GROUP})
    places = ["jobs/job.yaml", str(folder / "groups" / "group.yaml")]
    code, out, _ = run(capsys, "tree", "-q", *places)
    assert (code, "all 8 pods start together" in out) == (0, True)
    write(folder, {"krmfn.yaml": GANGS + "spec: {x: 1}\n"})
    assert "krmfn.yaml:" in run(capsys, "validate", *places)[2]


def test_copies_in_two_folders_are_two_worlds(folder: Path) -> None:
    write(folder, {"dev/a.yaml": JOB, "prod/b.yaml": JOB, "shared.yaml": GROUP})
    assert names(find_worlds(["."], Rendering())) == {
        ".": ["PodGroup train"],
        "dev": ["Job train"],
        "prod": ["Job train"],
    }


def test_copies_in_one_folder_are_told(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(folder, {"a.yaml": f"{JOB}---\n{JOB}"})
    code, out, _ = run(capsys, "validate", ".")
    assert ":9: warning: Job train metadata.name: this object is defined twice (a.yaml:1); " in out
    assert "[object-duplicate]" in out
    assert code == 0
    bundle = "apiVersion: scorecard.operatorframework.io/v1alpha3\nkind: Configuration\nmetadata: {name: config}\n"
    write(folder, {"b.yaml": bundle})
    assert "[object-duplicate]" not in run(capsys, "validate", ".")[1], "examples of several versions"


def test_files_of_one_folder_that_define_one_object_are_alternatives(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    space = "apiVersion: v1\nkind: Namespace\nmetadata: {name: ml}\n---\n"
    small = GROUP.replace("{name: train}", "{name: train, labels: {a: b}}")
    write(folder, {"a.yaml": space + LINKED, "b.yaml": space + GROUP, "c.yaml": space + small})
    assert names(find_worlds(["."], Rendering())) == {
        ".": ["Job train", "Namespace ml", "Namespace ml", "PodGroup train"],
        ". c.yaml": ["Namespace ml", "PodGroup train"],
    }
    code, out, _ = run(capsys, "validate", "--stage", "scheduler,gitops", ".")
    assert "object-duplicate" not in out
    assert "c.yaml: info: checked separately: another file" in out
    assert (code, "min-count" in out, "link" in out) == (0, False, False)


def test_what_an_alternative_has_is_not_missing(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two set-ups of one object, and an example for the second one."""
    one, two = (f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: set-up}}\ndata: {{a: {each}}}\n" for each in "bc")
    write(folder, {"a.yaml": one, "b.yaml": f"{two}---\n{GROUP}", "job.yaml": LINKED})
    assert "[group-missing]" not in run(capsys, "validate", ".")[1]
    assert not krmfn.validate(".").of("group-missing")
    write(folder, {"b.yaml": two})
    assert krmfn.validate(".").of("group-missing")
    assert "[group-missing]" in run(capsys, "validate", ".")[1]


@pytest.mark.parametrize(
    "text",
    [
        '// a comment\n{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "A"}}\n',
        '{\n  // https://a\n  "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "http://A"}, /* b\n */\n}\n',
    ],
)
def test_json_with_comments_is_passed_over(folder: Path, capsys: pytest.CaptureFixture[str], text: str) -> None:
    write(folder, {"job.yaml": JOB, "a.json": text})
    code, _, err = run(capsys, "validate", ".")
    assert (code, "not checked: JSON with comments (1)" in err) == (0, True)
    code, out, _ = run(capsys, "validate", "a.json")
    assert (code, "JSON with comments, which kubectl and kustomize refuse" in out) == (2, True)
    write(folder, {"a.json": text.replace("}", "")})
    assert "JSON with comments" not in "".join(map(str, run(capsys, "validate", ".")))


def test_a_kustomization_that_only_lists_files_needs_no_kustomize(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write(
        folder,
        {
            "base/kustomization.yaml": "resources: [job.yaml]\n",
            "base/job.yaml": LINKED,
            "top/kustomization.yaml": "resources: [../base, group.yaml]\nnamespace: ml\n",
            "top/group.yaml": GROUP.replace("minCount: 8", "minCount: 9"),
            "top/unlisted.yaml": LINKED.replace("train", "other"),
        },
    )
    monkeypatch.setenv("PATH", os.path.dirname(os.path.realpath("/bin/sh")))
    found = find_worlds(["."], Rendering())
    assert [sorted(str(item.ref) for item in world.items) for world in found.worlds] == [
        ["Job ml/train", "PodGroup ml/train"],
        ["Job other"],
    ]
    code, out, _ = run(capsys, "validate", "top", "-q")
    assert code == 1
    assert "top/group.yaml:5:39: error: PodGroup train spec.schedulingPolicy.gang.minCount: minCount is 9" in out


def test_without_kustomize_others_are_named(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write(folder, {"app/kustomization.yaml": "resources: [job.yaml]\nnamePrefix: a-\n", "app/job.yaml": JOB})
    monkeypatch.setenv("PATH", os.path.dirname(os.path.realpath("/bin/sh")))
    code, out, _ = run(capsys, "validate", "--fail-on", "warning", ".")
    assert out.startswith("app/kustomization.yaml: warning: not checked: it needs kustomize, which is not on the PATH")
    assert code == 0
    assert run(capsys, "validate", "--require-render", ".")[0] == 2
    code, out, _ = run(capsys, "validate", "--no-render", ".")
    assert "not-rendered" not in out


@pytest.mark.usefixtures("kustomize")
def test_overlays_are_rendered_and_told_by_the_lines_that_were_written(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(
        folder,
        {
            "base/kustomization.yaml": "resources: [job.yaml, group.yaml]\nconfigurations: [names.yaml]\n",
            "base/names.yaml": "{}\n",
            "base/job.yaml": "# a job\n" + LINKED,
            "base/group.yaml": GROUP.replace("minCount: 8", "minCount: 9"),
            "dev/kustomization.yaml": "resources: [../base]\nnamespace: dev\ncommonLabels: {a: b}\n",
            "prod/kustomization.yaml": "resources: [../base]\nnamespace: prod\ncommonLabels: {a: b}\n"
            "patches:\n- patch: |\n    apiVersion: batch/v1\n    kind: Job\n    metadata: {name: train}\n"
            "    spec: {parallelism: 9, completions: 9}\n",
        },
    )
    found = find_worlds(["."], Rendering())
    assert names(found) == {
        "dev": ["Job dev/train", "PodGroup dev/train"],
        "prod": ["Job prod/train", "PodGroup prod/train"],
    }
    code, out, _ = run(capsys, "validate", "-q", ".")
    errors = [line for line in out.splitlines() if "error" in line]
    assert len(errors) == 1
    assert errors[0].startswith("base/group.yaml:5:39: error: PodGroup train spec.schedulingPolicy.gang.minCount: ")
    assert errors[0].endswith("(in dev) [min-count-above-pods]")
    assert code == 1


@pytest.mark.usefixtures("kustomize")
def test_one_mistake_in_a_base_is_one_finding(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(folder, {f"{name}/kustomization.yaml": "resources: [../base]\ncommonLabels: {a: b}\n" for name in ("a", "b")})
    base = GROUP.replace("minCount: 8", "minCount: -1")
    write(folder, {"base/kustomization.yaml": "resources: [g.yaml]\n", "base/g.yaml": base})
    code, out, _ = run(capsys, "validate", "-q", "--stage", "server", ".")
    assert code == 1
    assert len([line for line in out.splitlines() if " error: " in line]) == 1
    assert "base/g.yaml:5:39: error: PodGroup train spec.schedulingPolicy.gang.minCount: " in out
    assert "(in a, b)" in out


@pytest.mark.usefixtures("kustomize")
@pytest.mark.parametrize("overlays", ["", "a", "ab"])
@pytest.mark.parametrize("change", ["", "commonLabels: {a: b}\n"])
@pytest.mark.parametrize("words", [".", ". base/g.yaml"])
def test_a_fix_reaches_the_file_that_a_kustomization_lists(
    folder: Path, capsys: pytest.CaptureFixture[str], overlays: str, change: str, words: str
) -> None:
    for name in overlays:
        write(folder, {f"{name}/kustomization.yaml": f"resources: [../base]\n{change}"})
    files = {"base/kustomization.yaml": f"resources: [g.yaml, job.yaml]\n{change}", "base/job.yaml": LINKED}
    comment = GROUP.replace("{gang: {minCount: 8}}", "\n    gang:\n      minCount: 9  # too many")
    write(folder, files | {"base/g.yaml": comment})
    assert run(capsys, "validate", "--fix", *words.split())[0] == 0
    assert (folder / "base/g.yaml").read_text() == comment.replace("minCount: 9", "minCount: 8")


@pytest.mark.usefixtures("kustomize")
def test_a_patched_field_is_told_of_the_overlay(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    patch = "patches:\n- patch: |\n    apiVersion: scheduling.k8s.io/v1beta1\n    kind: PodGroup\n"
    patch += "    metadata: {name: train}\n    spec: {schedulingPolicy: {gang: {minCount: -1}}}\n"
    write(folder, {"a/kustomization.yaml": "resources: [../base]\n" + patch})
    write(folder, {"base/kustomization.yaml": "resources: [g.yaml]\n", "base/g.yaml": GROUP})
    _, out, _ = run(capsys, "validate", "-q", "--stage", "server", ".")
    assert out.startswith("a/kustomization.yaml: error: PodGroup train spec.schedulingPolicy.gang.minCount: ")


@pytest.mark.usefixtures("kustomize")
def test_a_world_has_the_configuration_of_its_function(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = GANGS + 'spec: {kubernetes: {version: "1.36"}}\n'
    kustomization = "resources: [job.yaml]\ntransformers: [gangs.yaml]\n"
    write(folder, {"a/kustomization.yaml": kustomization, "a/job.yaml": JOB, "a/gangs.yaml": text})
    write(folder, {"b/kustomization.yaml": kustomization + "namePrefix: x-\n", "b/job.yaml": JOB, "b/gangs.yaml": text})
    for place in "ab":
        document = run(capsys, "tree", "-q", "-o", "json", place)[1]
        assert '"world": "' in document
        assert run(capsys, "diff", "-o", "json", place, place)[1].count("scheduling.k8s.io/v1alpha2") == 2


def test_each_state_is_read_with_its_own_configuration(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(folder, {"app/job.yaml": JOB})
    commit(folder)
    config = 'apiVersion: krmfn.dev/v1alpha1\nkind: GangScheduling\nspec: {gang: {topologyKey: "example.com/rack"}}\n'
    write(folder, {"krmfn.yaml": config})
    code, out, _ = run(capsys, "diff", "git:main", "app")
    assert code == 1
    assert "Must be replaced" in out
    assert "PodGroup job-train" in out
    commit(folder)
    assert run(capsys, "diff", "git:HEAD", "app")[0] == 0
    assert "spec.schedulingConstraints" in run(capsys, "diff", "git:HEAD~1:app", "git:HEAD:app")[1]


@pytest.mark.usefixtures("kustomize")
def test_against_and_diff_agree(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(folder, {"app/kustomization.yaml": "resources: [g.yaml]\nnamePrefix: a-\n", "app/g.yaml": GROUP})
    commit(folder)
    patch = "- patch: |\n    apiVersion: scheduling.k8s.io/v1beta1\n    kind: PodGroup\n    metadata: {name: train}\n"
    patch += "    spec: {priorityClassName: high}\n"
    write(folder, {"app/kustomization.yaml": "resources: [g.yaml]\nnamePrefix: a-\npatches:\n" + patch})
    assert run(capsys, "diff", "git:main", "app")[0] == 1
    code, out, _ = run(capsys, "validate", "-q", "--against", "git:main", "app")
    assert code == 1
    assert "app/kustomization.yaml: error: PodGroup a-train spec.priorityClassName" in out


@pytest.mark.parametrize("side", ["old", "new", "both"])
def test_diff_compares_what_both_states_can_render(folder: Path, capsys: pytest.CaptureFixture[str], side: str) -> None:
    """What one state lacks because it could not be rendered is neither new nor removed."""
    good = {"far/kustomization.yaml": "resources: [g.yaml]\n", "far/g.yaml": GROUP}
    bad = {**good, "far/kustomization.yaml": "resources: [g.yaml]\ncomponents: [https://example.com/x.yaml]\n"}
    write(folder, {"near/kustomization.yaml": "resources: [g.yaml]\n", "near/g.yaml": GROUP})
    write(folder, good if side == "new" else bad)
    commit(folder)
    write(folder, {"near/g.yaml": GROUP.replace("name: train", "name: tune"), **(good if side == "old" else bad)})
    code, out, err = run(capsys, "diff", "-o", "json", "git:HEAD", ".")
    assert (code, err.count("not checked: kustomizations that need remote files (1)")) == (0, 1)
    entries = [entry["resourceRef"]["name"] for entry in json.loads(out)["entries"]]
    assert sorted(entries) == ["train", "tune"]
    for words in (("--require-render", "git:HEAD", "."), ("git:HEAD:far", "far")):
        code, out, err = run(capsys, "diff", *words)
        assert (code, out) == (2, "")
        assert "error: not checked: it uses https://example.com/x.yaml" in err, "nothing else is compared"


def test_diff_compares_the_files_that_can_be_read(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(folder, {"broken.yaml": GROUP + "---\n" + GROUP.replace("train", "tune"), "g.yaml": JOB})
    commit(folder)
    write(folder, {"broken.yaml": GROUP + "---\n" + GROUP.replace("spec:", "spec: ["), "new.yaml": LINKED})
    code, out, err = run(capsys, "diff", "git:HEAD", ".")
    assert code == 2
    assert "broken.yaml:" in err
    assert "tune" not in out, "it is not known to be removed"
    assert "1 new" in out
    (folder / "new.yaml").unlink()
    (folder / "g.yaml").unlink()
    assert run(capsys, "diff", "git:HEAD:broken.yaml", "broken.yaml")[:2] == (2, ""), "nothing was compared"


@pytest.mark.parametrize("options", [(), ("--require-render",)])
def test_diff_gives_a_reason_when_nothing_can_be_compared(
    folder: Path, capsys: pytest.CaptureFixture[str], options: tuple[str, ...]
) -> None:
    """A template is worth no warning in other runs; here it is why there is no answer."""
    write(folder, {"kustomization.yaml": "resources: [job.yaml]\nnamePrefix: {{ x }}\n", "job.yaml": JOB})
    code, out, err = run(capsys, "diff", *options, ".", ".")
    assert (code, out) == (2, "")
    assert "kustomization.yaml: error: not checked: it is a template" in err


def test_diff_pairs_objects_however_their_files_are_split(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Which files are a world depends on all of them: on copies, and on a kustomization that comes or goes."""

    def plan() -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for entry in json.loads(run(capsys, "diff", "-o", "json", "git:HEAD", ".")[1])["entries"]:
            found.setdefault(entry["action"], []).append(entry["resourceRef"]["name"])
        return found

    rename = GROUP.replace
    write(folder, {"a/g.yaml": GROUP, "b/g.yaml": rename("train", "tune"), "c/g.yaml": rename("train", "test")})
    commit(folder)
    write(folder, {"d/g.yaml": GROUP})
    assert plan() == {"unchanged": ["train", "tune", "test"], "new": ["train"]}, "a copy is one world more"
    commit(folder)
    (folder / "d/g.yaml").unlink()
    assert sorted(plan()) == ["remove", "unchanged"]
    write(folder, {"e/g.yaml": GROUP})
    assert plan() == {"unchanged": ["train", "tune", "test", "train"]}, "a file has moved"
    write(folder, {"b/kustomization.yaml": "resources: [g.yaml]\n"})
    assert list(plan()) == ["unchanged"]
    commit(folder)
    (folder / "b/kustomization.yaml").unlink()
    assert list(plan()) == ["unchanged"]
    write(folder, {"prod/kustomization.yaml": "resources: [g.yaml]\n", "prod/g.yaml": GROUP})
    commit(folder)
    (folder / "prod").rename(folder / "test")
    assert sorted(set(plan())) == ["new", "remove", "unchanged"], "two environments are two clusters"
    write(folder, {"overlay/kustomization.yaml": "resources: [../test]\n"})
    (folder / "test").rename(folder / "prod")
    (folder / "overlay/kustomization.yaml").write_text("resources: [../prod]\n")
    assert list(plan()) == ["unchanged"], "what builds on a world alone takes its place"
    commit(folder)
    (folder / "overlay/kustomization.yaml").unlink()
    assert list(plan()) == ["unchanged"]
    write(folder, {f"{name}/kustomization.yaml": "resources: [../prod]\n" for name in ("overlay", "other")})
    assert sorted(set(plan())) == ["new", "unchanged"], "one of two overlays was there"


def test_each_part_of_a_tree_is_called_after_its_files(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(folder, {"a/one.yaml": GROUP, "a/two.yaml": GROUP.replace("minCount: 4", "minCount: 3"), "b/one.yaml": GROUP})
    write(folder, {"b/two.yaml": JOB, "c/one.yaml": GROUP.replace("minCount: 4", "minCount: 2"), "c/two.yaml": GROUP})
    write(folder, {"c/three.yaml": GROUP.replace("train", "tune")})
    lines = run(capsys, "tree", "-q", ".")[1].splitlines()
    titles = [line for line in lines if line and not line.startswith(" ")]
    assert titles == ["a/one.yaml:", "a/two.yaml:", "b:", "c:", "c/two.yaml:"]
    assert not run(capsys, "tree", "-q", "b")[1].startswith("b")


@pytest.mark.usefixtures("kustomize")
def test_generate_leaves_what_the_function_does(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(
        folder,
        {
            "base/kustomization.yaml": "resources: [job.yaml]\n",
            "base/job.yaml": JOB,
            "prod/kustomization.yaml": "resources: [../base]\ntransformers: [gangs.yaml]\n",
            "prod/gangs.yaml": GANGS,
            "plain/kustomization.yaml": "resources: [job.yaml]\n",
            "plain/job.yaml": JOB,
            "other/job.yaml": JOB,
        },
    )
    code, _, err = run(capsys, "generate", "--write", ".")
    assert code == 0
    assert (folder / "base/job.yaml").read_text() == JOB
    assert "4 files are unchanged: their kustomization runs krmfn itself" in err
    assert (folder / "plain/kustomization.yaml").read_text() == "resources: [job.yaml, job-gang.yaml]\n"
    assert (folder / "other/job-gang.yaml").exists()
    assert run(capsys, "generate", "--check", ".")[0] == 0


def test_a_file_that_cannot_be_read_is_an_error(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(
        folder,
        {"app/kustomization.yaml": "resources: [a.yaml, job.yaml]\n", "app/job.yaml": JOB, "app/a.yaml": "a: [\n"},
    )
    code, out, _ = run(capsys, "validate", ".")
    assert code == 2
    assert "app/a.yaml:1:4: error: " in out
    assert "[unreadable]" in out


def test_kustomizations_in_a_circle_are_not_rendered(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    uses = {"a": "../b", "b": "../a", "c": "../d", "d": "../b", "e": "../e", "f": "../g", "g": "a.yaml"}
    write(folder, {f"{name}/kustomization.yaml": f"resources: [{used}]\n" for name, used in uses.items()})
    write(folder, {"g/a.yaml": JOB})
    code, out, _ = run(capsys, "validate", "-v", ".")
    said = [line for line in out.splitlines() if "not-rendered" in line]
    assert [line[0] for line in said] == ["c", "e"], "what a and b are is told of c, which uses them"
    assert all("cycle" in line for line in said)
    assert names(find_worlds(["."], Rendering())) == {"f": ["Job train"]}
    assert code == 0


def test_a_folder_that_is_used_twice_is_not_read_twice(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each use of a kustomization is one more copy of its objects, which kustomize refuses: it has to say so."""
    write(folder, {f"{k}/kustomization.yaml": f"resources: [../{k + 1}, ../{k + 1}/.]\n" for k in range(60)})
    write(folder, {"60/kustomization.yaml": "resources: [a.yaml]\n", "60/a.yaml": JOB})
    monkeypatch.setenv("PATH", "")
    _, out, _ = run(capsys, "validate", ".")
    assert "0/kustomization.yaml: warning: not checked: it needs kustomize" in out


def test_a_kustomization_that_cannot_be_read_is_named_by_those_that_build_on_it(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    base = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n"
    above = f"{base}namePrefix: dev-\nresources: [../base]\n"
    write(folder, {"base/kustomization.yaml": f"{base}resources: [job.yaml\n", "base/job.yaml": JOB})
    write(folder, {"dev/kustomization.yaml": above, "mid/kustomization.yaml": f"{base}resources: [../dev]\n"})
    out = run(capsys, "validate", ".")[1]
    broken = "which cannot be read: what begins here is not closed (did not find expected ',' or ']') [not-rendered]"
    assert "base/kustomization.yaml:3:12: warning: not checked: it cannot be read: what begins here is not" in out
    assert f"mid/kustomization.yaml: warning: not checked: it builds on base/kustomization.yaml, {broken}" in out
    write(folder, {"base/kustomization.yaml": f"{base}Resource: [job.yaml]\n"})
    out = run(capsys, "validate", ".")[1]
    assert "base/kustomization.yaml:3:11: warning: not checked: it has an unknown field, Resource [not" in out


@pytest.mark.usefixtures("kustomize")
def test_a_component_is_not_rendered_alone(folder: Path) -> None:
    component = "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\n"
    component += "patches: [{path: p.yaml, target: {kind: Job}}]\n"
    write(
        folder,
        {
            "c/kustomization.yaml": component,
            "c/p.yaml": "- {op: add, path: /spec/suspend, value: true}\n",
            "app/kustomization.yaml": "resources: [job.yaml]\ncomponents: [../c]\n",
            "app/job.yaml": JOB,
        },
    )
    found = find_worlds(["."], Rendering())
    assert names(found) == {"app": ["Job train"]}
    assert found.worlds[0].items[0].value["spec"]["suspend"] is True
    assert not found.problems


@pytest.mark.parametrize(
    ("files", "found"),
    [
        ({"over/kustomization.yaml": "resources: [../base]\nnamePrefix: a-\n"}, True),
        ({"over/kustomization.yaml": "resources: [../other]\nnamePrefix: a-\n"}, False),
        ({"over/kustomization.yaml": "resources: [../base]\nnamePrefix: a-\nconfigurations: [n.yaml]\n"}, False),
        ({"part/kustomization.yaml": "kind: Component\nnamePrefix: a-\n"}, False),
    ],
    ids=["groups", "elsewhere", "configured", "component"],
)
def test_an_affix_is_told_of_kustomizations_with_groups(
    folder: Path, capsys: pytest.CaptureFixture[str], files: dict[str, str], found: bool
) -> None:
    head = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n"
    part = "apiVersion: kustomize.config.k8s.io/v1alpha1\n"
    write(folder, {"base/kustomization.yaml": f"{head}resources: [group.yaml]\n", "base/group.yaml": GROUP})
    write(folder, {"other/kustomization.yaml": f"{head}resources: [job.yaml]\n", "other/job.yaml": JOB})
    write(folder, {name: (part if "kind:" in text else head) + text for name, text in files.items()})
    out = run(capsys, "validate", "--no-render", ".")[1]
    assert ("[affix-unconfigured]" in out) == found
