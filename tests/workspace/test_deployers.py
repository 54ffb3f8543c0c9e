"""What Argo CD and Flux deploy is a world of its own: folder, namespace, variables."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from krmfn.cli.entry import main
from krmfn.workspace.deployers import Repository
from krmfn.workspace.disk import Disk
from krmfn.workspace.rendering import render_all
from krmfn.workspace.trees import Tree
from krmfn.workspace.world import Rendering
from krmfn.workspace.worlds import Worlds, find_worlds
from tests.e2e.tools import require_kustomize
from tests.workspace.repositories import APPLICATION, FLUX, JOB, VALUES, git
from tests.workspace.test_worlds import GROUP, LINKED, write


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository as working directory."""
    monkeypatch.chdir(tmp_path)
    git(tmp_path, "init", "-q")
    return tmp_path


def names(found: Worlds) -> dict[str, list[str]]:
    return {world.key: sorted(str(item.ref) for item in world.items) for world in found.worlds}


def find(*paths: str) -> Worlds:
    found = find_worlds(paths or (".",), Rendering())
    assert not [problem for problem in found.problems if problem.severity != "info"]
    return found


def test_an_application_fills_in_its_namespace(folder: Path) -> None:
    write(
        folder,
        {
            "argocd/train.yaml": APPLICATION,
            "apps/train/job.yaml": LINKED,
            "apps/train/group.yaml": GROUP.replace("{name: train}", "{name: train, namespace: other}"),
            "apps/train/queue.yaml": "apiVersion: v1\nkind: Namespace\nmetadata: {name: ml}\n",
            "apps/train/deep/job.yaml": JOB,
        },
    )
    assert names(find()) == {
        "apps/train": ["Job ml/train", "Namespace ml", "PodGroup other/train"],
        ".": ["Application argocd/train", "Job train"],
    }
    write(folder, {"argocd/train.yaml": APPLICATION.replace("train}\n", "train, directory: {recurse: true}}\n", 1)})
    assert len(names(find())["apps/train"]) == 4
    # Only below the paths that are named does anybody look for them.
    assert names(find("apps")) == {
        "train": ["Job train", "Namespace ml", "PodGroup other/train"],
        "train/deep": ["Job train"],
    }


@pytest.mark.parametrize(
    ("source", "files"),
    [
        ("directory: {include: '*.yaml'}", 2),
        ("directory: {include: '{job.yaml,no*}', recurse: true}", 1),
        ("directory: {include: '{deep/{a,b},*}.yaml', recurse: true}", 3),
        ("directory: {exclude: '{group,job}.yaml', recurse: true}", 1),
        ("directory: {exclude: '" + "{a,b}" * 100 + "'}", 2),
    ],
)
def test_an_application_chooses_files(source: str, files: int, folder: Path) -> None:
    application = APPLICATION.replace("apps/train}", f"apps/train, {source}}}")
    job = JOB.replace("name: train", "name: deep")
    write(folder, {"a.yaml": application, "apps/train/job.yaml": LINKED, "apps/train/group.yaml": GROUP})
    write(folder, {"apps/train/deep/a.yaml": job})
    assert len(names(find())["apps/train"]) == files


SOURCES = "sources: [{repoURL: a, path: apps/train}, {repoURL: a, chart: queues, helm: {valuesObject: {a: b}}}]"
MORE = {
    "sources": (
        APPLICATION.replace("source: {repoURL: https://example.com/repo, path: apps/train}", SOURCES),
        "queues",
    ),
    "set": (
        "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {name: all}\nspec:\n"
        "  generators: [{list: {elements: [{name: train}]}}]\n"
        "  template: {spec: {" + SOURCES.replace("apps/train", "'apps/{{name}}'") + "}}\n",
        "queues",
    ),
    "before": (FLUX.replace("  postBuild", "  dependsOn: [{name: queues}]\n  postBuild"), "the Kustomization queues"),
    "component": (FLUX.replace("  postBuild", "  components: [../queues]\n  postBuild"), "the component ../queues"),
}


@pytest.mark.parametrize("more", MORE)
def test_what_is_missing_may_be_in_what_is_deployed_with_it(
    more: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of the same Application, or before it."""
    text, name = MORE[more]
    write(folder, {"flux.yaml": text, "apps/train/job.yaml": LINKED})
    code = main(["validate", "."])
    out = capsys.readouterr().out
    assert (code, out.count("[group-missing]")) == (0, 1)
    assert name in out.partition("It may also be in what was not checked together with this: ")[2].splitlines()[0]


def test_flux_sets_the_namespace_and_fills_in_variables(folder: Path) -> None:
    job = JOB.replace("parallelism: 8", "parallelism: ${pods}")
    job = job.replace("[{name: main, image: train}]", '[{name: main, image: "${image}", tty: "${tty:=true}"}]')
    write(
        folder,
        {
            "clusters/dev.yaml": FLUX.replace("NAME", "dev"),
            "clusters/prod.yaml": FLUX.replace("NAME", "prod").replace('"4"', '"6"'),
            "clusters/values.yaml": VALUES,
            "apps/train/deep/job.yaml": job.replace("namespace", "x") + "# ${unknown}\n",
        },
    )
    found = {world.key: world for world in find().worlds}
    assert set(found) == {
        "apps/train (Kustomization flux-system/dev)",
        "apps/train (Kustomization flux-system/prod)",
        "clusters",
    }
    (dev,) = found["apps/train (Kustomization flux-system/dev)"].items
    (prod,) = found["apps/train (Kustomization flux-system/prod)"].items
    assert (dev.namespace, dev.value["spec"]["parallelism"]) == ("dev", 4)
    assert (prod.namespace, prod.value["spec"]["parallelism"]) == ("prod", 6)
    assert dev.value["spec"]["template"]["spec"]["containers"][0] == {"name": "main", "image": "train:1", "tty": "true"}
    assert dev.locate(("spec", "parallelism")).line == 7


RESOURCES = "resources: [job.yaml]\npatches: [{target: {kind: PersistentVolumeClaim}, patch: '"
COMPONENT = """\
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: "${APP}"}
spec: {accessModes: ["${MODE:=${OTHER:=ReadWriteOnce}}"], wrong: 1, resources: {requests: {storage: 1Gi}}}
"""


def test_flux_adds_components(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Their objects are checked, and a patch in the folder can change them; a mistake in one is a single finding."""
    require_kustomize(monkeypatch)
    flux = FLUX.replace("  postBuild", "  components: [../../components/claim]\n  postBuild")
    patch = json.dumps([{"op": "add", "path": "/metadata/labels", "value": {"a": "b"}}])
    kind = "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nresources: [claim.yaml]\n"
    write(folder, {"components/claim/kustomization.yaml": kind, "components/claim/claim.yaml": COMPONENT})
    for name in ("a", "b"):
        text = flux.replace("NAME", name).replace("apps/train", f"apps/{name}").replace('pods: "4"', f"APP: {name}")
        write(folder, {f"clusters/{name}.yaml": text, f"apps/{name}/job.yaml": JOB})
        write(folder, {f"apps/{name}/kustomization.yaml": RESOURCES + patch + "'}]\n"})
    found = {world.name: world for world in find().worlds}
    claim = next(item for item in found["apps/b"].items if item.kind == "PersistentVolumeClaim")
    assert (claim.name, claim.value["spec"]["accessModes"], claim.labels) == ("b", ["ReadWriteOnce"], {"a": "b"})
    assert main(["validate", "."]) == 1
    out = capsys.readouterr().out
    assert out.count("[unknown-field]") == 1
    assert "components/claim/claim.yaml:4:" in out
    assert "(in apps/a, apps/b)" in out
    write(folder, {"clusters/c.yaml": FLUX.replace("NAME", "c").replace("apps/train", "apps/b")})
    assert len([each for world in find().worlds for each in world.items if each.kind == "PersistentVolumeClaim"]) == 1


def test_a_kustomization_that_is_deployed_is_one_world(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    require_kustomize(monkeypatch)
    write(
        folder,
        {
            "argocd/train.yaml": APPLICATION,
            "apps/train/kustomization.yaml": "resources: [../base]\nnamePrefix: a-\n",
            "apps/base/kustomization.yaml": "resources: [job.yaml]\n",
            "apps/base/job.yaml": JOB,
        },
    )
    assert names(find()) == {"apps/train": ["Job ml/a-train"], "argocd": ["Application argocd/train"]}


def test_application_sets(folder: Path) -> None:
    template = "  template:\n    spec:\n      source: {path: 'SOURCE'}\n      destination: {namespace: 'SPACE'}\n"
    head = "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {name: NAME}\nspec:\n  generators:\n"
    write(
        folder,
        {
            "sets/list.yaml": head.replace("NAME", "list")
            + "  - list: {elements: [{env: dev, at: {space: d}}, {env: prod, at: {space: p}}]}\n"
            + template.replace("SOURCE", "envs/{{env}}").replace("SPACE", "{{ .at.space }}"),
            "sets/git.yaml": head.replace("NAME", "git")
            + "  - git: {directories: [{path: teams/*}, {path: teams/old, exclude: true}]}\n"
            + template.replace("SOURCE", "{{path}}").replace("SPACE", "{{path.basename}}"),
            "sets/files.yaml": head.replace("NAME", "files")
            + "  - git: {files: [{path: 'config/**/config.json'}]}\n  - clusters: {}\n"
            + template.replace("SOURCE", "{{.app}}").replace("SPACE", "{{.path.basename}}"),
            "sets/matrix.yaml": head.replace("NAME", "matrix")
            + "  - matrix: {generators: [{list: {elements: [{env: a}, {env: b}]}}, "
            + "{git: {directories: [{path: 'many/{{env}}/*'}]}}]}\n"
            + "  - matrix: {generators: [{git: {directories: [{path: every/*}]}}, {clusters: {}}]}\n"
            + template.replace("SOURCE", "{{path}}").replace("SPACE", "in-{{env}}"),
            "sets/clusters.yaml": head.replace("NAME", "clusters")
            + "  - clusters: {}\n"
            + template.replace("SOURCE", "constant").replace("SPACE", "ml"),
            **{f"{name}/job.yaml": JOB for name in ("many/a/p", "many/b/q", "many/c/r", "every/e")},
            "constant/job.yaml": JOB,
            "envs/dev/job.yaml": JOB,
            "envs/prod/job.yaml": JOB,
            "envs/other/job.yaml": JOB,
            "teams/a/job.yaml": JOB,
            "teams/old/job.yaml": JOB,
            "config/deep/east/config.json": '{"app": "apps/one"}',
            "apps/one/job.yaml": JOB,
        },
    )
    found = names(find())
    assert {key: value for key, value in found.items() if value and value[0].startswith("Job ")} == {
        "envs/dev": ["Job d/train"],
        "envs/prod": ["Job p/train"],
        "envs/other": ["Job train"],
        "many/a/p": ["Job in-a/train"],
        "many/b/q": ["Job in-b/train"],
        "many/c/r": ["Job train"],
        "every/e": ["Job in-{{env}}/train"],
        "constant": ["Job ml/train"],
        "teams/a": ["Job a/train"],
        "teams/old": ["Job train"],
        "apps/one": ["Job east/train"],
    }


def test_what_names_no_folder_here_is_passed_over(folder: Path) -> None:
    odd = (
        APPLICATION.replace("apps/train", "../outside"),
        APPLICATION.replace("path: apps/train", "chart: x"),
        APPLICATION.replace("path: apps/train", "path: nowhere"),
        APPLICATION.replace("{repoURL: https://example.com/repo, path: apps/train}", "3"),
        FLUX.replace("spec:", "spec: []\nother:"),
        "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {name: x}\n"
        "spec: {generators: [3, {git: 4}]}\n",
    )
    named = [text.replace("name: train", f"name: a{number}") for number, text in enumerate(odd)]
    write(folder, {f"argocd/{number}.yaml": text for number, text in enumerate(named)})
    write(folder, {"apps/train/job.yaml": JOB, "../outside/job.yaml": JOB})
    (world,) = find().worlds
    assert len(world.items) == 7


def test_clusters_may_deploy_a_folder_by_one_name(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for cluster in "ab":
        flux = FLUX.replace("NAME", "train").replace('pods: "4"', f"of: {cluster}")
        write(folder, {f"clusters/{cluster}/train.yaml": flux, "apps/train/job.yaml": JOB + "# ${of}\n"})
    keys = [world.key for world in find().worlds if world.key.startswith("apps")]
    start = "apps/train (Kustomization flux-system/train in clusters"
    assert keys == [f"{start}/a/train.yaml)", f"{start}/b/train.yaml)"]
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "x")
    assert main(["diff", "HEAD"]) == 0
    assert capsys.readouterr().out == "0 refused, 0 to be replaced, 0 removed, 0 new, 0 updated in place, 8 unchanged\n"
    write(folder, {"s.json": make_set({"list": {"elements": [{"n": "x"}, {"n": "y"}]}}, "apps/train")})
    found = [world.key for world in find().worlds]
    assert len(found) == len(set(found)) == 7


def test_every_repository_has_a_top(folder: Path) -> None:
    """A path "." says nothing about which repository is meant: it is the one that has other folders here."""
    own = APPLICATION.replace("apps/train}", ".}").replace("namespace: ml", "namespace: top")
    foreign = own.replace("com/repo", "com/other").replace("top", "elsewhere")
    write(folder, {"job.yaml": JOB, "argocd/own.yaml": own})
    assert names(find())["."] == ["Job top/train"]
    write(folder, {"argocd/foreign.yaml": foreign})
    assert "Job train" in names(find())["."]
    write(folder, {"argocd/train.yaml": APPLICATION.replace("https://example.com", "git@example.com:a")})
    write(folder, {"argocd/own.yaml": own.replace("/repo", "/a/repo.git"), "apps/train/job.yaml": JOB})
    assert names(find())["."] == ["Job top/train"]
    assert names(find())["apps/train"] == ["Job ml/train"]


def test_a_revision_has_its_own_deployments(folder: Path) -> None:
    write(folder, {"argocd/train.yaml": APPLICATION, "apps/train/job.yaml": JOB})
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "x")
    (folder / "argocd/train.yaml").unlink()
    assert names(find("git:HEAD"))["apps/train"] == ["Job ml/train"]
    assert names(find()) == {"apps/train": ["Job train"]}


OVERLAY = "resources: [job.yaml]\nnamePrefix: p-\n"


def make_set(generator: object, path: str, sources: int = 0) -> str:
    source = {"path": path}
    spec = {"sources": [source] * sources} if sources else {"source": source}
    template = {"spec": {**spec, "destination": {"namespace": "{{n}}"}}}
    value = {"generators": [generator], "template": template}
    return json.dumps(
        {"apiVersion": "argoproj.io/v1alpha1", "kind": "ApplicationSet", "metadata": {"name": "s"}, "spec": value}
    )


def list_elements(count: int) -> object:
    return {"list": {"elements": [{"n": f"n{number}"} for number in range(count)]}}


@pytest.mark.slow
def test_a_set_that_multiplies_is_refused(folder: Path) -> None:
    write(folder, {"s.json": make_set(list_elements(2_000), "x{{n}}", 2_000), "apps/job.yaml": JOB})
    (problem,) = find_worlds(["."], Rendering()).problems
    assert problem.message == "not checked: it names more than 10,000 deployments in ApplicationSet s"
    assert problem.file is not None
    assert problem.file.path == "s.json"


def say_problems() -> str:
    return " ".join(problem.message for problem in find_worlds(["."], Rendering()).problems)


def test_deployments_of_a_folder_have_a_limit(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(folder, {"s.json": make_set(list_elements(5), "apps"), "apps/job.yaml": JOB})
    assert say_problems() == ""
    monkeypatch.setattr("krmfn.workspace.gathering._MOST_OBJECTS", 3)
    assert "brings the deployments of this folder to more than 3 objects" in say_problems()
    monkeypatch.setattr("krmfn.workspace.gathering.MOST_DEPLOYMENTS", 2)
    assert "checked only in part: it has more than 2 deployments of folders by Argo CD and Flux" in say_problems()


@pytest.mark.parametrize("field", ["directories", "files"])
def test_patterns_of_all_sets_have_a_limit(field: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("krmfn.workspace.deployers._MOST_STEPS", 5_000)
    for count in (10, 1_000):
        generator = {"git": {field: [{"path": f"x{number}/*"} for number in range(count)]}}
        sets = {f"s{number}.json": make_set(generator, "apps") for number in range(3)}
        write(folder, {**sets, **{f"app{number}/job.json": "{}" for number in range(8)}})
        assert ("too many patterns with too many paths" in say_problems()) == (count > 10)


def test_folders_in_folders_have_a_limit(folder: Path) -> None:
    write(folder, {"a/" * 240 + "job.yaml": JOB})
    found = find(".")
    assert [item.kind for world in found.worlds for item in world.items] == ["Job"]
    write(folder, {"b/" * 260 + "job.yaml": JOB})
    found = find_worlds(["."], Rendering())
    assert [item.kind for world in found.worlds for item in world.items] == ["Job"]
    assert [problem.message for problem in found.problems] == ["the file is in more than 250 folders"]


def test_a_kustomization_of_many_places_is_rendered_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    require_kustomize(monkeypatch)
    calls: list[str] = []

    def count(tree: Tree, folders: Iterable[str], *rest: Any) -> Iterator[object]:
        calls.extend(folders)
        return render_all(tree, calls, *rest)

    monkeypatch.setattr("krmfn.workspace.gathering.render_all", count)
    write(folder, {"s.json": make_set(list_elements(5), "apps"), "apps/job.yaml": JOB})
    write(folder, {"apps/kustomization.yaml": OVERLAY})
    worlds = find(".").worlds
    assert {item.namespace for world in worlds for item in world.items if item.kind == "Job"} >= {"n0", "n4"}
    assert calls == ["apps"]


def test_a_path_of_an_artifact_is_seen_from_a_folder_around_it(folder: Path) -> None:
    flux = FLUX.replace("NAME", "ml").replace(
        "path: ./apps", "sourceRef: {kind: OCIRepository, name: x}\n  path: ./apps"
    )
    write(folder, {"cloud/clusters/one/flux.yaml": flux, "cloud/apps/train/job.yaml": JOB})
    assert [world.name for world in find(".").worlds] == ["cloud/apps/train", ""]
    write(folder, {"apps/train/job.yaml": JOB})
    assert next(world.name for world in find(".").worlds) == "apps/train", "the repository itself comes first"


def test_flux_lets_a_kustomization_use_all_of_its_repository(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    require_kustomize(monkeypatch)
    (folder.parent / "secret.txt").write_text("secret")
    patch = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: train}\nspec: {backoffLimit: 3}\n"
    overlay = """\
resources: [../../base/job.yaml]
patches: [{path: ../../base/patch.yaml}]
configMapGenerator: [{name: a, files: [../../base/a.txt, b=../../base/a.txt]}]
commonAnnotations: {see: ../../base/a.txt}
"""
    base = {"base/job.yaml": JOB, "base/patch.yaml": patch, "base/a.txt": "text\n"}
    write(folder, {**base, "apps/train/kustomization.yaml": overlay})
    assert [each.tags["rule"] for each in find_worlds((".",), Rendering()).problems] == ["not-rendered"]
    write(folder, {"flux.yaml": FLUX.replace("NAME", "ml")})
    assert find_worlds((".",), Rendering()).problems == []
    (world,) = (world for world in find(".").worlds if world.name)
    job, made = sorted(world.items, key=lambda item: item.kind, reverse=True)
    assert job.value["spec"]["backoffLimit"] == 3
    assert job.value["metadata"]["annotations"]["see"] == "../../base/a.txt"
    assert world.place(job).path == "base/job.yaml"
    assert made.value["data"] == {"a.txt": "text\n", "b": "text\n"}
    for outside in ("../../../secret.txt", str(folder.parent / "secret.txt"), "../../link.txt"):
        (folder / "link.txt").unlink(missing_ok=True)
        (folder / "link.txt").symlink_to(folder.parent / "secret.txt")
        write(folder, {"apps/train/kustomization.yaml": overlay.replace("b=../../base/a.txt", f"b={outside}")})
        (problem,) = (each for each in find_worlds((".",), Rendering()).problems if each.severity == "warning")
        assert problem.tags["rule"] == "not-rendered"


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("apps/*/c.json", ["apps/a/c.json", "apps/b/c.json"]),
        ("apps/**/c.json", ["apps/a/c.json", "apps/b/c.json", "apps/b/x/c.json", "apps/c.json"]),
        ("**/c.json", ["apps/a/c.json", "apps/b/c.json", "apps/b/x/c.json", "apps/c.json"]),
        ("apps/**", ["apps/a/c.json", "apps/b/c.json", "apps/b/x/c.json", "apps/c.json", "apps/cc.json"]),
        ("apps/*c.json", ["apps/c.json", "apps/cc.json"]),
        ("*/b/*/*.json", ["apps/b/x/c.json"]),
        ("**b**c**", []),
        ("apps/c.jso", []),
        ("**/" * 30 + "y", []),
        ("**c" * 30, []),
        ("**" + "c*" * 50 + "y", []),
    ],
)
def test_patterns_of_files(pattern: str, names: list[str], folder: Path) -> None:
    files = ("apps/a/c.json", "apps/b/c.json", "apps/b/x/c.json", "apps/c.json", "apps/cc.json", "c" * 200 + ".json")
    write(folder, {**dict.fromkeys(files, "{}"), "/".join("a" * 60) + "/x.json": "{}"})
    repository = Repository(Disk(str(folder)))
    assert list(repository.match(pattern, repository.files)) == names


def test_a_path_in_another_repository_of_flux_means_nothing_here(folder: Path) -> None:
    def sync(name: str, source: str, path: str) -> str:
        spec = f"{{path: {path}, sourceRef: {{kind: GitRepository, name: {source}}}}}"
        head = f"apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {{name: {name}}}\n"
        return f"{head}spec: {spec}\n"

    source = "apiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\nmetadata: {name: team}\nspec: {url: a}\n"
    write(folder, {"clusters/one/apps.yaml": sync("apps", "flux-system", "./apps"), "apps/job.yaml": JOB})
    write(folder, {"tenants/team.yaml": sync("team", "team", "./")})
    assert "." in [world.name for world in find(".").worlds], "team can be this repository"
    write(folder, {"clusters/two/apps.yaml": sync("apps", "flux-system", "./apps")})
    assert "." not in [world.name for world in find(".").worlds], "Flux refuses a folder with an object that is twice"
    (folder / "clusters/two/apps.yaml").unlink()
    write(folder, {"tenants/source.yaml": source})
    assert "." not in [world.name for world in find(".").worlds]
    assert "apps" in [world.name for world in find(".").worlds]
    (folder / "clusters/one/apps.yaml").unlink()
    assert "." in [world.name for world in find(".").worlds], "the only source is this repository"
    write(folder, {"tenants/team.yaml": sync("team", "", '""')})
    assert "." not in [world.name for world in find(".").worlds], "a patch says which folder is meant"


def test_generators_that_are_not_expanded_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a list of clusters deploys is not known here: silence would look like a check."""
    head = "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {name: a}\nspec:\n"
    write(tmp_path, {"a.yaml": head + "  generators: [{matrix: {generators: [{clusters: {}}, {plugin: {}}]}}]\n"})
    write(tmp_path, {"b.yaml": head + "  generators: [{list: {elements: []}}, {git: {directories: []}}]\n"})
    monkeypatch.chdir(tmp_path)
    found = [each for each in find_worlds(["."], Rendering()).problems if "sort" in each.tags]
    assert [each.tags["sort"] for each in found] == ["generators of ApplicationSets"]
    assert "(clusters, plugin)" in found[0].message


@pytest.mark.parametrize("name", ["kustomization.yaml", "flux.yaml"])
def test_an_object_of_flux_may_be_in_a_file_that_is_called_kustomization(folder: Path, name: str) -> None:
    flux = FLUX.partition("  postBuild")[0].replace("NAME", "ml")
    write(folder, {f"clusters/{name}": flux, "apps/train/job.yaml": JOB})
    assert names(find()) == {"apps/train": ["Job ml/train"], "clusters": ["Kustomization flux-system/ml"]}
