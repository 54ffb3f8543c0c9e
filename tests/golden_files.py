"""Where fixtures and goldens are, and how a golden is compared. Knows nothing of what is tested."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from syrupy.assertion import SnapshotAssertion
from syrupy.extensions.single_file import SingleFileSnapshotExtension
from syrupy.location import PyTestLocation

from tests.front_door import ROOT, Done

FIXTURES = ROOT / "fixtures"
GOLDEN = ROOT / "golden"

#: Fixtures of the function: ResourceLists.
LISTS = sorted(
    path.relative_to(FIXTURES) for family in ("accept", "reject") for path in (FIXTURES / family).rglob("*.*")
)
#: Fixtures of the other commands: a folder with a file `command` and what it reads.
CALLS = sorted(path.parent.relative_to(FIXTURES) for path in FIXTURES.rglob("command"))


class Golden(SingleFileSnapshotExtension):
    """Snapshots that lie in golden/ under the fixture's own name."""

    @classmethod
    def dirname(cls, *, test_location: PyTestLocation) -> str:
        """The one folder of all goldens."""
        return str(GOLDEN)

    @classmethod
    def get_location(cls, *, test_location: PyTestLocation, index: Any) -> str:
        """The file of a golden; `index` is its path below the folder."""
        return str(GOLDEN / str(index))


def assert_golden(fixture: Path, done: Done, snapshot: SnapshotAssertion) -> None:
    """What a call did is what golden/ holds for its fixture: stdout in .out, stderr and exit status in .err."""
    golden = snapshot.use_extension(Golden)
    name = fixture.with_suffix("")
    told = f"golden/{name}.* holds something else: with --snapshot-update pytest writes it anew; read the difference"
    assert done.out == golden(name=f"{name}.out"), told
    assert done.err + f"exit {done.code}\n".encode() == golden(name=f"{name}.err"), told
