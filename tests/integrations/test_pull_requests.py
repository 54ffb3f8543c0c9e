"""What runs in pull requests: the shell steps of the GitHub Action, the GitLab component, the Tekton task and the Argo
WorkflowTemplate, in a repository with a change, and `actionlint` over the workflows."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.e2e.tools import PATH, ROOT, require

CHECK = ROOT / "integrations" / "check.sh"
#: Where the image has the script.
IN_IMAGE = "/usr/share/krmfn/check.sh"
ACTION = yaml.safe_load((ROOT / "action.yml").read_text())


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository whose newest commit makes the gang of a Job one pod larger than it can be."""
    folder = tmp_path / "a repository"
    folder.mkdir()
    text = (ROOT / "examples" / "reports" / "manifests.yaml").read_text()
    (folder / "manifests.yaml").write_text(text.replace("minCount: 5", "minCount: 4"))
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "before")
    (folder / "manifests.yaml").write_text(text)
    git(folder, "commit", "-qam", "after")
    return folder


def git(folder: Path, *words: str) -> str:
    names = {f"GIT_{who}_{what}": "a@b" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    command = ["git", "-c", "commit.gpgsign=false", *words]
    return subprocess.run(
        command, cwd=folder, env={**os.environ, **names}, check=True, capture_output=True, text=True
    ).stdout


def run_shell(script: str, folder: Path, env: Mapping[str, str], shell: str = "sh") -> subprocess.CompletedProcess[str]:
    known = {name: value for name, value in os.environ.items() if not name.startswith(("KRMFN_", "GITHUB_", "CI_"))}
    env = {**known, "PATH": PATH, **env}
    return subprocess.run([shell, "-e", "-c", script], cwd=folder, env=env, capture_output=True, text=True, check=False)


def run_step(name: str, folder: Path, tmp_path: Path, known: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """A step of the Action as the runner runs it: expressions stand in `env` alone, and files are handed over."""
    (step,) = (each for each in ACTION["runs"]["steps"] if each["name"] == name)
    assert "${{" not in step["run"], "text of a pull request never becomes a part of a script"
    context = {f"inputs.{key}": str(row["default"]) for key, row in ACTION["inputs"].items()}
    context |= {"github.action_path": str(ROOT), "runner.temp": str(tmp_path), **known}
    env = {
        key: re.sub(r"\$\{\{ (.+?) \}\}", lambda match: context[match[1]], text) for key, text in step["env"].items()
    }
    files = {name: str(tmp_path / name) for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")}
    return run_shell(step["run"], folder, {**env, **files, "RUNNER_TEMP": str(tmp_path)}, "bash")


def use_installed(tmp_path: Path) -> None:
    """As if the first step had run."""
    (tmp_path / "krmfn").mkdir()
    (tmp_path / "krmfn" / "bin").symlink_to(Path(PATH.split(os.pathsep)[0]))


def test_the_action_installs_what_it_runs(tmp_path: Path) -> None:
    done = run_step("Install krmfn", tmp_path, tmp_path, {})
    assert done.returncode == 0, done.stderr
    version = subprocess.run([tmp_path / "krmfn/bin/krmfn", "version"], capture_output=True, text=True, check=True)
    assert version.stdout.startswith("krmfn ")


def test_the_action_annotates_and_reports(repository: Path, tmp_path: Path) -> None:
    use_installed(tmp_path)
    base = git(repository, "rev-parse", "HEAD~").strip()
    done = run_step("Check", repository, tmp_path, {"inputs.against": base, "inputs.options": "--kubernetes 1.37"})
    assert done.returncode == 1, done.stderr
    assert re.search(
        r"^::error file=manifests.yaml,line=29,col=17,title=krmfn min-count-above-pods::", done.stdout, re.M
    )
    summary = (tmp_path / "GITHUB_STEP_SUMMARY").read_text()
    assert summary.startswith("<!-- krmfn -->\n## krmfn: 1 file, 2 objects: 1 error")
    assert "minCount: 4 -> 5" in summary or "4 -> 5" in summary
    assert "```mermaid\nflowchart TD" in summary
    outputs = dict(line.split("=", 1) for line in (tmp_path / "GITHUB_OUTPUT").read_text().splitlines())
    assert json.loads(Path(outputs["sarif"]).read_text())["version"] == "2.1.0"
    assert Path(outputs["report"]).read_text() == summary


def test_the_action_fetches_the_base_of_a_shallow_clone(repository: Path, tmp_path: Path) -> None:
    use_installed(tmp_path)
    base = git(repository, "rev-parse", "HEAD~").strip()
    git(repository, "config", "uploadpack.allowReachableSHA1InWant", "true")
    git(tmp_path, "clone", "-q", "--depth", "1", repository.as_uri(), "clone")
    done = run_step("Check", tmp_path / "clone", tmp_path, {"inputs.against": base})
    assert done.returncode == 1, done.stderr
    assert "Update plan" in (tmp_path / "GITHUB_STEP_SUMMARY").read_text()


def test_what_cannot_be_read_is_said_and_ends_with_2(repository: Path, tmp_path: Path) -> None:
    use_installed(tmp_path)
    (repository / "broken.yaml").write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: [")
    assert run_step("Check", repository, tmp_path, {"inputs.against": ""}).returncode == 2
    done = run_step("Check", repository, tmp_path, {"inputs.against": "", "inputs.paths": "nowhere"})
    assert (done.returncode, "nowhere" in done.stderr) == (2, True)


GH = """\
#!/bin/sh
[ -z "$GH_FAILS" ] || { echo "HTTP 403" >&2; exit 1; }
printf '%s\\n' "$*" >>"$GH_CALLS"
case " $* " in *" --jq "*) cat "$GH_COMMENTS" ;; esac
"""


@pytest.mark.parametrize(
    ("comments", "last"),
    [
        ("", "--method POST repos/o/r/issues/7/comments"),
        ("12\n13\n", "--method PATCH repos/o/r/issues/comments/12"),
    ],
)
def test_one_comment_is_written_and_updated(comments: str, last: str, tmp_path: Path) -> None:
    done = comment(tmp_path, comments)
    assert done.returncode == 0, done.stderr
    calls = (tmp_path / "calls").read_text().splitlines()
    assert calls[0].startswith("api --paginate repos/o/r/issues/7/comments --jq")
    assert last in calls[-1]
    assert f"body=@{tmp_path}/report.md" in calls[-1]


def test_a_comment_that_may_not_be_written_is_a_warning(tmp_path: Path) -> None:
    done = comment(tmp_path, "", GH_FAILS="yes")
    assert (done.returncode, done.stdout.startswith("::warning title=krmfn::")) == (0, True)


def comment(tmp_path: Path, comments: str, **more: str) -> subprocess.CompletedProcess[str]:
    """The step that comments on pull request 7, with a `gh` that finds these comments."""
    (tmp_path / "gh").write_text(GH)
    (tmp_path / "gh").chmod(0o755)
    (tmp_path / "comments").write_text(comments)
    (tmp_path / "report.md").write_text("<!-- krmfn -->\n")
    files = {"GH_CALLS": str(tmp_path / "calls"), "GH_COMMENTS": str(tmp_path / "comments"), "GH_FAILS": ""}
    env = {**files, "GITHUB_REPOSITORY": "o/r", "GH_TOKEN": "t", "PATH": f"{tmp_path}{os.pathsep}{PATH}", **more}
    return run_shell(f"sh {ROOT}/integrations/comment.sh {tmp_path}/report.md 7", tmp_path, env)


def test_text_of_a_manifest_does_not_end_its_block(repository: Path, tmp_path: Path) -> None:
    hostile = (
        "apiVersion: scheduling.k8s.io/v1beta1\nkind: PodGroup\nmetadata: {name: a}\nspec:\n  '````\\n<script>x': 1\n"
    )
    (repository / "hostile.yaml").write_text(hostile.replace("'", '"'))
    done = run_shell(f"sh {CHECK}", repository, {"KRMFN_REPORTS": str(tmp_path / "out")})
    assert done.returncode == 1, done.stderr
    report = (tmp_path / "out" / "krmfn.md").read_text()
    fences = [line for line in report.splitlines() if line.startswith("`")]
    assert fences[0] == "`````text"
    assert report.count("`````") == 2


def test_a_report_that_is_too_long_is_cut(repository: Path, tmp_path: Path) -> None:
    group = "apiVersion: scheduling.k8s.io/v1beta1\nkind: PodGroup\nmetadata: {name: a%d}\nspec: {unknown%d: 1}\n---\n"
    (repository / "many.yaml").write_text("".join(group % (n, n) for n in range(500)))
    done = run_shell(f"sh {CHECK}", repository, {"KRMFN_REPORTS": str(tmp_path / "out")})
    assert done.returncode == 1, done.stderr
    assert len((tmp_path / "out" / "krmfn.md").read_text()) < 61_000


def test_the_gitlab_component(repository: Path) -> None:
    header, job = yaml.safe_load_all((ROOT / "templates" / "krmfn.yml").read_text())
    inputs = {key: row["default"] for key, row in header["spec"]["inputs"].items()}
    text = re.sub(r"\$\[\[ inputs\.(\w+) \]\]", lambda match: inputs[match[1]], json.dumps(job["krmfn"]))
    step = json.loads(text)
    base = git(repository, "rev-parse", "HEAD~").strip()
    script = "\n".join(step["script"]).replace(IN_IMAGE, f"'{CHECK}'")
    done = run_shell(script, repository, {**step["variables"], "CI_MERGE_REQUEST_DIFF_BASE_SHA": base})
    assert done.returncode == 1, done.stderr
    report = json.loads((repository / step["artifacts"]["reports"]["codequality"]).read_text())
    assert "krmfn/min-count-above-pods" in {each["check_name"] for each in report}
    assert "Update plan" in (repository / "krmfn-reports" / "krmfn.md").read_text()


def test_the_tekton_task(repository: Path) -> None:
    spec = yaml.safe_load((ROOT / "integrations" / "tekton-task.yaml").read_text())["spec"]
    params = {f"params.{row['name']}": row["default"] for row in spec["params"]}
    (step,) = spec["steps"]
    run_container(step, re.compile(r"\$\((params\.\w+)\)"), params, repository)
    assert (repository / "krmfn-reports" / "krmfn.md").is_file()


def test_the_argo_workflow_template(repository: Path, tmp_path: Path) -> None:
    spec = yaml.safe_load((ROOT / "integrations" / "argo-workflow-template.yaml").read_text())["spec"]
    (template,) = spec["templates"]
    rows = spec["arguments"]["parameters"]
    params = {f"workflow.parameters.{row['name']}": row.get("value", "") for row in rows}
    folder = template["outputs"]["artifacts"][0]["path"].removesuffix("/krmfn.md")
    text = json.dumps(template["container"]).replace(folder, str(tmp_path / "out"))
    run_container(json.loads(text), re.compile(r"\{\{(workflow\.parameters\.\w+)\}\}"), params, repository)
    assert (tmp_path / "out" / "krmfn.md").is_file()


def run_container(box: dict[str, Any], word: re.Pattern[str], params: Mapping[str, str], folder: Path) -> None:
    """The command of a container, with the parameters filled in; it finds the mistake."""
    env = {row["name"]: word.sub(lambda match: params[match[1]], row["value"]) for row in box["env"]}
    assert box["command"] == ["sh", IN_IMAGE]
    done = run_shell(f"sh '{CHECK}'", folder, env)
    assert done.returncode == 1, done.stderr
    assert "min-count-above-pods" in done.stdout


def test_workflows_pass_actionlint() -> None:
    program = require("actionlint", "./dev setup builds it into the cache")
    done = subprocess.run([program, "-shellcheck="], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")
