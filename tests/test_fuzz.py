"""Whatever is put in: no traceback, no hang, and stdout holds a whole answer or nothing.

Every run tries the same inputs; `KRMFN_FUZZ=1000:5000 pytest tests/test_fuzz.py` tries others (from seed, to seed).
"""

from __future__ import annotations

import os
import random
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
import yaml

from krmfn.krm import Item, ResourceList
from tests.front_door import call
from tests.golden_files import CALLS, FIXTURES, LISTS
from tests.mutations import spoil_bytes, spoil_value, write, write_stream

FIRST, LAST = (int(part) for part in os.environ.get("KRMFN_FUZZ", "0:120").split(":"))
SEEDS = range(FIRST, LAST)
#: Seconds of processor time for one call: hundreds of times what one takes.
LIMIT = 20
COMMANDS = (
    ("generate", "-"),
    ("generate", "--only-generated", "-"),
    ("validate", "-"),
    ("validate", "-o", "json", "-"),
    ("validate", "-o", "sarif", "-"),
    ("tree", "-"),
    ("convert", "--to", "1.35", "-"),
    ("convert", "--to", "1.36", "-"),
    ("convert", "--to", "1.37", "-"),
)


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
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def load_documents() -> dict[Path, dict[str, Any]]:
    """The fixtures that are readable ResourceLists, as values."""
    found = {}
    for path in LISTS:
        try:
            document = yaml.load((FIXTURES / path).read_bytes(), yaml.CSafeLoader)
        except yaml.YAMLError:
            continue
        if isinstance(document, dict) and document.get("items"):
            found[path] = document
    return found


DOCUMENTS = load_documents()


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


@pytest.mark.parametrize("seed", SEEDS)
def test_function_on_spoiled_bytes(seed: int) -> None:
    chance = random.Random(f"bytes {seed}")
    for fixture in chance.sample(LISTS, 4):
        answer_of(spoil_bytes(chance, (FIXTURES / fixture).read_bytes()))


@pytest.mark.parametrize("seed", SEEDS)
def test_function_on_spoiled_values(seed: int) -> None:
    chance = random.Random(f"values {seed}")
    for fixture in chance.sample(sorted(DOCUMENTS), 4):
        document = configure(chance, DOCUMENTS[fixture])
        answer_of(write(spoil_value(chance, document)))


@pytest.mark.parametrize("seed", SEEDS)
def test_commands_on_spoiled_input(seed: int) -> None:
    chance = random.Random(f"commands {seed}")
    fixture = chance.choice(sorted(DOCUMENTS))
    spoiled = spoil_value(chance, DOCUMENTS[fixture])
    for data in (write_stream(spoiled), spoil_bytes(chance, write_stream(DOCUMENTS[fixture])), write(spoiled)):
        words = chance.choice(COMMANDS)
        with limit_time():
            done = call(data, words)
        assert done.code in {0, 1, 2}, done.err.decode("utf-8", "replace")
        assert b"Traceback" not in done.err


@pytest.mark.parametrize("seed", SEEDS)
def test_updates_on_spoiled_input(seed: int, tmp_path: Path) -> None:
    chance = random.Random(f"updates {seed}")
    folder = FIXTURES / chance.choice([each for each in CALLS if (FIXTURES / each / "old.yaml").exists()])
    for name in ("old.yaml", "new.yaml"):
        objects = list(yaml.load_all((folder / name).read_bytes(), yaml.CSafeLoader))
        spoiled = spoil_value(chance, {"items": objects}) if chance.random() < 0.7 else {"items": objects}
        (tmp_path / name).write_bytes(write_stream(spoiled))
    way = chance.choice(("apply", "server-side-apply", "replace"))
    release = chance.choice(("1.35", "1.36", "1.37"))
    for words in (
        ("validate", "--update", way, "--kubernetes", release, "--against", "old.yaml", "new.yaml"),
        ("diff", "--update", way, "--kubernetes", release, "old.yaml", "new.yaml"),
    ):
        with limit_time():
            done = call(words=words, folder=tmp_path)
        assert done.code in {0, 1, 2}, done.err.decode("utf-8", "replace")


#: What went wrong once, as small as it gets.
FOUND = {
    "metadata is a text": "- apiVersion: batch/v1\n  kind: Job\n  metadata: x\n",
    "resources is a text": (
        "- apiVersion: batch/v1\n  kind: Job\n  metadata: {name: a}\n  spec:\n    template:\n      spec:\n"
        "        containers: [{name: a, resources: x}, {name: b, resources: {limits: 1, requests: [2]}}]\n"
    ),
    "a kind longer than a file name": f"- apiVersion: batch/v1\n  kind: {'x' * 300}\n  metadata: {{name: a}}\n",
    "a list that ends in a dash": "-",
    "a last item without a line break": "- {apiVersion: batch/v1, kind: Job, metadata: {name: a}}\n- apiVersion",
}


def test_an_explicit_key_without_a_value_ends_on_its_line() -> None:
    data = (
        b"apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n- kind: Job\n  ? [a]: b\n# c\nresults: []\n"
    )
    (item,) = ResourceList.parse(data).items
    assert cut(item) == b"kind: Job\n  ? [a]: b"


@pytest.mark.parametrize("sign", ["\r", "\x85", "\u2028", "\u2029"])
def test_a_line_may_begin_behind_a_rare_break(sign: str) -> None:
    """So it does for libyaml and for Go's reader; `results:` has to stand where the other keys do."""
    head = f"# first {sign}apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n"
    item = "- {apiVersion: batch/v1, kind: Job, metadata: {name: a, annotations: {krmfn.dev/gang: x}}}\n"
    answer_of((head + item).encode())


@pytest.mark.parametrize("mode", ["Generate", "Validate"])
@pytest.mark.parametrize("scheduler", ["Kubernetes", "Volcano"])
@pytest.mark.parametrize("items", FOUND.values(), ids=FOUND)
def test_what_went_wrong_once(items: str, scheduler: str, mode: str) -> None:
    head = (
        "# a comment\napiVersion: config.kubernetes.io/v1\nkind: ResourceList\nfunctionConfig:\n"
        "  apiVersion: krmfn.dev/v1alpha1\n  kind: GangScheduling\n  metadata: {name: gangs}\n"
        f"  spec: {{select: All, mode: {mode}, scheduler: {scheduler}}}\nitems:\n"
    )
    answer_of((head + items).encode())


def test_an_item_of_one_line_ends_where_its_line_does() -> None:
    data = b"# a comment\napiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n- {kind: Job}\n"
    (item,) = ResourceList.parse(data).items
    assert cut(item) == b"{kind: Job}"
