"""What is installed here, as CycloneDX 1.6 JSON on stdout.

Python distributions, and Debian packages where there are any. Runs inside the image with nothing but
the standard library. No serial number and no time: one image gives one text.
"""

import json
import platform
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any
from urllib.parse import quote

DPKG = Path("/var/lib/dpkg/status")
OS_RELEASE = Path("/etc/os-release")


def python_components() -> Iterator[dict[str, Any]]:
    """The interpreter and every distribution it can import."""
    version = platform.python_version()
    yield {"type": "platform", "name": "python", "version": version, "purl": f"pkg:generic/python@{version}"}
    for distribution in metadata.distributions():
        name, version = distribution.metadata["Name"], distribution.version
        component = {"type": "library", "name": name, "version": version}
        component["purl"] = f"pkg:pypi/{name.lower().replace('_', '-').replace('.', '-')}@{version}"
        licence = distribution.metadata.json.get("license_expression") or distribution.metadata.json.get("license")
        # Some distributions put the whole text of the licence into the field.
        yield component | (
            {"licenses": [{"license": {"name": licence}}]} if isinstance(licence, str) and len(licence) < 80 else {}
        )


def debian_components(status: Path, release: Path) -> Iterator[dict[str, Any]]:
    """The installed packages of dpkg's database."""
    if not status.exists():
        return
    lines = (line.partition("=") for line in release.read_text().splitlines()) if release.exists() else iter(())
    facts = {key: value.strip('"') for key, _, value in lines}
    distro = f"{facts.get('ID', 'debian')}-{facts.get('VERSION_ID', 'unknown')}"
    for block in status.read_text(errors="replace").split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.splitlines() if ": " in line and line[0] != " ")
        if not fields.get("Status", "").endswith(" installed"):
            continue
        name, version, architecture = fields["Package"], fields["Version"], fields["Architecture"]
        purl = f"pkg:deb/debian/{quote(name)}@{quote(version, safe='~')}?arch={architecture}&distro={distro}"
        yield {"type": "library", "name": name, "version": version, "purl": purl}


def write_bill() -> dict[str, Any]:
    """The whole document; components by name, each once."""
    found = {c["purl"]: c for c in [*python_components(), *debian_components(DPKG, OS_RELEASE)]}
    krmfn = {"type": "application", "name": "krmfn", "version": metadata.version("krmfn")}
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": krmfn},
        "components": [found[purl] for purl in sorted(found)],
    }


if __name__ == "__main__":
    json.dump(write_bill(), sys.stdout, indent=1)
    sys.stdout.write("\n")
