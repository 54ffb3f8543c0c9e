"""Documents that kubectl refuses because they do not say what they are; and those that are passed over."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.front_door import call

#: What `kubectl create --dry-run=server --validate=strict` said ("error validating data: …"; the API server of 1.37
#: answered what got so far), and where. An empty text says that krmfn passes over what could be a file of another kind.
ANSWERS = {
    "apiVersion: v1\nmetadata: {name: a}\ndata: {a: b}\n": "1: kind not set",
    "kind: ConfigMap\nmetadata: {name: a}\n": "1: apiVersion not set",
    'apiVersion: v1\nkind: ""\nmetadata: {name: a}\n': "1: kind not set",
    "apiVersion:\nkind: ConfigMap\nmetadata: {name: a}\n": "1: apiVersion not set",
    "apiVersion: 1\nkind: ConfigMap\nmetadata: {name: a}\n": "1: apiVersion isn't string type",
    "apiVersion: v1\nkind: 5\nmetadata: {name: a}\n": "1: kind isn't string type",
    "apiVersion: v1\nmetadata: &a {name: a}\ndata: *a\n": "1: kind not set",
    '{"kind":"ConfigMap","metadata":{"name":"a"}}': "1: apiVersion not set",
    "apiVersion: v1\nkind: List\nitems:\n- kind: ConfigMap\n  metadata: {name: a}\n": "4: apiVersion not set",
    "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n---\nkind: Job\nmetadata: {}\n": "5: apiVersion not set",
    "ApiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n": "1: apiVersion not set",
    "apiVerison: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {}\n": "1: apiVersion not set",
    "apiVersion: v1\nKind: ConfigMap\nmetadata: {name: a}\n": "1: kind not set",
    "version: v1\nkind: ConfigMap\nmetadata: {name: a}\n": "",
    "metadata: {name: a}\nspec: {replicas: 1}\n": "",
    "replicaCount: 3\nkind: ConfigMap\n": "",
    "- a\n": "",
}


def validate(text: str, *arguments: str) -> tuple[str, int]:
    done = call(text.encode(), ("validate", "-q", *arguments))
    return done.out.decode(), done.code


@pytest.mark.parametrize("text", ANSWERS)
def test_what_kubectl_says(text: str, tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(text)
    line, _, words = ANSWERS[text].partition(": ")
    for name, (out, code) in {"-": validate(text, "-"), "a.yaml": validate("", str(tmp_path / "a.yaml"))}.items():
        assert code == bool(words), out
        assert f"{name}:{line}:1: error: {words}: kubectl refuses this" in out if words else not out


def test_a_stream_that_cannot_be_read_is_told() -> None:
    out, code = validate("apiVersion: v1\nkind: ConfigMap\nmetadata: [\n", "-")
    assert "[unreadable]" in out
    assert code == 2


@pytest.mark.parametrize(
    "text",
    [
        "apiVersion: v1\nmetadata: {name: a}\nbaseDomain: example.com\n",
        "kind: run\nmetadata: {name: a}\nspec: {}\n",
        "apiVersion: builder/v4beta12\nkind: Config\nmetadata: {name: a}\n",
        "apiVersion: v1beta1\nkind: AgentConfig\nmetadata: {name: a}\n",
        "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {}\nimage: {user}/train:1\n",
    ],
)
def test_files_of_other_programs_are_passed_over(text: str, tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(text)
    assert validate("", str(tmp_path)) == ("", 0)


@pytest.mark.parametrize("version", ["v1beta1", "app/v1", "extensions/v1beta1"])
def test_a_kind_of_kubernetes_in_a_version_that_never_was_is_told(version: str) -> None:
    out, code = validate(f"apiVersion: {version}\nkind: Deployment\nmetadata: {{name: a}}\n", "-")
    assert ("[version-not-served]" in out, code) == (True, 1)


def test_a_configuration_of_a_misspelled_kind_is_not_passed_over(tmp_path: Path) -> None:
    (tmp_path / "gangs.yaml").write_text("apiVersion: krmfn.dev/v1alpha1\nkind: GangSchedule\nmetadata: {name: a}\n")
    done = call(words=["validate", "."], folder=tmp_path)
    assert done.code == 2
    assert done.err == b'krmfn: gangs.yaml:2:7: kind: unknown value "GangSchedule". Did you mean GangScheduling?\n'
    (tmp_path / "gangs.yaml").write_text("apiVersion: krmfn.dev/v1alpha1\nkind: ClusterFacts\nspec: {}\n")
    assert call(words=["validate", "."], folder=tmp_path).code == 0


@pytest.mark.parametrize(
    ("version", "kind", "meant"),
    [
        ("v1alpha1", "WorkloadKinds", "WorkloadKind"),
        ("v1alpha1", "GangSchedulings", "GangScheduling"),
        ("v1alpha1", "ClusterFact", "ClusterFacts"),
        ("v1beta1", "GangScheduling", "krmfn.dev/v1alpha1"),
        ("v1alpha1", "PodGroup", None),
    ],
)
def test_an_unknown_kind_of_our_group_is_not_passed_over(
    version: str, kind: str, meant: str | None, tmp_path: Path
) -> None:
    """Wherever it stands: here beside the configuration that counts, where nobody looks for another one."""
    head = "metadata: {name: a}\n"
    (tmp_path / "krmfn.yaml").write_text(f"apiVersion: krmfn.dev/v1alpha1\nkind: GangScheduling\n{head}")
    (tmp_path / "a.yaml").write_text(f"apiVersion: krmfn.dev/{version}\nkind: {kind}\n{head}")
    done = call(words=["validate", "-o", "json", "."], folder=tmp_path)
    (told,) = (each for each in json.loads(done.out)["results"] if each["severity"] == "error")
    assert (done.code, told["tags"]["rule"]) == (1, "version-not-served")
    assert told["tags"]["hint"] == "krmfn reads GangScheduling, WorkloadKind and ClusterFacts of krmfn.dev/v1alpha1."
    assert told["field"].get("proposedValue") == meant


def test_a_file_of_a_program_whose_kind_has_a_definition_is_passed_over(tmp_path: Path) -> None:
    """clusterctl reads its metadata.yaml, and a definition says which fields that has."""
    schema = "{type: object, properties: {releaseSeries: {type: array, items: {type: integer}}}}"
    version = f"{{name: v1, served: true, storage: true, schema: {{openAPIV3Schema: {schema}}}}}"
    (tmp_path / "crd.yaml").write_text(
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\n"
        "metadata: {name: metadatas.a.example.com}\n"
        "spec: {group: a.example.com, scope: Namespaced, names: {kind: Metadata, listKind: MetadataList, "
        f"plural: metadatas, singular: metadata}}, versions: [{version}]}}\n"
    )
    head = "apiVersion: a.example.com/v1\nkind: Metadata\n"
    (tmp_path / "metadata.yaml").write_text(f"{head}releaseSeries: [1]\n")
    assert validate("", str(tmp_path)) == ("", 0)
    (tmp_path / "metadata.yaml").write_text(f"{head}metadata: {{}}\nreleaseSeries: [1]\n")
    assert "[metadata-name]" in validate("", str(tmp_path))[0]


def test_json_without_a_version_in_a_folder_is_the_data_of_a_program(tmp_path: Path) -> None:
    path = tmp_path / "tree.json"
    path.write_text('{"kind": "QuotaTree", "metadata": {"name": "a"}}', encoding="utf-8")
    assert validate("", str(tmp_path)) == ("", 0)
    assert validate("", str(path))[1] == 1, "who names it wants to know"
