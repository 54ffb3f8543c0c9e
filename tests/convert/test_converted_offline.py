"""Any tree that was generated for one release: after converting, the other release's API server accepts all of it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import settings as trials
from hypothesis import strategies as st

from krmfn.krm.item import Item
from krmfn.model.schedulers import SCHEDULERS
from krmfn.model.tree import Group
from krmfn.releases.release import assume_gates, find_release, list_releases
from krmfn.server import answer
from krmfn.targets import emit
from tests.convert.inputs import rules, run
from tests.targets.test_accepted_offline import priorities, trees, with_priority
from tests.targets.trees import gang, settings

RELEASES = list_releases()


@given(
    trees,
    priorities,
    st.sampled_from(RELEASES),
    st.sampled_from(RELEASES),
    st.sampled_from(["Kubernetes", *SCHEDULERS]),
)
@trials(max_examples=60, deadline=None)
def test_converted(root: Group, priority: str, start: str, to: str, scheduler: str) -> None:
    emission = emit(gang(with_priority(root, priority)), settings(start, scheduler))
    items, done = run([Item.new(value) for value in emission.objects], to)
    if "convert-impossible" in rules(done):
        return
    for item in items:
        verdict = answer(item.value, to, assume_gates({}, find_release(to), item.text))
        assert verdict is not None
        assert verdict.accepted, verdict
    texts = [item.text for item in items]
    again, after = run(items, to)
    assert [item.text for item in again] == texts
    assert (after.added, after.removed) == ((), ())
