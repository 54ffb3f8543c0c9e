"""Turning the tool on for a repository that has findings: rules, places, comments, annotations, a baseline."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.cli.conftest import Call
from tests.e2e.tools import require_kustomize
from tests.workspace.repositories import JOB

POD = """\
apiVersion: v1
kind: Pod
metadata: {name: a}
spec:
  containers:
  - {name: A, image: b}
"""


@pytest.fixture
def pods(folder: Path) -> Path:
    """A folder with two files of one mistake each."""
    (folder / "base/pod.yaml").write_text(POD)
    (folder / "old").mkdir()
    (folder / "old/pod.yaml").write_text(POD.replace("{name: a}", "{name: b}"))
    return folder


def count(text: str) -> int:
    return text.count("[pod-containers]")


@pytest.mark.slow
def test_a_kustomization_that_lists_krmfn_is_checked_with_what_krmfn_makes(folder: Path, krmfn: Call) -> None:
    """Also where kustomize is not needed to know what it builds; nothing of that is written."""
    assert "[function-skipped]" in krmfn("validate", "base").out
    assert krmfn("init", "-q", "base").code == 0
    files = {path: path.read_bytes() for path in (folder / "base").iterdir()}
    plain = krmfn("validate", "base", "--fix")
    assert ("[function-skipped]" in plain.out, plain.code) == (False, 0)
    assert "base/job.yaml:11:22: warning: Job train spec.template.spec.restartPolicy: after one pod" in plain.out
    assert {path: path.read_bytes() for path in (folder / "base").iterdir()} == files
    require_kustomize()
    kustomization = folder / "base/kustomization.yaml"
    kustomization.write_text(kustomization.read_text() + "commonAnnotations: {a: b}\n")
    assert krmfn("validate", "base").out == plain.out


@pytest.mark.slow
def test_overlays_that_differ_in_the_namespace_share_a_finding(folder: Path, krmfn: Call) -> None:
    require_kustomize()
    for name in ("dev", "prod"):
        (folder / name).mkdir()
        (folder / name / "kustomization.yaml").write_text(f"resources: [../base]\nnamespace: {name}\n")
    for command, end in (
        ("validate", " (in dev, prod) [function-skipped]"),
        ("tree", " (in dev, prod) [gates-needed]"),
    ):
        done = krmfn(command, ".")
        told = [line for line in (done.out + done.err).splitlines() if end[-10:] in line and "Job" in line]
        assert len(told) == 1
        assert told[0].endswith(end)


FUNCTION = """\
apiVersion: krmfn.dev/v1alpha1
kind: GangScheduling
metadata: {name: gangs, annotations: {config.kubernetes.io/function: "exec: {path: krmfn}"}}
spec: {select: All}
"""
#: How a kustomization comes to list krmfn, besides by a file under transformers: file, text.
WAYS = {
    "component": {
        "base/kustomization.yaml": "resources: [raycluster.yaml, job.yaml]\ncomponents: [../gangs]\n",
        "gangs/kustomization.yaml": "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\n"
        "transformers: [function.yaml]\n",
    },
    "component of a component": {
        "base/kustomization.yaml": "resources: [raycluster.yaml, job.yaml]\ncomponents: [../all]\n",
        "all/kustomization.yaml": "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\n"
        "components: [../gangs]\n",
        "gangs/kustomization.yaml": "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\n"
        "transformers: [function.yaml]\n",
    },
    "folder of transformers": {
        "base/kustomization.yaml": "resources: [raycluster.yaml, job.yaml]\ntransformers: [../gangs]\n",
        "gangs/kustomization.yaml": "resources: [function.yaml]\n",
    },
    "folder of folders": {
        "base/kustomization.yaml": "resources: [raycluster.yaml, job.yaml]\ntransformers: [../all]\n",
        "all/kustomization.yaml": "resources: [../gangs]\n",
        "gangs/kustomization.yaml": "resources: [function.yaml]\n",
    },
}


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
def test_krmfn_is_found_wherever_a_kustomization_lists_it(way: str, folder: Path, krmfn: Call) -> None:
    """The groups are in what is built: validate finds them there, and generate writes none beside them."""
    require_kustomize()
    for path, text in {**WAYS[way], "gangs/function.yaml": FUNCTION}.items():
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_text(text)
    assert "[function-skipped]" not in krmfn("validate").out
    assert "PodGroup job-train" in krmfn("tree").out
    for arguments in ((), ("base",)):
        done = krmfn("generate", "--check", *arguments)
        assert (done.code, done.out) == (0, "")
        assert "their kustomization runs krmfn itself" in done.err


@pytest.mark.slow
@pytest.mark.parametrize("entry", ["../gangs", "../gangs/function.yaml"])
def test_krmfn_under_generators_makes_no_groups(entry: str, folder: Path, krmfn: Call) -> None:
    """The build fails: nobody is told that the groups are there."""
    require_kustomize()
    (folder / "gangs").mkdir()
    (folder / "gangs/function.yaml").write_text(FUNCTION)
    (folder / "gangs/kustomization.yaml").write_text("resources: [function.yaml]\n")
    (folder / "base/kustomization.yaml").write_text(f"resources: [job.yaml]\ngenerators: [{entry}]\n")
    done = krmfn("validate", "base")
    assert "base/kustomization.yaml: warning: not checked: it lists krmfn under generators" in done.out
    assert "PodGroup job-train" not in krmfn("tree", "base").out


@pytest.mark.slow
def test_the_label_of_kuberay_alone_is_no_sign_of_krmfn(folder: Path, krmfn: Call) -> None:
    """KubeRay's own batch schedulers read it: no function is missing in a repository that has none."""
    ray = """\
apiVersion: ray.io/v1
kind: RayCluster
metadata: {name: a, labels: {ray.io/gang-scheduling-enabled: "true"}}
spec:
  headGroupSpec: {rayStartParams: {}, template: {spec: {containers: [{name: ray-head, image: ray}]}}}
"""
    (folder / "ray.yaml").write_text(ray)
    assert "[function-skipped]" not in krmfn("validate", "ray.yaml").out
    assert "[function-skipped]" in krmfn("validate", "--kubernetes", "1.36", "ray.yaml", "base").out


def test_rules_are_selected_and_ignored(pods: Path, krmfn: Call) -> None:
    done = krmfn("validate", "-q", "base/pod.yaml", "old")
    assert (count(done.out), done.code) == (2, 1)
    done = krmfn("validate", "-q", "--ignore", "pod-containers:old,min-count-*", "base/pod.yaml", "old")
    assert (count(done.out), "old/pod.yaml" in done.out, done.code) == (1, False, 1)
    done = krmfn("validate", "--ignore", "pod-*,min-count-one", "base/pod.yaml", "old")
    assert (count(done.out), done.code) == (0, 0)
    unused = "warning: --ignore min-count-one ignores nothing: there is no finding of min-count-one [ignore-unused]"
    assert unused in done.out
    assert krmfn("validate", "--select", "scheduler,min-count-one", "base/pod.yaml", "old").code == 0
    assert krmfn("validate", "--select", "server", "base/pod.yaml", "old").code == 1
    done = krmfn("validate", "--ignore", "pod-contaniers", "base")
    assert (done.code, done.err) == (2, "krmfn: there is no rule 'pod-contaniers'. Did you mean pod-containers?\n")


def test_comments_and_annotations_ignore(pods: Path, krmfn: Call) -> None:
    path = pods / "old/pod.yaml"
    line = "  - {name: A, image: b}"
    path.write_text(POD.replace(line, f"{line} # krmfn: ignore pod-containers (the operator renames it)"))
    assert krmfn("validate", "old").code == 0
    path.write_text(POD.replace(line, f"  # krmfn: ignore pod-containers\n{line}"))
    assert krmfn("validate", "old").code == 0
    path.write_text(POD.replace("{name: a}", "{name: a, annotations: {krmfn.dev/ignore: pod-containers (legacy)}}"))
    assert krmfn("validate", "old").code == 0
    for mistyped in (
        "{name: a, annotations: {krmfn.dev/ignore: pod-contaners (legacy)}}",
        "{name: a} # krmfn: ignore pod-contaners",
    ):
        path.write_text(POD.replace("{name: a}", mistyped))
        done = krmfn("validate", "old")
        assert (
            "ignores nothing: there is no rule 'pod-contaners' [ignore-unused]\n    Did you mean pod-containers?"
            in done.out
        )
    path.write_text(f"# krmfn: ignore pod-names\n{POD}")
    done = krmfn("validate", "old")
    assert "old/pod.yaml:1:1: warning: this comment ignores nothing" in done.out
    assert (count(done.out), done.code) == (1, 1)


def test_only_what_is_new_fails(pods: Path, krmfn: Call) -> None:
    done = krmfn("validate", "--baseline", "known.txt", "old")
    assert (done.code, done.err) == (
        2,
        "krmfn: --baseline known.txt: no such file; --write-baseline writes it\n",
    )
    done = krmfn("validate", "--baseline", "known.txt", "--write-baseline", "old")
    assert (done.out, done.code) == ("", 0)
    assert "krmfn: wrote known.txt: 1 known finding\n" in done.err
    (pods / "old/pod.yaml").write_text("# moved\n" + (pods / "old/pod.yaml").read_text())
    done = krmfn("validate", "--baseline", "known.txt", "old")
    assert (done.out, done.code) == ("", 0)
    assert "krmfn: 1 known finding of known.txt left out\n" in done.err
    os.rename(pods / "old/pod.yaml", pods / "old/renamed.yaml")
    done = krmfn("validate", "--baseline", "known.txt", "old")
    assert (done.out, done.code) == ("", 0)
    assert "krmfn: 1 known finding of known.txt left out\n" in done.err
    os.rename(pods / "old/renamed.yaml", pods / "old/pod.yaml")
    done = krmfn("validate", "--baseline", "known.txt", "base/pod.yaml", "old")
    assert (count(done.out), "base/pod.yaml" in done.out, done.code) == (1, True, 1)
    (pods / "old/pod.yaml").write_text(POD.replace("name: A", "name: a"))
    done = krmfn("validate", "--baseline", "known.txt", "old")
    assert "1 no longer found" in done.err
    assert krmfn("validate", "--write-baseline", "old").code == 2
    pod = (pods / "old/pod.yaml").read_bytes()
    done = krmfn("validate", "--baseline", "old/pod.yaml", "--write-baseline", "old")
    assert "old/pod.yaml is not a file that krmfn wrote" in done.err
    assert ((pods / "old/pod.yaml").read_bytes(), done.code) == (pod, 2)


@pytest.mark.parametrize("more", [(), ("--write-baseline",)])
def test_nothing_is_fixed_when_the_baseline_cannot_be_used(pods: Path, krmfn: Call, more: Sequence[str]) -> None:
    text = "apiVersion: scheduling.k8s.io/v1beta1\nkind: PodGroup\nmetadata: {name: g}\n"
    text += "spec: {schedulingPolicy: {gang: {minCount: 5}}}\n---\n"
    text += "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\n"
    text += "spec: {schedulingGroup: {podGroupName: g}, containers: [{name: a, image: b}]}\n"
    (pods / "group.yaml").write_text(text)
    done = krmfn("validate", "--fix", "--diff", "--baseline", "old", *more, "group.yaml")
    assert (done.out, done.code) == ("", 2)
    assert "old is a folder" in done.err
    assert (pods / "group.yaml").read_text() == text
    assert krmfn("validate", "-q", "--fix", "group.yaml") == ("", "", 0)
    assert "minCount: 1" in (pods / "group.yaml").read_text()


CONFIGURATION = """\
apiVersion: krmfn.dev/v1alpha1
kind: GangScheduling
metadata: {name: gangs}
spec:
  rules:
"""


def configure(folder: Path, rules: str) -> None:
    """Writes the krmfn.yaml of a folder, with these lines under `rules:`."""
    (folder / "krmfn.yaml").write_text(CONFIGURATION + "".join(f"    {line}\n" for line in rules.splitlines()))


def test_a_configuration_decides_for_the_folder_that_it_is_in(pods: Path, krmfn: Call) -> None:
    configure(pods, "ignore:\n- {rules: [pod-*], paths: [old], reason: nobody applies it}\nselect: [server]")
    done = krmfn("validate", "base/pod.yaml", "old")
    assert (count(done.out), "old/pod.yaml" in done.out, done.code) == (1, False, 1)
    configure(pods, "ignore:\n- {rules: [server], paths: [base, 'old/*', '!old/pod.yaml'], reason: nobody applies it}")
    done = krmfn("validate", "base/pod.yaml", "old")
    assert (count(done.out), "base/pod.yaml" in done.out, done.code) == (1, False, 1)
    configure(pods / "old", "severity:\n- {rules: [pod-containers], paths: [pod.yaml], severity: info}")
    (pods / "krmfn.yaml").unlink()
    assert krmfn("validate", "base/pod.yaml").code == 1
    done = krmfn("validate", "old")
    assert ("old/pod.yaml:6:12: info: " in done.out, count(done.out), done.code) == (True, 1, 0)


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["--severity", "pod-containers=warning"], 0),
        (["--severity", "pod-containers=warning", "--fail-on", "warning"], 1),
        (["--severity", "server=info,pod-*:base=error"], 0),
        (["--severity", "server=info,pod-*:old=error"], 1),
        (["--select", "pod-containers:base"], 0),
        (["--select", "pod-containers:old,scheduler"], 1),
        (["--severity", "pod-containers"], 2),
        (["--severity", "pod-containers=bad"], 2),
    ],
)
def test_severities_and_places_decide_the_exit_code(pods: Path, krmfn: Call, words: list[str], code: int) -> None:
    assert krmfn("validate", *words, "old").code == code


def test_the_command_line_wins_over_the_configuration(pods: Path, krmfn: Call) -> None:
    configure(pods, "select: [scheduler]\nseverity:\n- {rules: [server], severity: info}")
    assert krmfn("validate", "old").out == ""
    assert "info: Pod b" in krmfn("validate", "--select", "server", "old").out
    assert krmfn("validate", "--select", "server", "--severity", "pod-containers=error", "old").code == 1


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ("ignore:\n- {rules: [pod-names]}", "spec.rules.ignore[0].reason: is missing"),
        ("ignore:\n- {rules: [pod-names], reason: ' '}", "spec.rules.ignore[0].reason"),
        ("select: [sevrer]", "spec.rules.select[0]: there is no rule 'sevrer'. Did you mean server?"),
        ("severity:\n- {rules: [server], severity: fatal}", "Allowed: error, warning or info"),
    ],
)
def test_mistakes_in_a_configuration_are_told(pods: Path, krmfn: Call, rules: str, message: str) -> None:
    configure(pods, rules)
    done = krmfn("validate", "old")
    assert (done.code, done.out) == (2, "")
    assert message in done.err


def test_an_entry_that_ignores_nothing_is_told_where_its_folder_was_checked(pods: Path, krmfn: Call) -> None:
    configure(pods, "ignore:\n- rules: [pod-containers]\n  reason: renamed later\n- {rules: [fit-*], reason: none}")
    assert "ignore-unused" not in krmfn("validate", "old").out, "base may have what the entry is for"
    assert "ignore-unused" not in krmfn("validate", "--stage", "server", ".").out, "the rule was not run"
    assert "ignore-unused" not in krmfn("validate", "--select", "server", ".").out
    configure(pods, "ignore:\n- {rules: [pod-containers], reason: x}\n- {rules: [min-count-one], reason: none}")
    done = krmfn("validate", ".")
    assert "krmfn.yaml:8:7: warning: this entry of rules.ignore ignores nothing" in done.out
    assert (count(done.out), done.out.count("[ignore-unused]"), done.code) == (0, 1, 0)


def test_what_is_ignored_is_not_fixed(folder: Path, krmfn: Call) -> None:
    text = JOB.replace("parallelism: 8", "parallelism: 8\n  completionMode: Indexd  # krmfn: ignore server (ours)")
    (folder / "base/job.yaml").write_text(text)
    assert krmfn("validate", "--fix", "base/job.yaml").code == 0
    assert (folder / "base/job.yaml").read_text() == text


def test_an_annotation_of_a_base_counts_in_every_overlay(folder: Path, krmfn: Call) -> None:
    require_kustomize()
    (folder / "base/pod.yaml").write_text(
        POD.replace("{name: a}", "{name: a, annotations: {krmfn.dev/ignore: pod-containers (legacy)}}")
    )
    (folder / "base/kustomization.yaml").write_text("resources: [pod.yaml]\n")
    for name in ("job", "raycluster"):
        (folder / f"base/{name}.yaml").unlink()
    for name in ("dev", "prod"):
        (folder / name).mkdir()
        (folder / name / "kustomization.yaml").write_text(f"resources: [../base]\nnamePrefix: {name}-\n")
    done = krmfn("validate", ".")
    assert (done.out, done.code) == ("", 0)


def test_the_function_judges_by_its_configuration(krmfn: Call) -> None:
    spec = "{mode: Validate, rules: {severity: [{rules: [pod-containers], severity: warning}]}}"
    config = f"{{apiVersion: krmfn.dev/v1alpha1, kind: GangScheduling, metadata: {{name: g}}, spec: {spec}}}"
    pod = "".join(f"  {line}\n" for line in POD.splitlines())
    text = f"kind: ResourceList\napiVersion: config.kubernetes.io/v1\nfunctionConfig: {config}\nitems:\n- {pod[2:]}"
    done = krmfn(stdin=text)
    assert (done.code, "warning: Pod a" in done.err) == (0, True)
    done = krmfn(stdin=text.replace("{name: a}", "{name: a, annotations: {krmfn.dev/ignore: pod-*}}"))
    assert (done.code, done.err) == (0, "")
    done = krmfn(stdin=text.replace("pod-containers]", "pod-contaners]"))
    assert (done.code, "there is no rule 'pod-contaners'. Did you mean pod-containers?" in done.err) == (2, True)


@pytest.mark.parametrize("command", ["validate", "tree", "generate", "fit", "upgrade"])
def test_files_are_passed_over(pods: Path, krmfn: Call, command: str) -> None:
    (pods / "old/broken.yaml").write_text("apiVersion: v1\nkind: Pod\nmetadata: [\n")
    words = [command, "--kubernetes", "1.37", "--to", "1.37"] if command == "upgrade" else [command]
    assert krmfn(*words, "old").code == 2
    done = krmfn(*words, "--exclude", "old/broken.*,base", "old")
    assert done.code == (1 if command == "validate" else 0)
    (pods / ".krmfnignore").write_text("# ours\n*.yaml\n!base/*\n!p?d.yaml\n")
    assert krmfn(*words, ".").code == (1 if command == "validate" else 0)
    (pods / ".krmfnignore").write_text("")
    (pods / "old/.gitignore").write_text("/broken.yaml\n")
    assert krmfn(*words, "old").code == (1 if command == "validate" else 0)
    assert krmfn(*words, "old/broken.yaml").code == 2


def test_the_working_directory_is_the_default(pods: Path, krmfn: Call) -> None:
    assert count(krmfn("validate").out) == 2
    assert "PodGroup" in krmfn("generate").out
    assert "PodGroup" in krmfn("tree").out


def test_version_and_completion(folder: Path, krmfn: Call) -> None:
    done = krmfn("version")
    assert done.out.startswith("krmfn ")
    assert "1.37" in done.out
    for shell in ("bash", "zsh", "fish"):
        assert "_KRMFN_COMPLETE" in krmfn("completion", shell).out
    assert krmfn("completion", "tcsh").code == 2
