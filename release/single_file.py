"""Packs krmfn and what it depends on into one executable file, for places that take a file and no installation.

`python release/single_file.py TARGET`. The file holds compiled parts, so it runs on the kind of machine and with the
Python version that made it, and says so elsewhere. It unpacks itself once, on the first run.
"""

import hashlib
import subprocess
import sys
import sysconfig
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).parent.parent

MAIN = '''\
"""Unpacks the rest of this file once, beside other caches of the user or below the temporary folder, and runs it."""

import os
import sys
import sysconfig
import tempfile

MADE_FOR = {made_for!r}
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
if HERE != MADE_FOR:
    end("this file runs with " + MADE_FOR + ", and here is " + HERE + ": run it with that Python")
sys.path[0] = os.path.join(find_folder(), "lib")
from krmfn.__main__ import main

sys.exit(main())
'''


def pack(target: Path) -> None:
    """Writes the file. The same content gives the same bytes. Raises CalledProcessError when pip fails."""
    with tempfile.TemporaryDirectory() as folder:
        lib = Path(folder) / "lib"
        install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-compile", "--target", str(lib), str(ROOT)]
        subprocess.run(install, check=True)
        leave_out = {"bin", "__pycache__"}
        files = sorted(p for p in lib.rglob("*") if p.is_file() and not leave_out & set(p.relative_to(lib).parts))
        # pip notes where the checkout was; the content does not depend on it.
        content = [(p.relative_to(folder).as_posix(), p.read_bytes()) for p in files if p.name != "direct_url.json"]
    content = [(name, data) for name, data in content if not name.endswith("/RECORD")]
    digest = hashlib.sha256(repr(content).encode()).hexdigest()[:16]
    made_for = f"Python {sys.version_info[0]}.{sys.version_info[1]} on {sysconfig.get_platform()}"
    main = MAIN.format(made_for=made_for, digest=digest)
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.open("wb") as stream:
        stream.write(b"#!/usr/bin/env python3\n")
        with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, data in [("__main__.py", main.encode()), *content]:
                archive.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), data, zipfile.ZIP_DEFLATED)
    target.chmod(0o755)


if __name__ == "__main__":
    pack(Path(sys.argv[1]))
