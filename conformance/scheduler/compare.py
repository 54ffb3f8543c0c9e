"""The table of predictions against decisions, the list of what was missed, and what the simulators answer.

`missed/<release>.json` lists the gangs that never started and were not told by conditions alone, with the reason;
`missed/<release>.simulated.json` those on which the simulator and the real scheduler disagree.
"""

from __future__ import annotations

import collections
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from conformance.scheduler.replay import FOREIGN, OFF, REASONS, Verdict, configuration, explain, replay_one
from conformance.scheduler.storage import DATA, read
from krmfn.config import read_settings
from krmfn.krm import Item
from krmfn.model.rules import RULES
from krmfn.pipeline import foresee
from krmfn.workspace.processes import Failed
from krmfn.workspace.simulator import find_simulator, simulate

Value = dict[str, Any]
MISSED = DATA.parent / "missed"


def compare(releases: Sequence[str], folder: Path, simulators: Path | None, every: int, write: bool) -> int:
    """Prints the tables; 1 when something was called impossible that ran."""
    wrong = 0
    for release in releases:
        table: collections.Counter[tuple[str, str]] = collections.Counter()
        missed, disagreements = {}, {}
        for number, scenario in enumerate(read(folder, release)):
            if number % every:
                continue
            for verdict in replay_one(scenario):
                told = "never" if verdict.claims else "nothing"
                table[verdict.decided, told] += 1
                name = f"{verdict.scenario} {verdict.root}"
                if verdict.decided == "never" and not verdict.claims:
                    missed[name] = explain(scenario, verdict)
                if verdict.decided == "ran" and verdict.claims:
                    wrong += 1
                    print(f"WRONG {name}: {', '.join(verdict.claims)}")
            if simulators:
                try:
                    asked = list(ask(scenario, str(simulators)))
                except Failed as failure:
                    print(f"FAILED {scenario['id']}: {' | '.join(failure.lines[:12])}", flush=True)
                    wrong, asked = wrong + 1, []
                for verdict, said in asked:
                    table[verdict.decided, f"simulated: {said}"] += 1
                    if (verdict.decided, said) in DISAGREE:
                        disagreements[f"{verdict.scenario} {verdict.root}"] = f"{verdict.decided}, simulated: {said}"
        print(f"{release}: decided, said")
        for (decided, said), count in sorted(table.items()):
            print(f"  {decided:6} {said:20} {count}")
        if write:
            MISSED.mkdir(exist_ok=True)
            _write(MISSED / f"{release}.json", missed)
            if simulators:
                _write(MISSED / f"{release}.simulated.json", disagreements)
    if write:
        write_reasons()
    return 1 if wrong else 0


#: What the real scheduler did, and what was not told of it: a simulation that is right says it, or that it depends.
DISAGREE = {
    *(("never", said) for said in ("runs", "waits", "depends", "absent")),
    *(("ran", said) for said in ("never", "absent")),
}


def ask(scenario: Value, folder: str) -> Iterator[tuple[Verdict, str]]:
    """Every root of the scenario with what `krmfn fit` says of it when it asks the simulator; without those whose pods
    their operator would not make: here nobody asks it."""
    program = find_simulator(scenario["release"], folder)
    settings = read_settings(configuration(scenario))
    items = [Item.new(value) for gang in scenario["gangs"] for value in gang["objects"]]
    outlook = foresee(items, settings, lambda question: simulate(program, question))
    standings, unmade = {}, set()
    for standing in outlook.standings:
        for name in (standing.name, *(f"{group.namespace}/{group.name}" for group in standing.groups)):
            standings[name] = standing.verdict
            if standing.rule and RULES[standing.rule].stage == "operator":
                unmade.add(name)
    for verdict in replay_one(scenario, []):
        names = [name.removeprefix("composite ").partition("#")[0] for name in (verdict.root, *verdict.links)]
        if not unmade.intersection(names):
            yield verdict, next((standings[name] for name in names if name in standings), "absent")


#: Between these lines of README.md stands the table of reasons.
MARKS = ("<!-- missed -->\n", "<!-- end of missed -->\n")


def list_reasons() -> str:
    """The table of what conditions do not tell: how many gangs of each release for which reason, and what a proof would
    cost. Of `missed/`."""
    paths = sorted((path for path in MISSED.glob("*.json") if path.stem.count(".") == 1), reverse=True)
    counts = {path.stem: collections.Counter(json.loads(path.read_text()).values()) for path in paths}
    lines = [f"| not told, because | {' | '.join(counts)} | why not proved |", f"|---|{'---:|' * len(counts)}---|"]
    for reason, cost in (*((reason, cost) for _, reason, cost in REASONS), FOREIGN, OFF):
        cells = " | ".join(str(each[reason]) for each in counts.values())
        lines.append(f"| {reason} | {cells} | {cost} |")
    return "".join(f"{line}\n" for line in lines)


def write_reasons() -> None:
    """Puts the table into README.md."""
    page = MISSED.parent / "README.md"
    before, _, rest = page.read_text().partition(MARKS[0])
    page.write_text(f"{before}{MARKS[0]}{list_reasons()}{MARKS[1]}{rest.partition(MARKS[1])[2]}")


def _write(path: Path, found: dict[str, str]) -> None:
    path.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n")
