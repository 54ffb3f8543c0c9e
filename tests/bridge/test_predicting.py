"""The prediction against what real API servers did to pods, with the policies as `krmfn bridge` prints them."""

from __future__ import annotations

import pytest

from conformance.bridge.pods import ASK, BY, INDEX, LWS, label_leader
from conformance.bridge.predicting import Prediction, predict
from conformance.bridge.record import FILES, path_of
from conformance.offline import facts_of, kind_of
from conformance.storage import Record, read_records
from conformance.versions import read_profiles
from krmfn.bridge import NAME
from krmfn.model.podnumber import SLICE
from krmfn.releases import schemastore
from krmfn.server.requests import create

_DENIED = f"ValidatingAdmissionPolicy '{NAME}' with binding '{NAME}' denied request: "
_ACTS = {"ml", "kube-system"}  # the namespaces with the label that the policies were printed for


def _predict(row: Record, groups: bool) -> Prediction:
    pod = row["pod"]
    link = pod["spec"].get("schedulingGroup", {}).get("podGroupName", "")
    if pod["metadata"]["namespace"] not in _ACTS:
        return Prediction(link if groups else "")
    index = label_leader(pod["metadata"])
    labels = pod["metadata"].get("labels", {}) | ({INDEX["lws"]: index} if index else {})
    return predict({**pod["metadata"], "labels": labels}, link, groups)


def test_the_policies_know_the_slices_that_are_generated() -> None:
    assert f"'{SLICE}'" in schemastore.load("bridge.json")["variables"]["counted"]


@pytest.mark.parametrize("name", FILES)
def test_the_servers_did_as_predicted(name: str) -> None:
    profile, groups = FILES[name]
    asked = read_profiles()[profile]
    kind, facts = kind_of(asked, "Pod"), facts_of(asked)
    counted = dict.fromkeys(("linked", "alone", "refused", "invalid"), 0)
    for row in read_records(path_of(name)):
        pod, predicted = row["pod"], _predict(row, groups)
        if "message" not in row:
            assert (predicted.link, predicted.refusal) == (row["link"], ""), pod
            counted["linked" if row["link"] else "alone"] += 1
            continue
        spec = {**pod["spec"]}
        spec.pop("schedulingGroup", None)
        if predicted.link:
            spec["schedulingGroup"] = {"podGroupName": predicted.link}
        verdict = create(kind, {**pod, "spec": spec}, facts)
        if not verdict.accepted:  # what is invalid is refused before the validating policy is asked
            assert row["code"] == 422
            assert verdict.message == row["message"], pod
            counted["invalid"] += 1
        else:
            assert row["message"] == f'pods "{pod["metadata"]["name"]}" is forbidden: {_DENIED}{predicted.refusal}', pod
            counted["refused"] += 1
    expected = {"linked", "alone", "refused", "invalid"} if groups else {"alone", "refused"}
    assert {what for what, count in counted.items() if count > 10} == expected


def test_policies_look_again_after_webhooks() -> None:
    """Leaders of a LeaderWorkerSet came without the label of their group; a webhook put it on."""
    leaders = [
        row
        for row in read_records(path_of("1.37"))
        if row["pod"]["metadata"].get("labels", {}).get(f"{LWS}/worker-index") == "0"
        and row["pod"]["metadata"]["namespace"] in _ACTS
    ]
    assert len(leaders) > 10
    for row in leaders:
        name, by = row["pod"]["metadata"]["name"], row["pod"]["metadata"]["annotations"][BY]
        assert by not in row["pod"]["metadata"]["labels"]
        assert (
            row["link"]
            == f"leaderworkerset-{name}"
            == f"{row['pod']['metadata']['annotations'][ASK]}-{row['labels'][by]}"
        )
