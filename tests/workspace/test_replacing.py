"""Files are replaced whole: killed, on a full disk, with a file that cannot be written, by twelve at once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from krmfn.workspace.replacing import FileChange, lock, replace
from krmfn.workspace.trees import InputMissing, WriteFailed
from tests.workspace.repositories import JOB

ROOT = Path(__file__).parents[2]
KRMFN = [sys.executable, "-m", "krmfn"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "here"


def start(*words: str, folder: Path, **environment: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [*KRMFN, *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def read(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_files_are_made_changed_and_removed(folder: Path) -> None:
    (folder / "a").write_bytes(b"1")
    (folder / "b").write_bytes(b"1")
    os.chmod(folder / "a", 0o640)
    replace([FileChange("a", b"1", b"2"), FileChange("b", b"1", None), FileChange("c", None, b"3")])
    assert read(folder) == {"a": b"2", "c": b"3"}
    assert (folder / "a").stat().st_mode & 0o777 == 0o640


def test_a_link_stays_a_link(folder: Path) -> None:
    (folder / "a").write_bytes(b"1")
    (folder / "link").symlink_to("a")
    replace([FileChange("link", b"1", b"2")])
    assert (folder / "link").is_symlink()
    assert (folder / "a").read_bytes() == b"2"


def test_nothing_is_written_through_a_link_that_leaves(folder: Path) -> None:
    outside = folder.parent / "outside"
    outside.write_bytes(b"1")
    (folder / "link").symlink_to(outside)
    (folder / "dangling").symlink_to(folder.parent / "made")
    (folder / "parent").symlink_to(folder.parent)
    for path, old in (("link", b"1"), ("dangling", None), ("parent/outside", b"1"), ("parent/made", None)):
        with pytest.raises(WriteFailed, match=r"Nothing was written"):
            replace([FileChange("fine", None, b"x"), FileChange(path, old, b"2")])
    assert outside.read_bytes() == b"1"
    assert not (folder.parent / "made").exists()
    assert not (folder / "fine").exists()


def test_the_folder_of_a_new_file_is_there(folder: Path) -> None:
    for path, reason in (("no/a.yaml", "its folder does not exist"), (str(folder.parent), "it is a folder")):
        with pytest.raises(WriteFailed, match=reason):
            replace([FileChange(path, None, b"")])
    assert not list(folder.iterdir())


def test_somebody_else_has_changed_a_file(folder: Path) -> None:
    (folder / "a").write_bytes(b"other")
    for old in (b"1", None):
        with pytest.raises(WriteFailed, match="a was changed while krmfn was running"):
            replace([FileChange("b", None, b"x"), FileChange("a", old, b"2")])
    with pytest.raises(WriteFailed, match="was changed"):
        replace([FileChange("gone", b"1", b"2")])
    assert read(folder) == {"a": b"other"}


def test_what_was_left_by_a_kill_is_replaced(folder: Path) -> None:
    (folder / "a").write_bytes(b"1")
    (folder / ".a.krmfn-new").symlink_to("/etc/passwd")
    replace([FileChange("a", b"1", b"2")])
    assert read(folder) == {"a": b"2"}


def test_one_that_cannot_be_written_leaves_all_as_they_were(folder: Path) -> None:
    (folder / "a").write_bytes(b"1")
    (folder / "b").write_bytes(b"1")
    (folder / ".b.krmfn-new").mkdir()
    with pytest.raises(WriteFailed, match="b cannot be written"):
        replace([FileChange("a", b"1", b"2"), FileChange("b", b"1", b"2")])
    assert (folder / "a").read_bytes() == (folder / "b").read_bytes() == b"1"
    assert not (folder / ".a.krmfn-new").exists()


def test_a_full_disk_leaves_all_as_they_were(folder: Path) -> None:
    """As far as a limit of file sizes is like a full disk: the write fails in its middle."""
    (folder / "job.yaml").write_text(JOB + "#" + "x" * 100_000 + "\n")
    before = read(folder)
    limit = "import resource,signal,sys; signal.signal(signal.SIGXFSZ, signal.SIG_IGN); "
    limit += "sys.dont_write_bytecode = True; "  # it would be cut, too, and kept for other tests
    limit += (
        "resource.setrlimit(resource.RLIMIT_FSIZE, (50000, 50000)); from krmfn.__main__ import main; sys.exit(main())"
    )
    done = subprocess.run(
        [sys.executable, "-c", limit, "generate", "-q", "--write", "."],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout, done.returncode) == ("", 2)
    assert done.stderr == "krmfn: job.yaml cannot be written: File too large. Nothing was written\n"
    assert read(folder) == before


@pytest.mark.slow
def test_twelve_at_once_write_once(folder: Path) -> None:
    for number in range(5):
        (folder / f"job{number}.yaml").write_text(JOB.replace("train", f"train{number}"))
    (folder / "kustomization.yaml").write_text("resources:\n" + "".join(f"- job{number}.yaml\n" for number in range(5)))
    runs = [start("generate", "-q", "--write", ".", folder=folder) for _ in range(12)]
    assert [run.wait() for run in runs] == [0] * 12
    for number in range(5):
        assert (folder / f"job{number}-gang.yaml").read_text().count("kind: PodGroup") == 1
        assert (folder / "kustomization.yaml").read_text().count(f"job{number}-gang.yaml") == 1
    assert start("generate", "--check", ".", folder=folder).wait() == 0
    assert not list(folder.glob(".*"))


@pytest.mark.parametrize(
    ("words", "written"),
    [
        (("generate", "--write", "."), "job-gang.yaml"),
        (("convert", "--write", "--to", "1.37", "."), ""),
        (("init", "."), "krmfn.yaml"),
        (("validate", "--fix", "."), ""),
        (("validate", "--write-baseline", "--baseline", "known.txt", "."), "known.txt"),
    ],
)
def test_the_one_that_waits_says_so(words: tuple[str, ...], written: str, folder: Path) -> None:
    (folder / "job.yaml").write_text(JOB)
    (folder / "kustomization.yaml").write_text("resources: [job.yaml]\n")
    said: list[str] = []
    with lock(["."], said.append):
        run = start(*words, folder=folder)
        assert run.stderr is not None
        assert run.stderr.readline() == f"krmfn: waiting for another krmfn that writes in {folder}\n".encode()
        assert not written or not (folder / written).exists()
    assert run.wait() == 0
    assert (folder / written).exists()
    assert said == []


def test_the_group_of_a_file_stays_where_its_owner_cannot(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    groups: list[int] = []

    def change_owner(_: int, user: int, group: int) -> None:
        if user != -1:
            raise PermissionError
        groups.append(group)

    monkeypatch.setattr(os, "fchown", change_owner)
    (folder / "job.yaml").write_text(JOB)
    replace([FileChange("job.yaml", JOB.encode(), b"new")])
    assert groups == [(folder / "job.yaml").stat().st_gid]
    assert read(folder) == {"job.yaml": b"new"}


@pytest.mark.skipif(not hasattr(os, "setxattr"), reason="a system without extended attributes")
def test_extended_attributes_stay(folder: Path) -> None:
    path = folder / "job.yaml"
    path.write_text(JOB)
    os.utime(path, (1, 1))
    try:
        os.setxattr(path, "user.origin", b"x")
    except OSError:
        pytest.skip("a file system without extended attributes")
    replace([FileChange("job.yaml", JOB.encode(), b"new")])
    assert os.getxattr(path, "user.origin") == b"x"
    assert path.stat().st_mtime > 1


def test_a_folder_that_is_not_there(folder: Path) -> None:
    folder.rmdir()
    with pytest.raises(InputMissing), lock(["."], print):
        raise AssertionError


def test_a_signal_waits_for_the_end_of_the_renaming(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in "abc":
        (folder / name).write_bytes(b"1")
    rename = os.replace

    def interrupted(source: str, target: str) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        rename(source, target)

    monkeypatch.setattr(os, "replace", interrupted)
    kept = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            replace([FileChange(name, b"1", b"2") for name in "abc"])
    finally:
        signal.signal(signal.SIGINT, kept)
    assert read(folder) == dict.fromkeys("abc", b"2")
