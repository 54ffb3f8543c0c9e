"""Kustomizations of people whom nobody trusts: whatever they list, kustomize runs krmfn and nothing else."""

from __future__ import annotations

import contextlib
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from krmfn.krm import Stream
from krmfn.workspace.manifests import open_tree
from krmfn.workspace.rendering import Rendered, render_all
from krmfn.workspace.trees import NotRendered
from krmfn.workspace.world import Rendering
from tests.e2e.tools import require_kustomize
from tests.workspace.repositories import GANGS, JOB, Trap, commit

KUSTOMIZATION = "resources: [job.yaml]\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with a kustomization `app`, as working directory; kustomize is on the PATH."""
    require_kustomize(monkeypatch)
    folder = tmp_path / "repository"
    (folder / "app").mkdir(parents=True)
    (folder / "app/job.yaml").write_text(JOB)
    (folder / "app/kustomization.yaml").write_text(KUSTOMIZATION)
    commit(folder)
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def trap(tmp_path: Path) -> Trap:
    """A program outside of the repository."""
    return Trap(tmp_path / "trap")


def build(path: str = "app", *allowed: str) -> Rendered:
    tree, place = open_tree(path)
    (_, done) = next(render_all(tree, [place], Rendering(allowed=allowed, required=True)))
    if isinstance(done, NotRendered):
        raise done
    return done


def kinds(rendered: Rendered) -> list[str]:
    return sorted(item.kind for item in Stream.parse(rendered.data).items)


def declare(program: str, name: str = "evil", indent: str = "") -> str:
    text = (
        f"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\n  annotations:\n"
        f"    config.kubernetes.io/function: |\n      exec: {{path: {program}}}\n"
    )
    return "".join(indent + line for line in text.splitlines(keepends=True))


def test_an_ordinary_kustomization(folder: Path) -> None:
    assert kinds(build()) == ["Job"]
    assert kinds(build("git:HEAD:app")) == ["Job"]
    assert folder


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = folder / "app" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


EVIL = "{trap}"
#: Ways to have kustomize run a program: files of the folder `app`, and a part of the reason why it is not rendered.
WAYS: dict[str, tuple[dict[str, str], str]] = {
    "file": (
        {"kustomization.yaml": KUSTOMIZATION + "transformers: [f.yaml]\n", "f.yaml": declare(EVIL)},
        "runs the pro",
    ),
    "generator": (
        {"kustomization.yaml": KUSTOMIZATION + "generators: [f.yaml]\n", "f.yaml": declare(EVIL)},
        "runs the",
    ),
    "validator": (
        {"kustomization.yaml": KUSTOMIZATION + "validators: [f.yaml]\n", "f.yaml": declare(EVIL)},
        "runs the",
    ),
    "inline": (
        {"kustomization.yaml": KUSTOMIZATION + "transformers:\n- |-\n" + declare(EVIL, indent="  ")},
        "runs the program",
    ),
    "one line": (
        {
            "kustomization.yaml": KUSTOMIZATION
            + "transformers:\n- '{apiVersion: v1, kind: ConfigMap, metadata: {name: x, "
            'annotations: {config.kubernetes.io/function: "exec: {path: {trap}}"}}}\'\n'
        },
        "runs the program",
    ),
    "old annotation": (
        {
            "kustomization.yaml": KUSTOMIZATION + "transformers: [f.yaml]\n",
            "f.yaml": declare(EVIL).replace("kubernetes.io", "k8s.io"),
        },
        "runs the program",
    ),
    "old field": (
        {
            "kustomization.yaml": KUSTOMIZATION + "transformers: [f.yaml]\n",
            "f.yaml": "apiVersion: v1\nkind: A\nmetadata:\n  name: a\n  configFn: {exec: {path: '{trap}'}}\n",
        },
        "runs the program",
    ),
    "second document": (
        {"kustomization.yaml": KUSTOMIZATION + "transformers: [f.yaml]\n", "f.yaml": GANGS + "---\n" + declare(EVIL)},
        "runs the program",
    ),
    "list": (
        {
            "kustomization.yaml": KUSTOMIZATION + "transformers: [f.yaml]\n",
            "f.yaml": "apiVersion: v1\nkind: List\nitems:\n-\n" + declare(EVIL, indent="  "),
        },
        "runs the program",
    ),
    "behind an alias": (
        {
            "kustomization.yaml": KUSTOMIZATION + "transformers: [f.yaml]\n",
            "f.yaml": 'apiVersion: v1\nkind: A\nmetadata:\n  name: &n "exec: {path: {trap}}"\n'
            "  annotations: {config.kubernetes.io/function: *n}\n",
        },
        "runs the program",
    ),
    "base": (
        {
            "kustomization.yaml": "resources: [base]\n",
            "base/kustomization.yaml": "transformers: [f.yaml]\n",
            "base/f.yaml": declare(EVIL),
        },
        "runs the program",
    ),
    "component": (
        {
            "kustomization.yaml": KUSTOMIZATION + "components: [c]\n",
            "c/kustomization.yaml": "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\n"
            "transformers: [f.yaml]\n",
            "c/f.yaml": declare(EVIL),
        },
        "runs the program",
    ),
    "made by a kustomization": (
        {
            "kustomization.yaml": KUSTOMIZATION + "transformers: [t]\n",
            "t/kustomization.yaml": "resources: [f.yaml]\npatches:\n- target: {kind: A}\n  patch: |-\n    - op: add\n"
            '      path: /metadata/annotations\n      value: {config.kubernetes.io/function: "exec: {path: {trap}}"}\n',
            "t/f.yaml": "apiVersion: v1\nkind: A\nmetadata:\n  name: a\n",
        },
        "a kustomization that does more than list files",
    ),
    "listed by a kustomization": (
        {
            "kustomization.yaml": KUSTOMIZATION + "transformers: [t]\n",
            "t/kustomization.yaml": "resources: [u]\n",
            "t/u/kustomization.yaml": "resources: [f.yaml]\n",
            "t/u/f.yaml": declare(EVIL),
        },
        "runs the program",
    ),
    "that runs functions itself": (
        {
            "kustomization.yaml": KUSTOMIZATION + "transformers: [t]\n",
            "t/kustomization.yaml": "resources: [f.yaml]\ntransformers: [f.yaml]\n",
            "t/f.yaml": GANGS,
        },
        "a kustomization that does more than list files",
    ),
    "relative": (
        {
            "kustomization.yaml": KUSTOMIZATION + "transformers: [f.yaml]\n",
            "f.yaml": declare("./trap.sh"),
            "trap.sh": "#!/bin/sh\ntouch '{mark}'\ncat\n",
        },
        "runs the program ./trap.sh",
    ),
    "container": (
        {
            "kustomization.yaml": KUSTOMIZATION + "transformers: [f.yaml]\n",
            "f.yaml": declare(EVIL).replace("exec: {path: {trap}}", "container: {image: example.com/evil:1}"),
        },
        "runs the container image example.com/evil:1",
    ),
    "ours and more": (
        {
            "kustomization.yaml": KUSTOMIZATION + "transformers: [f.yaml]\n",
            "f.yaml": declare(EVIL).replace("exec: {path: {trap}}", "{exec: {path: krmfn}, container: {image: a}}"),
        },
        "does not understand",
    ),
    "plugin": (
        {
            "kustomization.yaml": KUSTOMIZATION + "transformers: [f.yaml]\n",
            "f.yaml": "apiVersion: evil/v1\nkind: Evil\nmetadata: {name: a}\n",
            "evil/v1/evil/Evil": "#!/bin/sh\ntouch '{mark}'\n",
        },
        "needs the kustomize plugin Evil, which krmfn does not run",
    ),
    "plugin anywhere": (
        {
            "kustomization.yaml": KUSTOMIZATION + "transformers: [g.yaml, f.yaml]\n",
            "f.yaml": "apiVersion: ../../../../../../../../../..{here}/app/evil/v1\nkind: Evil\nmetadata: {name: a}\n",
            "g.yaml": GANGS,
            "evil/v1/evil/Evil": "#!/bin/sh\ntouch '{mark}'\n",
        },
        "needs the kustomize plugin Evil, which krmfn does not run",
    ),
    "field in capitals": (
        {
            "kustomization.yaml": KUSTOMIZATION + "transformers: [g.yaml]\nValidators: [f.yaml]\n",
            "f.yaml": declare(EVIL),
            "g.yaml": GANGS,
        },
        "runs the program",
    ),
    "field with a letter that is almost one": (
        {
            "kustomization.yaml": KUSTOMIZATION + "transformers: [g.yaml]\nvalidator\u017f: [f.yaml]\n",
            "f.yaml": declare(EVIL),
            "g.yaml": GANGS,
        },
        "runs the program",
    ),
    "field that is there twice": (
        {
            "kustomization.yaml": KUSTOMIZATION + "validators: [g.yaml]\nValidators: [f.yaml]\n",
            "f.yaml": declare(EVIL),
            "g.yaml": GANGS,
        },
        "has validators twice",
    ),
    "list in a list": (
        {
            "kustomization.yaml": KUSTOMIZATION + "transformers: [g.yaml, f.yaml]\n",
            "f.yaml": "kind: List\napiVersion: v1\nitems:\n- kind: AList\n  apiVersion: v1\n  items:\n  -\n"
            + declare(EVIL, indent="    "),
            "g.yaml": GANGS,
        },
        "inside another list",
    ),
    "helm": (
        {"kustomization.yaml": KUSTOMIZATION + "helmCharts: [{name: a, repo: https://example.com}]\n"},
        "inflates Helm charts",
    ),
    "helm generator": (
        {
            "kustomization.yaml": KUSTOMIZATION + "generators: [f.yaml]\n",
            "f.yaml": "apiVersion: builtin\nkind: HelmChartInflationGenerator\nmetadata: {name: a}\nname: a\n",
        },
        "inflates Helm charts",
    ),
    "remote": ({"kustomization.yaml": "resources: ['{server}/a.yaml']\n"}, "uses http://127.0.0.1"),
    "remote base": ({"kustomization.yaml": "resources: ['github.com/example/evil?ref=main']\n"}, "uses github.com"),
    "remote git": ({"kustomization.yaml": "bases: ['git@example.com:evil.git']\n"}, "uses git@example.com"),
    "remote function": ({"kustomization.yaml": "transformers: ['{server}/a.yaml']\n"}, "uses http://127.0.0.1"),
    "remote patch": ({"kustomization.yaml": KUSTOMIZATION + "patches: [{path: '{server}/a.yaml'}]\n"}, "uses http:"),
    "remote patch of old": (
        {"kustomization.yaml": KUSTOMIZATION + "patchesStrategicMerge: ['{server}/a.yaml']\n"},
        "uses http:",
    ),
    "remote file": (
        {"kustomization.yaml": KUSTOMIZATION + "configMapGenerator: [{name: a, files: ['a={server}/a']}]\n"},
        "uses a=http:",
    ),
    "remote environment": (
        {"kustomization.yaml": KUSTOMIZATION + "secretGenerator: [{name: a, Envs: ['{server}/a']}]\n"},
        "uses http:",
    ),
    "remote schema": ({"kustomization.yaml": KUSTOMIZATION + "openapi: {path: '{server}/a'}\n"}, "uses http:"),
    "remote definitions": ({"kustomization.yaml": KUSTOMIZATION + "crds: ['{server}/a']\n"}, "uses http:"),
    "remote configuration": (
        {"kustomization.yaml": KUSTOMIZATION + "configurations: ['{server}/a']\nnamePrefix: a-\n"},
        "uses http:",
    ),
    "remote patch of a transformer": (
        {
            "kustomization.yaml": KUSTOMIZATION + "transformers: [f.yaml]\n",
            "f.yaml": "apiVersion: builtin\nkind: PatchTransformer\nmetadata: {name: a}\npath: '{server}/a'\n",
        },
        "uses http:",
    ),
    "endless": (
        {
            "kustomization.yaml": "resources: [l0, m0]\n",
            **{
                f"{side}{number}/kustomization.yaml": "namePrefix: "
                + side
                + "\nresources: "
                + (f"[../l{number + 1}, ../m{number + 1}]\n" if number < 40 else "[]\n")
                for number in range(41)
                for side in "lm"
            },
        },
        "more than 1000 times",
    ),
    "text for a list": ({"kustomization.yaml": "resources: job.yaml\n"}, "must have a list of strings in resources"),
    "number in a list": (
        {"kustomization.yaml": "resources: [job.yaml, 1]\n"},
        "must have a list of strings in resources",
    ),
    "out of the repository": ({"kustomization.yaml": "resources: ['../../outside']\n"}, "is outside of"),
    "anywhere": ({"kustomization.yaml": "resources: ['/etc']\n"}, "is outside of"),
    "file above": ({"kustomization.yaml": "resources: ['../top.yaml']\n", "../top.yaml": JOB}, "kustomize refuses"),
}


@pytest.fixture
def server() -> Iterator[str]:
    """A web server that remembers that it was asked, in `Asked.mark`."""
    asked = HTTPServer(("127.0.0.1", 0), Asked)
    Asked.was_asked = False
    thread = threading.Thread(target=asked.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{asked.server_port}"
    asked.shutdown()
    asked.server_close()


class Asked(BaseHTTPRequestHandler):
    """Answers nothing."""

    was_asked = False

    def do_GET(self) -> None:  # the name is that of the protocol
        """Remembers."""
        Asked.was_asked = True
        self.send_error(404)


@pytest.mark.slow
@pytest.mark.parametrize("revision", ["", "git:HEAD:"], ids=["work tree", "revision"])
@pytest.mark.parametrize("way", WAYS)
def test_nothing_of_theirs_runs(way: str, revision: str, folder: Path, trap: Trap, server: str) -> None:
    files, reason = WAYS[way]
    (folder.parent / "outside").mkdir()
    (folder.parent / "outside/kustomization.yaml").write_text(KUSTOMIZATION)
    texts = {
        name: text.replace("{trap}", str(trap.path))
        .replace("{mark}", str(trap.mark))
        .replace("{server}", server)
        .replace("{here}", str(folder))
        for name, text in files.items()
    }
    write(folder, texts)
    for program in ("trap.sh", "evil/v1/evil/Evil"):
        if (folder / "app" / program).exists():
            (folder / "app" / program).chmod(0o755)
    commit(folder)
    with pytest.raises(NotRendered) as caught:
        build(f"{revision}app")
    assert reason in str(caught.value)
    tree, place = open_tree(f"{revision}app")
    list(render_all(tree, [place], Rendering()))
    assert not trap.was_run
    assert not Asked.was_asked


@pytest.mark.parametrize("way", ["file", "generator", "validator", "inline", "base", "listed by a kustomization"])
def test_the_ways_are_real(way: str, folder: Path, trap: Trap) -> None:
    """What is refused above would run: with a permission it does."""
    write(folder, {name: text.replace("{trap}", str(trap.path)) for name, text in WAYS[way][0].items()})
    with contextlib.suppress(NotRendered):  # kustomize accepts no change by a validator, not even of annotations
        build("app", str(trap.path))
    assert trap.was_run


@pytest.mark.parametrize("spelled", ["krmfn", "/usr/bin/evil", "./krmfn"])
def test_our_function_is_this_program_whatever_the_file_says(spelled: str, folder: Path, trap: Trap) -> None:
    text = GANGS.replace("path: krmfn", f"path: {spelled}")
    program = f"#!/bin/sh\ntouch '{trap.mark}'\ncat\n"
    write(folder, {"kustomization.yaml": KUSTOMIZATION + "transformers: [g.yaml]\n", "g.yaml": text, "krmfn": program})
    (folder / "app/krmfn").chmod(0o755)
    rendered = build()
    assert kinds(rendered) == ["Job", "PodGroup", "Workload"]
    assert [each["kind"] for each in rendered.configurations] == ["GangScheduling"]
    assert not trap.was_run


def test_our_image_is_this_program_too(folder: Path) -> None:
    text = declare("x").replace("exec: {path: x}", "container: {image: 'images.example.com/evil/krmfn@sha256:00'}")
    write(folder, {"kustomization.yaml": KUSTOMIZATION + "transformers: [g.yaml]\n", "g.yaml": text})
    assert kinds(build()) == ["Job", "PodGroup", "Workload"]


def test_nothing_of_the_folder_is_imported(folder: Path, trap: Trap, monkeypatch: pytest.MonkeyPatch) -> None:
    evil = f"open({str(trap.mark)!r}, 'w')\n"
    write(folder, {"kustomization.yaml": KUSTOMIZATION + "transformers: [g.yaml]\n", "g.yaml": GANGS})
    for name in ("krmfn/__init__.py", "yaml.py", "json.py", "sitecustomize.py", "usercustomize.py"):
        write(folder, {name: evil})
    monkeypatch.chdir(folder / "app")
    monkeypatch.setenv("PYTHONPATH", str(folder / "app"))
    assert kinds(build(".")) == ["Job", "PodGroup", "Workload"]
    assert not trap.was_run


def test_layers_give_what_kustomize_gives(folder: Path) -> None:
    write(
        folder,
        {
            "kustomization.yaml": KUSTOMIZATION + "transformers: [g.yaml]\n"
            "configMapGenerator: [{name: c, files: [key=data/a.txt, data/b.txt], env: e.env}]\n",
            "g.yaml": GANGS,
            "data/a.txt": "\U0001f600 : #\n",
            "data/b.txt": "b",
            "e.env": "X=1\n",
            "../over/kustomization.yaml": "resources: [../app]\nnamePrefix: prod-\npatches: [{path: patch.yaml}]\n"
            'commonAnnotations: {note: "\\u2028 \U0001f600"}\n',
            "../over/patch.yaml": "apiVersion: batch/v1\nkind: Job\nmetadata: {name: train}\nspec: {parallelism: 4}\n",
        },
    )
    rendered = build("over")
    values = {item.kind: item.value for item in Stream.parse(rendered.data).items}
    assert values["Job"]["spec"]["parallelism"] == 4
    assert values["Job"]["metadata"]["annotations"]["note"] == "\u2028 \U0001f600"
    assert values["PodGroup"]["metadata"]["name"] == "prod-job-train"
    assert values["ConfigMap"]["data"] == {"key": "\U0001f600 : #\n", "b.txt": "b", "X": "1"}
    assert "path: ../app/job.yaml" in rendered.data.decode()
    names = {Path(path).relative_to(folder).as_posix() for path in rendered.copied}
    assert names == {
        *(f"app/{name}" for name in ("kustomization.yaml", "job.yaml", "g.yaml", "data/a.txt", "data/b.txt", "e.env")),
        *("over/kustomization.yaml", "over/patch.yaml"),
    }


def test_fields_are_read_in_any_case_as_kustomize_does(folder: Path) -> None:
    write(folder, {"kustomization.yaml": "Resources: [job.yaml]\nNAMEPREFIX: prod-\ncommonlabels: {a: b}\n"})
    over = "resources: [../app]\npatchesJSON6902: [{target: {version: v1, kind: Job, name: train}, path: p.yaml}]\n"
    patch = "- {op: replace, path: /spec/parallelism, value: 4}\n"
    write(folder, {"../over/kustomization.yaml": over, "../over/p.yaml": patch})
    done = subprocess.run(["kustomize", "build", "over"], check=True, capture_output=True)
    theirs, ours = (Stream.parse(data).items[0].value for data in (done.stdout, build("over").data))
    del ours["metadata"]["annotations"]["config.kubernetes.io/origin"]
    assert ours == theirs
    assert (ours["metadata"]["name"], ours["spec"]["parallelism"]) == ("prod-train", 4)


def test_links_inside_of_the_repository(folder: Path) -> None:
    (folder / "link").symlink_to("app")
    write(folder, {"../over/kustomization.yaml": "resources: [../link]\n"})
    commit(folder)
    assert kinds(build("over")) == ["Job"]
    assert kinds(build("git:HEAD:over")) == ["Job"]


def test_a_kustomization_in_a_configmap_cannot_replace_one_that_was_checked(folder: Path, trap: Trap) -> None:
    """Files are copied as they are, kustomizations never: else the copy would be read unchecked."""
    evil = KUSTOMIZATION + "transformers: [f.yaml]\n"
    write(
        folder,
        {
            "kustomization.yaml": "resources: [base]\nconfigMapGenerator: [{name: a, files: [base/Kustomization]}]\n",
            "base/Kustomization": evil,
            "base/job.yaml": JOB,
            "base/f.yaml": declare(str(trap.path)),
        },
    )
    with pytest.raises(NotRendered):
        build()
    assert not trap.was_run


def test_what_kustomize_says_names_the_files_of_the_user(folder: Path) -> None:
    patch = JOB.replace("name: train", "name: nobody")
    write(folder, {"kustomization.yaml": "resources: [job.yaml]\npatches: [{path: a.yaml}]\n", "a.yaml": patch})
    with pytest.raises(NotRendered, match="cannot be built by kustomize") as caught:
        build()
    assert "krmfn-" not in str(caught.value)


@pytest.mark.parametrize("field", ["patches: [{path: no.txt}]", "patchesStrategicMerge: [no.txt]"])
def test_a_patch_that_is_not_there_is_named(field: str, folder: Path) -> None:
    """kustomize quotes the patch over several lines before it says that it has none."""
    write(folder, {"kustomization.yaml": f"resources: [job.yaml]\n{field}\n", "job.yaml": JOB})
    with pytest.raises(NotRendered, match=r"^uses no\.txt, which does not exist$"):
        build()


def test_a_file_of_a_secret_that_is_not_there_is_not_named(folder: Path) -> None:
    write(folder, {"kustomization.yaml": "secretGenerator: [{name: a, envs: [hunter2]}]\n"})
    with pytest.raises(NotRendered, match=r"^creates a Secret from a file, which does not exist$"):
        build()


@pytest.mark.parametrize("files", ['{"files": ["a=no.txt"]}', '{"files": ["no.txt"]}', '{"envs": ["no.txt"]}'])
def test_a_file_of_a_configmap_that_is_not_there_is_named(files: str, folder: Path) -> None:
    write(folder, {"kustomization.yaml": f'configMapGenerator: [{{"name": "a", {files[1:]}]\n'})
    with pytest.raises(NotRendered, match=r"^uses no\.txt, which does not exist$"):
        build()
