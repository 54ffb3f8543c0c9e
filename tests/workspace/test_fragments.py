"""Patches and parts of manifests that nobody applies are counted, not checked."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.workspace.repositories import JOB
from tests.workspace.test_worlds import GROUP, folder, run, write

__all__ = ["folder"]


def test_patches_that_nothing_lists_are_not_checked(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    patch = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec: {replicas: 3}\n"
    pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: driver}\nspec: {containers: [{name: main}]}\n"
    write(folder, {"app/kustomization.yaml": "resources: [job.yaml]\n", "app/job.yaml": JOB, "app/patch.yaml": patch})
    write(folder, {"templates/driver.yaml": pod})
    assert "not checked: patches and parts of manifests (2)" in run(capsys, "validate", ".")[2]
    code, out, _ = run(capsys, "validate", "-v", ".")
    assert "app/patch.yaml: info: not checked: it is part of a manifest" in out
    assert "templates/driver.yaml: info: not checked" in out
    assert code == 0
    assert run(capsys, "validate", "templates/driver.yaml")[0] == 1


def test_a_patch_beside_what_it_needs_is_a_part(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A ConfigMap in the file of a patch; never a group, which is what krmfn is for."""
    patch = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec: {template: {metadata: {}}}\n"
    settings = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\ndata: {a: b}\n---\n"
    write(folder, {"kustomization.yaml": "resources: [job.yaml]\n", "job.yaml": JOB, "old/a.yaml": settings + patch})
    assert run(capsys, "validate", ".")[0] == 0
    write(folder, {"old/a.yaml": f"{GROUP}---\n{patch}"})
    assert run(capsys, "validate", ".")[0] == 1


def test_a_pod_without_containers_is_a_template_of_another_program(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Spark adds the container to the template of its driver."""
    pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: driver}\nspec: {nodeSelector: {a: b}}\n"
    write(folder, {"driver.yaml": pod})
    assert "not checked: patches and parts of manifests (1)" in run(capsys, "validate", ".")[2]
    assert run(capsys, "validate", "driver.yaml")[0] == 1


@pytest.mark.parametrize("name", ["webhookcainjection_patch.yaml", "patches/webhook_in_jobs.yaml", "dispatch.yaml"])
def test_what_is_called_a_patch_is_one_below_a_kustomization(
    folder: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    hook = "apiVersion: admissionregistration.k8s.io/v1beta1\nkind: MutatingWebhookConfiguration\nmetadata: {name: a}\n"
    write(folder, {"app/kustomization.yaml": "resources: [job.yaml]\n", "app/job.yaml": JOB, f"app/{name}": hook})
    assert run(capsys, "validate", ".")[0] == (1 if name == "dispatch.yaml" else 0)
    (folder / "app/kustomization.yaml").unlink()
    assert run(capsys, "validate", ".")[0] == 1


def test_a_patch_of_a_kustomization_that_is_elsewhere_is_one(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    patch = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: a}\nspec: {template: {spec: {nodeSelector: {a: b}}}}\n"
    write(folder, {"patch-nodes.yaml": patch, "job.yaml": JOB})
    assert run(capsys, "validate", ".")[0] == 0
    write(folder, {"nodes.yaml": patch})
    assert run(capsys, "validate", ".")[0] == 1


@pytest.mark.parametrize(
    ("name", "code"), [("account.patch.yaml", 0), ("patches/account.yaml", 0), ("account.yaml", 1)]
)
def test_what_is_called_a_patch_and_has_no_name_is_one(
    name: str, code: int, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`kubectl patch serviceaccount default --patch-file FILE`."""
    write(folder, {name: "apiVersion: v1\nkind: ServiceAccount\nimagePullSecrets: [{name: a}]\n"})
    assert run(capsys, "validate", ".")[0] == (0 if "patch" in name else 1)


def test_a_placeholder_on_a_line_of_its_own_makes_a_template(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  labels:\n    a: b\n    <ISSUER_1>\ndata: {}\n"
    write(folder, {"a.yaml": text})
    code, _, told = run(capsys, "validate", ".")
    assert (code, "not checked: templates (1)" in told) == (0, True)
    write(folder, {"a.yaml": text.replace("<ISSUER_1>", "ISSUER")})
    assert run(capsys, "validate", ".")[0] == 2
    for name in ("##NAME##", "#@ data.values.name"):
        write(folder, {"a.yaml": f"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\n"})
        code, _, told = run(capsys, "validate", ".")
        assert (code, "not checked: templates (1)" in told) == (0, True)
    write(folder, {"a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a} #@me: why?\n"})
    assert "1 object: no findings" in run(capsys, "validate", ".")[2]


def test_parts_that_freemarker_leaves_out_are_a_template(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    part = "<#if issuer == '{0}'>\n---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {0}\n</#if>\n"
    write(folder, {"a.ftl.yaml": part.format("one") + part.format("two")})
    code, _, told = run(capsys, "validate", ".")
    assert (code, "templates (2)" in told) == (0, True)


def test_a_template_without_marks_is_one_by_its_own_name_and_the_names_in_it(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`sed s/service_name/web/ template.yaml`. The same name in another file is a mistake."""
    service = "apiVersion: v1\nkind: Service\nmetadata: {name: service_name}\nspec: {ports: [{port: 80}]}\n"
    write(folder, {"external/template.yaml": service})
    assert "not checked: templates (1)" in run(capsys, "validate", ".")[2]
    assert run(capsys, "validate", "external/template.yaml")[0] == 1
    write(folder, {"external/service.yaml": service})
    assert run(capsys, "validate", ".")[0] == 1
    (folder / "external/service.yaml").unlink()
    for name in ("web", "SERVICE_NAME"):
        write(folder, {"external/template.yaml": service.replace("service_name", name)})
        assert "templates" not in run(capsys, "validate", ".")[2]


def test_a_template_may_be_filled_by_a_program(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its values are empty, which they are nowhere else."""
    volume = "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: a}\n"
    volume += "spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: SIZE}}}\n"
    for name, size, said in (("templates", "", "templates (1)"), ("templates", "1Gi", "no find"), ("a", "", "1 error")):
        write(folder, {f"{name}/pvc.yaml": volume.replace("SIZE", size)})
        assert said in run(capsys, "validate", ".")[2]
        (folder / name / "pvc.yaml").unlink()


def test_a_deployment_without_selector_and_containers_is_no_manifest(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec: {SELECTOR template: {spec: {CONTAINERS}}}\n"
    )
    good, names = "selector: {matchLabels: {a: b}},", "containers: [{name: a, image: a}]"
    for selector, containers, part in (
        ("", "", True),
        ("selector: {matchLabels: {}},", "containers: []", True),
        (good, "", False),
        ("", names, False),
    ):
        write(folder, {"a.yaml": text.replace("SELECTOR", selector).replace("CONTAINERS", containers)})
        code, _, told = run(capsys, "validate", ".")
        assert (code, "parts of manifests (1)" in told) == (0 if part else 1, part)
        assert run(capsys, "validate", "a.yaml")[0] == 1


@pytest.mark.parametrize(
    ("name", "status", "part"),
    [
        ("00-assert.yaml", "{a: b}", True),
        ("01-errors.yaml", "{a: b}", True),
        ("error-pages.yaml", "{a: b}", False),
        ("a.yaml", "\n  (conditions[?type == 'Ready']): [1]", True),
        ("a.yaml", "{a: b}", False),
        ("a.yaml", "\n  a: |\n    (b): c", False),
    ],
)
def test_what_a_test_expects_is_no_manifest(
    name: str, status: str, part: bool, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(
        folder, {name: f"apiVersion: v1\nkind: Service\nmetadata: {{name: a}}\nspec: {{wrong: 1}}\nstatus: {status}\n"}
    )
    code, _, told = run(capsys, "validate", ".")
    assert (code, "parts of manifests (1)" in told) == (0 if part else 1, part)


def test_what_says_that_it_is_a_patch_is_one(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The kustomization that lists it may be a template, or come from another repository."""
    write(folder, {"removals/all.yaml": "apiVersion: v1\nkind: Service\nmetadata: {name: a}\n$patch: delete\n"})
    write(folder, {"kustomization.yaml": "resources:\n{{ if .All }}\n- a.yaml\n{{ end }}\n"})
    code, out, told = run(capsys, "validate", ".")
    assert (code, out) == (0, "")
    assert "patches and parts of manifests (1), templates (1)" in told


def test_what_configures_a_function_of_kpt_is_not_applied(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """kpt keeps such a file back unless an annotation says otherwise."""
    kptfile = "apiVersion: kpt.dev/v1\nkind: Kptfile\npipeline: {mutators: [{image: a, configPath: setters.yaml}]}\n"
    setters = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: setters}\ndata: {number: 123}\n"
    write(folder, {"a/Kptfile": kptfile, "a/setters.yaml": setters, "b/Kptfile": "{"})
    code, out, told = run(capsys, "validate", ".")
    assert (code, out) == (0, "")
    assert "not checked: configurations of kpt functions (1)" in told
    for path, text in (
        (
            "a/setters.yaml",
            setters.replace("name:", "annotations: {config.kubernetes.io/local-config: 'false'}, name:"),
        ),
        ("a/b/setters.yaml", setters),
        ("b/setters.yaml", setters),
    ):
        write(folder, {path: text})
        assert f"{path}:" in run(capsys, "validate", ".")[1]
    (folder / "a/Kptfile").unlink()
    write(
        folder,
        {"a/setters.yaml": setters.replace("name:", "annotations: {config.kubernetes.io/local-config: x}, name:")},
    )
    assert "a/setters.yaml" not in run(capsys, "validate", ".")[1]


@pytest.mark.parametrize(
    ("spec", "code"), [("{}", 0), ("{versions: [{name: v1}]}", 0), ("{scope: Cluster}", 1), ("3", 1)]
)
def test_a_definition_without_names_is_a_part(
    spec: str, code: int, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    head = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: as.example.com}\n"
    write(folder, {"crd.yaml": f"{head}spec: {spec}\n"})
    assert run(capsys, "validate", ".")[0] == code


SCHEMA = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: helmreleases.helm.toolkit.fluxcd.io}
spec:
  group: helm.toolkit.fluxcd.io
  scope: Namespaced
  names: {kind: HelmRelease, plural: helmreleases, singular: helmrelease, listKind: HelmReleaseList}
  versions:
  - name: v2
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, required: [interval], x-kubernetes-preserve-unknown-fields: true}
"""
RELEASE = "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: a}\nspec: {CHART: {}}\n"
FLUX = "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: NAME}\nspec: SPEC\n"


def test_a_patch_of_an_object_of_flux_is_a_part(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One without what it installs is never whole."""
    for field, counted in (("values", True), ("chart", False), ("chartRef", False)):
        write(folder, {"crd.yaml": SCHEMA, "nas/a.yaml": RELEASE.replace("CHART", field)})
        code, out, err = run(capsys, "validate", ".")
        assert ("spec.interval: Required value [required]" in out, code) == (not counted, int(not counted))
        assert ("patches and parts of manifests (1)" in err) == counted
    for spec, counted in (("{patches: []}", True), ("{path: apps}", False)):
        write(folder, {"nas/a.yaml": FLUX.replace("SPEC", spec)})
        assert ("patches and parts of manifests (1)" in run(capsys, "validate", ".")[2]) == counted


@pytest.mark.parametrize(
    ("path", "severity"), [("apps/far", "info"), ("'apps/${CLUSTER}'", "info"), ("apps/near", "error"), ("", "error")]
)
def test_what_nothing_deploys_where_others_are_may_be_completed(
    path: str, severity: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A patch of what deploys it, which is not known, may add the field."""
    files = {f"apps/{name}/kustomization.yaml": "namespace: x\nresources: [a.yaml]\n" for name in ("near", "far")}
    files |= {"apps/far/a.yaml": JOB, "apps/near/a.yaml": RELEASE.replace("CHART", "chart"), "crd.yaml": SCHEMA}
    if path:
        own, apps = ((name, f"{{path: {where}}}") for name, where in (("flux-system", "clusters"), ("apps", path)))
        texts = [FLUX.replace("NAME", name).replace("SPEC", spec) for name, spec in (own, apps)]
        files["clusters/apps.yaml"] = "---\n".join(texts)
    write(folder, files)
    code, out, _ = run(capsys, "validate", "-v", ".")
    assert code == (severity == "error")
    assert f"apps/near/a.yaml:4:7: {severity}: HelmRelease a spec.interval: Required value" in out


def test_a_template_that_a_kustomization_builds_on(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(folder, {"dev/kustomization.yaml": "resources: [../base]\nnamePrefix: dev-\n"})
    write(folder, {"base/kustomization.yaml": "resources: ['${{ values.name }}.yaml']\n"})
    assert "not checked: templates (1)" in run(capsys, "validate", ".")[2]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("app/kustomization.yaml", "resources: [../base]\n{% if private %}\ncomponents: [../private]\n{% endif %}\n"),
        ("app/kustomization.yaml", "resources:\n- ../../{{ 'base' if ring else 'production' }}\n"),
        ("app/kustomization.yaml", "resources: [SERVICE_MANIFEST]\n"),
        ("app/kustomization.yaml", "resources: ['${{ values.name }}.yaml']\n"),
        ("hack/templates/app/kustomization.yaml", "resources: [../base]\n"),
        ("hack/manifest-templates/app/kustomization.yaml", "resources: [../base]\n"),
    ],
)
def test_a_kustomization_that_a_program_fills_in_is_a_template(
    folder: Path, capsys: pytest.CaptureFixture[str], path: str, text: str
) -> None:
    write(folder, {path: text})
    code, out, told = run(capsys, "validate", ".")
    assert (code, out) == (0, "")
    assert "not checked: templates (1)" in told
    code, out, _ = run(capsys, "validate", "--require-render", ".")
    assert (code, ": error: not checked: it " in out) == (2, True)
    if "templates" in path:  # who names the folder means this one
        assert "../base, which does not exist [not-rendered]" in run(capsys, "validate", path.rpartition("/")[0])[1]


def test_a_role_binding_that_waits_for_kustomize_is_a_part(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """kubebuilder writes such files, and lists them in a comment of the kustomization."""
    binding = "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {name: a}\n"
    binding += "roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: a}\n"
    binding += "subjects: [{kind: ServiceAccount, name: a}]\n"
    write(
        folder, {"rbac/kustomization.yaml": "resources: [job.yaml]\n", "rbac/job.yaml": JOB, "rbac/proxy.yaml": binding}
    )
    code, _, told = run(capsys, "validate", ".")
    assert (code, "parts of manifests (1)" in told) == (0, True)
    write(folder, {"rbac/proxy.yaml": binding + "---\n" + JOB.replace("Never", "Nope")})
    assert run(capsys, "validate", ".")[0] == 1, "a Job beside it is checked"
    write(folder, {"rbac/proxy.yaml": binding})
    (folder / "rbac/kustomization.yaml").unlink()
    assert run(capsys, "validate", ".")[0] == 1


def test_objects_that_test_a_policy_are_data_of_tests(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    suite = "kind: Suite\napiVersion: test.gatekeeper.sh/v1alpha1\nmetadata: {name: a}\n"
    suite += "tests:\n- cases: [{object: samples/a.yaml}, {inventory: [b.yaml]}]\n"
    wrong = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: 5\n"
    write(folder, {"policy/samples/a.yaml": wrong, "policy/b.yaml": wrong})
    assert run(capsys, "validate", ".")[0] == 1
    write(folder, {"policy/suite.yaml": suite})
    code, _, told = run(capsys, "validate", ".")
    assert (code, "data of tests (2)" in told) == (0, True)


def test_a_pattern_that_only_names_an_object_is_a_part(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Policies look for what matches it, and there may be other objects in its file."""
    settings = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\n---\n"
    daemon = "apiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: a}\n"
    write(folder, {"a.yaml": settings + daemon})
    code, _, told = run(capsys, "validate", ".")
    assert (code, "parts of manifests (1)" in told) == (0, True)
    write(folder, {"a.yaml": f"{settings}{daemon}spec: {{}}\n"})
    assert run(capsys, "validate", ".")[0] == 1


@pytest.mark.parametrize(
    ("name", "text", "code"),
    [
        ("main.go", "//go:embed all:pkg/assets b.yaml\nvar files embed.FS\n", 0),
        ("pkg/main.go", '\t//go:embed "assets/*.yaml"\n', 0),
        ("pkg/assets/main_test.go", 'read(t, "a.yaml")\n', 0),
        ("pkg/main_test.go", 'read(t, "a.yaml")\n', 0),
        ("main_test.go", 'read(t, "a.yaml")\n', 1),
        ("pkg/assets/main.go", 'read("a.yaml")\n', 1),
        ("main.go", "//go:embed pkg/*.yaml\n", 1),
        ("main.go", "// a comment on //go:embed pkg/assets\n", 1),
        ("main.go", "//go:embed [ *a*a*a*a*a*b\n", 1),
    ],
)
def test_what_a_go_program_embeds_is_counted(
    name: str, text: str, code: int, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The program fills it in."""
    write(folder, {"pkg/assets/a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: 5\n", name: text})
    found, _, told = run(capsys, "validate", ".")
    assert (found, "files in Go programs (1)" in told) == (code, not code)
    assert run(capsys, "validate", "pkg/assets/a.yaml")[0] == 1, "who names it wants to see it"
    write(folder, {"kustomization.yaml": "resources: [pkg/assets/a.yaml]\n"})
    assert run(capsys, "validate", ".")[0] == 1, "a kustomization uses it"


def test_groups_that_a_go_program_embeds_are_checked(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(folder, {"a.yaml": GROUP, "a.go": "//go:embed a.yaml\n"})
    assert "Go programs" not in run(capsys, "validate", ".")[2]


@pytest.mark.parametrize(
    ("text", "counted"),
    [
        ("kind: ConfigMap\nmetadata: {annotations: }\n", "templates (1)"),
        ("kind: ConfigMap\nmetadata: {annotations: {}}\n", ""),
        ("kind: Namespace\nmetadata: {name: _}\n", "parts of manifests (1)"),
        ("kind: Namespace\nmetadata: {name: a.b}\n", ""),
    ],
)
def test_an_object_without_a_name_is_completed(
    text: str, counted: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """By a program, or by the `namespace:` of a kustomization."""
    write(
        folder,
        {"kustomization.yaml": "resources: [job.yaml]\n", "job.yaml": JOB, "old/a.yaml": f"apiVersion: v1\n{text}"},
    )
    code, _, told = run(capsys, "validate", ".")
    assert (code, counted in told) == (0 if counted else 1, True)


@pytest.mark.parametrize(
    ("name", "mark", "code"),
    [("a-patch.yaml", "x", 0), ("a.yaml", "kustomize.toolkit.fluxcd.io/ssa", 0), ("a.yaml", "x", 1)],
)
def test_a_patch_of_what_the_cluster_has_may_lack_fields(
    name: str, mark: str, code: int, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The Service `kubernetes`, and what charts make: a kustomization lists some of their fields as a resource."""
    patch = f"apiVersion: v1\nkind: Service\nmetadata: {{name: a, annotations: {{{mark}: Merge}}}}\n"
    write(
        folder,
        {"kustomization.yaml": f"resources: [{name}]\n", name: patch + "spec: {ipFamilyPolicy: PreferDualStack}\n"},
    )
    assert run(capsys, "validate", ".")[0] == code
    write(folder, {name: patch + "spec: {ipFamilyPolice: PreferDualStack}\n"})
    assert run(capsys, "validate", ".")[0] == 1, "what it has is checked"


@pytest.mark.parametrize("words", [("generate", "--check"), ("validate", "--no-render")])
def test_a_listed_patch_may_lack_what_an_object_has(
    words: tuple[str, ...], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """kustomize takes the target's apiVersion; a file that nothing lists as a patch has to have one."""
    start = "resources: [job.yaml]\n"
    patches = "patches:\n- path: a.yaml\n  target: {kind: Job}\n"
    write(
        folder, {"kustomization.yaml": start + patches, "job.yaml": JOB, "a.yaml": "kind: Job\nmetadata: {name: a}\n"}
    )
    assert "apiVersion not set" not in "".join(run(capsys, *words, ".")[1:])
    write(folder, {"kustomization.yaml": start})
    assert "apiVersion not set" in "".join(run(capsys, *words, ".")[1:])


def test_what_is_not_checked_counts_once(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(folder, {"job.yaml": JOB, "apps/c/Chart.yaml": "name: a\n", "apps/c/templates/a.yaml": "a: {{ b }}\n"})
    assert "Helm charts (1)" in run(capsys, "validate", ".", "apps")[2]
    assert "Helm charts (1)" in run(capsys, "tree", ".", "apps")[2]
