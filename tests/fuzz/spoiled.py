"""Whatever is put in: exit 0, 1 or 2, no traceback, no hang, and stdout holds a whole answer or nothing.

Fixtures are spoiled by chance, in their bytes and in what they say: for the function, for commands that read stdin, and
for commands that read and write a folder with a kustomization and a configuration.
"""

from __future__ import annotations

import functools
import json
import random
import re
import shutil
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import yaml

from krmfn.krm import Item, ResourceList
from tests.front_door import Done, call
from tests.fuzz.mutations import spoil_bytes, spoil_value, write, write_stream
from tests.golden_files import FIXTURES, LISTS

CASES = 360
#: Seconds of processor time for one call: hundreds of times what one takes.
LIMIT = 20
COMMANDS = (
    ("generate", "-"),
    ("generate", "--only-generated", "-"),
    ("validate", "-"),
    ("validate", "-o", "json", "-"),
    ("validate", "-o", "sarif", "-"),
    ("tree", "-"),
    ("tree", "-o", "json", "-"),
    ("convert", "--to", "1.35", "-"),
    ("convert", "--to", "1.36", "-"),
    ("convert", "--to", "1.37", "-"),
)
FOLDER_COMMANDS = (
    ("generate", "."),
    ("generate", "--check", "."),
    ("generate", "--write", "."),
    ("validate", "-o", "json", "."),
    ("validate", "--fix", "."),
    ("validate", "--diff", "."),
    ("validate", "--against", "old", "."),
    ("tree", "-o", "json", "."),
    ("diff", "-o", "json", "old", "."),
    ("diff", "old", "."),
    ("convert", "--to", "1.36", "--write", "."),
    ("init", "."),
)
#: What no answer of a command may hold: bytes that would steer a terminal.
_STEERS = re.compile(rb"[\x00-\x08\x0b-\x1f\x7f]")
_KUSTOMIZATION = b"""\
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources:
- a.yaml # first
- b.yaml
namespace: ml
"""
_CONFIGURATION = b"""\
apiVersion: krmfn.dev/v1alpha1
kind: GangScheduling
metadata: {name: gangs}
spec:
  kubernetes: {version: "1.37", featureGates: {GenericWorkload: true}}
  select: All
  gang: {granularity: Group, minCount: Replicas}
"""


class Hang(BaseException):
    """A call took too long. No Exception, so that no code under test takes it for a mistake of its own."""


@contextmanager
def limit_time() -> Iterator[None]:
    def stop(number: int, frame: FrameType | None) -> None:
        raise Hang

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, LIMIT)
    try:
        yield
    except Hang as hang:
        raise AssertionError(f"a call took more than {LIMIT} seconds") from hang
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


@functools.cache
def load_documents() -> dict[Path, dict[str, Any]]:
    """The fixtures that are readable ResourceLists, as values, by path."""
    found = {}
    for path in sorted(LISTS):
        try:
            document = yaml.load((FIXTURES / path).read_bytes(), yaml.CSafeLoader)
        except yaml.YAMLError:
            continue
        if isinstance(document, dict) and document.get("items"):
            found[path] = document
    return found


def configure(chance: random.Random, document: dict[str, Any]) -> dict[str, Any]:
    """The document with a release, a granularity and a mode of chance, where its configuration can hold them."""
    config = document.get("functionConfig") or {
        "apiVersion": "krmfn.dev/v1alpha1", "kind": "GangScheduling", "metadata": {"name": "gangs"}, "spec": {},
    }  # fmt: skip
    spec = config.get("spec") if isinstance(config, dict) else None
    if isinstance(spec, dict):
        gang = spec.get("gang")
        given = {
            "kubernetes": {"version": chance.choice(("1.35", "1.36", "1.37"))},
            "gang": {**(gang if isinstance(gang, dict) else {}), "granularity": chance.choice(("Cluster", "Group"))},
            "mode": chance.choice(("Generate", "Generate", "Validate")),
            "select": chance.choice(("OptIn", "All")),
        }
        config = {**config, "spec": {**spec, **given}}
    return {**document, "functionConfig": config}


def answer_of(data: bytes) -> None:
    """Calls the function and judges how it ended."""
    with limit_time():
        out, err, code = call(data)
    assert code in {0, 1, 2}, err.decode("utf-8", "replace")
    assert b"Traceback" not in err
    if not out:
        assert code == 2
        return
    answer = ResourceList.parse(out)
    if code:
        assert [cut(item) for item in answer.items] == [cut(item) for item in ResourceList.parse(data).items]


def cut(item: Item) -> bytes:
    """The bytes of an item, which need not be text where nobody asked for it. The last one may lack its line break."""
    return item.source.data[item.start : item.end].rstrip()


def check(chance: random.Random) -> None:
    """One case. Folders take four times as long as the others, and have fewer turns."""
    chance.choices((_check_bytes, _check_values, _check_stdin, _check_folder), (4, 4, 4, 1))[0](chance)


def _check_bytes(chance: random.Random) -> None:
    answer_of(spoil_bytes(chance, (FIXTURES / chance.choice(LISTS)).read_bytes()))


def _check_values(chance: random.Random) -> None:
    documents = load_documents()
    document = configure(chance, documents[chance.choice(list(documents))])
    answer_of(write(spoil_value(chance, document)))


def _check_stdin(chance: random.Random) -> None:
    words = chance.choice(COMMANDS)
    with limit_time():
        judge(words, call(_make_stream(chance), words))


def _check_folder(chance: random.Random) -> None:
    folder = Path(tempfile.mkdtemp(prefix="krmfn-fuzz-"))
    try:
        for place in (folder, folder / "old"):
            place.mkdir(exist_ok=True)
            for name in ("a.yaml", "b.yaml"):
                (place / name).write_bytes(_make_stream(chance))
            for name, data in (("kustomization.yaml", _KUSTOMIZATION), ("krmfn.yaml", _CONFIGURATION)):
                if chance.random() < 0.8:
                    (place / name).write_bytes(spoil_bytes(chance, data) if chance.random() < 0.4 else data)
        before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        words = chance.choice(FOLDER_COMMANDS)
        with limit_time():
            done = call(b"", words, folder)
        judge(words, done)
        after = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        writes = any(word in ("--write", "--fix", "init") for word in words)
        assert after == before or (writes and done.code in (0, 1)), words
        if words[:2] == ("generate", "--write"):
            call(b"", words, folder)
            again = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
            assert again == after, "the second run writes something"
    finally:
        shutil.rmtree(folder)


def _make_stream(chance: random.Random) -> bytes:
    documents = load_documents()
    document = documents[chance.choice(list(documents))]
    kind = chance.randrange(4)
    if kind == 0:
        return write_stream(spoil_value(chance, document))
    if kind == 1:
        return spoil_bytes(chance, write_stream(document))
    return write(spoil_value(chance, document)) if kind == 2 else write_stream(document)


def judge(words: tuple[str, ...], done: Done) -> None:
    """How a command may end."""
    said = done.err.decode("utf-8", "replace")
    assert done.code in {0, 1, 2}, said
    assert "Traceback" not in said
    assert "changed while krmfn was reading" not in said  # nothing changes: a path was looked for that was never there
    assert not _STEERS.search(done.err), said
    if done.code == 2:
        assert done.err or done.out, words
        if words[0] in ("generate", "convert"):
            assert not done.out, words
        elif words[0] == "diff":  # what can be read is compared, and each file that cannot is an error
            assert not done.out or " error: " in said, (words, said)
    if "json" in words and done.out:
        json.loads(done.out)
    elif words[0] not in ("generate", "convert"):
        assert not _STEERS.search(done.out), words
