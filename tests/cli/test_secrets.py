"""No value of a Secret or of an environment variable is printed by a command that reports about manifests."""

from __future__ import annotations

from pathlib import Path

import pytest

from krmfn.krm import Item
from krmfn.model.findings import Finding, to_result
from krmfn.model.rules import RULES
from krmfn.model.showing import HIDDEN, MOST_CHARACTERS, MOST_VALUES, cut, show
from krmfn.server.verdict import duplicate, invalid, invalid_text, not_supported
from tests.checks.definitions import define
from tests.cli.conftest import Call

MANIFESTS = """\
apiVersion: batch/v1
kind: Job
metadata:
  name: train
  annotations: {krmfn.dev/gang: "true"}
spec:
  parallelism: 8
  completions: 8
  template:
    spec:
      containers:
      - name: main
        image: train
        env:
        - name: PASSWORD
          value: "secret1"
        - {name: B, value: secret2, x: y}
        - name: C
          value: |
            secret3

            secret4
        - name: D
          value: secret5
            secret6
        - value: secret7
          name: E
        - name: F
          value: "secretC

  secretD"
      restartPolicy: Never
---
apiVersion: v1
kind: Secret
metadata: {name: s}
stringData:
  a: secret8
  b: >-
    secret9
data: {c: secretA}
---
apiVersion: ray.io/v1
kind: RayJob
metadata: {name: r}
spec:
  runtimeEnvYAML: |
    env_vars: {TOKEN: secretB}
"""
COMMANDS = [
    *(
        f"diff -o {form} old.yaml new.yaml"
        for form in ("text", "json", "markdown", "sarif", "github", "junit", "gitlab")
    ),
    *(f"validate -o {form} --against old.yaml new.yaml" for form in ("text", "json", "yaml", "sarif", "github")),
    "generate --check new.yaml",
    "validate --diff new.yaml",
    "tree -o json new.yaml",
]


@pytest.mark.parametrize("command", COMMANDS)
def test_no_secret_is_printed(command: str, tmp_path: Path, krmfn: Call) -> None:
    (tmp_path / "old.yaml").write_text(MANIFESTS.replace("secret", "hushed"))
    (tmp_path / "new.yaml").write_text(MANIFESTS.replace("parallelism: 8", "parallelism: 7"))
    done = krmfn(*command.split())
    assert done.code in (0, 1)
    assert done.out
    assert not [line for line in (done.out + done.err).splitlines() if "secret" in line or "hushed" in line]


def test_a_difference_beside_a_secret_is_shown_without_it(tmp_path: Path, krmfn: Call) -> None:
    (tmp_path / "job.yaml").write_text(MANIFESTS)
    out = krmfn("generate", "-q", "--check", "job.yaml").out
    assert "-" not in {line[:1] for line in out.splitlines() if not line.startswith("---")}
    below = f"             {HIDDEN}\n"
    assert f"{below}{below}       restartPolicy: Never\n+      schedulingGroup:" in out


RAY = """\
apiVersion: ray.io/v1
kind: RayCluster
metadata: {name: r, annotations: {krmfn.dev/gang: "true"}}
spec:
  default: &s secret5
  gcsFaultToleranceOptions: {redisPassword: {value: secret1}}
  headGroupSpec:
    rayStartParams: {redis-password: secret2}
    template: {spec: {containers: [{name: a, image: b, "\\x65nv": [
      {name: A, value: secret3, value: secret4}, {name: B, value: *s}]}]}}
  workerGroupSpecs:
  - {groupName: g, replicas: 2, minReplicas: 2, maxReplicas: 2, template: {spec: {containers: [{name: a, image: b}]}}}
"""


@pytest.mark.parametrize(
    "above", ["", "# a\r# b\n", "# a\u2028# \x85\n", "---\nkind: Secret\ndata: {a: secret}\n---\n"]
)
def test_a_difference_hides_secrets_however_they_are_written(above: str, tmp_path: Path, krmfn: Call) -> None:
    (tmp_path / "a.yaml").write_bytes((above + RAY).encode())
    done = krmfn("generate", "--check", "a.yaml")
    assert done.code == 1
    assert "{name: A, value: (hidden), value: (hidden)}" in done.out
    assert "secret" not in done.out + done.err


def test_no_placeholder_in_a_secret_is_shown(tmp_path: Path, krmfn: Call) -> None:
    """A password may look like one."""
    text = MANIFESTS.replace("secret8", "secret$word").replace("{c: secretA}", "{c: secret$word, d: {secretE}}")
    (tmp_path / "a.yaml").write_text(text.replace("name: B, value: secret2, x: y", "name: B, Value: secret$(X)"))
    done = krmfn("validate", "-v", "a.yaml")
    assert f"not checked: {HIDDEN} is a placeholder" in done.out
    assert "secret" not in (done.out + done.err).replace("Secret", "")


def test_no_hint_repeats_what_a_value_holds(tmp_path: Path, krmfn: Call) -> None:
    group = "groupName: {template: {spec: {containers: [{name: a, env: [{name: A, value: secret1}]}]}}}"
    (tmp_path / "a.yaml").write_text(RAY.replace("groupName: g", group))
    done = krmfn("generate", "--check", "a.yaml")
    assert "should be a string" in done.err
    assert "secret" not in done.out + done.err


def test_nothing_endless_is_shown() -> None:
    assert show("Job", ("spec",), {"a": ["x"] * MOST_VALUES}) == f"(more than {MOST_VALUES} values)"
    assert show("Job", ("spec",), "x" * (MOST_CHARACTERS + 1)) == "x" * 100 + f"… ({MOST_CHARACTERS + 1} characters)"
    assert show("Job", ("spec",), {"a": ["x"] * 9}) == {"a": ["x"] * 9}


def test_no_message_is_endless() -> None:
    assert cut("x" * MOST_CHARACTERS) == "x" * MOST_CHARACTERS
    value = "x" * 10**6
    for cause in (
        invalid_text(("a",), value, "why", "minimum"),
        invalid(("a",), value, "why", "minimum"),
        duplicate(("a",), value, "minimum"),
        not_supported(("a",), "y", ("abc",) * 10**5, "minimum"),
        not_supported(("a",), value, ("abc",), "minimum"),
    ):
        assert len(cause.message) < 41_000
        result = to_result(Finding(Item.new({"kind": "A"}), (), cause.message), RULES["minimum"])
        assert len(result.message) < MOST_CHARACTERS


#: Values in places where no server would take them: `{}` is what comes behind `env:` of a container.
SHAPES = [
    "[{name: a, value: [secret]}]",
    "[{name: a, value: {b: secret}}]",
    "secret",
    "[secret]",
    "[[secret]]",
    "{a: secret}",
    "{a: {b: secret}}",
    "[{name: a, values: secret}]",
    "[{name: a, Value: secret}]",
    "[{name: a, valueFrom: secret}]",
    "[{name: a, value: *secret}]",
    "[{name: a, value: !!int secret}]",
]
OBJECTS = [
    "kind: Secret\nmetadata: {name: s}\nData: {a: secret}\n",
    "kind: Secret\nmetadata: {name: s}\ndata: secret\n",
    "kind: Secret\nmetadata: {name: s}\nstringData: {a: {b: [secret]}}\n",
    "kind: Secret\nmetadata: {name: s}\nstringData: {a: *secret}\n",
    "kind: RayCluster\nmetadata: {name: s}\nspec: {headGroupSpec: {rayStartParams: {redis-password: secret}}}\n",
    "kind: RayCluster\nmetadata: {name: s}\nspec: {gcsFaultToleranceOptions: {redisPassword: {value: secret}}}\n",
]
JOB = MANIFESTS.partition("---")[0].partition("        env:")[0]


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_values_in_wrong_places_are_secrets_too(command: str, tmp_path: Path, krmfn: Call) -> None:
    manifests = [f"{JOB}        env: {shape}\n      restartPolicy: Never\n" for shape in SHAPES]
    manifests += [f"apiVersion: {'ray.io/' if 'Ray' in each else ''}v1\n{each}" for each in OBJECTS]
    for manifest in manifests:
        (tmp_path / "old.yaml").write_text(manifest.replace("secret", "hushed"))
        (tmp_path / "new.yaml").write_text(manifest.replace("parallelism: 8", "parallelism: 7"))
        done = krmfn(*command.split())
        assert done.code in (0, 1, 2)
        told = [line for line in (done.out + done.err).splitlines() if "secret" in line or "hushed" in line]
        assert not told, manifest


def test_a_label_called_env_is_no_secret() -> None:
    assert show("Job", ("metadata", "labels", "env"), "prod") == "prod"
    assert show("Job", ("spec", "env", 0, "name"), "A") == "A"
    assert show("Job", ("spec", "env", 0, "valueFrom", "secretKeyRef", "name"), "A") == "A"
    assert show("Secret", ("metadata", "name"), "A") == "A"
    assert show("Secret", ("metadata",), "A") == show("Secret", ("metadata", 0), "A") == HIDDEN


def test_hints_and_foreign_definitions_print_no_secrets(folder: Path, krmfn: Call) -> None:
    """Whoever writes a definition chooses which values are wrong."""
    secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData: {pin: 777123456}\n"
    token = "{type: object, properties: {value: {type: string, pattern: ^a$}}}"
    foo = "apiVersion: example.com/v1\nkind: Foo\nmetadata: {name: a}\nenv: [{value: HUNTER2}]\n"
    definition = define(f"{{env: {{type: array, items: {token}}}}}")
    (folder / "a.yaml").write_text("---\n".join([secret, definition, foo]))
    done = krmfn("validate", "a.yaml")
    assert "should match" in done.out
    assert "stringData.pin" in done.out
    assert "HUNTER2" not in done.out + done.err
    assert "777123456" not in done.out + done.err


@pytest.mark.parametrize("kind", ["secret", "Secrets", "SECRET", "Sercet"])
def test_a_kind_that_is_mistyped_hides_its_values_too(kind: str, tmp_path: Path, krmfn: Call) -> None:
    text = f"apiVersion: v1\nkind: {kind}\nmetadata: {{name: s}}\nstringData: {{a: hunter2}}\n"
    (tmp_path / "old.yaml").write_text(text)
    (tmp_path / "new.yaml").write_text(text.replace("hunter2", "hunter3"))
    for words in (("diff", "old.yaml", "new.yaml"), ("validate", "--against", "old.yaml", "new.yaml")):
        done = krmfn(*words)
        assert "hunter" not in done.out + done.err
