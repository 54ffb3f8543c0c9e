"""Feature gates of a running control plane, from its own pods: static pods show the flags that they were started with.

A gate that no flag names has the default of the release that the image is tagged with; without a tag it stays open.
Sources: k8s.io/component-base/featuregate (AllAlpha, AllBeta), kubeadm's and kops' manifests of static pods.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from krmfn.model.values import Fields, Key, Value, as_list, as_mapping, as_text, dig
from krmfn.releases.release import Gate, UnknownRelease, find_release

_COMPONENTS: Final = ("kube-apiserver", "kube-scheduler", "kube-controller-manager")
#: The namespace of these programs.
PROGRAMS: Final = "kube-system"
_FLAG: Final = re.compile(r"--feature-gates[= ]\s*[\"']?([\w=,]+)")
_PLUGINS: Final = re.compile(r"--enable-admission-plugins[= ]\s*[\"']?([\w,]+)")
_TAG: Final = re.compile(r":v?(1\.\d+)\.")
#: Groups of a Cluster Autoscaler: --nodes=<min>:<max>:<name>.
_GROUPS: Final = re.compile(r"--nodes[= ](\d+):(\d+):(\S+)")
#: Names that stand for all gates of a stage.
_STAGES: Final[Mapping[str, str]] = {"alpha": "AllAlpha", "beta": "AllBeta"}


class Program(NamedTuple):
    """A program of the control plane: its component, the namespace/name of its pod, and its gates; those in `named`
    are in its flags, the others have the release's default. `plugins` are the admission plugins that its
    flags name."""

    component: str
    pod: str
    gates: Mapping[str, bool]
    named: frozenset[str]
    plugins: frozenset[str] = frozenset()


def is_program(pod: Value) -> bool:
    """Whether a pod may be one of the control plane."""
    return as_text(pod, "metadata", "namespace") == PROGRAMS


def read_programs(pods: Iterable[Value]) -> Iterator[Program]:
    """The programs of the control plane that are among these pods."""
    for pod in pods:
        if not is_program(pod):
            continue
        labels = (dig(pod, "metadata", "labels", "component"), dig(pod, "metadata", "labels", "k8s-app"))
        for box in as_list(pod, "spec", "containers"):
            component = next((name for name in _COMPONENTS if name in (*labels, dig(box, "name"))), "")
            words = " ".join(str(word) for field in ("command", "args") for word in as_list(box, field))
            if component and words:  # facts that were shrunk have no commands
                given = _read_flags(words)
                known = _find_gates(as_text(box, "image"))
                stages = {
                    row.name: given.get(_STAGES.get(row.stage, ""), row.default)
                    for row in known
                    if component in row.components
                }
                named = {name: on for name, on in given.items() if name not in _STAGES.values()}
                pod_name = f"{PROGRAMS}/{as_text(pod, 'metadata', 'name')}"
                plugins = frozenset(name for text in _PLUGINS.findall(words) for name in text.split(","))
                yield Program(component, pod_name, {**stages, **named}, frozenset(named), plugins)


def read_node_groups(pods: Iterable[Value]) -> Iterator[Fields]:
    """The groups that the flags of a Cluster Autoscaler name, as the facts spell pools."""
    for pod in pods:
        for box in as_list(pod, "spec", "containers"):
            words = " ".join(str(word) for field in ("command", "args") for word in as_list(box, field))
            if "cluster-autoscaler" in words or "cluster-autoscaler" in as_text(box, "image"):
                for least, most, name in _GROUPS.findall(words):
                    yield {"name": name, "min": int(least), "max": int(most)}


def merge_gates(programs: Iterable[Program], given: Value) -> dict[str, Fields]:
    """The gates by component; what is `given` goes before what pods show. A gate of which the pods of a component show
    different things stays open."""
    found: dict[str, Fields] = {}
    contradicted: set[Key] = set()
    for program in programs:
        gates = found.setdefault(program.component, {})
        for name, on in program.gates.items():
            if gates.setdefault(name, on) is not on:
                contradicted.add((program.component, name))
    for component, name in contradicted:
        del found[component][name]
    for component, said in given.items():
        found[component] = {**found.get(component, {}), **as_mapping(said)}
    return found


def _read_flags(words: str) -> dict[str, bool]:
    """Of several flags the last one counts, gate by gate."""
    pairs = (pair.partition("=") for text in _FLAG.findall(words) for pair in text.split(",") if "=" in pair)
    return {name: value.lower() in ("true", "t", "1") for name, _, value in pairs}


def _find_gates(image: str) -> Iterable[Gate]:
    tag = _TAG.search(image)
    try:
        return find_release(tag[1]).gates.values() if tag else ()
    except UnknownRelease:
        return ()
