"""Any tree, for any release: the API server's rules, as the server stage knows them, accept what is emitted for it."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import settings as trials
from hypothesis import strategies as st

from krmfn.krm.paths import Path
from krmfn.model.rules import PARTS
from krmfn.model.tree import Composite, DisruptionMode, Group, Leaf, PodTemplate, leaves
from krmfn.releases.release import find_release, list_needed
from krmfn.server import answer
from krmfn.targets import Emission, emit
from tests.targets.trees import RELEASES, gang, ray, settings

names = st.one_of(st.sampled_from(["cpu", "gpu", "head", "cluster", "part-1"]), st.text(min_size=1, max_size=70))
keys = st.sampled_from(["", "", "topology.kubernetes.io/zone", "rack"])
modes: st.SearchStrategy[DisruptionMode] = st.sampled_from(("", "Single", "All"))


@st.composite
def leaf_trees(draw: st.DrawFn) -> Leaf:
    pods = draw(st.integers(0, 9))
    quorum = draw(st.one_of(st.none(), st.integers(1, max(pods, 1))))
    template = PodTemplate(0, ("spec", "template"), pods, ("spec", "replicas"))
    return Leaf(draw(names), (template,), quorum, draw(keys), draw(modes))


@st.composite
def composites(draw: st.DrawFn, children: st.SearchStrategy[Group]) -> Composite:
    below = draw(st.lists(children, min_size=1, max_size=12))
    quorum = draw(st.sampled_from([None, len(below)]))
    return Composite(draw(names), tuple(below), quorum, draw(keys), draw(modes))


trees: st.SearchStrategy[Group] = st.recursive(leaf_trees(), composites, max_leaves=20)
priorities = st.sampled_from(["", "high"])


def with_priority(group: Group, name: str) -> Group:
    if isinstance(group, Leaf):
        return group._replace(templates=tuple(entry._replace(priority_class=name) for entry in group.templates))
    return group._replace(children=tuple(with_priority(child, name) for child in group.children))


def made(root: Group, release: str, name: str = "demo", naming: str = "Stable") -> tuple[Emission, dict[str, bool]]:
    emission = emit(gang(root, ray(name), naming=naming), settings(release))
    return emission, dict.fromkeys(list_needed(find_release(release), emission.objects), True)


@given(
    trees,
    st.sampled_from(RELEASES),
    priorities,
    st.sampled_from(["demo", "x" * 250]),
    st.sampled_from(["Stable", "Revisioned"]),
)
@trials(max_examples=150, deadline=None)
def test_created(root: Group, release: str, priority: str, name: str, naming: str) -> None:
    emission, gates = made(with_priority(root, priority), release, name, naming)
    for value in emission.objects:
        verdict = answer(value, release, gates)
        assert verdict is not None
        assert verdict.accepted, verdict
        assert not [path for path, _ in verdict.dropped if was_sent(value, path)], "a gate is missing in the list"
    severe = {rule.id for rule in PARTS["targets"].values() if rule.severity == "error"}
    pods = sum(leaf.pods for leaf in leaves(root))
    assert bool(emission.objects) == (pods > 0 and not severe & {note.rule for note in emission.notes})
    check_names(emission)


def was_sent(value: Any, path: Path) -> bool:
    for part in path:
        try:
            value = value[part]
        except (KeyError, IndexError, TypeError):
            return False
    return True


def check_names(emission: Emission) -> None:
    """Every reference and link names an object or template of the emission; no name is given twice."""
    objects = [(value["kind"], value["metadata"]["name"]) for value in emission.objects]
    assert len(objects) == len(set(objects))
    named = {"workloadName": "Workload", "parentCompositePodGroupName": "CompositePodGroup", "podGroupName": "PodGroup"}
    pairs = [pair for value in emission.objects for pair in walk(value["spec"])]
    pairs += [(str(link.path[-1]), link.value) for link in emission.links if link.path[-1] == "podGroupName"]
    assert {(named[key], name) for key, name in pairs if key in named} <= set(objects)
    templates = {name for key, name in pairs if key == "name"}
    assert {name for key, name in pairs if key in {"templateName", "podGroupTemplateName"}} <= templates


def walk(value: Any) -> list[tuple[str, Any]]:
    if isinstance(value, dict):
        return [pair for key, entry in value.items() for pair in ((key, entry), *walk(entry))]
    return [pair for entry in value for pair in walk(entry)] if isinstance(value, list) else []
