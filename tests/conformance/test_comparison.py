"""How answers are compared where a server's own text is no certain one."""

from conformance.compare import tells_same

HEAD = "failed to create typed patch object (ml/a; scheduling.k8s.io/v1alpha1, Kind=Workload): "


def test_an_apply_names_one_of_the_fields_that_nobody_knows() -> None:
    both = f"{HEAD}errors:\n  .spec.a: field not declared in schema\n  .spec.b: field not declared in schema"
    one = f"{HEAD}.spec.b: field not declared in schema"
    assert tells_same(one, both)
    assert tells_same(both, both)
    assert not tells_same(both, one)
    assert not tells_same(f"{HEAD}.spec.c: field not declared in schema", both)
    assert tells_same(f"{HEAD}.spec.a: expected map, got &{{x}}", f"{HEAD}.spec.a: expected map, got")
    assert not tells_same("other", "text")
