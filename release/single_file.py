"""Packs krmfn and what it depends on into one executable file, for places that take a file and no installation.

`python release/single_file.py TARGET`. PyYAML's binding to libyaml is compiled, so the file holds it for every Python
that krmfn supports, on the kind of machine that made it, and says so elsewhere: PyYAML in Python alone does not read
all texts as libyaml does. It unpacks itself once, on the first run.
"""

import hashlib
import re
import subprocess
import sys
import sysconfig
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
#: The minor versions of Python 3 that bindings are looked for.
MINORS = (11, 12, 13, 14)

MAIN = '''\
"""Unpacks the rest of this file once, beside other caches of the user or below the temporary folder, and runs it."""

import os
import sys
import sysconfig
import tempfile

MADE_FOR = {made_for!r}
BINDINGS = {bindings!r}
DIGEST = {digest!r}


def end(message):
    """Ends with one line. Every Python since 2.7 must be able to read this file."""
    sys.stderr.write("krmfn: " + message + "\\n")
    sys.exit(2)


def find_folder():
    """The folder of this very content; made on the first run, by renaming a finished one so that two runs may race."""
    home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    for parent in (os.path.join(home, "krmfn"), os.path.join(tempfile.gettempdir(), "krmfn-" + str(os.getuid()))):
        folder = os.path.join(parent, DIGEST)
        # What somebody else put there is not run.
        if os.path.isdir(folder) and os.stat(folder).st_uid == os.getuid():
            return folder
        try:
            os.makedirs(parent, mode=0o700, exist_ok=True)
            if os.stat(parent).st_uid != os.getuid():
                continue
            work = tempfile.mkdtemp(dir=parent)
        except OSError:
            continue
        import zipfile

        with zipfile.ZipFile(sys.argv[0]) as archive:
            archive.extractall(work, [name for name in archive.namelist() if name.startswith("lib/")])
        try:
            os.rename(work, folder)
        except OSError:
            import shutil

            shutil.rmtree(work)
        return folder
    end("no folder to unpack into: set XDG_CACHE_HOME to one that can be written")


HERE = "Python {{0}}.{{1}} on {{2}}".format(sys.version_info[0], sys.version_info[1], sysconfig.get_platform())
if sys.version_info < (3, 11) or sysconfig.get_config_var("EXT_SUFFIX") not in BINDINGS:
    end("this file runs with " + MADE_FOR + ", and here is " + HERE)
sys.path[0] = os.path.join(find_folder(), "lib")
from krmfn.__main__ import script

sys.exit(script())
'''


def add_bindings(lib: Path) -> None:
    """Adds the binding of PyYAML for the other versions of Python, which look for it by their own suffix. A version
    that there is no wheel for is left out, and named."""
    (installed,) = lib.glob("pyyaml-*.dist-info")
    version = installed.name.removeprefix("pyyaml-").removesuffix(".dist-info")
    for minor in set(MINORS) - {sys.version_info[1]}:
        with tempfile.TemporaryDirectory() as folder:
            wanted = ["--only-binary=:all:", "--no-deps", "--python-version", f"3.{minor}", f"pyyaml=={version}"]
            download = [sys.executable, "-m", "pip", "download", "--quiet", "--dest", folder, *wanted]
            if subprocess.run(download, check=False, capture_output=True).returncode:
                print(f"left out: Python 3.{minor}, for which there is no wheel of PyYAML {version}", file=sys.stderr)
                continue
            (wheel,) = Path(folder).iterdir()
            with zipfile.ZipFile(wheel) as archive:
                for name in archive.namelist():
                    if name.startswith("yaml/_yaml."):
                        archive.extract(name, lib)


def pack(target: Path) -> None:
    """Writes the file. The same content gives the same bytes. Raises CalledProcessError when pip fails."""
    with tempfile.TemporaryDirectory() as folder:
        lib = Path(folder) / "lib"
        install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-compile", "--target", str(lib), str(ROOT)]
        subprocess.run(install, check=True)
        add_bindings(lib)
        leave_out = {"bin", "__pycache__"}
        files = sorted(p for p in lib.rglob("*") if p.is_file() and not leave_out & set(p.relative_to(lib).parts))
        # pip notes where the checkout was; the content does not depend on it.
        content = [(p.relative_to(folder).as_posix(), p.read_bytes()) for p in files if p.name != "direct_url.json"]
    content = [(name, data) for name, data in content if not name.endswith("/RECORD")]
    digest = hashlib.sha256(repr(content).encode()).hexdigest()[:16]
    names = [name.rpartition("/")[2] for name, _ in content]
    bindings = [name.removeprefix("_yaml") for name in names if name.startswith("_yaml.cpython-")]
    versions = sorted(int(re.findall(r"cpython-3(\d+)", suffix)[0]) for suffix in bindings)
    made_for = f"Python {', '.join(f'3.{version}' for version in versions)} on {sysconfig.get_platform()}"
    main = MAIN.format(made_for=made_for, bindings=bindings, digest=digest)
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.open("wb") as stream:
        stream.write(b"#!/usr/bin/env python3\n")
        with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, data in [("__main__.py", main.encode()), *content]:
                archive.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), data, zipfile.ZIP_DEFLATED)
    target.chmod(0o755)


if __name__ == "__main__":
    pack(Path(sys.argv[1]))
