"""Which PodGangs Grove makes of a PodCliqueSet: its own code is asked about its examples and about made-up ones, and
the groups that krmfn makes of them are compared.

The question is a test of the package that makes them (go/grove), because its functions are not exported. Grove's module
is not in the proxy: the clone that `KRMFN_GROVE` names is built.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any, Literal

import yaml

from conformance.build import run_go
from conformance.ending import Unable
from conformance.storage import Record
from conformance.versions import HERE
from krmfn.config import Settings, read_settings
from krmfn.krm.results import ResourceRef
from krmfn.model.tree import Composite, Group, Leaf, leaves
from krmfn.sources import read_tree
from krmfn.survey.shape import shape

RECORDED = HERE / "data" / "grove.jsonl.xz"
_PACKAGE = "internal/controller/podcliqueset/components/podgang"
_EXAMPLES = ("operator/samples", "operator/e2e/yaml")
_POD = {"containers": [{"name": "main", "image": "a"}]}


def find_clone() -> Path:
    """The clone of Grove. Raises Unable."""
    place = os.environ.get("KRMFN_GROVE", "")
    if not Path(place, "operator", _PACKAGE).is_dir() or not place:
        raise Unable("set KRMFN_GROVE to a clone of https://github.com/ai-dynamo/grove")
    return Path(place)


def read_examples(clone: Path) -> Iterator[Record]:
    """The PodCliqueSets of Grove's own examples, without what their pods do."""
    for path in sorted(path for folder in _EXAMPLES for path in Path(clone, folder).rglob("*.yaml")):
        for value in yaml.load_all(path.read_text(), yaml.CSafeLoader):
            if isinstance(value, dict) and value.get("kind") == "PodCliqueSet":
                for clique in value["spec"]["template"]["cliques"]:
                    clique["spec"]["podSpec"] = _POD
                yield value


def make_cases(seed: int, count: int) -> Iterator[Record]:
    """Made-up PodCliqueSets, most of them with scaling groups."""
    chance = Random(f"grove/{seed}")
    for number in range(count):
        names = [f"clique-{letter}" for letter in "abcde"[: chance.randrange(1, 6)]]
        cliques = []
        for name in names:
            pods = chance.randrange(1, 5)
            spec: Record = {"roleName": name, "replicas": pods, "podSpec": _POD}
            if chance.random() < 0.4:
                spec["minAvailable"] = chance.randrange(1, pods + 1)
            cliques.append({"name": name, "spec": spec})
        free, groups = list(names), list[Record]()
        while free and chance.random() < 0.7:
            taken = [free.pop(chance.randrange(len(free))) for _ in range(chance.randrange(1, len(free) + 1))]
            group: Record = {"name": f"group-{len(groups)}", "cliqueNames": taken}
            sets = chance.randrange(1, 5)
            if sets > 1 or chance.random() < 0.5:
                group["replicas"] = sets
            if chance.random() < 0.6:
                group["minAvailable"] = chance.randrange(1, sets + 1)
            groups.append(group)
        template = {"cliques": cliques, **({"podCliqueScalingGroups": groups} if groups else {})}
        spec = {"replicas": chance.choice((1, 1, 1, 2, 3)), "template": template}
        metadata = {"name": f"set-{number}", "namespace": "ml"}
        yield {"apiVersion": "grove.io/v1alpha1", "kind": "PodCliqueSet", "metadata": metadata, "spec": spec}


def ask_grove(clone: Path, cases: Sequence[Record]) -> list[Record]:
    """The cases, each with the PodGangs that Grove makes. Raises BuildFailed."""
    test = Path(clone, "operator", _PACKAGE, "krmfn_test.go")
    shutil.copy(HERE / "go" / "grove" / "krmfn_test.go", test)
    with tempfile.TemporaryDirectory() as folder:
        asked, answered = Path(folder, "asked"), Path(folder, "answered")
        asked.write_text("".join(json.dumps(case) + "\n" for case in cases))
        os.environ.update(KRMFN_ASK=str(asked), KRMFN_ANSWER=str(answered))
        try:
            run_go(["test", "-count=1", "-run=^TestAnswer$", f"./{_PACKAGE}"], clone / "operator")
        finally:
            test.unlink()
        answers = map(json.loads, answered.read_text().splitlines())
        return [{"object": case, "gangs": gangs} for case, gangs in zip(cases, answers, strict=True)]


def _settle() -> Settings:
    head = {"apiVersion": "krmfn.dev/v1alpha1", "kind": "GangScheduling", "metadata": {"name": "gangs"}}
    return read_settings({**head, "spec": {"link": "Auto"}})


def _read(value: Mapping[str, Any], least: Literal["Replicas", "MinReplicas"], apart: bool) -> Group | None:
    ref, settings = ResourceRef("grove.io/v1alpha1", "PodCliqueSet", value["metadata"]["name"], "ml"), _settle()
    options = settings.gang._replace(requested=True, min_count=least, granularity="Replica" if apart else "Group")
    group = read_tree(value, ref, options, settings).group
    return shape(group, options).group if group and apart else group


def predict(
    value: Mapping[str, Any], least: Literal["Replicas", "MinReplicas"] = "Replicas"
) -> dict[str, tuple[int, int | None, int]]:
    """Of each clique its pods, its quorum in the sets that come first, and in how many sets its pods are."""
    group = _read(value, least, False)
    return {leaf.name: (leaf.pods, leaf.min_count, leaf.replicas) for leaf in (leaves(group) if group else ())}


def list_gangs(value: Mapping[str, Any]) -> Counter[tuple[tuple[str, int, int], ...]]:
    """How often there is a gang of such cliques, each with its pods and its quorum: that of each replica of the whole,
    and of each set of a scaling group beyond the first ones."""
    root, gangs = _read(value, "MinReplicas", True), Counter[tuple[tuple[str, int, int], ...]]()
    if root is None:
        return gangs
    assert isinstance(root, Composite)
    base: list[tuple[str, int, int]] = []
    for child in root.children:
        sets, first = child, 1
        if isinstance(child, Composite) and child.children[0].replicas > root.replicas:
            (sets,), first = child.children, child.min_group_count or 0
        parts = [_describe(leaf) for leaf in leaves(sets)]
        base += parts * first
        gangs[tuple(sorted(parts))] += sets.replicas - first * root.replicas
    gangs[tuple(sorted(base))] += root.replicas
    return +gangs


def _describe(leaf: Leaf) -> tuple[str, int, int]:
    return leaf.name, leaf.size, leaf.min_count or 0


def differ(record: Record) -> str:
    """What krmfn counts otherwise than Grove; empty where it counts the same.

    A PodGang of a set's replica waits for the first ones (`<set>-<replica>`, without the name of a group behind it), so
    the quorum of a clique is what those need. Of a set that an autoscaler changes krmfn makes none.
    """
    value = record["object"]
    template = value["spec"]["template"]
    if not record["gangs"] or "scaleConfig" in str(template) or "autoScalingConfig" in str(template):
        return f"said {predict(value)}, not none" if predict(value) else ""
    name, names = value["metadata"]["name"], [each["name"] for each in value["spec"]["template"]["cliques"]]
    pods, first, least, sets = (Counter[str]() for _ in range(4))
    gangs = Counter[tuple[tuple[str, int, int], ...]]()
    for gang in record["gangs"]:
        parts = []
        base = gang["name"].removeprefix(f"{name}-").isdecimal()
        for clique in gang["cliques"]:
            role = max((each for each in names if clique["name"].endswith(f"-{each}")), key=len)
            pods[role] += clique["replicas"]
            sets[role] += 1
            first[role] += clique["replicas"] * base
            least[role] += clique["minAvailable"] * base
            parts.append((role, clique["replicas"], clique["minAvailable"]))
        gangs[tuple(sorted(parts))] += 1
    if list_gangs(value) != gangs:
        return f"said the gangs {list_gangs(value)}, made {gangs}"
    said = predict(value, "Replicas"), predict(value, "MinReplicas")
    made = tuple({role: (pods[role], quorum[role], sets[role]) for role in names} for quorum in (first, least))
    return "" if said == made else f"said {said}, made {made}"
