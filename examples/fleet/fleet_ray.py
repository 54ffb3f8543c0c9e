"""Checks many repositories on a Ray cluster: python fleet_ray.py FOLDER (which holds repositories).

A task is a few repositories. Ray starts one again whose worker or node has died, so nothing is lost; the driver keeps
one report for each repository, so nothing is there twice. The reports are for `krmfn merge`.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import ray


def check(folder: str) -> dict[str, Any]:
    """The report of a repository, as `krmfn validate -o json` prints it; one that cannot be read is a finding."""
    import krmfn
    from krmfn.api import ConfigError, InputMissing, Unreadable

    try:
        found = [finding.to_json() for finding in krmfn.validate(folder)]
    except (ConfigError, InputMissing, Unreadable) as reason:
        tags = {"rule": "unreadable", "stage": "server"}
        found = [{"message": str(reason), "severity": "error", "file": {"path": folder, "index": 0}, "tags": tags}]
    return {"results": found}


@ray.remote(num_cpus=1, max_retries=5)
def check_some(folders: list[str]) -> dict[str, dict[str, Any]]:
    """The reports of some repositories, by their folders."""
    return {folder: check(folder) for folder in folders}


def check_all(folders: list[str], into: Path, size: int) -> int:
    """Writes a report for each repository as soon as it is known; how many there are."""
    into.mkdir(parents=True, exist_ok=True)
    running = [check_some.remote(folders[start : start + size]) for start in range(0, len(folders), size)]
    done = 0
    while running:
        ended, running = ray.wait(running)
        for folder, report in ray.get(ended[0]).items():
            (into / f"{Path(folder).name}.json").write_text(json.dumps(report))
            done += 1
        print(f"{done} of {len(folders)}", flush=True)
    return done


def main() -> None:
    """Reads the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="+", help="folders with repositories")
    parser.add_argument("--into", type=Path, default=Path("reports"))
    parser.add_argument("--size", type=int, default=20, help="repositories of a task")
    parser.add_argument("--address", help="the cluster; default: one on this machine")
    given = parser.parse_args()
    ray.init(address=given.address, log_to_driver=False)
    listed = [str(each.resolve()) for folder in given.folders for each in sorted(Path(folder).iterdir())]
    check_all(listed, given.into, given.size)


if __name__ == "__main__":
    main()
