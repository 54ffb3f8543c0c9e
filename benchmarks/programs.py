"""The programs that are compared: ours, Python, Go functions of `benchmarks/go`, kubeconform, flux-schema, jsonschema.

Builds what has to be built, into `.cache/benchmarks` of the checkout. Must not know what a row claims.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from benchmarks.clock import Failed, Missing

ROOT = Path(__file__).parent.parent
CACHE = ROOT / ".cache" / "benchmarks"
FLUX_SCHEMA = "https://github.com/fluxcd/flux-schema"
#: v0.11.0. Its catalogue of schemas is in the repository, not in the module or the release's archives.
FLUX_SCHEMA_COMMIT = "9946a7cd4487b6d47cc9cd27d19ec8a274941af6"


def python() -> list[str]:
    return [sys.executable]


def krmfn(*arguments: str) -> list[str]:
    """Our console script, as pip installed it beside this interpreter."""
    return [str(Path(sys.executable).parent / "krmfn"), *arguments]


def go_function(name: str) -> list[str]:
    """A KRM function of `benchmarks/go`, built when its source is newer. Raises Failed when Go is missing."""
    if shutil.which("go") is None:
        raise Failed("needs Go 1.24 or newer on the PATH")
    CACHE.mkdir(parents=True, exist_ok=True)
    subprocess.run(["go", "build", "-o", str(CACHE / name), f"./{name}"], cwd=ROOT / "benchmarks" / "go", check=True)
    return [str(CACHE / name)]


def kubeconform(schemas: Path, document: Path, alone: bool) -> list[str]:
    """kubeconform with our own schemas from disk; `alone` with one worker. Raises Failed when it is missing."""
    program = shutil.which("kubeconform")
    if program is None:
        raise Failed("needs kubeconform on the PATH (./dev bench builds it)")
    location = f"{schemas}/{{{{ .ResourceKind }}}}.json"
    return [program, "-n", "1" if alone else "4", "-schema-location", location, "-strict", "-summary", str(document)]


def flux_schema(document: Path) -> list[str]:
    """flux-schema with the catalogue of its own repository, built once for a commit. Raises Missing with the reason."""
    folder = CACHE / f"flux-schema-{FLUX_SCHEMA_COMMIT}"
    program = folder / "flux-schema"
    if not program.exists():
        if shutil.which("go") is None or shutil.which("git") is None:
            raise Missing("needs git and Go 1.26 or newer on the PATH")
        folder.mkdir(parents=True, exist_ok=True)
        for step in (
            ["git", "init", "--quiet", "."],
            ["git", "fetch", "--quiet", "--depth", "1", FLUX_SCHEMA, FLUX_SCHEMA_COMMIT],
            ["git", "checkout", "--quiet", "--force", FLUX_SCHEMA_COMMIT],
            ["go", "build", "-ldflags", "-s -w", "-o", "flux-schema", "./cmd/flux-schema"],
        ):
            done = subprocess.run(step, cwd=folder, capture_output=True, text=True, check=False)
            if done.returncode:
                complaint = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
                way_out = "where only a copy can be reached: git config url.COPY.insteadOf " + FLUX_SCHEMA
                raise Missing(f"flux-schema cannot be built, `{' '.join(step[:2])}` failed: {complaint} ({way_out})")
    return [str(program), "validate", str(document), "--schema-location", str(folder / "catalog" / "latest")]


def jsonschema(schemas: Path, document: Path, _alone: bool) -> list[str]:
    """The jsonschema package behind PyYAML's C reader: what a script that validates manifests usually is."""
    return [sys.executable, str(Path(__file__).parent / "jsonschema_script.py"), str(schemas), str(document)]


def describe_machine() -> str:
    """Processor, number of cores, Python and Go: one line for under the table."""
    model = "unknown processor"
    if os.path.exists("/proc/cpuinfo"):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                model = line.partition(":")[2].strip()
                break
    go = ""
    if shutil.which("go"):
        go = subprocess.run(["go", "env", "GOVERSION"], capture_output=True, text=True, check=False).stdout.strip()
    version = ".".join(map(str, sys.version_info[:3]))
    return f"{model}, {os.cpu_count()} cores, Python {version}, {go or 'no Go'}"
