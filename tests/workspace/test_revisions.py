"""Revisions of repositories that nobody trusts: git runs nothing of theirs, and what is left out is told."""

from __future__ import annotations

import hashlib
import os
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from krmfn.workspace.manifests import Inputs, read_paths
from krmfn.workspace.trees import InputMissing
from tests.front_door import call
from tests.workspace.repositories import JOB, Trap, commit, git

Read = Callable[[str], Inputs]


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with apps/job.yaml at `main`, as working directory."""
    folder = tmp_path / "repository"
    (folder / "apps").mkdir(parents=True)
    (folder / "apps/job.yaml").write_text(JOB)
    commit(folder)
    monkeypatch.chdir(folder)
    return folder


def names(inputs: Inputs) -> list[str]:
    return [file.path for file in inputs.files]


def told(inputs: Inputs) -> dict[str, str]:
    return {left.path: left.reason for left in inputs.left_out}


def make_bare(folder: Path, config: str) -> None:
    """A bare repository as files, as a commit can bring it."""
    for name in ("objects", "refs"):
        (folder / name).mkdir(parents=True)
        (folder / name / "keep").touch()
    (folder / "HEAD").write_text("ref: refs/heads/main\n")
    (folder / "config").write_text(config)


def test_a_folder_that_is_a_repository_itself_decides_nothing(repository: Path, tmp_path: Path) -> None:
    trap = Trap(tmp_path / "trap")
    make_bare(
        repository / "apps",
        "[core]\n\trepositoryformatversion = 1\n\tbare = true\n"
        f"\tfsmonitor = {trap.path}\n\tsshCommand = {trap.path}\n"
        '[extensions]\n\tpartialClone = origin\n[remote "origin"]\n\turl = .\n\tpromisor = true\n'
        f"\tuploadpack = {trap.path}\n[alias]\n\tls-tree = !{trap.path}\n",
    )
    assert names(read_paths(["git:main:apps"])) == ["apps/job.yaml"]
    os.chdir(repository / "apps")
    assert names(read_paths(["git:main:."])) == ["job.yaml"]
    assert not trap.was_run


def test_a_partial_clone_fetches_nothing(repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trap = Trap(tmp_path / "trap")
    git(repository, "config", "uploadpack.allowFilter", "true")
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", "--filter=blob:none", "--no-checkout", f"file://{repository}", str(clone))
    git(clone, "config", "remote.origin.uploadpack", str(trap.path))
    monkeypatch.chdir(clone)
    inputs = read_paths(["git:HEAD:apps"])
    assert names(inputs) == []
    assert told(inputs) == {
        "apps/job.yaml": "is not in this clone, which has only a part of git:HEAD:apps; "
        "get the rest with git fetch --refetch --no-filter"
    }
    assert inputs.left_out[0].severe
    assert not trap.was_run


def test_a_clone_without_folders_says_so(repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    git(repository, "config", "uploadpack.allowFilter", "true")
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", "--filter=tree:0", "--no-checkout", f"file://{repository}", str(clone))
    monkeypatch.chdir(clone)
    with pytest.raises(
        InputMissing, match=r"^git:HEAD: .*only a part of the repository; get the rest with git"
    ) as caught:
        read_paths(["git:HEAD"])
    _, _, command = str(caught.value).rpartition("get the rest with git ")
    git(clone, *command.split())
    assert names(read_paths(["git:HEAD"])) == ["apps/job.yaml"]


def test_one_missing_object_does_not_hide_the_others(repository: Path) -> None:
    (repository / "apps/other.yaml").write_text(JOB.replace("train", "other"))
    commit(repository)
    name = git(repository, "rev-parse", "HEAD:apps/job.yaml").strip()
    (repository / ".git/objects" / name[:2] / name[2:]).unlink()
    inputs = read_paths(["git:HEAD:apps"])
    assert names(inputs) == ["apps/other.yaml"]
    assert list(told(inputs)) == ["apps/job.yaml"]


@pytest.mark.parametrize("revision", ["--output={}", "-o{}", "--help", "main:apps --output={}", "@{{u}}", "a\0b", "^"])
def test_a_revision_is_never_an_option(revision: str, repository: Path) -> None:
    precious = repository / "precious"
    precious.write_text("precious")
    with pytest.raises(InputMissing):
        read_paths([f"git:{revision.format(precious)}:apps"])
    assert precious.read_text() == "precious"


def test_a_path_is_never_an_option_or_a_pattern(repository: Path) -> None:
    with pytest.raises(InputMissing, match="no such file"):
        read_paths(["git:main:--output=x"])
    with pytest.raises(InputMissing, match="no such file"):
        read_paths(["git:main:ap*"])
    assert not (repository / "x").exists()


def test_attributes_hide_and_change_nothing(repository: Path) -> None:
    (repository / ".gitattributes").write_text("*.yaml export-ignore ident filter=x eol=crlf\n")
    commit(repository)
    inputs = read_paths(["git:HEAD:apps"])
    assert [file.data for file in inputs.files] == [JOB.encode()]


def test_the_environment_of_a_hook_points_nowhere_else(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    commit(other)
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    monkeypatch.setenv("GIT_OBJECT_DIRECTORY", str(other / ".git/objects"))
    monkeypatch.setenv("GIT_NAMESPACE", "x")
    assert names(read_paths(["git:HEAD:apps"])) == ["apps/job.yaml"]


def test_links_are_followed_in_the_repository_only(repository: Path) -> None:
    (repository / "apps/inside.yaml").symlink_to("job.yaml")
    (repository / "apps/up.yaml").symlink_to("../../../../etc/passwd")
    (repository / "apps/out.yaml").symlink_to("/etc/passwd")
    (repository / "apps/nothing.yaml").symlink_to("nowhere")
    (repository / "apps/loop.yaml").symlink_to("loop.yaml")
    (repository / "linked").symlink_to("apps")
    commit(repository)
    for inputs in (read_paths(["git:HEAD:apps"]), read_paths(["apps"])):
        assert names(inputs)[:2] == ["apps/inside.yaml", "apps/job.yaml"] or names(inputs) == ["apps/inside.yaml"]
        assert "link that leaves" in told(inputs)["apps/up.yaml"]
        assert "link that leaves" in told(inputs)["apps/out.yaml"]
        assert told(inputs)["apps/nothing.yaml"] == "is a link to nothing"
        assert "apps/loop.yaml" in told(inputs)
        assert not any(b"root:" in file.data for file in inputs.files)
    assert [file.data for file in read_paths(["git:HEAD:linked/job.yaml"]).files] == [JOB.encode()]


def test_a_submodule_is_told(repository: Path) -> None:
    name = git(repository, "rev-parse", "HEAD").strip()
    paths = ("apps/module.yaml", "apps/modules/one")
    for path in paths:
        git(repository, "update-index", "--add", "--cacheinfo", f"160000,{name},{path}")
    git(repository, "commit", "-q", "-m", "module")
    assert told(read_paths(["git:HEAD:apps"])) == dict.fromkeys(paths, "is a submodule")


@pytest.mark.parametrize("place", ["HEAD", "HEAD:apps", "HEAD:apps/job.yaml"])
def test_git_does_not_wait_without_end(repository: Path, monkeypatch: pytest.MonkeyPatch, place: str) -> None:
    monkeypatch.setattr("krmfn.workspace.git._MOST_SECONDS", 0.5)
    name = git(repository, "rev-parse", place).strip()
    pipe = repository / ".git" / (f"objects/{name[:2]}/{name[2:]}" if ":" in place else place)
    pipe.unlink()
    os.mkfifo(pipe)
    if place.endswith("job.yaml"):
        assert "git had not answered after 0.5 seconds" in told(read_paths(["git:HEAD:apps"]))["apps/job.yaml"]
        return
    with pytest.raises(InputMissing, match=r"had not (finished|answered) after 0\.5 seconds"):
        read_paths(["git:HEAD:apps"])


def test_names_that_are_not_text(repository: Path) -> None:
    with open(os.path.join(os.fsencode(repository), b"apps", b"\xff\n.yaml"), "w") as stream:
        stream.write(JOB)
    commit(repository)
    assert names(read_paths(["git:HEAD:apps"])) == ["apps/job.yaml", "apps/\udcff\n.yaml"]
    assert names(read_paths(["apps"])) == ["apps/job.yaml", "apps/\udcff\n.yaml"]


def test_a_revision_that_is_not_there(repository: Path) -> None:
    with pytest.raises(InputMissing, match=r"git:nothing:apps: no such revision in this clone\. CI jobs often"):
        read_paths(["git:nothing:apps"])
    with pytest.raises(InputMissing, match=r"git:\^main: no such revision$"):
        read_paths(["git:^main"])
    with pytest.raises(InputMissing, match="not in a git repository"):
        read_paths(["git:main:/usr"])
    git(repository, "tag", "file", "main:apps/job.yaml")
    with pytest.raises(InputMissing, match=r"^git:file: file names a file, not a commit$"):
        read_paths(["git:file"])


def test_a_repository_without_commits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    git(tmp_path, "init", "-q")
    with pytest.raises(InputMissing, match="git:HEAD: the repository has no commits yet"):
        read_paths(["git:HEAD"])


def test_a_repository_of_somebody_else(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "safe.directory")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", str(repository))
    assert names(read_paths(["git:HEAD:apps"])) == ["apps/job.yaml"]


def test_a_few_trees_cannot_name_endless_files(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("krmfn.workspace.git._MOST_LISTED", 5)
    for number in range(9):
        (repository / f"{number}.yaml").write_text(JOB)
    commit(repository)
    with pytest.raises(InputMissing, match="too many files"):
        read_paths([f"git:HEAD:{repository}"])


def test_a_file_that_is_ignored_and_committed_is_in_neither_state(repository: Path) -> None:
    (repository / ".gitignore").write_text("/apps/job.yaml\n")
    commit(repository)
    (repository / "apps/other.yaml").write_text(JOB.replace("train", "other"))
    git(repository, "add", "-f", ".")
    commit(repository)
    assert names(read_paths(["git:HEAD:apps"])) == names(read_paths(["apps"])) == ["apps/other.yaml"]


@pytest.mark.parametrize("name", [b"a/b.yaml", b"/a.yaml", b"../a.yaml", b"..", b"."])
def test_a_tree_with_names_that_git_would_not_write(name: bytes, repository: Path) -> None:
    job = git(repository, "rev-parse", "HEAD:apps/job.yaml").strip()
    write_tree(repository, b"100644 %b\0%b" % (name, bytes.fromhex(job)))
    with pytest.raises(InputMissing, match="one that no folder can have"):
        read_paths(["git:odd"])


@pytest.mark.parametrize("target", [b"a/" * 3_000_000, b"job.yaml\0", b"job.yaml\n", b"/" * 3_000_000])
def test_a_link_that_no_system_would_make(target: bytes, repository: Path) -> None:
    link = write_object(repository, b"blob %d\0%b" % (len(target), target))
    write_tree(repository, b"120000 a.yaml\0%b" % bytes.fromhex(link))
    assert list(told(read_paths(["git:odd"]))) == ["a.yaml"]
    for words in (["validate"], ["tree"], ["generate"], ["convert", "--to", "1.36"]):  # nothing is left to read
        assert call(b"", [*words, "git:odd"], repository).code == 0


def test_an_object_that_is_broken_is_not_half_read(repository: Path) -> None:
    data = JOB.encode() * 99
    name = write_object(repository, b"blob %d\0%b" % (len(data), data), cut=30)
    write_tree(repository, b"100644 a.yaml\0%b" % bytes.fromhex(name))
    with pytest.raises(InputMissing, match=r"a\.yaml is not in this clone"):
        read_paths(["git:odd:a.yaml"])


def write_object(repository: Path, whole: bytes, cut: int | None = None) -> str:
    """Puts an object into a repository as it is, which git would refuse to do; its name."""
    name = hashlib.sha1(whole, usedforsecurity=False).hexdigest()
    path = repository / ".git/objects" / name[:2] / name[2:]
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(zlib.compress(whole)[:cut])
    return name


def write_tree(repository: Path, entries: bytes) -> None:
    """A branch `odd` that holds what `entries` say."""
    tree = write_object(repository, b"tree %d\0%b" % (len(entries), entries))
    said = b"tree %b\nauthor x <x@x> 0 +0000\ncommitter x <x@x> 0 +0000\n\nx\n" % tree.encode()
    name = write_object(repository, b"commit %d\0%b" % (len(said), said))
    (repository / ".git/refs/heads/odd").write_text(name + "\n")
