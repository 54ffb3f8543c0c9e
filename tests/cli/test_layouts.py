"""Repositories as newcomers have them: `krmfn init` ends with groups in the next build, or with a clear next step."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.cli.conftest import Call
from tests.e2e.tools import build, require_kustomize
from tests.workspace.repositories import git

POD = "{containers: [{name: a, image: b, resources: {requests: {cpu: 1, memory: 1Gi}}}]}"
JOB = f"""\
apiVersion: batch/v1
kind: Job
metadata:
  name: train
spec:
  completionMode: Indexed
  completions: 4
  parallelism: 4
  template:
    spec: {POD.replace("{", "{restartPolicy: Never, ", 1)}
"""
JOBSET = f"""\
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {{name: set}}
spec:
  replicatedJobs:
  - name: workers
    template: {{spec: {{parallelism: 3, completions: 3, completionMode: Indexed, template: {{spec: {POD}}}}}}}
"""
SERVING = f"""\
apiVersion: leaderworkerset.x-k8s.io/v1
kind: LeaderWorkerSet
metadata: {{name: serve}}
spec: {{replicas: 2, leaderWorkerTemplate: {{size: 4, workerTemplate: {{spec: {POD}}}}}}}
"""
RAY = f"""\
apiVersion: ray.io/v1
kind: RayJob
metadata: {{name: ray}}
spec:
  rayClusterSpec:
    headGroupSpec: {{rayStartParams: {{}}, template: {{spec: {POD}}}}}
    workerGroupSpecs:
    - {{groupName: w, replicas: 2, minReplicas: 2, maxReplicas: 2, rayStartParams: {{}}, template: {{spec: {POD}}}}}
"""
WEB = f"""\
apiVersion: apps/v1
kind: Deployment
metadata: {{name: web}}
spec: {{selector: {{matchLabels: {{a: b}}}}, template: {{metadata: {{labels: {{a: b}}}}, spec: {POD}}}}}
"""
CONFIG = "apiVersion: krmfn.dev/v1alpha1\nkind: GangScheduling\nmetadata: {name: gangs}\nspec: {select: All}\n"
GROWN = """\
patches:
- target: {kind: Job, name: train}
  patch: |-
    - {op: replace, path: /spec/parallelism, value: 8}
    - {op: replace, path: /spec/completions, value: 8}
"""
SET = """\
apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: apps}
spec:
  generators: [{git: {repoURL: https://example.com/r.git, revision: HEAD, directories: [{path: 'apps/*'}]}}]
  template:
    metadata: {name: '{{path.basename}}'}
    spec: {project: default, source: {repoURL: https://example.com/r.git, path: '{{path}}'}}
"""


def lists(*names: str, **more: str) -> str:
    """A kustomization."""
    return f"resources: [{', '.join(names)}]\n" + "".join(f"{field}: {value}\n" for field, value in more.items())


def flux(path: str) -> str:
    spec = f"{{interval: 1h, prune: true, path: {path}, sourceRef: {{kind: GitRepository, name: flux-system}}}}"
    head = "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: apps}\n"
    return f"{head}spec: {spec}\n"


def argo(path: str) -> str:
    source = f"{{repoURL: https://example.com/r.git, path: {path}}}"
    head = "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: app}\n"
    return f"{head}spec: {{project: default, destination: {{namespace: ml}}, source: {source}}}\n"


def nest(folder: str, **files: str) -> dict[str, str]:
    """Files of a folder; the names have `__` for a slash, and `.yaml` is added."""
    return {f"{folder}/{name.replace('__', '/')}.yaml": text for name, text in files.items()}


BASE = nest("base", kustomization=lists("job.yaml"), job=JOB)
COMPONENT = "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\n" + GROWN
MONOREPO = {
    **nest("teams/a/base", kustomization=lists("job.yaml"), job=JOB),
    **nest("teams/b/base", kustomization=lists("set.yaml"), set=JOBSET),
    **nest("deploy/prod", kustomization=lists("../../teams/a/base", "../../teams/b/base")),
}
CHART = nest("charts/app", Chart="apiVersion: v2\nname: app\nversion: 0.1.0\n", values="n: 4\n", templates__job=JOB)
LABELS = "apiVersion: builtin\nkind: LabelTransformer\nmetadata: {name: l}\nlabels: {a: b}\nfieldSpecs: []\n"
VARIABLES = JOB.replace(" 4\n", " ${N}\n")

#: The files, the folder for `krmfn init --all`, and how it ends: the groups of the build, or a next step.
LAYOUTS: dict[str, tuple[dict[str, str], str, int | str]] = {
    "an overlay": (BASE | nest("prod", kustomization=lists("../base", namePrefix="prod-")), "prod", 1),
    "an overlay that changes a count": (BASE | nest("prod", kustomization=lists("../base") + GROWN), "prod", 1),
    "a base whose count an overlay changes": (
        BASE | nest("prod", kustomization=lists("../base") + GROWN),
        "base",
        "krmfn init --move base",
    ),
    "an overlay with a component": (
        BASE
        | nest("big", kustomization=COMPONENT)
        | nest("prod", kustomization=lists("../base", components="[../big]")),
        "prod",
        1,
    ),
    "a component": (
        BASE | nest("big", kustomization=COMPONENT),
        "big",
        "a component, which kustomize builds only",
    ),
    "three levels": (
        BASE
        | nest("eu", kustomization=lists("../base", nameSuffix="-eu"))
        | nest("eu-prod", kustomization=lists("../eu", namespace="prod")),
        "eu-prod",
        1,
    ),
    "clusters and apps of Flux": (
        nest("clusters/prod", apps=flux("./apps/prod"))
        | nest("apps/base", kustomization=lists("job.yaml"), job=JOB)
        | nest("apps/prod", kustomization=lists("../base", namespace="ml")),
        "apps/prod",
        1,
    ),
    "a folder of Flux without a kustomization": (nest("c", apps=flux("./apps")) | nest("apps", job=JOB), "apps", 1),
    "variables of Flux": (
        nest("ml/train", ks=flux("./ml/train/app"), app__kustomization=lists("job.yaml"), app__job=VARIABLES),
        "ml/train/app",
        "${N} is filled in later: no group until then [value-unknown]\n",
    ),
    "an app of apps": (
        nest("apps", root=argo("apps"), train=argo("train")) | nest("train", kustomization=lists("j.yaml"), j=JOB),
        "train",
        1,
    ),
    "a folder of Argo CD without a kustomization": (
        nest("apps", train=argo("train")) | nest("train", job=JOB, sub__set=JOBSET),
        "train",
        1,  # Argo CD does not look into the folder below either
    ),
    "a chart": (CHART | nest("apps", app=argo("charts/app")), "charts/app", "Call helm with --post-renderer krmfn"),
    "a chart beside a kustomization": (CHART | BASE, "base", 1),
    "a chart of a kustomization": (
        {**CHART, "kustomization.yaml": "helmCharts: [{name: app, releaseName: r}]\n"},
        ".",
        "next: kustomize build --enable-alpha-plugins --enable-exec --enable-helm .",
    ),
    "an ApplicationSet": (
        nest("apps/a", kustomization=lists("job.yaml"), job=JOB) | nest("argo", set=SET),
        "apps/a",
        1,
    ),
    "groups that are one gang only together": (
        nest("apps/a", kustomization=lists("serve.yaml"), serve=SERVING),
        "apps/a",
        'To generate a gang, set krmfn.dev/gang: "true"; with granularity Replica each group is a separate gang.',
    ),
    "several bases": (MONOREPO, "deploy/prod", 2),
    "the top of several bases": (MONOREPO, ".", "Give the folder of one: deploy/prod, teams/a/base, teams/b/base\n"),
    "plain files": ({"job.yaml": JOB, "web.yaml": WEB}, ".", 1),
    "plain files, several objects in one": ({"all.yaml": "---\n".join([JOB, JOBSET, SERVING])}, ".", 2),
    "a configuration at the top": ({"krmfn.yaml": CONFIG, **BASE}, "base", 1),
    "kustomization.yml": ({"d/kustomization.yml": lists("job.yaml"), "d/job.yaml": JOB}, "d", 1),
    "Kustomization, with fields of old": (
        {
            **BASE,
            "d/Kustomization": "bases: [../base]\ncommonLabels: {a: b}\npatchesStrategicMerge: [p.yaml]\n",
            "d/p.yaml": "apiVersion: batch/v1\nkind: Job\nmetadata: {name: train}\nspec: {parallelism: 3}\n",
        },
        "d",
        1,
    ),
    "other transformers": (
        nest("d", kustomization=lists("job.yaml", transformers="[l.yaml]"), job=JOB, l=LABELS),
        "d",
        1,
    ),
    "JSON": (
        {
            "d/kustomization.yaml": lists("job.json"),
            "d/job.json": '{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"train"},"spec":{"parallelism":4,'
            '"completions":4,"completionMode":"Indexed","template":{"spec":{"restartPolicy":"Never",'
            '"containers":[{"name":"a","image":"b"}]}}}}\n',
        },
        "d",
        1,
    ),
    "a base at an address": (
        nest("d", kustomization=lists("'https://example.com/base?ref=v1'", "job.yaml"), job=JOB),
        "d",
        "not checked: remote files (1)",
    ),
    "a List": (
        nest(
            "d",
            kustomization=lists("all.yaml"),
            all="apiVersion: v1\nkind: List\nitems:\n- " + JOB.replace("\n", "\n  ").rstrip() + "\n",
        ),
        "d",
        1,
    ),
    "a Job without a name": (
        nest("d", kustomization=lists("job.yaml"), job=JOB.replace("  name:", "  generateName:")),
        "d",
        "missing metadata.name",
    ),
    "pods that work on their own": (
        nest("d", kustomization=lists("web.yaml"), web=WEB),
        "d",
        'To generate one, add the annotation krmfn.dev/gang: "true".',
    ),
    "lines that end as on Windows": (
        {path: text.replace("\n", "\r\n") for path, text in nest("d", kustomization=lists("r.yaml"), r=RAY).items()},
        "d",
        1,
    ),
    "generators, images and replicas": (
        nest(
            "d",
            kustomization=lists("all.yaml", namespace="ml", images="[{name: b, newTag: '2'}]")
            + "configMapGenerator: [{name: c, literals: [a=b]}]\nreplicas: [{name: web, count: 5}]\n",
            all=f"{JOB}---\n{WEB}",
        ),
        "d",
        1,
    ),
    "a package of kpt": (
        {"d/Kptfile": "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: d}\n", "d/job.yaml": JOB},
        "d",
        1,
    ),
    "an empty kustomization": (nest("d", kustomization="", job=JOB), "d", 1),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", LAYOUTS)
def test_a_newcomer_gets_a_gang_or_a_next_step(name: str, tmp_path: Path, krmfn: Call) -> None:
    require_kustomize()
    files, folder, ends = LAYOUTS[name]
    for path, text in files.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes(text.encode())
    git(tmp_path, "init", "-q")
    done = krmfn("init", folder, "--all")
    if isinstance(ends, str):
        assert ends in done.err + done.out
        return
    assert done.code == 0, done.err
    built = build(tmp_path / folder)
    assert built.returncode == 0, built.stderr
    assert len(re.findall("^kind: PodGroup$", built.stdout, re.MULTILINE)) == ends
    assert done.out.count("start together, or none") == ends, "init shows the tree of the build"
    assert krmfn("validate", ".").code == 0
