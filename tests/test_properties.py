"""What holds for every input: a second run changes nothing, no line of a person is lost, the order of the items does
not matter, and the API server takes what is generated."""

from __future__ import annotations

import re
from typing import Any

import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.front_door import call

#: The same examples every time, however loaded the machine is.
FEW = settings(max_examples=25, deadline=None, derandomize=True)

#: Plain scalars that YAML 1.1 reads as something else than a text.
_WORDS = ("y", "n", "yes", "no", "on", "off", "true", "false", "null")
NAMES = st.from_regex(r"[a-z]([a-z0-9-]{0,8}[a-z0-9])?", fullmatch=True).filter(lambda name: name not in _WORDS)
GROUP_NAMES = st.one_of(NAMES, st.sampled_from(["GPU_a", "gpu.a", "x" * 50]))
COUNTS = st.integers(0, 12)
COMMENTS = st.sampled_from(["", "   # of the month", "  # { [ ' \" : -", "  # ü"])
RELEASES = st.sampled_from(["1.35", "1.36", "1.37"])


@st.composite
def write_pods(draw: st.DrawFn, indent: int) -> str:
    """The spec of pods, in one of the ways in which people write it."""
    lines = draw(
        st.sampled_from(
            [
                "containers:\n- name: main\n  image: registry.example.com/train:1.4",
                "containers:\n  - name: main\n    image: 'registry.example.com/train:1.4'",
                "containers: [{name: main, image: registry.example.com/train:1.4}]",
                'containers:\n- name: main\n  image: "train"\n  args:\n  - |\n    echo one\n\n    echo two',
            ]
        )
    )
    comment = draw(COMMENTS)
    return "".join(" " * indent + line + "\n" for line in f"restartPolicy: Never{comment}\n{lines}".splitlines())


@st.composite
def write_job(draw: st.DrawFn, name: str) -> str:
    pods = draw(COUNTS)
    marks = draw(st.sampled_from(['krmfn.dev/gang: "true"', "krmfn.dev/gang: 'true', team: a", "team: a"]))
    shape = draw(st.sampled_from(["", f"  completions: {pods}\n  completionMode: Indexed\n"]))
    return (
        f"apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: {name}{draw(COMMENTS)}\n  namespace: ml\n"
        f"  annotations: {{{marks}}}\nspec:\n  parallelism: {pods}{draw(COMMENTS)}\n{shape}  template:\n    spec:\n"
        + draw(write_pods(6))
    )


@st.composite
def write_cluster(draw: st.DrawFn, name: str) -> str:
    groups = draw(st.lists(st.tuples(GROUP_NAMES, COUNTS), max_size=4, unique_by=lambda group: group[0]))
    text = (
        f"apiVersion: ray.io/v1\nkind: RayCluster\nmetadata:\n  name: {name}\n  namespace: ml\n  annotations:\n"
        f'    krmfn.dev/gang: "true"{draw(COMMENTS)}\nspec:\n  headGroupSpec:\n    rayStartParams: {{}}\n'
        f"    template:\n      spec:\n{draw(write_pods(8))}"
    )
    for group, pods in groups:
        text += "  workerGroupSpecs:\n" if "workerGroupSpecs" not in text else ""
        text += (
            f"  - groupName: {group}{draw(COMMENTS)}\n    replicas: {pods}\n    minReplicas: 0\n"
            f"    maxReplicas: {pods}\n    rayStartParams: {{}}\n    template:\n      spec:\n{draw(write_pods(8))}"
        )
    return text


@st.composite
def write_items(draw: st.DrawFn) -> list[str]:
    names = draw(st.lists(NAMES, min_size=1, max_size=4, unique=True))
    kinds = st.sampled_from([write_job, write_cluster])
    return [draw(draw(kinds)(name)) for name in names]


@st.composite
def write_configuration(draw: st.DrawFn) -> str:
    release, granularity = draw(RELEASES), draw(st.sampled_from(["Cluster", "Group"]))
    naming = draw(st.sampled_from(["Stable", "Revisioned"]))
    topology = draw(st.sampled_from(["", ", topologyKey: topology.kubernetes.io/zone"]))
    return (
        "  apiVersion: krmfn.dev/v1alpha1\n  kind: GangScheduling\n  metadata: {name: gangs}\n"
        f'  spec:\n    kubernetes: {{version: "{release}"}}\n'
        f"    gang: {{granularity: {granularity}, naming: {naming}{topology}}}\n"
    )


def write_list(configuration: str, items: list[str], newline: str = "\n") -> bytes:
    """A ResourceList as text."""
    entries = "".join("- " + item.rstrip("\n").replace("\n", "\n  ") + "\n" for item in items)
    text = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nfunctionConfig:\n"
    return f"{text}{configuration}items:\n{entries}".replace("\n", newline).encode()


def generate(data: bytes) -> bytes:
    """What the function makes of `data`, without its results; `data` itself where it finds an error."""
    done = call(data)
    assert done.code in {0, 1}, done.err.decode()
    return re.split(rb"(?m)^results:", done.out)[0]


def read_generated(data: bytes) -> list[dict[str, Any]]:
    items = yaml.load(data, yaml.CSafeLoader)["items"]
    return sorted((item for item in items if item["apiVersion"].startswith("scheduling.")), key=yaml.safe_dump)


@FEW
@given(write_configuration(), write_items(), st.sampled_from(["\n", "\r\n"]))
def test_a_second_run_changes_nothing(configuration: str, items: list[str], newline: str) -> None:
    once = generate(write_list(configuration, items, newline))
    assert generate(once) == once


@FEW
@given(write_configuration(), write_items(), st.sampled_from(["\n", "\r\n"]))
def test_every_line_of_a_person_survives(configuration: str, items: list[str], newline: str) -> None:
    data = write_list(configuration, items, newline)
    rest = iter(generate(data).split(b"\n"))
    assert [line for line in data.split(b"\n") if line and line not in rest] == []


@FEW
@given(write_configuration(), write_items(), st.randoms(use_true_random=False))
def test_the_order_of_items_does_not_matter(configuration: str, items: list[str], chance: Any) -> None:
    shuffled = chance.sample(items, len(items))
    one, other = (generate(write_list(configuration, each)) for each in (items, shuffled))
    assert read_generated(one) == read_generated(other)


@FEW
@given(write_configuration(), write_items())
def test_the_server_takes_what_is_generated(configuration: str, items: list[str]) -> None:
    release = configuration.partition('version: "')[2][:4]
    words = ("validate", "--stage", "server", "--kubernetes", release, "-")
    done = call(generate(write_list(configuration, items)), words)
    assert (done.code, done.out) == (0, b"")


@FEW
@given(write_configuration(), write_items())
def test_a_group_waits_for_pods_that_there_are(configuration: str, items: list[str]) -> None:
    """1 <= minCount <= pods that exist, and 1 <= minGroupCount <= children, in whatever is generated."""
    done = call(generate(write_list(configuration, items)), ("validate", "--stage", "scheduler", "-"))
    assert not re.search(
        rb"\[(min-count-above-pods|min-group-count-above-children|group-missing|parent-missing)\]", done.out
    )
