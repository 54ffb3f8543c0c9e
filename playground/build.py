"""Builds the first page of the site, the playground. `./dev site` adds the documentation below `docs/`.

`python playground/build.py [FOLDER]` (default: `site`) builds the page. All files are served from there, none from
another host. What npm brings is pinned in the lock file; the Python packages are those of this environment.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from krmfn.releases.release import find_release, list_releases
from playground import rules

HERE = Path(__file__).parent
ROOT = HERE.parent
SOURCES = HERE / "src"
#: What of Pyodide is served: the interpreter and its standard library. Packages of Python come with ours.
PYODIDE = ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "pyodide-lock.json", "python_stdlib.zip")
#: The examples of the page: their title, their files, and what else is open.
EXAMPLES: tuple[tuple[str, list[str], dict[str, str]], ...] = (
    ("A RayCluster as a tree", ["playground/examples/train.yaml"], {}),
    ("A Job", ["examples/job/job.yaml"], {}),
    ("Accepted, and never scheduled", ["examples/troubleshooting/silent.yaml"], {}),
    ("Does it fit?", ["examples/fit/jobs.yaml"], {"tab": "fit", "cluster": "examples/fit/cluster.yaml"}),
)


def build(folder: Path) -> None:
    """Write the page into `folder`. Raises CalledProcessError where npm or esbuild fail."""
    modules = install()
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("index.html", "style.css", "worker.js", "host.py"):
        shutil.copyfile(SOURCES / name, folder / name)
    (folder / "rules").mkdir(exist_ok=True)
    shutil.copyfile(SOURCES / "rules.js", folder / "rules" / "rules.js")
    (folder / "rules" / "index.html").write_text(rules.render())
    (folder / "examples.json").write_text(json.dumps(list_examples()))
    (folder / "llms.txt").write_text(render_index())
    (folder / "pyodide").mkdir(exist_ok=True)
    for name in PYODIDE:
        shutil.copyfile(modules / "pyodide" / name, folder / "pyodide" / name)
    write_archives(folder)
    subprocess.run(["node", HERE / "compile.mjs", (folder / "pyodide").resolve(), folder.resolve()], check=True)
    options = ["--bundle", "--format=esm", "--minify", "--target=es2022", "--log-level=warning"]
    command: list[str | Path] = [
        modules / ".bin" / "esbuild",
        *options,
        f"--outfile={folder / 'app.js'}",
        SOURCES / "app.js",
    ]
    subprocess.run(command, check=True, env={**os.environ, "NODE_PATH": str(modules)})


def install() -> Path:
    """The folder of the npm packages, in the cache: installed once for each lock file."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache", "krmfn").expanduser()
    place = cache / "playground"
    lock = HERE / "package-lock.json"
    stamp = place / lock.name
    if stamp.exists() and stamp.read_bytes() == lock.read_bytes():
        return place / "node_modules"
    if not shutil.which("npm"):
        sys.exit("playground: needs npm: apt-get install npm")
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache) as folder:  # whole, or not there: another one may install as well
        for file in (HERE / "package.json", lock):
            shutil.copy(file, folder)
        subprocess.run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--silent"], cwd=folder, check=True)
        made = Path(folder, "made")
        made.mkdir()
        for name in ("node_modules", "package.json", lock.name):
            Path(folder, name).rename(made / name)
        shutil.rmtree(place, ignore_errors=True)
        try:
            made.rename(place)
        except OSError:  # the other one was faster
            if not stamp.exists():
                raise
    return place / "node_modules"


def render_index() -> str:
    """`llms.txt` of the site: what each page is about, for programs that read before they look (https://llmstxt.org)."""
    config = (ROOT / "mkdocs.yml").read_text()
    lines = ["# krmfn", "", f"> {_find_summary(ROOT / 'README.md')}", ""]
    for indent, title, path in re.findall(
        r"^( +)- (.+?): ?(\S+\.md)?$", config[config.index("\nnav:") :], re.MULTILINE
    ):
        if path:
            address = f"docs/{path.removesuffix('index.md').removesuffix('.md')}".rstrip("/")
            lines.append(f"* [{title}]({address}/): {_find_summary(ROOT / 'docs' / path)}")
        elif len(indent) <= 2:
            lines += ["", f"## {title}", ""]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)) + "\n"


def _find_summary(page: Path) -> str:
    """The first paragraph of a page, in one line."""
    parts = (part.strip() for part in page.read_text().split("\n\n"))
    text = next((part for part in parts if part and part[0] not in "#<|-`"), "")
    return re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", " ".join(text.split()))


def list_examples() -> dict[str, object]:
    """What the page offers: examples with the answers, and the releases: the newest first, previews last."""
    examples = {}
    for title, names, rest in EXAMPLES:
        state = {key: (ROOT / value).read_text() if key == "cluster" else value for key, value in rest.items()}
        example = {"files": {Path(name).name: (ROOT / name).read_text() for name in names}, **state}
        examples[title] = {**example, "told": answer(example)}
    releases = sorted(map(find_release, reversed(list_releases())), key=lambda release: release.preview)
    return {"examples": examples, "releases": [release.name for release in releases]}


def answer(example: Mapping[str, object]) -> object:
    """What the page will say of an example, so that it says so before Python is loaded."""
    request = {"tab": "tree", "old": {}, "cluster": "", "kubernetes": "", "gates": "", **example}
    code = "import sys, host; print(host.answer(sys.stdin.read()))"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=SOURCES,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"},
        input=json.dumps(request),
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


def write_archives(folder: Path) -> None:
    """`code.zip`, krmfn and the packages that it needs, without what is compiled, and `data.zip`, their other files."""
    with zipfile.ZipFile(folder / "code.zip", "w") as code, zipfile.ZipFile(folder / "data.zip", "w") as data:
        for name, file in sorted(list_files()):
            archive = code if file.suffix == ".py" else data
            archive.writestr(zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0)), file.read_bytes(), zipfile.ZIP_DEFLATED)


def list_files() -> Iterator[tuple[str, Path]]:
    """The names in the archive, each with its file."""
    folders = {"krmfn": ROOT / "krmfn", "krmfn/schemas": ROOT / "schemas", "krmfn/pages": ROOT / "docs" / "rules"}
    for package in ("yaml", "click"):
        found = importlib.util.find_spec(package)
        if not found or not found.origin:
            sys.exit(f"playground: the package {package} is not installed: ./dev setup")
        folders[package] = Path(found.origin).parent
    for prefix, folder in folders.items():
        for file in folder.rglob("*"):
            if file.is_file() and "__pycache__" not in file.parts and file.suffix not in (".so", ".pyd", ".pyi"):
                yield f"{prefix}/{file.relative_to(folder).as_posix()}", file


if __name__ == "__main__":
    build(Path(sys.argv[1] if sys.argv[1:] else "site"))
