import krmfn


def test_manifests_are_accepted_and_can_start() -> None:
    assert not krmfn.validate("job.yaml", kubernetes="1.37").errors


def test_a_gang_of_five_never_starts() -> None:
    with open("job.yaml", "rb") as stream:
        broken = stream.read().replace(b"minCount: 4", b"minCount: 5")
    findings = krmfn.validate(broken, kubernetes="1.37")
    assert [finding.path for finding in findings.errors] == ["spec.schedulingPolicy.gang.minCount"]
