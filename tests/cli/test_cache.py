"""--cache: the same output as without it, whatever changes between runs, and whatever somebody does to the folder."""

from __future__ import annotations

import fcntl
import os
import pty
import shutil
import struct
import subprocess
import sys
import termios
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from krmfn.cli import caching, validate
from krmfn.model.kinds import KINDS
from krmfn.workspace import storing
from tests.front_door import ROOT, Done, call

JOB = """\
apiVersion: batch/v1
kind: Job
metadata:
  name: %s
  namespace: ml
spec:
  parallelism: %d
  template:
    spec:
      restartPolicy: %s
      containers: [{name: a, image: "registry.example.com/a:1"}]
"""
KUSTOMIZATION = "resources: [%s]\n"
CONFIG = "apiVersion: krmfn.dev/v1alpha1\nkind: GangScheduling\nmetadata: {name: a}\nspec: %s\n"
KIND = """\
apiVersion: krmfn.dev/v1alpha1
kind: WorkloadKind
metadata: {name: things}
spec:
  group: example.com
  kind: Thing
  roles: [{template: spec.template, count: spec.size}]
"""
#: krmfn where no file can be longer than some bytes.
NO_ROOM = """
import resource, runpy, signal, sys
sys.dont_write_bytecode = True  # it would be cut, too, and kept for other tests
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (40, 40))
sys.argv = ["krmfn", *sys.argv[1:]]
runpy.run_module("krmfn", run_name="__main__")
"""


@pytest.fixture(autouse=True)
def _fresh() -> Iterator[None]:
    """What a process remembers of a folder is that of one test."""
    caching.open_store.cache_clear()
    yield
    caching.open_store.cache_clear()


def make_repository(tmp_path: Path) -> Path:
    """Two folders of manifests, a kustomization over both, and a configuration."""
    folder = tmp_path / "repository"
    for name in ("base", "overlay", "loose"):
        (folder / name).mkdir(parents=True)
    (folder / "base" / "job.yaml").write_text(JOB % ("train", 2, "Always"))
    (folder / "base" / "kustomization.yaml").write_text(KUSTOMIZATION % "job.yaml")
    (folder / "overlay" / "kustomization.yaml").write_text(KUSTOMIZATION % "../base")
    (folder / "loose" / "job.yaml").write_text(JOB % ("other", 1, "Never"))
    (folder / "krmfn.yaml").write_text(CONFIG % "{}")
    (folder / ".git").mkdir()
    return folder


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return make_repository(tmp_path)


def run(folder: Path, *words: str, cache: Path | None = None) -> Done:
    """A command in a folder, in this process, which knows nothing of earlier ones."""
    caching.open_store.cache_clear()
    KINDS.forget_own()
    return call(b"", [*words, *(["--cache", str(cache)] if cache else [])], folder)


def is_repeated(folder: Path, cache: Path, monkeypatch: pytest.MonkeyPatch, *words: str) -> bool:
    """Whether a command is said again, and not carried out."""

    def carry_out(*_: object) -> int:
        raise AssertionError("carried out")

    with monkeypatch.context() as patch:
        patch.setattr(validate, "run", carry_out)
        carry_out.__module__ = validate.__name__
        return b"carried out" not in run(folder, *words, cache=cache).err


def test_a_second_run_says_the_same_without_reading_anything_anew(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = run(repository, "validate")
    assert b"error" in plain.out  # restartPolicy Always
    assert run(repository, "validate", cache=tmp_path / "c") == plain
    assert run(repository, "validate", cache=tmp_path / "c") == plain
    assert is_repeated(repository, tmp_path / "c", monkeypatch, "validate")
    (repository / "loose" / "job.yaml").write_text(JOB % ("other", 1, "Always"))
    assert not is_repeated(repository, tmp_path / "c", monkeypatch, "validate")


@pytest.mark.parametrize(
    "words",
    [
        ["validate", "-o", "json"],
        ["validate", "base", "loose"],
        ["generate", "--check"],
        ["tree", "base"],
        ["fit", "base", "--prove"],
        ["diff", "base", "loose"],
    ],
    ids=" ".join,
)
def test_commands_say_the_same(words: list[str], repository: Path, tmp_path: Path) -> None:
    (repository / "base" / "job.yaml").write_text(
        (JOB % ("train", 2, "Never")).replace("namespace: ml", 'namespace: ml\n  annotations: {krmfn.dev/gang: "true"}')
    )
    plain = run(repository, *words)
    for _ in range(2):
        assert run(repository, *words, cache=tmp_path / "c") == plain
    assert list((tmp_path / "c" / "entries").rglob("*"))


@pytest.mark.parametrize("words", [["validate", "--fix"], ["validate", "-"], ["generate", "--write"]], ids=" ".join)
def test_what_changes_files_or_reads_a_stream_is_never_kept(
    words: list[str], repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def keep(*_: object) -> None:
        raise AssertionError("kept")

    monkeypatch.setattr(caching, "recall", keep)
    assert run(repository, *words, cache=tmp_path / "c").code < 3


def test_the_environment_names_a_folder(repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KRMFN_CACHE", str(tmp_path / "c"))
    run(repository, "validate")
    assert (tmp_path / "c" / "secret").stat().st_mode & 0o777 == 0o600


def test_git_states_are_told_apart(repository: Path, tmp_path: Path) -> None:
    shutil.rmtree(repository / ".git")
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.com", "-C", str(repository)]

    def commit(text: str) -> None:
        (repository / "loose" / "job.yaml").write_text(text)
        subprocess.run([*git, "add", "-A"], check=True)
        subprocess.run([*git, "commit", "-qm", "a"], check=True)

    subprocess.run([*git[:-2], "init", "-q", "-b", "main", str(repository)], check=True)
    for parallelism in (1, 2, 1):
        commit(JOB % ("other", parallelism, "Never"))
        (repository / "loose" / "job.yaml").write_text((JOB % ("other", 1, "Never")).replace("image: ", "image: x"))
        words = ["validate", "--against", "main", "-o", "json"]
        plain = run(repository, *words)
        assert [run(repository, *words, cache=tmp_path / "c") for _ in range(2)] == [plain, plain]


def test_findings_are_kept_beside_kinds_of_users(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is kept is called by the text of the kinds: it is found again, and not where one of them has changed."""
    kind = repository / "kind.yaml"
    kind.write_text(KIND)
    found: list[str] = []
    look = storing.Store.load

    def load(store: storing.Store, name: str) -> Any:
        known = look(store, name)
        found.append(f"{name.partition(' ')[0]} {known is not None}")
        return known

    run(repository, "validate", cache=tmp_path / "c")
    monkeypatch.setattr(storing.Store, "load", load)
    (repository / "loose" / "job.yaml").write_text(JOB % ("other", 1, "Always"))
    run(repository, "validate", cache=tmp_path / "c")
    assert "told True" in found
    found.clear()
    kind.write_text(KIND.replace("spec.size", "spec.count"))
    run(repository, "validate", cache=tmp_path / "c")
    assert "told True" not in found


def _list_entries(cache: Path) -> list[Path]:
    return sorted(path for path in (cache / "entries").rglob("*") if path.is_file())


@pytest.mark.slow
@pytest.mark.parametrize("shared", [False, True], ids=["files of their own", "one file for many"])
def test_entries_that_are_damaged_foreign_or_elsewhere_are_as_if_they_were_not_there(
    shared: bool, repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not shared:
        monkeypatch.setattr(storing, "_SMALL", 0)
    chance, cache = Random(7), tmp_path / "c"
    plain = run(repository, "validate")
    clean = (repository / "base" / "job.yaml").read_text()
    (repository / "base" / "job.yaml").write_text(clean.replace("Always", "Never"))
    harmless = run(repository, "validate", cache=cache)
    says_nothing = {entry: entry.read_bytes() for entry in _list_entries(cache)}
    (repository / "base" / "job.yaml").write_text(clean)
    assert harmless != plain
    for number in range(60):
        assert run(repository, "validate", cache=cache) == plain
        for entry in _list_entries(cache):
            data = bytearray(entry.read_bytes())
            other = says_nothing[chance.choice([each for each in says_nothing if each != entry])]
            match number % 5:
                case 0:
                    data = bytearray(data or b" ")
                    data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
                case 1:
                    data = bytearray(chance.randbytes(chance.randrange(200)))
                case 2:
                    data = data[: chance.randrange(len(data) or 1)]
                case 3:
                    data = bytearray(other)  # which was signed for another name
                case _:
                    data = bytearray(chance.randbytes(32) + other[32:])  # as somebody without the secret signs it
            entry.write_bytes(data)
        caching.open_store.cache_clear()  # which knows what was in the files that several entries share
        # A bit beside the entry of the run leaves that one whole.
        assert (shared and not number % 5) or not is_repeated(repository, cache, monkeypatch, "validate")
        assert run(repository, "validate", cache=cache) == plain


@pytest.mark.slow
def test_small_entries_are_found_behind_one_that_was_cut(tmp_path: Path) -> None:
    """A process that was killed, or a full disk, leaves a part of an entry."""
    names = list(map(str, range(2000)))
    store = storing.Store(str(tmp_path / "c"))
    for name in names:
        store.save(name, name * 9)
    for path in _list_entries(tmp_path / "c"):
        path.write_bytes(path.read_bytes()[:-5])
    again = storing.Store(str(tmp_path / "c"))
    lost = [name for name in names if again.load(name) != name * 9]
    assert 0 < len(lost) <= 256
    for name in lost:
        again.save(name, name * 9)
    assert all(again.load(name) == name * 9 for name in names)
    third = storing.Store(str(tmp_path / "c"))
    assert all(third.load(name) == name * 9 for name in lost)


def test_an_entry_that_names_something_to_run_is_none(tmp_path: Path) -> None:
    """Who knows the secret can lie, and make nobody run anything."""
    store = storing.Store(str(tmp_path / "c"))
    store.save("plain", [1, {"a": (None, 2.5)}])
    store.save("run", print)
    assert store.load("plain") == [1, {"a": (None, 2.5)}]
    assert store.load("run") is None


def test_a_folder_in_which_others_can_write_is_not_used(repository: Path, tmp_path: Path) -> None:
    plain = run(repository, "validate")
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    done = run(repository, "validate", cache=tmp_path / "open")
    assert (done.out, done.code) == (plain.out, plain.code)
    assert b"is not used" in done.err
    run(repository, "validate", cache=tmp_path / "c")
    (tmp_path / "c" / "secret").chmod(0o644)
    assert b"is not used" in run(repository, "validate", cache=tmp_path / "c").err
    (tmp_path / "c" / "secret").unlink()
    (tmp_path / "c" / "secret").symlink_to(tmp_path / "elsewhere")
    assert b"is not used" in run(repository, "validate", cache=tmp_path / "c").err


def test_a_file_in_place_of_the_folder_or_a_full_disk_changes_nothing(repository: Path, tmp_path: Path) -> None:
    plain = run(repository, "validate")
    (tmp_path / "file").write_text("")
    done = run(repository, "validate", cache=tmp_path / "file")
    assert (done.out, done.code) == (plain.out, plain.code)
    run(repository, "validate", cache=tmp_path / "c")
    shutil.rmtree(tmp_path / "c" / "entries")
    words = [sys.executable, "-c", NO_ROOM, "validate", "--cache", str(tmp_path / "c")]
    full = subprocess.run(words, cwd=repository, capture_output=True, check=False)
    assert (full.stdout, full.stderr, full.returncode) == (plain.out, plain.err, plain.code)
    assert not _list_entries(tmp_path / "c")


def test_another_version_of_the_program_starts_again(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(repository, "validate", cache=tmp_path / "c")
    monkeypatch.setattr(caching, "__version__", "99")
    assert not is_repeated(repository, tmp_path / "c", monkeypatch, "validate")


@pytest.mark.slow
def test_another_installation_of_the_same_files_finds_what_was_kept(repository: Path, tmp_path: Path) -> None:
    """As in CI, where each job installs krmfn anew."""
    for name in ("krmfn", "schemas"):
        shutil.copytree(ROOT / name, tmp_path / "other" / name, ignore=shutil.ignore_patterns("__pycache__"))
    words = [sys.executable, "-m", "krmfn", "validate", "--cache", str(tmp_path / "c")]
    listed = []
    for home in (ROOT, tmp_path / "other"):
        environment = {**os.environ, "PYTHONPATH": str(home)}
        subprocess.run(words, cwd=repository, env=environment, capture_output=True, check=False)
        listed.append(_list_entries(tmp_path / "c"))
    assert listed[0]
    assert listed[0] == listed[1]


@pytest.mark.slow
def test_many_processes_share_a_folder(repository: Path, tmp_path: Path) -> None:
    words = [sys.executable, "-m", "krmfn", "validate", "--cache", str(tmp_path / "c")]
    plain = run(repository, "validate", cache=tmp_path / "alone")
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    pipes["env"] = {**os.environ}  # readline tells children a width, and nobody else
    for _ in range(2):
        started = [subprocess.Popen(words, cwd=repository, **pipes) for _ in range(6)]
        assert [process.communicate() for process in started] == [(plain.out, plain.err)] * 6
    assert [path.name for path in _list_entries(tmp_path / "c")] == [
        path.name for path in _list_entries(tmp_path / "alone")
    ]


def test_the_folder_does_not_grow_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storing, "MOST_BYTES", 10_000)
    store = storing.Store(str(tmp_path / "c"))
    for number in range(100):
        store.save(str(number), Random(number).randbytes(500))
        os.utime(_newest(tmp_path / "c"), (number, number))
    assert sum(path.stat().st_size for path in _list_entries(tmp_path / "c")) <= 10_000
    assert store.load("99") == Random(99).randbytes(500)
    assert store.load("0") is None


def _newest(cache: Path) -> Path:
    return max(_list_entries(cache), key=lambda path: path.stat().st_mtime_ns)


def test_a_folder_that_is_gone_is_said_as_without_cache(tmp_path: Path) -> None:
    for words in ("", f"--cache {tmp_path}/c"):
        (tmp_path / "gone").mkdir()
        line = f"cd gone && rmdir ../gone && {sys.executable} -m krmfn validate . {words}"
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        done = subprocess.run(
            ["bash", "-c", line], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 2, done.stderr
        assert "the working directory was deleted" in done.stderr


@pytest.mark.slow
def test_a_terminal_of_another_width_gets_lines_of_its_width(repository: Path, tmp_path: Path) -> None:
    """What COLUMNS says is in the environment; a window that is resized changes nothing there."""
    for width in (80, 40):
        shown = [look(repository, width, *more) for more in ((), ("--cache", str(tmp_path / "c")))]
        assert shown[0] == shown[1]


def look(folder: Path, width: int, *more: str) -> bytes:
    """`krmfn validate` at a terminal with so many columns."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, width, 0, 0))
    environment = {key: value for key, value in os.environ.items() if key not in ("COLUMNS", "NO_COLOR")}
    environment |= {"PYTHONPATH": str(ROOT), "TERM": "xterm"}
    words = [sys.executable, "-m", "krmfn", "validate", *more]
    process = subprocess.Popen(words, stdin=theirs, stdout=theirs, stderr=theirs, cwd=folder, env=environment)
    os.close(theirs)
    shown = b""
    try:
        while data := os.read(ours, 65536):
            shown += data
    except OSError:  # how Linux says that nobody writes any more
        pass
    os.close(ours)
    process.wait()
    return shown
