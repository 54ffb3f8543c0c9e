"""Turning the tool on for a repository that has findings: rules, places, comments, annotations, a baseline."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Call

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


def test_rules_are_selected_and_ignored(pods: Path, krmfn: Call) -> None:
    done = krmfn("validate", "-q", "base/pod.yaml", "old")
    assert (count(done.out), done.code) == (2, 1)
    done = krmfn("validate", "-q", "--ignore", "pod-containers:old,min-count-*", "base/pod.yaml", "old")
    assert (count(done.out), "old/pod.yaml" in done.out, done.code) == (1, False, 1)
    done = krmfn("validate", "--ignore", "pod-*,min-count-one", "base/pod.yaml", "old")
    assert (count(done.out), done.code) == (0, 0)
    assert "warning: --ignore min-count-one ignores nothing: no finding of min-count-one is there [ignore-unused]" in (
        done.out
    )
    assert krmfn("validate", "--select", "scheduler,min-count-one", "base/pod.yaml", "old").code == 0
    assert krmfn("validate", "--select", "server", "base/pod.yaml", "old").code == 1
    done = krmfn("validate", "--ignore", "pod-contaniers", "base")
    assert (done.code, done.err) == (2, "krmfn: there is no rule 'pod-contaniers': did you mean pod-containers?\n")


def test_comments_and_annotations_ignore(pods: Path, krmfn: Call) -> None:
    path = pods / "old/pod.yaml"
    line = "  - {name: A, image: b}"
    path.write_text(POD.replace(line, f"{line} # krmfn: ignore pod-containers (the operator renames it)"))
    assert krmfn("validate", "old").code == 0
    path.write_text(POD.replace(line, f"  # krmfn: ignore pod-containers\n{line}"))
    assert krmfn("validate", "old").code == 0
    path.write_text(POD.replace("{name: a}", "{name: a, annotations: {krmfn.dev/ignore: pod-containers (legacy)}}"))
    assert krmfn("validate", "old").code == 0
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
    done = krmfn("validate", "--baseline", "known.txt", "base/pod.yaml", "old")
    assert (count(done.out), "base/pod.yaml" in done.out, done.code) == (1, True, 1)
    (pods / "old/pod.yaml").write_text(POD.replace("name: A", "name: a"))
    done = krmfn("validate", "--baseline", "known.txt", "old")
    assert "1 of it are gone" in done.err
    assert krmfn("validate", "--write-baseline", "old").code == 2


@pytest.mark.parametrize("command", ["validate", "tree", "generate"])
def test_files_are_passed_over(pods: Path, krmfn: Call, command: str) -> None:
    (pods / "old/broken.yaml").write_text("apiVersion: v1\nkind: Pod\nmetadata: [\n")
    assert krmfn(command, "old").code == 2
    done = krmfn(command, "--exclude", "old/broken.*,base", "old")
    assert done.code == (1 if command == "validate" else 0)
    (pods / ".krmfnignore").write_text("# ours\n*.yaml\n!base/*\n!p?d.yaml\n")
    assert krmfn(command, ".").code == (1 if command == "validate" else 0)
    (pods / ".krmfnignore").write_text("")
    (pods / "old/.gitignore").write_text("/broken.yaml\n")
    assert krmfn(command, "old").code == (1 if command == "validate" else 0)
    assert krmfn(command, "old/broken.yaml").code == 2


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
