"""`./dev new rule|kind|release|target NAME`: lays the files out as the recipes of CONTRIBUTING say, with what has to be
written marked, and says what to run next. What it writes works: a rule is found in its example, a target writes groups.

Changes this checkout only. Raises SystemExit for a name that is taken or cannot be one.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

ROOT = Path(__file__).parents[1]
RULE = '''\
"""@NAME@: say here what the rules of this topic have in common."""

from __future__ import annotations

from krmfn.checks.rule import Matches, rule, tell
from krmfn.model.values import as_mapping, dig
from krmfn.survey.census import Census


@rule("@NAME@")
def find_@WORD@(census: Census) -> Matches:
    """To replace: finds PodGroups with the label `@NAME@: wrong`."""
    for group in census.groups.values():
        if as_mapping(dig(group.item.value, "metadata", "labels")).get("@NAME@") == "wrong":
            yield tell(group.item, ("metadata", "labels", "@NAME@"), "wrong")
'''
ROW = """\
    "@NAME@": {
      "stage": "scheduler", "severity": "warning",
      "sentence": "A label has the value wrong.",
      "message": "the label @NAME@ is {current}: say what happens in the cluster",
      "hint": "Say what to change."
    },
"""
KIND = """\
apiVersion: krmfn.dev/v1alpha1
kind: WorkloadKind
spec:
  group: @GROUP@
  kind: @NAME@
  roles:
  - template: spec.template
    count: spec.replicas
"""
PAGE = """\
## What goes wrong

Say what happens in the cluster.

## Example

krmfn reports this:

```yaml title="bad.yaml"
@BAD@```

It does not report this:

```yaml title="good.yaml"
@GOOD@```

## How to fix it

Say what to change.

## Sources

* To replace: https://kubernetes.io/docs/concepts/scheduling-eviction/
"""
EXAMPLE = """\
apiVersion: batch/v1
kind: Job
metadata: {name: train, namespace: ml}
spec:
  parallelism: 4
  completions: 4
  completionMode: Indexed
  template:
    spec:
      restartPolicy: Never
      schedulingGroup: {podGroupName: train}
      containers:
      - {name: main, image: train:1, resources: {requests: {cpu: "1", memory: 1Gi}}}
---
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata: {name: train, namespace: ml, labels: {@NAME@: @VALUE@}}
spec:
  schedulingPolicy: {gang: {minCount: 4}}
"""


#: After a change of what is told by default.
_UPDATE = """\
./dev test tests/test_goldens.py tests/test_golden_commands.py --snapshot-update
python -m tests.docs.update
git diff"""


def new_rule(name: str) -> str:
    """A topic of the stage scheduler with one rule, and the rule's page."""
    _expect(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", name, "an id has lower-case words and hyphens, as pod-containers")
    word = name.replace("-", "_")
    bad, good = (EXAMPLE.replace("@VALUE@", value) for value in ("wrong", "right"))
    page = PAGE.replace("@BAD@", bad).replace("@GOOD@", good).replace("@NAME@", name)
    _write(f"docs/rules/{name}.md", page)
    _write(f"krmfn/checks/scheduler/{word}.py", RULE.replace("@NAME@", name).replace("@WORD@", word))
    _add_topic("krmfn/checks/scheduler/__init__.py", word)
    _insert("schemas/rules.json", '\n  "scheduler": {\n', ROW.replace("@NAME@", name))
    subprocess.run([sys.executable, "docs/generate.py"], cwd=ROOT, check=True)
    return (
        "Write the function, the row in schemas/rules.json and the page. Of another topic or stage? Move the function\n"
        "to its file, take this one out of TOPICS, move the row below its stage, and name that in the row. Then:\n"
        "python docs/generate.py\n"
        f"./dev test tests/checks/test_rules.py -k {name}\n"
        "./dev test checks\n"
        "python -m conformance evidence\n"
        f"{_UPDATE}"
    )


def new_release(name: str) -> str:
    """The folder of the newest release that is no preview, as the folder of another release."""
    _expect(r"1\.\d{2}", name, "a release is called as 1.39")
    from krmfn.releases.release import find_release, newest_release

    old = newest_release().name
    target = ROOT / "schemas" / "kubernetes" / name
    if target.exists():
        way = "; how a preview is released: conformance/README.md" if find_release(name).preview else ""
        raise SystemExit(f"new: {_spell(target)} exists already{way}")
    shutil.copytree(target.parent / old, target)
    for path in target.glob("*.json"):
        text = path.read_text().replace(f"of Kubernetes {old}", f"of Kubernetes {name}")
        if path.stem == "release":
            text = re.sub(r'("version": )"[^"]*"', rf'\1"{name}.0"', text, count=1)
        path.write_text(text)
    print(f"written: {_spell(target)} (a copy of {old})")
    return (
        "Write into release.json what is new, and let conformance write the schemas (conformance/README.md). It is the "
        "default from now on. Then:\n"
        "python docs/generate.py\n"
        f"{_UPDATE}\n"
        "./dev test releases"
    )


def new_target(name: str) -> str:
    """A scheduler: a module that writes its PodGroup, its row, its name in the configuration."""
    _expect(r"[A-Z][A-Za-z0-9]*", name, "a scheduler is called as in the configuration, such as Volcano")
    word = name.lower()
    text = (ROOT / "krmfn/targets/schedulerplugins.py").read_text()
    code = text.split('"""', 2)[2].replace("scheduler-plugins", name)
    _write(
        f"krmfn/targets/{word}.py",
        f'"""{name}: one PodGroup per gang. To replace: what it writes, the source."""{code}',
    )
    row = f'''\
    "{name}": Scheduler(
        "{word}",
        "scheduling.{word}.example.com/v1alpha1",
        ("labels", "scheduling.{word}.example.com/pod-group"),
        ("minMember", "minResources"),
    ),
'''
    _insert("krmfn/model/schedulers.py", "SCHEDULERS: Mapping[str, Scheduler] = {\n", row)
    _insert("krmfn/config/settings.py", 'Scheduler: TypeAlias = \'Literal["Kubernetes", ', f'"{name}", ')
    _insert("schemas/krmfn/v1alpha1/gangscheduling.json", '"enum": ["Kubernetes", ', f'"{name}", ')
    group = f"scheduling.{word}.example.com"
    names = f'''\
    {{"kind": "PodGroup", "group": "{group}", "fields": [
      {{"pods": "metadata/labels/{group}\\\\/pod-group"}}
    ]}},
'''
    _insert("schemas/names.json", '{"entries": "annotations/krmfn.dev\\\\/pod-group"}\n    ]},\n', names)
    subprocess.run([sys.executable, "docs/generate.py"], cwd=ROOT, check=True)
    return (
        f"Write what {name} reads into krmfn/targets/{word}.py, its row in krmfn/model/schedulers.py and the field in "
        "which pods name their group in schemas/names.json; tell of it in docs/how-to/schedulers.md, and under Objects "
        "per release in docs/reference/mapping.md. Then:\n"
        "./dev test tests/targets"
    )


def new_kind(name: str) -> str:
    """A kind whose replicas are one gang: its file."""
    _expect(r"[A-Z][A-Za-z0-9]*(\.[a-z0-9-]+){2,}", name, "a kind is called with its group, as RayJob.ray.io")
    kind, _, group = name.partition(".")
    _write(f"schemas/kinds/{name}.yaml", KIND.replace("@NAME@", kind).replace("@GROUP@", group))
    subprocess.run([sys.executable, "docs/generate.py"], cwd=ROOT, check=True)
    return (
        f"Write schemas/kinds/{name}.yaml (krmfn kinds --from drafts it from a CustomResourceDefinition), its row in "
        "the table Kinds of docs/reference/mapping.md, and a gang among EXAMPLES of "
        "tests/sources/test_source_properties.py. Then:\n"
        "./dev test tests/sources tests/config/test_kinds.py tests/docs/test_mapping.py"
    )


NEW: Mapping[str, Callable[[str], str]] = {
    "rule": new_rule,
    "kind": new_kind,
    "release": new_release,
    "target": new_target,
}


def main(words: list[str]) -> int:
    """Lays out, and prints what to do next; 2 for a command line that says nothing."""
    if len(words) != 2 or words[0] not in NEW:
        print(f"new: say what and its name: ./dev new {'|'.join(NEW)} NAME", file=sys.stderr)
        return 2
    print(NEW[words[0]](words[1]))
    return 0


def _expect(pattern: str, name: str, what: str) -> None:
    if not re.fullmatch(pattern, name):
        raise SystemExit(f"new: {name}: {what}")


def _write(path: str, text: str) -> None:
    place = ROOT / path
    if place.exists():
        raise SystemExit(f"new: {path} exists already")
    place.write_text(text)
    print(f"written: {path}")


def _add_topic(path: str, word: str) -> None:
    """A topic more, however the others are laid out: now they stand line by line."""
    place = ROOT / path
    head, found, rest = place.read_text().partition("TOPICS = (")
    if not found:
        raise SystemExit(f"new: {path} has no TOPICS: mend release/new.py")
    topics, _, end = rest.partition(")")
    rows = "".join(f'    "{topic}",\n' for topic in (word, *re.findall(r"\w+", topics)))
    place.write_text(f"{head}TOPICS = (\n{rows}){end}")
    print(f"changed: {path}")


def _insert(path: str, after: str, text: str) -> None:
    place = ROOT / path
    head, found, rest = place.read_text().partition(after)
    if not found:
        raise SystemExit(f"new: {path} has no {after.strip()}: mend release/new.py")
    place.write_text(head + found + text + rest)
    print(f"changed: {path}")


def _spell(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
