"""What the page asks of krmfn, answered by the command line itself: `main` with words, files in memory, text out.

Runs in a worker of the browser (Pyodide). Knows which commands the page shows, nothing of what they find.
"""

import importlib
import io
import json
import os
import pkgutil
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import krmfn
from krmfn.__main__ import main

#: Where the files of the page lie: those on the left, the state before them, what is known of the cluster.
_PLACE = Path(tempfile.mkdtemp())
NEW, OLD, CLUSTER = (_PLACE / name for name in ("new", "old", "cluster"))


def answer(request: str) -> str:
    """One answer as JSON: `findings`, `generated`, and what the open tab shows, each with the errors of its command.

    `request` has `files` (name to text), `tab`, `old` (files before a change), `cluster` (a dump), `kubernetes` and
    `gates` as the options of the command line take them.
    """
    asked = json.loads(request)
    _write(NEW, asked["files"])
    options = ["--kubernetes", asked["kubernetes"]] if asked["kubernetes"] else []
    options += ["--feature-gates", asked["gates"]] if asked["gates"] else []
    told: dict[str, Any] = {"findings": _run(["validate", "-o", "json", *options, "."])}
    match asked["tab"]:
        case "tree":
            told["tree"] = _run(["tree", "-q", "-o", "json", *options, "."])
        case "generated":
            told["generated"] = _run(["generate", "-q", "--only-generated", *options, "."])
        case "fit" if asked["cluster"].strip():
            _write(CLUSTER, {"cluster.yaml": asked["cluster"]})
            told["fit"] = _run(["fit", "-q", "--cluster", str(CLUSTER), "-o", "svg", *options, "."])
            told["fitText"] = _run(["fit", "-q", "--cluster", str(CLUSTER), *options, "."])
        case "diff" if asked["old"]:
            _write(OLD, asked["old"])
            told["diff"] = _run(["diff", "-q", *options, str(OLD), "."])
    return json.dumps(told)


def import_all() -> None:
    """Reads every module of krmfn but those whose packages are not here: no answer has to wait for one."""
    for found in pkgutil.walk_packages(krmfn.__path__, "krmfn.", onerror=lambda _: None):
        if not found.name.endswith("__main__"):
            with suppress(ImportError):
                importlib.import_module(found.name)


def _run(words: Sequence[str]) -> dict[str, Any]:
    """What a command printed, and its exit status."""
    streams = sys.stdin, sys.stdout, sys.stderr
    out, err = io.BytesIO(), io.BytesIO()
    sys.stdin, sys.stdout, sys.stderr = (io.TextIOWrapper(stream, "utf-8") for stream in (io.BytesIO(), out, err))
    sys.argv = ["krmfn", *words]
    try:
        code: Any = main()
    except SystemExit as end:
        code = end.code
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        texts = [stream.getvalue().decode() for stream in (out, err)]
        sys.stdin, sys.stdout, sys.stderr = streams
    return {"code": code, "out": texts[0], "err": texts[1]}


def _write(folder: Path, files: Mapping[str, str]) -> None:
    """These files and no others, in the folder that the next command runs in."""
    os.chdir("/")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name, text in files.items():
        path = folder.joinpath(*[part for part in name.split("/") if part not in ("", ".", "..")])
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode("utf-8", "surrogatepass"))  # which krmfn refuses, as it does in any file
    os.chdir(NEW)
