"""One value of another type in a configuration, a dump, facts, a kustomization or what deploys it is no defect.

`examples` does so with the manifests of rule pages; the others of this folder spoil more at once, and rarely reach a
single value deep inside of an input that is otherwise whole.
"""

from __future__ import annotations

import copy
import json
import random
import tempfile
from pathlib import Path
from typing import Any

from tests.checks.cases import SHOWN
from tests.front_door import call
from tests.fuzz.clusters import read_rule_page
from tests.fuzz.mutations import walk
from tests.fuzz.spoiled import judge, limit_time
from tests.workspace.repositories import JOB

CASES = 100
_OTHERS: tuple[Any, ...] = (None, 5, -1.5, "x", "", "../..", [5], [None], {"a": 5}, {}, [], [{"a": 5}], True, 10**30)
_KUSTOMIZATION: dict[str, Any] = {
    "apiVersion": "kustomize.config.k8s.io/v1beta1",
    "kind": "Kustomization",
    "resources": ["job.yaml"],
    "namePrefix": "a-",
    "commonLabels": {"a": "b"},
    "labels": [{"pairs": {"a": "b"}, "includeTemplates": True, "fields": [{"path": "spec", "create": True}]}],
    "images": [{"name": "train", "newTag": "1", "digest": "x"}],
    "replicas": [{"name": "train", "count": 3}],
    "patches": [{"target": {"kind": "Job"}, "patch": "- {op: add, path: /a, value: 1}"}, {"path": "job.yaml"}],
    "replacements": [
        {"source": {"kind": "Job", "fieldPath": "metadata.name"}, "targets": [{"select": {"kind": "Job"}}]}
    ],
    "configMapGenerator": [
        {"name": "a", "literals": ["a=b"], "files": ["job.yaml"], "options": {"labels": {"a": "b"}}}
    ],
    "secretGenerator": [{"name": "a", "envs": ["job.yaml"]}],
    "generatorOptions": {"disableNameSuffixHash": True, "labels": {"a": "b"}},
    "configurations": ["names.yaml"],
    "transformers": ["gangs.yaml"],
    "openapi": {"path": "job.yaml"},
    "helmCharts": [{"name": "a", "valuesInline": {"a": "b"}}],
    "vars": [{"name": "A", "objref": {"kind": "Job", "name": "train"}, "fieldref": {"fieldpath": "metadata.name"}}],
}
_NAMES = {"nameReference": [{"kind": "PodGroup", "fieldSpecs": [{"path": "spec/a", "kind": "Job", "create": True}]}]}
_SOURCE = {"repoURL": "https://example.com/a.git", "path": "app", "targetRevision": "main"}
_APPLICATION: dict[str, Any] = {
    "project": "default",
    "source": {
        **_SOURCE,
        "directory": {"recurse": True, "include": "*.yaml", "exclude": "b"},
        "kustomize": {
            "namePrefix": "b-",
            "images": ["train=x:1"],
            "patches": [{"patch": "a", "target": {"kind": "Job"}}],
        },
    },
    "destination": {"server": "https://kubernetes.default.svc", "namespace": "ml"},
    "syncPolicy": {"automated": {"prune": True}, "syncOptions": ["ServerSideApply=true"]},
    "ignoreDifferences": [{"kind": "Job", "jsonPointers": ["/spec/parallelism"]}],
}
_DEPLOYERS: tuple[dict[str, Any], ...] = (
    {"apiVersion": "argoproj.io/v1alpha1", "kind": "Application", "metadata": {"name": "a"}, "spec": _APPLICATION},
    {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "ApplicationSet",
        "metadata": {"name": "a"},
        "spec": {
            "goTemplate": False,
            "generators": [
                {
                    "git": {
                        "repoURL": _SOURCE["repoURL"],
                        "directories": [{"path": "app*"}, {"path": "b", "exclude": True}],
                    }
                },
                {"git": {"repoURL": "https://a.b", "files": [{"path": "app/*.json"}]}},
                {"list": {"elements": [{"path": "app", "values": {"a": "b"}}]}},
                {
                    "matrix": {
                        "generators": [{"list": {"elements": [{"a": "b"}]}}, {"list": {"elements": [{"c": "d"}]}}]
                    }
                },
                {"merge": {"mergeKeys": ["a"], "generators": [{"list": {"elements": [{"a": "b"}]}}]}},
            ],
            "template": {
                "metadata": {"name": "{{path.basename}}"},
                "spec": {**_APPLICATION, "source": {**_SOURCE, "path": "{{path}}"}},
            },
        },
    },
    {
        "apiVersion": "kustomize.toolkit.fluxcd.io/v1",
        "kind": "Kustomization",
        "metadata": {"name": "a", "namespace": "flux-system"},
        "spec": {
            "path": "./app",
            "prune": True,
            "sourceRef": {"kind": "GitRepository", "name": "flux-system"},
            "targetNamespace": "ml",
            "dependsOn": [{"name": "b"}],
            "components": ["../app"],
            "patches": [{"patch": "- {op: add, path: /a, value: 1}", "target": {"kind": "Job"}}],
            "images": [{"name": "train", "newTag": "1"}],
            "postBuild": {"substitute": {"a": "b"}, "substituteFrom": [{"kind": "ConfigMap", "name": "a"}]},
            "commonMetadata": {"labels": {"a": "b"}},
        },
    },
)
_CONFIGURATION = {
    "apiVersion": "krmfn.dev/v1alpha1",
    "kind": "GangScheduling",
    "metadata": {"name": "gangs", "annotations": {"config.kubernetes.io/function": "exec: {path: krmfn}"}},
}


def check(chance: random.Random) -> None:
    """One case: a whole input with one value exchanged, and a command that reads it."""
    documents, spec = read_rule_page(chance.choice(SHOWN))
    objects = [each for each in documents if isinstance(each, dict)]
    kind = chance.choice(("configuration", "dump", "facts", "kustomization", "names", "deployer"))
    words: tuple[str, ...] = (chance.choice(("validate", "tree")), ".")
    files: dict[str, Any] = {"krmfn.yaml": {**_CONFIGURATION, "spec": {**spec, "select": "All"}}}
    if kind == "configuration":
        files |= {"now.yaml": {"apiVersion": "v1", "kind": "List", "items": objects}}
        changed = "krmfn.yaml"
    elif kind in ("dump", "facts"):
        changed = "cluster.json"
        items = [*spec.get("cluster", {}).get("items", ()), *objects]
        facts = {"apiVersion": "krmfn.dev/v1alpha1", "kind": "ClusterFacts", "spec": spec.get("cluster", {})}
        files = {changed: {"apiVersion": "v1", "kind": "List", "items": items} if kind == "dump" else facts}
        words = chance.choice((("facts", changed), ("why", "--prove", "--cluster", changed, "job/train")))
    else:
        gangs = {**_CONFIGURATION, "spec": {"select": "All"}}
        files = {"app/kustomization.yaml": _KUSTOMIZATION, "app/names.yaml": _NAMES, "app/gangs.yaml": gangs}
        fields = chance.sample(sorted(_KUSTOMIZATION), chance.randint(3, 9))  # one that is refused hides the others
        files["app/kustomization.yaml"] = {name: _KUSTOMIZATION[name] for name in ("resources", *fields)}
        files |= {"deployer.yaml": chance.choice(_DEPLOYERS), "app/a.json": {"a": {"b": ["c"]}}}
        changed = {"kustomization": "app/kustomization.yaml", "names": "app/names.yaml"}.get(kind, "deployer.yaml")
    files[changed] = exchange(chance, files[changed])
    with tempfile.TemporaryDirectory(prefix="krmfn-fuzz-") as place:
        (Path(place) / "app").mkdir()
        (Path(place) / "app/job.yaml").write_text(JOB)
        for name, value in files.items():
            (Path(place) / name).write_text(json.dumps(value, default=str))
        with limit_time():
            done = call(b"", words, Path(place))
    judge(words, done)


def exchange(chance: random.Random, value: Any) -> Any:
    """The value with one of those inside of it in another type."""
    value = copy.deepcopy(value)
    *above, last = chance.choice([path for path in walk(value) if path[0] not in ("apiVersion", "kind")] or [("kind",)])
    inner = value
    for part in above:
        inner = inner[part]
    inner[last] = copy.deepcopy(chance.choice(_OTHERS))
    return value
