"""What a command cannot do is one sentence, which names the way out, and nothing is written."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Call

CONFIGURATION = "apiVersion: krmfn.dev/v1alpha1\nkind: GangScheduling\nmetadata: {name: gangs}\n"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["generate", "--only-generated", "--write", "."], "--only-generated cannot be combined with"),
        (["generate", "--shard", "1/2", "."], "--shard needs --check: what is printed or written is a whole"),
        (["validate", "--fix", "-"], "--fix and --diff need files, not stdin or a revision"),
        (["validate", "--shard", "1/2", "--against", "base", "-"], "stdin can be read only once: name a file"),
        (["validate", "--against", "git:HEAD", "-"], "when stdin is checked: git:HEAD:PATH"),
        (["validate", "--config", "base", "."], "the configuration base is a folder"),
        (["validate", "--config", "two.yaml", "."], "two.yaml: contains 2 objects; the configuration is one object"),
        (["validate", "--config", "flat.yaml", "."], "should be a mapping of dotted keys"),
        (["diff", "--to-kubernetes", "1.37", "-"], "stdin can be read only once: name a file"),
        (["merge", "--write-baseline", "a.json"], "--write-baseline needs --baseline FILE"),
        (["merge", "base"], "base is a folder"),
        (["why", "job/train", "--cluster", "twice.yaml"], "there is one in a, b; write KIND/NAMESPACE/NAME"),
        (["explain", "NoSuchKind.spec"], "NoSuchKind"),
    ],
)  # fmt: skip
def test_it_is_said(words: list[str], sentence: str, folder: Path, krmfn: Call) -> None:
    job = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: train, namespace: %s}\n"
    (folder / "two.yaml").write_text(f"{CONFIGURATION}---\n{CONFIGURATION}")
    (folder / "flat.yaml").write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: gangs}\ndata: gang\n")
    (folder / "twice.yaml").write_text(f"{job % 'a'}---\n{job % 'b'}")
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    done = krmfn(*words, stdin=job % "a")
    assert (done.code, done.out) == (2, "")
    assert sentence in " ".join(done.err.split())
    assert "Traceback" not in done.err
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before
