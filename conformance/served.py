"""Which kinds a server serves by default: what its discovery lists, with nothing switched on and with everything."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from conformance.client import Client
from conformance.server import serve
from conformance.versions import HERE, Profile, Release

SERVED = HERE / "data" / "served.json"


def read_served(client: Client) -> dict[str, dict[str, list[Any]]]:
    """By group and version: each kind with its resource and whether it is namespaced."""
    versions = ["v1"]
    for group in client.get("/apis").body["groups"]:
        versions += [each["groupVersion"] for each in group["versions"]]
    found = {}
    for version in versions:
        listed = client.get(f"/apis/{version}" if "/" in version else f"/api/{version}").body
        found[version] = {
            each["kind"]: [each["name"], each["namespaced"]]
            for each in listed["resources"]
            if "/" not in each["name"] and "create" in each["verbs"]
        }
    return found


def record_served(releases: Iterable[Release]) -> None:
    """Asks the server of each release and writes what it says; of other releases what was written stays."""
    told = json.loads(SERVED.read_text())
    for release in releases:
        for switched, runtime in (("default", "api/legacy=true"), ("everything", "api/all=true")):
            with serve(Profile(f"{release.name}-{switched}", release, ()), runtime) as running:
                told[f"{release.name} {switched}"] = read_served(running.client)
    lines = []
    for title, versions in sorted(told.items()):
        rows = (f"  {json.dumps(version)}: {json.dumps(kinds)}" for version, kinds in sorted(versions.items()))
        lines.append(f" {json.dumps(title)}: {{\n" + ",\n".join(rows) + "\n }")
    SERVED.write_text("{\n" + ",\n".join(lines) + "\n}\n")
