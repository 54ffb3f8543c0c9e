"""What a preview changes is what its data says: recorded answers of the release before, predicted as the preview."""

from __future__ import annotations

from collections import Counter

import pytest

from conformance.compare import compare_records
from conformance.versions import predict_as, read_profiles
from krmfn.releases.release import find_release, list_releases
from tests.conformance.replay import SETS, read

EVERY = 12
PREVIEWS = [name for name in list_releases() if find_release(name).preview]


@pytest.mark.parametrize("preview", PREVIEWS)
def test_only_what_is_known_to_change_is_predicted_otherwise(preview: str) -> None:
    """A stale copy of schemas, a gate or a rule that was forgotten would show here, for any kind."""
    profiles = predict_as(preview, read_profiles())
    records = [record for which in SETS for name in profiles for record in read(which, name)[::EVERY]]
    found, count, _ = compare_records(records, profiles)
    assert count > 2000
    told = Counter((one.record["kind"], one.record["operation"]) for one in found)
    assert set(told) <= CHANGED[preview].keys()
    for one in found:
        fields = {cause["field"] for cause in one.theirs["causes"]}
        assert fields & CHANGED[preview][one.record["kind"], one.record["operation"]]
    assert told, "the preview changes something"


#: By preview, kind and operation: the fields about which its servers say something else.
CHANGED = {
    # the policy of a composite was immutable as a whole; a finalizer of the server's stands before others
    "1.38": {("CompositePodGroup", "update"): {"spec.schedulingPolicy", "metadata.finalizers[0]"}},
}
