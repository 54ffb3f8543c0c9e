"""A kind is one file, and every command knows it: beside the manifests, in a configuration, or inline."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml

from tests.e2e.tools import build, require_kustomize
from tests.front_door import call

KIND = """\
apiVersion: krmfn.dev/v1alpha1
kind: WorkloadKind
metadata: {name: swarms.swarms.example.com}
spec:
  group: swarms.example.com
  kind: Swarm
  roles:
  - template: spec.parts.*.template
    count: spec.parts.*.replicas
  link: {since: Swarm v2}
  immutable: [color]
  managedBy: {field: spec.managedBy, controller: example.com/swarm}
  rival:
    field: spec.gangs
    name: the swarm's own gangs
"""
MANIFEST = """\
apiVersion: swarms.example.com/v1
kind: Swarm
metadata:
  name: bees
  annotations:
    krmfn.dev/gang: "true"
spec:
  color: yellow
  parts:
  - name: queen
    template:
      spec:
        containers: [{name: a, image: b}]
  - name: workers
    replicas: 4
    template:
      spec:
        containers: [{name: a, image: b}]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The file of the kind, and a resource of it."""
    (tmp_path / "swarm.yaml").write_text(KIND)
    (tmp_path / "bees.yaml").write_text(MANIFEST)
    return tmp_path


def run(folder: Path, *words: str, data: str = "") -> tuple[int, str, str]:
    done = call(data.encode(), words, folder)
    return done.code, done.out.decode(), done.err.decode()


def list_items(*texts: str, spec: str = "{}") -> str:
    """A ResourceList with these objects."""
    config = f"{{apiVersion: krmfn.dev/v1alpha1, kind: GangScheduling, metadata: {{name: a}}, spec: {spec}}}"
    head = f"apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nfunctionConfig: {config}\nitems:\n"
    return head + "".join("-" + "\n".join(f"  {line}" for line in text.splitlines())[1:] + "\n" for text in texts)


def test_generate_and_the_function_make_its_gang(folder: Path) -> None:
    code, out, err = run(folder, "generate", ".")
    assert (code, out.count("kind: PodGroup"), out.count("podGroupName: swarm-bees")) == (0, 1, 2)
    assert "minCount: 5" in out
    assert "CRDs older than Swarm v2 drop spec.schedulingGroup" in err
    assert run(folder, data=list_items(KIND, MANIFEST))[1].count("podGroupName: swarm-bees") == 2


def lay_out(folder: Path, files: Mapping[str, str]) -> None:
    """These files, and no others."""
    for path in [*folder.iterdir()]:
        path.unlink()
    for name, text in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)


@pytest.mark.slow
@pytest.mark.parametrize("start", ["", "{folder}/"])
@pytest.mark.parametrize("place", [".", "prod"])
def test_a_kind_for_kustomize_alone_is_known(
    place: str, start: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """kustomize gives it to our function, and prints it nowhere. Its file is one, by whichever path others know it."""
    require_kustomize(monkeypatch)
    start = start.format(folder=folder)
    local = ', annotations: {config.kubernetes.io/local-config: "true"}}'
    kind = KIND.replace("example.com}", f"example.com{local}")
    gangs = "apiVersion: krmfn.dev/v1alpha1\nkind: GangScheduling\nmetadata:\n  name: a\n  annotations:\n"
    files = {"base/swarm.yaml": kind, "base/bees.yaml": MANIFEST}
    files["base/kustomization.yaml"] = "resources: [bees.yaml, swarm.yaml]\n"
    for name in ("dev", "prod"):
        files[f"{name}/gangs.yaml"] = f"{gangs}    config.kubernetes.io/function: 'exec: {{path: krmfn}}'\n"
        listed = f"resources: [../base]\nnamePrefix: {name}-\ntransformers: [gangs.yaml]\n"
        files[f"{name}/kustomization.yaml"] = listed
    lay_out(folder, files)
    code, out, err = run(folder, "tree", start + place)
    assert (code, out.count("4 pods, by spec.parts[1].replicas")) == (0, 2 if place == "." else 1), err
    code, out, err = run(folder, "validate", start + place)
    assert (code, "kind-not-supported" in out, "krmfn: 2 files, " in err) == (0, False, True), out + err
    (folder / "base/swarm.yaml").write_text(kind.replace("link:", "lnik:"))
    code, _, err = run(folder, "validate", start + place, f"{start}base/swarm.yaml")
    assert (code, err.count(f"krmfn: {start}base/swarm.yaml:10:9: spec.lnik: unknown key")) == (2, 1), err
    assert err.count("lnik: unknown key") == 1


UNLISTED = (
    "Swarm cannot become a gang: krmfn does not support this kind [kind-not-supported]\n    The build does not know"
)
FUNCTION = """\
apiVersion: krmfn.dev/v1alpha1
kind: GangScheduling
metadata:
  name: a
  annotations: {config.kubernetes.io/function: "exec: {path: krmfn}"}
"""


@pytest.mark.slow
@pytest.mark.parametrize(("name", "spec"), [("krmfn.yaml", ""), ("gangs.yaml", "spec: {kinds: [swarm.yaml]}\n")])
def test_a_kind_beside_a_kustomization_is_not_in_its_build(
    name: str, spec: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """kustomize gives it to no function, and our function opens no file that its configuration names."""
    require_kustomize(monkeypatch)
    (folder / name).write_text(FUNCTION + spec)
    listed = "resources: [%s]\ntransformers: [" + name + "]\n"
    for resources, known in (("bees.yaml", False), ("bees.yaml, swarm.yaml", True)):
        (folder / "kustomization.yaml").write_text(listed % resources)
        built = build(folder).stdout
        code, out, err = run(folder, "tree", ".")
        assert (code, "kind: PodGroup" in built, "PodGroup" in out) == (0, known, known), err
        assert (UNLISTED in err) is not known, err
        code, out, _ = run(folder, "validate", ".")
        assert (code, UNLISTED in out, "function-skipped" in out) == (0, not known, False), out


@pytest.mark.slow
def test_each_build_knows_its_own_kinds(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also those in its configuration, and where another validates; who opted out is not told."""
    require_kustomize(monkeypatch)
    inline = "spec:\n  kinds:\n  - " + KIND.partition("spec:\n")[2].replace("\n", "\n  ").replace(
        "  group:", "group:", 1
    )
    checks = FUNCTION + "spec: {mode: Validate, emitItems: None}\n"
    files = {"swarm.yaml": KIND}
    both = "transformers: [a.yaml]\nvalidators: [b.yaml]\n"
    for place, spec, manifest, resources in (
        ("inline", inline, MANIFEST, ""),
        ("listed", "", MANIFEST, ", swarm.yaml"),
        ("plain", "", MANIFEST.replace("krmfn.dev/gang", "a"), ""),
        ("refused", "", MANIFEST.replace('"true"', '"false"'), ""),
    ):
        files |= {f"{place}/a.yaml": FUNCTION + spec, f"{place}/b.yaml": checks, f"{place}/bees.yaml": manifest}
        files[f"{place}/kustomization.yaml"] = f"resources: [bees.yaml{resources}]\n{both}"
    files["listed/swarm.yaml"] = KIND
    lay_out(folder, files)
    for command in ("tree", "validate"):
        code, out, err = run(folder, command, ".")
        told = [line for line in (out + err).splitlines() if "kind-not-supported" in line]
        assert code == 0, err
        assert [line.partition("/")[0] for line in told] == ["plain"], told
        assert ": info: Swarm bees" in told[0]
    assert run(folder, "tree", ".")[1].count("└─ PodGroup") == 2


def test_init_says_that_a_kind_is_not_listed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    require_kustomize(monkeypatch)
    (folder / "kustomization.yaml").write_text("resources: [bees.yaml]\n")
    code, out, err = run(folder, "init", ".")
    assert (code, "PodGroup" in out, UNLISTED in err) == (0, False, True), err
    (folder / "kustomization.yaml").unlink()
    code, out, err = run(folder, "init", ".")
    assert (code, "PodGroup" in out, UNLISTED in err) == (0, True, False), err


def test_a_configuration_names_its_files_or_has_them_inline(folder: Path) -> None:
    config = "apiVersion: krmfn.dev/v1alpha1\nkind: GangScheduling\nmetadata: {name: a}\nspec:\n  kinds:\n"
    (folder / "krmfn.yaml").write_text(config + "  - kinds/swarm.yaml\n")
    (folder / "kinds").mkdir()
    (folder / "swarm.yaml").rename(folder / "kinds" / "swarm.yaml")
    assert "minCount: 5" in run(folder, "generate", "bees.yaml")[1]
    inline = yaml.safe_dump([yaml.safe_load(KIND)["spec"]], default_flow_style=True, width=1000).strip()
    assert "minCount: 5" in run(folder, data=list_items(MANIFEST, spec=f"{{kinds: {inline}}}"))[1]


WRONG = {
    "  roles:\n  - template: spec.parts.*.template\n    count: spec.parts.*.replicas\n": "spec.roles: is missing",
    "template: spec.parts.*.template": "spec.roles[0].template",
    "count: spec.parts.*.replicas": "has a * that is not one of spec.parts.*.template",
    "  group: swarms.example.com\n": "spec.group: is missing",
    "link:": "unknown key",
}


@pytest.mark.parametrize("text", WRONG)
def test_a_file_that_is_wrong_is_refused_with_its_place(text: str, folder: Path) -> None:
    by = {"template: spec.parts.*.template": "template: /spec/parts", "link:": "lnik:"}
    by["count: spec.parts.*.replicas"] = "count: spec.parts.*.shards.*.replicas"
    (folder / "swarm.yaml").write_text(KIND.replace(text, by.get(text, "")))
    code, out, err = run(folder, "validate", ".")
    assert (code, out) == (2, "")
    assert "swarm.yaml:" in err
    assert WRONG[text] in err
    code, _, err = run(folder, data=list_items((folder / "swarm.yaml").read_text(), MANIFEST))
    assert (code, WRONG[text] in err) == (2, True)


@pytest.mark.parametrize("text", ["", "kinds: [nowhere.yaml]", "kinds: [bees.yaml]", "kinds: [1]"])
def test_a_configuration_with_wrong_files_is_refused(text: str, folder: Path) -> None:
    config = f"apiVersion: krmfn.dev/v1alpha1\nkind: GangScheduling\nmetadata: {{name: a}}\nspec: {{{text}}}\n"
    (folder / "krmfn.yaml").write_text(config)
    code, _, err = run(folder, "validate", "bees.yaml")
    assert code == (2 if text else 0), err
    assert not text or "nowhere.yaml" in err or "no object of kind WorkloadKind" in err or "krmfn.yaml:4" in err


HERD = """\
apiVersion: krmfn.dev/v1alpha1
kind: WorkloadKind
metadata: {name: herds.example.com}
spec:
  group: example.com
  kind: Herd
  roles:
  - template: spec.roles.*.template
    count: [spec.roles.*.replicas, {field: spec.roles.*.hosts, atMost: spec.limit}]
    minimum: spec.roles.*.least
  link: {kept: Always}
  order: {field: spec.startup, value: InOrder}
"""
HERD_OF_TWO = """\
apiVersion: example.com/v1
kind: Herd
metadata: {name: a, annotations: {krmfn.dev/gang: "true", krmfn.dev/granularity: Group}}
spec:
  limit: 3
  roles:
    prefill: {replicas: 2, hosts: 4, template: {spec: {containers: [{name: a, image: b}]}}}
    decode: {replicas: 3, hosts: 4, least: 1, template: {spec: {containers: [{name: a, image: b}]}}}
"""


def test_roles_in_a_mapping_products_bounds_and_minima(tmp_path: Path) -> None:
    (tmp_path / "kind.yaml").write_text(HERD)
    (tmp_path / "herd.yaml").write_text(HERD_OF_TWO)
    found = list(yaml.safe_load_all(run(tmp_path, "generate", ".")[1]))
    counts = {
        each["spec"]["workloadRef"]["templateName"]: each["spec"]["schedulingPolicy"]["gang"]["minCount"]
        for each in found
        if each["kind"] == "PodGroup"
    }
    assert counts == {"prefill": 6, "decode": 9}
    (tmp_path / "herd.yaml").write_text(HERD_OF_TWO.replace("Group}", "Group, krmfn.dev/min-count: MinReplicas}"))
    assert "minCount: 1\n" in run(tmp_path, "generate", ".")[1]
    (tmp_path / "herd.yaml").write_text(HERD_OF_TWO.replace("limit: 3", "limit: 3\n  startup: InOrder"))
    _, out, err = run(tmp_path, "generate", ".")
    assert ("CompositePodGroup" in out, "start one after the other" in err) == (False, True)
    (tmp_path / "herd.yaml").write_text(HERD_OF_TWO.replace("replicas: 2", "replicas: 0"))
    assert "role prefill has no pods" in run(tmp_path, "generate", ".")[2]
    (tmp_path / "herd.yaml").write_text(HERD_OF_TWO.replace("replicas: 2", "replicas: -1"))
    assert run(tmp_path, "generate", ".")[0] == 1


def test_kinds_lists_prints_and_drafts(tmp_path: Path) -> None:
    code, out, _ = run(tmp_path, "kinds")
    assert (code, "JobSet.jobset.x-k8s.io" in out, "no gang: the steps" in out) == (0, True, True)
    code, out, _ = run(tmp_path, "kinds", "jobset")
    assert (code, yaml.safe_load(out)["spec"]["kind"]) == (0, "JobSet")
    assert len(list(yaml.safe_load_all(run(tmp_path, "kinds", "Job")[1]))) == 2, "of Kubernetes and of Volcano"
    code, _, err = run(tmp_path, "kinds", "JobSte")
    assert (code, "Did you mean JobSet? krmfn kinds --from drafts the file of another one" in err) == (2, True)
    pod = {
        "type": "object",
        "properties": {"spec": {"type": "object", "properties": {"containers": {"type": "array"}}}},
    }
    parts = {"type": "object", "properties": {"replicas": {"type": "integer"}, "template": pod}}
    schema = {"properties": {"spec": {"properties": {"parts": {"type": "array", "items": parts}}}}}
    version = {"name": "v1", "served": True, "schema": {"openAPIV3Schema": schema}}
    spec = {"group": "swarms.example.com", "names": {"kind": "Swarm"}, "versions": [version]}
    crd = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "s"}}
    (tmp_path / "crd.yaml").write_text(yaml.safe_dump({**crd, "spec": spec}))
    code, out, _ = run(tmp_path, "kinds", "--from", "crd.yaml")
    role = {"template": "spec.parts.*.template", "count": "spec.parts.*.replicas"}
    assert (code, yaml.safe_load(out)["spec"]["roles"]) == (0, [role])
    (tmp_path / "kind.yaml").write_text(out)
    (tmp_path / "bees.yaml").write_text(MANIFEST)
    assert "drops the link from pod templates" in run(tmp_path, "generate", "kind.yaml", "bees.yaml")[2]
    assert run(tmp_path, "kinds", "--from", "bees.yaml")[0] == 2


def write_definition(folder: Path, *versions: object) -> None:
    """A definition of Swarm whose versions have these schemas of spec."""
    served = [
        {
            "name": f"v{number}",
            "served": True,
            "storage": number == 0,
            "schema": {"openAPIV3Schema": has(spec=schema)},
        }
        for number, schema in enumerate(versions)
    ]
    spec = {"group": "swarms.example.com", "names": {"kind": "Swarm"}, "versions": served}
    crd = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "swarms"}}
    (folder / "crd.yaml").write_text(yaml.safe_dump({**crd, "spec": spec}))


def has(**properties: object) -> dict[str, object]:
    """The schema of an object with these fields."""
    return {"type": "object", "properties": properties}


NUMBER = {"type": "integer"}
POD = has(containers={"type": "array"}, schedulerName={"type": "string"})
OPAQUE = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
PRODUCT = {"additionalProperties": has(numOfHosts=NUMBER, replicas=NUMBER, minReplicas=NUMBER, template=OPAQUE)}
CLIQUES = {"items": has(annotations={"type": "object"}, spec=has(replicas=NUMBER, podSpec=POD))}


@pytest.mark.parametrize(
    ("schema", "roles", "kept"),
    [
        (  # a product of what counts on the way
            has(replicas=NUMBER, parts=PRODUCT),
            "[{template: spec.parts.*.template, count: [spec.replicas, spec.parts.*.numOfHosts,"
            " spec.parts.*.replicas], minimum: [spec.parts.*.minReplicas, spec.replicas, spec.parts.*.numOfHosts]}]",
            "Always",
        ),
        (  # other words for counts, and for what is enough
            has(
                numSlices=NUMBER,
                parts={"additionalProperties": has(members=NUMBER, minAvailable=NUMBER, pod=has(spec=POD))},
            ),
            "[{template: spec.parts.*.pod, count: [spec.numSlices, spec.parts.*.members],"
            " minimum: [spec.parts.*.minAvailable, spec.numSlices]}]",
            "Never",
        ),
        (  # a count in the template itself, and names by what differs
            has(a=has(podTemplateSpec=has(spec=POD)), b=has(replicas=NUMBER, spec=POD)),
            "[{name: a, template: spec.a.podTemplateSpec}, {name: b, template: spec.b, count: spec.b.replicas}]",
            "Never",
        ),
        (  # the same, deeper
            has(parts=has(a=has(template=has(spec=POD)), b=has(template=has(spec=POD)))),
            "[{name: a, template: spec.parts.a.template}, {name: b, template: spec.parts.b.template}]",
            "Never",
        ),
        (  # a pod's spec in an entry with annotations
            has(cliques=CLIQUES),
            "[{template: spec.cliques.*, podSpec: spec.cliques.*.spec.podSpec, count: spec.cliques.*.spec.replicas}]",
            "Never",
        ),
        (  # a number that the definition fills in
            has(size={**NUMBER, "default": 4}, quorum=NUMBER, template=has(spec=POD)),
            "[{template: spec.template, count: {field: spec.size, default: 4}, minimum: spec.quorum}]",
            "Never",
        ),
        (  # what looks like one
            has(volumeClaimTemplate=OPAQUE, sidecars=POD, template=has(spec=OPAQUE)),
            "[{template: spec.template}]",
            "Always",
        ),
    ],
)
def test_drafts_find_templates_and_what_counts_them(schema: object, roles: str, kept: str, tmp_path: Path) -> None:
    write_definition(tmp_path, schema, {})
    code, out, err = run(tmp_path, "kinds", "--from", "crd.yaml")
    assert (code, err) == (0, "")
    spec = yaml.safe_load(out)["spec"]
    assert (spec["roles"], spec["link"]) == (yaml.safe_load(roles), {"kept": kept})
    told = [role["template"] for role in spec["roles"] if "count" not in role]
    assert [line for line in out.splitlines() if line[0] == "#"] == [
        f"# No field of the schema seems to count the pods of {each}: it is taken for one pod." for each in told
    ]
    (tmp_path / "kind.yaml").write_text(out)
    assert run(tmp_path, "validate", "kind.yaml", "crd.yaml")[0] != 2, "the draft has only paths of the definition"


def test_a_draft_names_what_may_count_elsewhere(tmp_path: Path) -> None:
    shape = has(hostsPerSlice=NUMBER, retries=NUMBER, volumes={"type": "array", "items": has(size=NUMBER)})
    write_definition(tmp_path, has(numSlices=NUMBER, shape=shape, worker=has(replicas=NUMBER, template=has(spec=POD))))
    out = run(tmp_path, "kinds", "--from", "crd.yaml")[1]
    assert out.startswith(
        "# Multiply these where they count pods, too: spec.shape.hostsPerSlice, spec.shape.volumes.*.size."
    )
    assert yaml.safe_load(out)["spec"]["roles"][0]["count"] == ["spec.numSlices", "spec.worker.replicas"]
    write_definition(tmp_path, has(planes=NUMBER, lanes=NUMBER, solver=has(template=has(spec=POD))))
    out = run(tmp_path, "kinds", "--from", "crd.yaml")[1]
    assert "# Multiply these where they count pods, too: spec.lanes, spec.planes." in out, "every number beside it"
    (tmp_path / "crd.yaml").write_text("kind: Karta\nspec:\n  a: {\n")
    assert "crd.yaml:3:6: neither a manifest nor YAML" in run(tmp_path, "kinds", "--from", "crd.yaml")[2]


@pytest.mark.parametrize(
    ("line", "changed", "place", "message"),
    [
        ("    count: spec.parts.*.replicas\n", "    count: spec.parts.*.template\n", "9:12", "is of the type object"),
        ("spec.parts.*.template\n", "spec.parts.*.replicas\n", "8:15", "is of the type integer"),
        ("  kind: Swarm\n", "  kind: Swarm\n  kind: Swarms\n", "7:9", "the key kind is there twice"),
        ("  - template: spec.parts.*.template\n", '  - template: ""\n', "9:12", "not one of the object itself"),
    ],
)
def test_a_wrong_field_is_refused_with_its_place(
    line: str, changed: str, place: str, message: str, tmp_path: Path
) -> None:
    write_definition(tmp_path, has(parts={"items": has(replicas=NUMBER, template=has(spec=POD))}))
    text = (
        "apiVersion: krmfn.dev/v1alpha1\nkind: WorkloadKind\nmetadata: {name: s}\nspec:\n"
        "  group: swarms.example.com\n  kind: Swarm\n  roles:\n  - template: spec.parts.*.template\n"
        "    count: spec.parts.*.replicas\n"
    )
    (tmp_path / "kind.yaml").write_text(text)
    assert run(tmp_path, "validate", "kind.yaml", "crd.yaml")[0] != 2
    (tmp_path / "kind.yaml").write_text(text.replace(line, changed, 1))
    code, _, err = run(tmp_path, "validate", "kind.yaml", "crd.yaml")
    assert code == 2
    assert f"kind.yaml:{place}: " in err
    assert message in err


def test_a_file_of_several_definitions_drafts_those_with_pods(tmp_path: Path) -> None:
    write_definition(tmp_path, has(replicas=NUMBER))
    podless = (tmp_path / "crd.yaml").read_text()
    assert "has no pod template" in run(tmp_path, "kinds", "--from", "crd.yaml")[2]
    write_definition(tmp_path, has(replicas=NUMBER, template=OPAQUE))
    (tmp_path / "crd.yaml").write_text(f"{podless}---\n{(tmp_path / 'crd.yaml').read_text()}")
    code, out, _ = run(tmp_path, "kinds", "--from", "crd.yaml")
    assert (code, len(list(yaml.safe_load_all(out)))) == (0, 1)


def test_the_schema_of_the_file_is_published(tmp_path: Path) -> None:
    assert '"title": "WorkloadKind"' in run(tmp_path, "schema", "WorkloadKind")[1]
