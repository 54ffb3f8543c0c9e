"""Other numbers of pods in the same groups: an update that the API server of 1.37 takes, by the rules we have of it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import settings as trials
from hypothesis import strategies as st

from krmfn.checks.server import validate_update
from krmfn.model.tree import Composite, Group
from tests.targets.test_accepted_offline import made, trees


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
        verdict = validate_update(new, old, "1.37", gates)
        assert verdict is not None
        assert verdict.accepted, verdict
