"""Updates that the API server takes, by the rules we have of it: other numbers of pods, and anything with naming
Revisioned."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import settings as trials
from hypothesis import strategies as st

from krmfn.model.tree import Composite, Group
from krmfn.server import answer
from tests.targets.test_accepted_offline import made, trees, with_priority
from tests.targets.trees import RELEASES


@pytest.mark.slow
@given(trees, st.data())
@trials(max_examples=60, deadline=None)
def test_other_numbers_in_place(root: Group, data: st.DataObject) -> None:
    """In 1.37 other numbers of pods, in the same groups, are an update that the server takes."""

    def recount(group: Group) -> Group:
        if isinstance(group, Composite):
            return group._replace(children=tuple(recount(child) for child in group.children))
        if not group.pods:
            return group
        pods = data.draw(st.integers(1, 9))
        quorum = None if group.min_count is None else data.draw(st.integers(1, pods))
        return group._replace(templates=(group.templates[0]._replace(pods=pods),), min_count=quorum)

    before, gates = made(root, "1.37")
    after, _ = made(recount(root), "1.37")
    assert len(before.objects) == len(after.objects)
    for old, new in zip(before.objects, after.objects, strict=True):
        verdict = answer(new, "1.37", gates, old)
        assert verdict is not None
        assert verdict.accepted, verdict


@pytest.mark.slow
@given(trees, trees, st.sampled_from(RELEASES), st.sampled_from(["", "high"]))
@trials(max_examples=150, deadline=None)
def test_with_revisions_every_change_is_taken(root: Group, other: Group, release: str, priority: str) -> None:
    """What keeps its name can be updated in place; what cannot be updated has a new name."""
    before, gates = made(root, release, naming="Revisioned")
    for changed in (other, with_priority(root, priority), root):
        after, more = made(changed, release, naming="Revisioned")
        old = {(value["kind"], value["metadata"]["name"]): value for value in before.objects}
        for value in after.objects:
            same = old.get((value["kind"], value["metadata"]["name"]))
            verdict = answer(value, release, gates | more, same) if same else None
            assert verdict is None or verdict.accepted, verdict
            for reference in ("workloadRef", "parentCompositePodGroupName"):
                assert same is None or value["spec"].get(reference) == same["spec"].get(reference)
    assert [value["metadata"]["name"] for value in before.objects] == [
        value["metadata"]["name"] for value in made(root, release, naming="Revisioned")[0].objects
    ]
