"""What is claimed and how each claim is measured: one function per row of the table."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from benchmarks import inputs, mixed, programs
from benchmarks.bundles import bundle_schemas
from benchmarks.clock import Program, Run, run_in_turns

SCHEMAS = programs.ROOT / "schemas" / "kubernetes" / "1.37"
ONE_OBJECT = """apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata:
  name: train
spec:
  schedulingPolicy:
    gang:
      minCount: 4
"""


class Row(NamedTuple):
    """What was compared, the ratio, its bound (`at most`/`at least`), and the two sides in words."""

    name: str
    ratio: float
    at_most: float | None
    at_least: float | None
    ours: str
    theirs: str

    @property
    def kept(self) -> bool:
        return (self.at_most is None or self.ratio <= self.at_most) and (
            self.at_least is None or self.ratio >= self.at_least
        )


def seconds(value: float) -> str:
    return f"{value * 1000:.0f} ms" if value < 1 else f"{value:.2f} s"


def both(run: Run) -> str:
    return f"{seconds(run.seconds)}, {run.memory / 1e6:.0f} MB"


def write(folder: Path, name: str, pieces: Iterable[str]) -> Path:
    """Writes without holding the whole: a child's peak memory counts from that of its parent."""
    path = folder / name
    with path.open("w", encoding="utf-8") as stream:
        stream.writelines(pieces)
    return path


def start_up(folder: Path) -> Row:
    empty = write(folder, "empty.yaml", [inputs.EMPTY])
    runs = run_in_turns(
        {
            "ours": Program(programs.krmfn(), empty),
            "theirs": Program([*programs.python(), "-c", "pass"]),
        },
        rounds=25,
    )
    ours, theirs = runs["ours"].seconds, runs["theirs"].seconds
    return Row(
        "start-up: empty ResourceList / `python3 -c pass`", ours / theirs, 3, None, seconds(ours), seconds(theirs)
    )


def validate_one(folder: Path) -> Row:
    one = write(folder, "one.yaml", [ONE_OBJECT])
    runs = run_in_turns(
        {
            "ours": Program(programs.krmfn("validate", str(one))),
            "theirs": Program([*programs.python(), "-c", "pass"]),
        },
        rounds=25,
    )
    ours, theirs = runs["ours"].seconds, runs["theirs"].seconds
    return Row(
        "`krmfn validate` of one object / `python3 -c pass`", ours / theirs, 6, None, seconds(ours), seconds(theirs)
    )


def one_cluster(folder: Path) -> Row:
    one = write(folder, "one-cluster.yaml", inputs.resource_list(1, 1))
    runs = run_in_turns(
        {
            "ours": Program(programs.krmfn(), one),
            "theirs": Program([*programs.python(), "-c", "pass"]),
        },
        rounds=25,
    )
    ours, theirs = runs["ours"].seconds, runs["theirs"].seconds
    return Row("one RayCluster as an item / `python3 -c pass`", ours / theirs, 6, None, seconds(ours), seconds(theirs))


def few_of_many(folder: Path) -> Row:
    big = write(folder, "few.yaml", inputs.resource_list(10_000, 100))
    runs = run_in_turns(
        {"ours": Program(programs.krmfn(), big), "theirs": Program(programs.go_function("identity"), big)}, rounds=5
    )
    ours, theirs = runs["ours"], runs["theirs"]
    name = "10,000 items, 100 RayClusters: Go function that does nothing / krmfn"
    return Row(name, theirs.seconds / ours.seconds, None, 12, both(ours), both(theirs))


def many_of_many(folder: Path) -> Row:
    big = write(folder, "many.yaml", inputs.resource_list(10_000, 5_000))
    runs = run_in_turns(
        {"ours": Program(programs.krmfn(), big), "theirs": Program(programs.go_function("naive"), big)}, rounds=3
    )
    ours, theirs = runs["ours"], runs["theirs"]
    name = "10,000 items, 5,000 RayClusters, all different: Go function with a naive version of the job / krmfn"
    return Row(name, theirs.seconds / ours.seconds, None, 3, both(ours), both(theirs))


def growth(folder: Path) -> Row:
    """Processor time per item above the start-up at 100,000 items, against that at 1,000."""
    small = Program(programs.krmfn(), write(folder, "1000.yaml", inputs.resource_list(1_000, 10)))
    large = Program(programs.krmfn(), write(folder, "100000.yaml", inputs.resource_list(100_000, 1_000)))
    none = Program(programs.krmfn(), write(folder, "1.yaml", inputs.resource_list(1, 1)))
    little = run_in_turns({"none": none, "small": small}, rounds=25)
    much = run_in_turns({"large": large}, rounds=3)
    start = little["none"].processor
    ours = (much["large"].processor - start) / 100_000
    theirs = (little["small"].processor - start) / 1_000
    name = "growth: processor time per item at 100,000 items / at 1,000"
    return Row(name, ours / theirs, 1.1, None, f"{ours * 1e6:.1f} µs", f"{theirs * 1e6:.1f} µs")


def peak_memory(folder: Path) -> Row:
    path = write(folder, "100000.yaml", inputs.resource_list(100_000, 1_000))
    large = Program(programs.krmfn(), path)
    none = Program(programs.krmfn(), write(folder, "1.yaml", inputs.resource_list(1, 1)))
    runs = run_in_turns({"large": large, "none": none}, rounds=1)
    ours = runs["large"].memory - runs["none"].memory
    size = path.stat().st_size
    name = "peak memory above the interpreter's and 20 MB / size of the input (100,000 items)"
    return Row(name, (ours - 20e6) / size, 2, None, f"{ours / 1e6:.0f} MB", f"{size / 1e6:.0f} MB")


def validate_many(
    folder: Path,
    other: Callable[[Path, Path, bool], list[str]],
    label: str,
    at_least: float,
    alone: bool,
    *options: str,
) -> Row:
    stream = write(folder, "stream.yaml", inputs.scheduling_stream(10_000))
    schemas = bundle_schemas(SCHEMAS, folder / "schemas", ("workload", "podgroup", "job"))
    runs = run_in_turns(
        {
            "ours": Program(programs.krmfn("validate", *options, str(stream)), alone=alone),
            "theirs": Program(other(schemas, stream, alone), alone=alone),
        },
        rounds=7,
    )
    ours, theirs = runs["ours"], runs["theirs"]
    judged = "in all stages" if not options else "in stage server"
    where = "one processor" if alone else "all processors"
    name = f"validate 10,000 documents {judged}, {where}: {label} / krmfn"
    return Row(name, theirs.seconds / ours.seconds, None, at_least, both(ours), both(theirs))


def validate_mixed(folder: Path, flow: bool, alone: bool, at_least: float, *options: str) -> Row:
    """The kinds of every repository, beside the program that Flux's repositories are validated with."""
    style = "flow" if flow else "block"
    documents = write(folder, f"mixed-{style}.yaml", mixed.stream(10_000, flow))
    runs = run_in_turns(
        {
            "ours": Program(programs.krmfn("validate", *options, str(documents)), alone=alone),
            "theirs": Program(programs.flux_schema(documents), alone=alone),
        },
        rounds=7,
    )
    ours, theirs = runs["ours"], runs["theirs"]
    judged = "in stage server" if options else "in all stages"
    where = "one processor" if alone else "all processors"
    name = f"validate 10,000 documents of four kinds, {style} style, {judged}, {where}: flux-schema / krmfn"
    return Row(name, theirs.seconds / ours.seconds, None, at_least, both(ours), both(theirs))


def tree_of_jobs(folder: Path) -> Row:
    jobs = str(write(folder, "jobs.yaml", inputs.opted_in_jobs(5_000)))
    runs = run_in_turns(
        {
            "ours": Program(programs.krmfn("tree", jobs), alone=True),
            "theirs": Program(programs.krmfn("validate", jobs), alone=True),
        },
        rounds=7,
    )
    ours, theirs = runs["ours"], runs["theirs"]
    name = "5,000 Jobs that opt in, one processor: `krmfn tree` / `krmfn validate`"
    return Row(name, ours.seconds / theirs.seconds, 1, None, both(ours), both(theirs))


SERVER = ("--stage", "server")
ROWS: Mapping[str, Callable[[Path], Row]] = {
    "start-up": start_up,
    "validate-one": validate_one,
    "one-cluster": one_cluster,
    "few-of-many": few_of_many,
    "many-of-many": many_of_many,
    "growth": growth,
    "memory": peak_memory,
    "kubeconform": lambda folder: validate_many(folder, programs.kubeconform, "kubeconform", 1.5, True, *SERVER),
    "kubeconform-many": lambda folder: validate_many(folder, programs.kubeconform, "kubeconform", 1.5, False, *SERVER),
    "kubeconform-all": lambda folder: validate_many(folder, programs.kubeconform, "kubeconform", 1, True),
    "kubeconform-all-many": lambda folder: validate_many(folder, programs.kubeconform, "kubeconform", 1, False),
    "flux": lambda folder: validate_mixed(folder, False, True, 1, *SERVER),
    "flux-many": lambda folder: validate_mixed(folder, False, False, 1, *SERVER),
    "flux-all": lambda folder: validate_mixed(folder, False, True, 0.8),
    "flux-all-many": lambda folder: validate_mixed(folder, False, False, 0.8),
    "flux-flow": lambda folder: validate_mixed(folder, True, True, 1, *SERVER),
    "flux-flow-many": lambda folder: validate_mixed(folder, True, False, 1, *SERVER),
    "flux-flow-all": lambda folder: validate_mixed(folder, True, True, 0.8),
    "flux-flow-all-many": lambda folder: validate_mixed(folder, True, False, 0.8),
    "tree": tree_of_jobs,
    "jsonschema": lambda folder: validate_many(
        folder, programs.jsonschema, "PyYAML (C) and jsonschema", 0, True, *SERVER
    ),
}
