"""--cache: whatever changes between runs, the output is that of a run without it."""

from __future__ import annotations

import os
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

from krmfn.cli import caching
from krmfn.workspace import storing
from tests.cli.test_cache import CONFIG, JOB, KUSTOMIZATION, make_repository, run

DEFINITION = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.example.com}
spec:
  group: example.com
  names: {kind: Thing, plural: things}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: %s, required: [%s]}}}}
"""
THING = "apiVersion: example.com/v1\nkind: Thing\nmetadata: {name: a, namespace: ml}\nspec: {size: %s}\n"
KIND = """\
apiVersion: krmfn.dev/v1alpha1
kind: WorkloadKind
metadata: {name: thing}
spec:
  group: example.com
  kind: Thing
  roles: [{template: spec.template, count: %s}]
"""
#: The fuzzer of a night: KRMFN_STEPS=10000.
STEPS = int(os.environ.get("KRMFN_STEPS", "120"))


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return make_repository(tmp_path)


Change = Callable[[Path, Random], None]


def _write_job(folder: Path, chance: Random) -> None:
    place = chance.choice(("base", "loose", "overlay", "new", "apart"))
    (folder / place).mkdir(exist_ok=True)
    name, policy = chance.choice(("train", "other", "third")), chance.choice(("Never", "Always", "OnFailure"))
    (folder / place / chance.choice(("job.yaml", "b.yaml"))).write_text(JOB % (name, chance.randrange(3), policy))


def _remove(folder: Path, chance: Random) -> None:
    files = sorted(path for path in folder.rglob("*") if path.is_file() or path.is_symlink())
    if len(files) > 3:
        chance.choice(files).unlink()


def _configure(folder: Path, chance: Random) -> None:
    place = chance.choice((".", "base", "overlay", "loose", "apart"))
    text = chance.choice(
        (
            "{}",
            '{kubernetes: {version: "1.36"}}',
            "{failOn: warning}",
            "{select: All}",
            "{rules: {ignore: [{rules: [pod-*]}]}}",
        )
    )
    (folder / place / "krmfn.yaml").write_text(CONFIG % text)


def _kustomize(folder: Path, chance: Random) -> None:
    place = chance.choice(("base", "overlay", "loose"))
    (folder / place).mkdir(exist_ok=True)
    entries = chance.sample(("job.yaml", "b.yaml", "../base", "../loose", "../missing"), chance.randint(1, 2))
    more = chance.choice(("", "namespace: other\n", "nameSuffix: -x\n"))
    (folder / place / "kustomization.yaml").write_text(KUSTOMIZATION % ", ".join(entries) + more)


def _render(folder: Path, chance: Random) -> None:
    """What kustomize has to build, whatever else there is."""
    (folder / "apart").mkdir(exist_ok=True)
    (folder / "apart" / "job.yaml").write_text(JOB % ("apart", chance.randrange(3), chance.choice(("Never", "Always"))))
    more = chance.choice(("nameSuffix: -x\n", "nameSuffix: -y\n", "namePrefix: x-\n"))
    (folder / "apart" / "kustomization.yaml").write_text(KUSTOMIZATION % "job.yaml" + more)


APPLICATION = """\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: apart, namespace: argocd}
spec:
  source: {repoURL: "https://git.example.com/platform", path: %s}
  destination: {server: "https://kubernetes.default.svc", namespace: %s}
"""


def _stage(folder: Path, chance: Random) -> None:
    """What is copied for kustomize, deployed somewhere: files, links and folders, of which some are missing."""
    (folder / "apart").mkdir(exist_ok=True)
    entries = ("job.yaml", "b.yaml", "../base", "../loose/job.yaml", "../overlay", "https://example.com/a.yaml", "none")
    text = KUSTOMIZATION % ", ".join(chance.sample(entries, chance.randint(1, 3)))
    text += chance.choice(("nameSuffix: -x\n", "commonLabels: {a: b}\n"))
    text += chance.choice(("", "configMapGenerator: [{name: a, files: [%s]}]\n")).replace("%s", chance.choice(entries))
    text += chance.choice(("", f"patches: [{{path: {chance.choice(entries)}}}]\n", "components: [../part]\n"))
    (folder / "apart" / "kustomization.yaml").write_text(text)
    (folder / "part").mkdir(exist_ok=True)
    part = "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\n" + chance.choice(("", "namePrefix: y-\n"))
    (folder / "part" / "kustomization.yaml").write_text(part)
    (folder / "new").mkdir(exist_ok=True)
    text = APPLICATION % (chance.choice(("apart", "overlay", "part")), chance.choice(("ml", "other")))
    (folder / "new" / "application.yaml").write_text(chance.choice((text, "")))


def _link(folder: Path, chance: Random) -> None:
    path = folder / chance.choice(("base", "loose")) / "b.yaml"
    path.unlink(missing_ok=True)
    path.symlink_to(chance.choice(("job.yaml", "../loose/job.yaml", "../../outside.yaml", "nowhere.yaml")))
    (folder.parent / "outside.yaml").write_text(JOB % ("outside", 1, "Always"))


def _ignore(folder: Path, chance: Random) -> None:
    (folder / chance.choice((".gitignore", ".krmfnignore"))).write_text(chance.choice(("loose\n", "b.yaml\n", "\n")))


def _move(folder: Path, chance: Random) -> None:
    """A folder becomes another one, with all that is in it."""
    if (folder / "new").exists():
        shutil.rmtree(folder / "new")
    (folder / "loose").mkdir(exist_ok=True)
    (folder / "loose").rename(folder / "new")
    (folder / "loose").mkdir()


def _define(folder: Path, chance: Random) -> None:
    """A definition somewhere, and an object of its kind somewhere else."""
    place, other = chance.choice(("base", "loose", "overlay")), chance.choice(("base", "loose", "new"))
    (folder / place).mkdir(exist_ok=True)
    (folder / other).mkdir(exist_ok=True)
    text = DEFINITION % (chance.choice(("object", "object", "string", "wrong")), chance.choice(("size", "name", "")))
    (folder / place / chance.choice(("b.yaml", "crd.yaml"))).write_text(text)
    (folder / other / chance.choice(("b.yaml", "thing.yaml"))).write_text(THING % chance.choice(("1", "two", "{}")))


def _name_kind(folder: Path, chance: Random) -> None:
    """A kind of the user, which says of objects elsewhere that they can be gangs."""
    (folder / chance.choice(("base", "new")) / "kind.yaml").unlink(missing_ok=True)
    (folder / "loose").mkdir(exist_ok=True)
    (folder / "loose" / "kind.yaml").write_text(KIND % chance.choice(("spec.size", "spec.number")))


def _shift(folder: Path, chance: Random) -> None:
    """The same objects on other lines, perhaps with a word for us."""
    files = sorted(path for path in folder.rglob("*.yaml") if path.is_file() and not path.is_symlink())
    for path in chance.sample(files, min(1, len(files))):
        path.write_text(chance.choice(("# text\n", "\n", "# krmfn: ignore pod-*\n")) + path.read_text()[:20_000])


def _touch(folder: Path, chance: Random) -> None:
    """Other times and permissions, the same text."""
    for path in folder.rglob("*.yaml"):
        if path.is_file() and not path.is_symlink():
            os.utime(path, (chance.randrange(10**9), chance.randrange(10**9)))


def _do_nothing(folder: Path, chance: Random) -> None:
    pass


CHANGES: tuple[Change, ...] = (
    _write_job,
    _write_job,
    _remove,
    _configure,
    _kustomize,
    _render,
    _stage,
    _stage,
    _link,
    _ignore,
    _move,
    _define,
    _define,
    _name_kind,
    _shift,
    _shift,
    _touch,
    _do_nothing,
)


COMMANDS = (
    ["validate"],
    ["validate", "."],
    ["validate", "-o", "json"],
    ["validate", "-o", "sarif", "--kubernetes", "1.36"],
    ["validate", "--crds", "loose"],
    ["validate", "loose", "base"],
    ["generate", "--check"],
    ["tree"],
)


@pytest.mark.slow
def test_whatever_changes_the_output_is_that_of_a_run_without_cache(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance, cache = Random(33), tmp_path / "c"
    _render(repository, chance)
    found: Counter[str] = Counter()
    look, write = storing.Store.load, storing.Store.save

    def load(store: storing.Store, name: str) -> Any:
        known = look(store, name)
        found[name.partition(" ")[0]] += known is not None
        return known

    def save(store: storing.Store, name: str, value: object) -> None:
        write(store, name, value)
        assert look(store, name) == value, name

    monkeypatch.setattr(storing.Store, "load", load)
    monkeypatch.setattr(storing.Store, "save", save)
    for step in range(STEPS):
        change = chance.choice(CHANGES)
        change(repository, chance)
        words = chance.choice(COMMANDS)
        plain = run(repository, *words)
        if chance.random() < 0.3:  # as another process, which has to read what is there
            caching.open_store.cache_clear()
        kept = run(repository, *words, cache=cache)
        assert kept == plain, (step, change.__name__, words)
    kinds = ("run", "plan", "printed", "composed", "values", "told", "keywords")
    assert all(found[kind] > STEPS // 60 for kind in kinds), found
    assert found["structural"], "definitions are few"


def _write(path: str, text: str, mode: str = "w") -> Callable[[Path], None]:
    def write(folder: Path) -> None:
        old = (folder / path).read_text() if mode == "prepend" else ""
        (folder / path).write_text(text + old)

    return write


#: What findings of a world depend on, each changed alone.
CAUSES = {
    "a text of the same length": _write("base/job.yaml", JOB % ("train", 2, "Absent")),
    "settings": _write("krmfn.yaml", CONFIG % "{select: All}"),
    "release": _write("krmfn.yaml", CONFIG % '{kubernetes: {version: "1.36"}, select: All}'),
    "a definition near it": _write("loose/crd.yaml", DEFINITION % ("object", "name")),
    "a kind of the user": _write("loose/kind.yaml", KIND % "spec.size"),
    "the lines that somebody wrote": _write("apart/job.yaml", "# text\n", "prepend"),
}


@pytest.mark.parametrize("change", CAUSES.values(), ids=CAUSES)
def test_findings_depend_on(change: Callable[[Path], None], repository: Path, tmp_path: Path) -> None:
    words = ["validate", "-o", "json"]
    (repository / "base" / "thing.yaml").write_text(THING % "{}")
    (repository / "base" / "kustomization.yaml").write_text(KUSTOMIZATION % "job.yaml, thing.yaml")
    (repository / "krmfn.yaml").unlink()
    _render(repository, Random(1))
    (repository / "apart" / "job.yaml").write_text(JOB % ("apart", 2, "Always"))
    before = run(repository, *words, cache=tmp_path / "c")
    change(repository)
    plain = run(repository, *words)
    assert run(repository, *words, cache=tmp_path / "c") == plain
    assert plain.out != before.out, "the change changes nothing"


def test_objects_depend_on_where_they_are_deployed(repository: Path, tmp_path: Path) -> None:
    _render(repository, Random(1))
    (repository / "apart" / "job.yaml").write_text((JOB % ("apart", 2, "Always")).replace("  namespace: ml\n", ""))
    seen = set()
    for namespace in ("one", "two", "one"):
        (repository / "loose" / "application.yaml").write_text(APPLICATION % ("apart", namespace))
        plain = run(repository, "validate", "-o", "junit")
        assert run(repository, "validate", "-o", "junit", cache=tmp_path / "c") == plain
        seen.add(plain.out)
    assert len(seen) == 2


def test_sources_depend_on_the_order_in_files_that_is_lost_when_they_are_rendered(
    repository: Path, tmp_path: Path
) -> None:
    _render(repository, Random(1))
    (repository / "apart" / "kustomization.yaml").write_text(
        KUSTOMIZATION % "job.yaml" + "nameSuffix: -x\nsortOptions: {order: legacy}\n"
    )
    jobs = [JOB % ("one", 2, "Always"), JOB % ("two", 2, "Never")]
    seen = set()
    for texts in (jobs, jobs[::-1], jobs):
        (repository / "apart" / "job.yaml").write_text("---\n".join(texts))
        plain = run(repository, "validate", "-o", "json")
        assert run(repository, "validate", "-o", "json", cache=tmp_path / "c") == plain
        seen.add(plain.out)
    assert len(seen) == 2
