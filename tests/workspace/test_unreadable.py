"""Each file of a repository that is not there, in a partial clone: every command ends well and names the file."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.front_door import call
from tests.workspace.repositories import GANGS, JOB, commit, git

_CONFIGURATION = GANGS + "spec: {cluster: {from: [facts/a.yaml, facts]}}\n"
_KUSTOMIZATION = """\
resources: [job.yaml, ../base]
components: [../part]
transformers: [functions.yaml]
patches: [{path: patch.yaml}]
replacements: [{path: replacement.yaml}]
configMapGenerator: [{name: c, files: [text.txt]}]
configurations: [names.yaml]
namePrefix: a-
"""
_PATCH = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: train}\nspec: {activeDeadlineSeconds: 9}\n"
_REPLACEMENT = "source: {kind: Job, name: train, fieldPath: spec.parallelism}\ntargets: []\n"
_NODE = "apiVersion: v1\nkind: Node\nmetadata: {name: NAME}\nstatus: {allocatable: {cpu: 8, pods: 110}}\n"
_APPLICATION = """\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: a}
spec: {source: {path: deployed, repoURL: https://example.com/x.git}, destination: {namespace: b}}
"""
FILES = {
    "krmfn.yaml": _CONFIGURATION,
    "facts/a.yaml": _NODE.replace("NAME", "a"),
    "facts/b.yaml": _NODE.replace("NAME", "b"),
    "top/kustomization.yaml": _KUSTOMIZATION,
    "top/job.yaml": JOB,
    "top/functions.yaml": GANGS,
    "top/patch.yaml": _PATCH,
    "top/replacement.yaml": _REPLACEMENT,
    "top/text.txt": "text\n",
    "top/names.yaml": "namePrefix: []\n",
    "base/kustomization.yaml": "resources: [job.yaml]\n",
    "base/job.yaml": JOB.replace("train", "base"),
    "part/kustomization.yaml": "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nresources: [job.yaml]\n",
    "part/job.yaml": JOB.replace("train", "part"),
    "application.yaml": _APPLICATION,
    "deployed/job.yaml": JOB.replace("train", "deployed"),
    ".krmfnignore": "nothing.yaml\n",
}
COMMANDS = (
    ("validate", "git:HEAD"),
    ("validate", "--against", "git:HEAD", "."),
    ("diff", ".", "git:HEAD"),
)


@pytest.mark.slow
@pytest.mark.parametrize("path", FILES)
def test_a_file_that_is_not_there(path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    commit(tmp_path)
    name = git(tmp_path, "rev-parse", f"HEAD:{path}").strip()
    (tmp_path / ".git/objects" / name[:2] / name[2:]).unlink()
    for words in COMMANDS:
        done = call(b"", words, tmp_path)
        said = (done.out + done.err).decode()
        assert done.code in (0, 1, 2), (words, said)
        assert path in said, (words, said)
