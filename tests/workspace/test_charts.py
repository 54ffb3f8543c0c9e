"""Charts of the repository, as Helm 4 itself renders them: what `helm template` and `kustomize build --enable-helm`
say is the oracle. Those that attack are in test_hostile_charts.py."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from krmfn.workspace.worlds import Worlds
from tests.e2e.tools import require_kustomize, run
from tests.workspace import charts
from tests.workspace.charts import APPLICATION, CHARTS, GIVEN, RELEASE, SPEC, helm, make_chart, nest
from tests.workspace.repositories import commit
from tests.workspace.test_worlds import folder, write
from tests.workspace.test_worlds import run as call

__all__ = ["folder", "helm"]
VERSION = "--kube-version=1.37.0"


def find(folder: Path) -> Worlds:
    from krmfn.cli.options import read_command
    from krmfn.cli.reading import read_worlds

    options = {option.key: option.default for option in read_command("tree").options}
    return read_worlds(["."], {**options, "allow_helm": True, "kubernetes": "1.37"})


def show(objects: Any, namespace: str = "") -> list[dict[str, Any]]:
    """Objects in an order, those of a namespace without it."""
    found = [yaml.safe_load(yaml.safe_dump(dict(each))) for each in objects if each]
    for each in found:
        if each["metadata"].get("namespace") == namespace:
            del each["metadata"]["namespace"]
        each["metadata"].get("annotations", {}).pop("config.kubernetes.io/origin", None)
        if each["metadata"].get("annotations") == {}:
            del each["metadata"]["annotations"]
    return sorted(found, key=lambda each: (each["kind"], each["metadata"]["name"]))


def expect(text: str) -> list[dict[str, Any]]:
    return show(yaml.safe_load_all(text))


@pytest.mark.parametrize("chart", CHARTS)
def test_argo_cd_deploys_what_helm_renders(chart: str, folder: Path, helm: str) -> None:
    files = {
        "values-prod.yaml": "workers: 4\ndeep: {a: 1, b: 1, c: 1}\n",
        "text.txt": "some text\n",
        **CHARTS[chart],
    }
    more = {"more.yaml": "deep: {b: 2, c: 2}\n", "apps/train.yaml": APPLICATION.replace("HELM", charts.HELM)}
    write(folder, {**nest("charts/app", files), **more})
    (world,) = (each for each in find(folder).worlds if each.folder == "charts/app")
    assert world.name == "charts/app"
    words = ["-f", "charts/app/values-prod.yaml", "-f", "more.yaml", "--set-json", 'image="train:3"', "--set-json"]
    words += ["deep.c=3", "--set", "deep.d=1\\,2", "--set-string", "deep.e=7", "--set-file", "text=charts/app/text.txt"]
    done = run(helm, "template", "train", "charts/app", "-n", "ml", VERSION, "--include-crds", "--skip-tests", *words)
    assert done.returncode == 0, done.stderr
    assert show((item.value for item in world.items), "ml") == expect(done.stdout)
    if chart == "hooks":  # a definition has no namespace, and is where somebody wrote it
        (definition,) = (item for item in world.items if item.kind == "CustomResourceDefinition")
        assert (definition.namespace, world.place(definition).path) == ("", "charts/app/crds/toys.yaml")
        assert sum(item.kind == "CustomResourceDefinition" for item in find(folder).items) == 1


@pytest.mark.parametrize(("chart", "named"), [*((chart, False) for chart in CHARTS), ("values", True)])
def test_flux_deploys_what_helm_renders(chart: str, named: bool, folder: Path, helm: str) -> None:
    files = {"apps/train.yaml": RELEASE.replace("SPEC", SPEC), "apps/given.yaml": GIVEN}
    if named:  # the release names an object that says where the chart is
        spec = "{chart: ./charts/app, sourceRef: {kind: GitRepository, name: flux-system}}"
        head = "apiVersion: source.toolkit.fluxcd.io/v1\nkind: HelmChart\nmetadata: {name: app, namespace: ml}\n"
        files["apps/chart.yaml"] = f"{head}spec: {spec}\n"
        release = files["apps/train.yaml"]
        files["apps/train.yaml"] = release.replace(f"chart: {{spec: {spec}}}", "chartRef: {kind: HelmChart, name: app}")
        assert files["apps/train.yaml"] != release
    write(
        folder, {**nest("charts/app", CHARTS[chart]), **files, "v.yaml": yaml.safe_load(GIVEN)["data"]["values.yaml"]}
    )
    (world,) = (each for each in find(folder).worlds if each.folder == "charts/app")
    words = ["-f", "v.yaml", "--set", "deep.e=7", "--set-json", 'image="train:3"', "--set-json", "deep.c=3"]
    done = run(helm, "template", "train", "charts/app", "-n", "ml", VERSION, "--include-crds", "--skip-tests", *words)
    assert done.returncode == 0, done.stderr
    assert show((item.value for item in world.items), "ml") == expect(done.stdout)


def test_the_values_of_an_overlay_count(folder: Path) -> None:
    release = RELEASE.replace("SPEC", "values: {workers: 3}")
    patch = "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: train, namespace: ml}\n"
    files = {"base/kustomization.yaml": "resources: [train.yaml]\n", "base/train.yaml": release}
    for name, workers in (("dev", 1), ("prod", 9)):
        files[f"{name}/kustomization.yaml"] = "resources: [../base]\npatches: [{path: patch.yaml}]\n"
        files[f"{name}/patch.yaml"] = patch + f"spec: {{values: {{workers: {workers}}}}}\n"
    write(folder, {**nest("charts/app", CHARTS["values"]), **files})
    require_kustomize()
    named = {world.name: world for world in find(folder).worlds if world.folder == "charts/app"}
    sizes = {
        name: item.get(("spec", "parallelism"))
        for name, world in named.items()
        for item in world.items
        if item.kind == "Job"
    }
    release = "charts/app (HelmRelease ml/train in"
    assert sizes == {f"{release} dev)": 1, f"{release} prod)": 9}


INLINE = "valuesInline: {image: 'train:3', deep: {a: null, c: 3}}"
INFLATED = {
    "its own values": "",
    "a file": "valuesFile: v.yaml, ",
    "a file and more": f"valuesFile: v.yaml, {INLINE}, additionalValuesFiles: [w.yaml], ",
    "merged": f"valuesFile: v.yaml, {INLINE}, valuesMerge: merge, ",
    "replaced": f"valuesFile: v.yaml, {INLINE}, valuesMerge: replace, ",
    "a namespace": "namespace: there, skipTests: true, kubeVersion: v1.30.1, ",
    "without hooks": "skipHooks: true, ",
}


@pytest.mark.parametrize("fields", INFLATED)
@pytest.mark.parametrize("outer", ["", "namespace: ns\nnamePrefix: p-\n"], ids=["plain", "changed"])
def test_kustomize_builds_the_same_with_helm(fields: str, outer: str, folder: Path) -> None:
    require_kustomize()
    head = f"{outer}resources: [map.yaml]\nhelmGlobals: {{chartHome: ./vendored}}\n"
    head += f"helmCharts: [{{name: app, {INFLATED[fields]}releaseName: r, includeCRDs: true}}]\n"
    files = {"map.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: mine}\n", "kustomization.yaml": head}
    files |= {"v.yaml": "workers: 4\ndeep: {a: 1, b: 1, c: 1}\n", "w.yaml": "deep: {b: 2}\n"}
    write(folder, nest("app", {**files, **nest("vendored/app", CHARTS["hooks"] | {"templates/map.yaml": charts.MAP})}))
    done = run("kustomize", "build", "--enable-helm", "app")
    assert done.returncode == 0, done.stderr
    (world,) = (each for each in find(folder).worlds if each.name == "app")
    found, expected = show(item.value for item in world.items), expect(done.stdout)
    if "kubeVersion" not in INFLATED[fields]:  # kustomize does not know the cluster
        for each in (*found, *expected):
            each.get("data", {}).pop("kubernetes", None)
    assert found == expected
    assert world.left_out == ()


def test_findings_name_the_template(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    require_kustomize()
    wrong = CHARTS["values"] | {"values.yaml": "workers: 2\nimage: train:1\nrestart: Always\n"}
    files = {"apps/train.yaml": APPLICATION.replace("HELM", ""), **nest("charts/app", wrong)}
    files |= {**nest("k/charts/app", wrong), "k/kustomization.yaml": "helmCharts: [{name: app, releaseName: r}]\n"}
    write(folder, files)
    _, out, _ = call(capsys, "validate", "--allow-helm", "--select", "server", ".")
    assert "charts/app/templates/job.yaml: error: " in out
    assert "k/charts/app/templates/job.yaml: error: " in out
    assert "kustomization.yaml: error" not in out
    assert "restartPolicy" in out


def test_without_the_option_nothing_is_rendered(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = {"apps/train.yaml": APPLICATION.replace("HELM", ""), **nest("charts/app", CHARTS["values"])}
    files |= {**nest("k/charts/app", CHARTS["values"]), "k/kustomization.yaml": "helmCharts: [{name: app}]\n"}
    write(folder, files)
    _, out, _ = call(capsys, "validate", ".")
    assert "checked without the Helm chart app" not in out  # there is nothing else
    assert "inflates Helm charts" in out
    assert "--allow-helm" in out
    assert "--allow-helm" not in call(capsys, "validate", "--allow-helm", ".")[1]


def test_a_kustomization_whose_chart_lacks_values_is_no_template(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    require_kustomize()
    kustomization = "helmCharts: [{name: app, valuesFile: gone.yaml}]\n"
    write(folder, {"templates/kustomization.yaml": kustomization, **nest("templates/charts/app", CHARTS["values"])})
    _, out, _ = call(capsys, "validate", "--allow-helm", "--require-render", ".")
    assert "gone.yaml, which does not exist" in out
    assert "is a template" not in out


def test_a_neighbour_is_a_subchart(folder: Path) -> None:
    needs = "dependencies: [{name: sub, version: 0.1.0, repository: 'file://../sub'}]\n"
    files = {
        **nest("charts/app", make_chart("app", needs, templates__job=charts.JOB)),
        **nest("charts/sub", charts.SUB),
    }
    write(folder, {**files, "apps/train.yaml": APPLICATION.replace("HELM", "")})
    (world,) = (each for each in find(folder).worlds if each.folder == "charts/app")
    (found,) = (item for item in world.items if item.kind == "ConfigMap")
    assert world.place(found).path == "charts/sub/templates/map.yaml"


FAILS = {
    "subchart that is not vendored": (
        make_chart("app", "dependencies: [{name: far, version: 1.0.0, repository: 'https://example.com'}]\n"),
        "depends on charts that are not in its folder charts: far",
    ),
    "template": (
        make_chart(templates__map='a: b\n{{ fail "no workers" }}\n'),
        "charts/app/templates/map.yaml:2: warning: not checked: it cannot be rendered by helm: execution error at "
        "(app/templates/map.yaml:2:3): no workers",
    ),
    "schema": (
        make_chart(templates__map=charts.MAP) | {"values.schema.json": '{"required": ["size"]}'},
        "missing property 'size'",
    ),
    "no chart": ({"Chart.yaml": "a: [\n"}, "cannot be rendered by helm: "),
    "no YAML": (make_chart(templates__map="a: {{ `[` }}\n"), "cannot be rendered by helm: YAML parse error on app/"),
}


@pytest.mark.parametrize("name", FAILS)
def test_a_chart_that_fails_is_one_finding(name: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files, said = FAILS[name]
    write(folder, {**nest("charts/app", files), "apps/train.yaml": APPLICATION.replace("HELM", "")})
    _, out, _ = call(capsys, "validate", "--allow-helm", "--select", "not-rendered", ".")
    assert said in out
    assert out.count("[not-rendered]") == 1


def test_values_that_are_not_here_are_said(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec = "valuesFrom: [{kind: Secret, name: hidden}, {kind: ConfigMap, name: gone}]"
    write(folder, {**nest("charts/app", CHARTS["values"]), "apps/train.yaml": RELEASE.replace("SPEC", spec)})
    _, out, _ = call(capsys, "validate", "--allow-helm", "--select", "not-rendered", ".")
    assert "checked without the values of the Secret hidden and the values of the ConfigMap gone" in out


def test_two_revisions_are_compared(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(folder, {**nest("charts/app", CHARTS["values"]), "apps/train.yaml": APPLICATION.replace("HELM", "")})
    commit(folder)
    values = folder / "charts/app/values.yaml"
    values.write_text(values.read_text().replace("2", "6"))
    assert "2 → 6" in call(capsys, "diff", "--allow-helm", "git:HEAD", ".")[1].replace("->", "→")


def test_only_a_chart_that_is_not_rendered_is_counted(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    chart = make_chart(templates__job=charts.JOB)
    deploys = {"apps/train.yaml": APPLICATION.replace("HELM", "")}
    write(folder, {**nest("charts/app", chart), **nest("charts/other", chart), **deploys})
    for words, expected in ((["--allow-helm"], "Helm charts (1)"), ([], "Helm charts (2)")):
        assert f"not checked: {expected}" in call(capsys, "validate", *words, ".")[2]


def test_a_resource_of_a_chart_that_opts_in_gets_its_group_from_helm(
    folder: Path, helm: str, capsys: pytest.CaptureFixture[str]
) -> None:
    chart = make_chart(templates__job=charts.JOB)
    files = {**nest("charts/app", chart), "apps/train.yaml": APPLICATION.replace("HELM", "")}
    write(folder, files)
    _, out, err = call(capsys, "validate", "--allow-helm", "--select", "function-skipped", ".")
    assert "[function-skipped]" in out
    assert "--post-renderer krmfn" in out
    assert "kustomize build" not in out
    assert "1 file, 1 application, 2 objects" in err
