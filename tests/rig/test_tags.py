"""Every declarative tag of the released Go types is in the schemas, and the schemas say no more than the tags."""

from __future__ import annotations

import json

import pytest

from conformance.tagcheck import Statement, compare_release, unused_types
from conformance.tags import EXTRACTED, read_types
from conformance.versions import read_releases

RELEASES = list(read_releases())


def test_the_tags_of_every_release_are_here() -> None:
    missing = [release for release in RELEASES if not (EXTRACTED / f"{release}.json").exists()]
    assert not missing, "python -m conformance tags --extract"


@pytest.mark.parametrize("release", RELEASES)
def test_schemas_say_what_the_tags_say(release: str) -> None:
    assert compare_release(release) == (set(), set())


@pytest.mark.parametrize("release", RELEASES)
def test_every_tagged_type_is_in_a_schema(release: str) -> None:
    assert unused_types(release) == set()


def test_a_tag_that_no_schema_carries_is_found() -> None:
    types = read_types(
        "type PodGroupSpec struct {\n"
        "\t// +k8s:ifEnabled(SomeGate)=+k8s:immutable\n"
        "\t// +k8s:maximum=3 # three\n"
        '\tPriority *int32 `json:"priority,omitempty"`\n'
        "}\n"
    )
    missing, _ = compare_release("1.37", {"scheduling/v1beta1": types})
    assert missing == {
        Statement("PodGroupSpec", "priority", "ifEnabled SomeGate immutable"),
        Statement("PodGroupSpec", "priority", "maximum=3"),
    }


def test_a_rule_of_a_schema_without_a_tag_is_found() -> None:
    types = read_types('type PodGroupSpec struct {\n\t// +k8s:maximum=1\n\tX int32 `json:"x"`\n}\n')
    _, extra = compare_release("1.37", {"scheduling/v1beta1": types})
    assert Statement("PodGroupSpec", "priority", "maximum=1000000000") in extra


def test_types_are_read_with_their_enumerations() -> None:
    source = (
        "// Mode says how.\n// +k8s:enum\ntype Mode string\n\nconst (\n"
        '\tOne Mode = "One"\n\t// Two is more.\n\tTwo Mode = "Two"\n)\n\n'
        "type Empty struct{}\n\ntype Holder struct {\n\t// +k8s:opaqueType\n"
        '\tmetav1.ObjectMeta `json:"metadata,omitempty"`\n\n\t// +optional\n\tPlain string `json:"plain"`\n'
        '\t// +k8s:unionMember\n\tMode *Mode `json:"mode" protobuf:"bytes,1"`\n}\n'
    )
    found = read_types(source)
    assert found["Mode"] == {"tags": ["enum"], "fields": {}, "values": ["One", "Two"]}
    assert found["Holder"]["fields"]["metadata"]["tags"] == ["opaqueType"]
    assert found["Holder"]["fields"]["mode"] == {"go": "*Mode", "tags": ["unionMember"]}
    assert found["Holder"]["fields"]["plain"]["tags"] == []
    assert "Empty" not in found
    json.dumps(found)
