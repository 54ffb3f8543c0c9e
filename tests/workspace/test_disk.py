"""The disk as somebody else has left it: links, pipes, devices; nothing outside is read and nobody waits."""

from __future__ import annotations

import os
import socket
import threading
from pathlib import Path

import pytest

from krmfn.workspace.disk import Disk
from krmfn.workspace.manifests import read_paths
from krmfn.workspace.trees import MOST_BYTES, InputMissing, LeftOut
from tests.e2e.tools import require_kustomize
from tests.front_door import call
from tests.workspace.repositories import JOB


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory outside of any repository, with a job."""
    folder = tmp_path / "here"
    folder.mkdir()
    (folder / "job.yaml").write_text(JOB)
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/secret.yaml").write_text("secret: x\n")
    monkeypatch.chdir(folder)
    return folder


def test_links_stay_in_the_working_directory(folder: Path) -> None:
    (folder / "out.yaml").symlink_to("../outside/secret.yaml")
    (folder / "in.yaml").symlink_to("job.yaml")
    (folder / "deep").symlink_to("../outside")
    inputs = read_paths(["."])
    assert [file.path for file in inputs.files] == ["in.yaml"]  # the same file as job.yaml, which is read once
    assert [(left.path, left.reason) for left in inputs.left_out] == [("out.yaml", f"is a link that leaves {folder}")]
    for path in ("out.yaml", "deep", "deep/secret.yaml"):
        with pytest.raises(InputMissing, match="is a link that leaves"):
            read_paths([path])


def test_a_folder_that_was_named_may_be_anywhere(folder: Path) -> None:
    assert [file.path for file in read_paths(["../outside"]).files] == ["../outside/secret.yaml"]
    (folder.parent / "outside/link.yaml").symlink_to("../here/job.yaml")
    assert [left.path for left in read_paths(["../outside"]).left_out] == ["../outside/link.yaml"]


def test_without_a_repository_files_name_nothing_outside(folder: Path) -> None:
    (folder / "krmfn.yaml").write_text(
        "apiVersion: krmfn.dev/v1alpha1\nkind: GangScheduling\nmetadata: {name: gangs}\n"
        "spec: {cluster: {from: [../outside/secret.yaml]}}\n"
    )
    done = call(b"", ["validate", "."], folder)
    assert (done.code, b"secret.yaml is outside of" in done.err) == (2, True), done


def test_without_a_repository_kustomizations_name_nothing_outside(folder: Path) -> None:
    require_kustomize()
    (folder / "kustomization.yaml").write_text("resources: [job.yaml, ../outside]\n")
    (folder.parent / "outside/kustomization.yaml").write_text("resources: [secret.yaml]\n")
    done = call(b"", ["validate", "--require-render", "."], folder)
    assert (done.code, b"is outside of" in done.out + done.err) == (2, True), done


def test_in_a_repository_its_top_is_the_boundary(folder: Path) -> None:
    (folder.parent / ".git").mkdir()
    (folder / "in.yaml").symlink_to("../outside/secret.yaml")
    assert [file.path for file in read_paths(["."]).files] == ["in.yaml", "job.yaml"]


def test_nobody_waits_for_a_pipe_or_reads_a_device(folder: Path) -> None:
    os.mkfifo(folder / "pipe.yaml")
    (folder / "zero.yaml").symlink_to("/dev/zero")
    server = socket.socket(socket.AF_UNIX)
    server.bind("socket.yaml")
    (folder / "folder.yaml").mkdir()
    inputs = read_paths(["."])
    server.close()
    assert [file.path for file in inputs.files] == ["job.yaml"]
    assert {left.path: left.reason for left in inputs.left_out} == {
        "pipe.yaml": "is a named pipe",
        "socket.yaml": "is a socket",
        "zero.yaml": f"is a link that leaves {folder}",
    }
    for path in ("pipe.yaml", "socket.yaml", "/dev/zero", "/dev/null"):
        with pytest.raises(InputMissing):
            read_paths([path])


def test_the_stream_of_a_command_is_read(folder: Path) -> None:
    read, written = os.pipe()

    def write() -> None:
        with open(written, "wb") as stream:
            stream.write(JOB.encode())

    threading.Thread(target=write).start()
    path = f"/dev/fd/{read}"
    assert [(file.path, file.data) for file in read_paths([path]).files] == [(path, JOB.encode())]
    assert folder


def test_a_file_beyond_all_measure(folder: Path) -> None:
    with open(folder / "huge.yaml", "wb") as stream:
        stream.truncate(MOST_BYTES + 1)
    inputs = read_paths(["."])
    assert [(left.path, left.reason, left.severe) for left in inputs.left_out] == [
        ("huge.yaml", "is larger than 256 MiB", True)
    ]


def test_what_is_hidden_is_passed_over(folder: Path) -> None:
    (folder / ".hidden").mkdir()
    (folder / ".hidden/a.yaml").write_text(JOB)
    (folder / ".b.yaml").write_text(JOB)
    assert [file.path for file in read_paths(["."]).files] == ["job.yaml"]
    assert [file.path for file in read_paths([".b.yaml"]).files] == [".b.yaml"]


def test_the_working_directory_is_gone(folder: Path) -> None:
    (folder / "job.yaml").unlink()
    folder.rmdir()
    with pytest.raises(InputMissing, match="the working directory was deleted"):
        read_paths(["."])


def test_names_that_cannot_exist(folder: Path) -> None:
    tree = Disk(".")
    assert tree.kind("a\0b") == tree.kind("a/" * 2000 + "b") == ""
    with pytest.raises(FileNotFoundError):
        tree.read("a\0b")
    with pytest.raises(LeftOut, match="is a folder"):
        tree.read(".")
    with pytest.raises(InputMissing):
        read_paths(["x" * 5000])
    assert folder
