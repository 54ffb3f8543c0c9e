"""The reports of all shards, merged, are byte for byte what one run says, however many shards there are."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path

import pytest

from krmfn.workspace.sharding import Shard
from tests.e2e.tools import require_kustomize
from tests.front_door import ROOT, Done, call
from tests.workspace.repositories import APPLICATION, FLUX, JOB, VALUES, git

pytestmark = pytest.mark.slow
NUMBERS = (2, 7, 100)
#: What is different in a hundred ways: jobs with mistakes, and comments and annotations that ignore some.
MISTAKES = (
    "",
    "\n  backoffLimit: -1",
    "\n  parallelizm: 3",
    "\n  completionMode: Sometimes",
    "\n  backoffLimit: -1 # krmfn: ignore minimum",
    "\n  suspend: false # krmfn: ignore unknown-field",
)
LINK = '\n      schedulingGroup: {podGroupName: "NAME"}'
DEFINITION = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: drones.example.com}
spec:
  group: example.com
  names: {kind: Drone, plural: drones, singular: drone, listKind: DroneList}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, properties: {wings: {type: integer, maximum: MOST}}}
"""
DRONE = "apiVersion: example.com/v1\nkind: Drone\nmetadata: {name: one}\nspec: {wings: 5}\n"
CONFIGURATION = "apiVersion: krmfn.dev/v1alpha1\nkind: GangScheduling\nmetadata: {name: gangs}\nspec: SPEC\n"
SPECS = (
    '{kubernetes: {version: "1.36"}}',
    "{failOn: warning}",
    "{rules: {ignore: [{rules: [minimum], reason: known}]}}",
    "{rules: {ignore: [{rules: [group-missing], paths: [nowhere], reason: x}, {rules: [unknown-field], reason: x}]}}",
    "{rules: {select: [server]}}",
    "{rules: {severity: [{rules: [unknown-field], severity: warning}]}}",
)
KIND = """\
apiVersion: krmfn.dev/v1alpha1
kind: WorkloadKind
metadata: {name: glider}
spec:
  group: example.com
  kind: Glider
  roles: [{template: spec.template, count: spec.wings}]
"""


def make_job(chance: random.Random, name: str) -> str:
    """A Job with a mistake or two."""
    text = JOB.replace("name: train", f"name: {name}", 1).replace("\nspec:", f"\nspec:{chance.choice(MISTAKES)}", 1)
    if chance.random() < 0.3:
        text = text.replace("    spec:", "    spec:" + LINK.replace("NAME", chance.choice(["lost", "gone"])))
    if chance.random() < 0.2:
        text = text.replace("{krmfn.dev/gang:", '{krmfn.dev/ignore: "minimum, group-missing", krmfn.dev/gang:')
    return text


def make(folder: Path, seed: int) -> Path:
    """A repository with worlds of every sort, which share bases, definitions and mistakes."""
    chance = random.Random(seed)

    def write(path: str, text: str) -> None:
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)

    bases = [f"bases/b{number}" for number in range(3)]
    for base in bases:
        write(f"{base}/job.yaml", make_job(chance, "train"))
        write(f"{base}/kustomization.yaml", "resources: [job.yaml]\n")
    for number in range(chance.randint(4, 9)):
        here = f"overlays/o{number}, {chance.choice('ab')}"
        write(f"{here}/more.yaml", make_job(chance, f"more{number}"))
        listed = [f"../../{chance.choice(bases)}", "more.yaml"]
        listed += ["https://example.com/far?ref=1"] if chance.random() < 0.2 else []
        listed += ["lost.yaml"] if chance.random() < 0.2 else []
        prefix = f"namePrefix: p{number}-\n" if chance.random() < 0.5 else ""
        write(f"{here}/kustomization.yaml", f"{prefix}resources: {json.dumps(listed)}\n")
        if chance.random() < 0.5:
            write(f"{here}/krmfn.yaml", CONFIGURATION.replace("SPEC", chance.choice(SPECS)))
    write("apps/train/job.yaml", make_job(chance, "train").replace("parallelism: 8", "parallelism: ${pods}"))
    applications = [APPLICATION.replace("name: train", f"name: app{number}") for number in range(3)]
    applications += [FLUX.replace("NAME", name) for name in ("blue", "green")]
    write("clusters/all.yaml", "---\n".join([*applications, VALUES]))
    write("definitions/new/crd.yaml", DEFINITION.replace("MOST", "4"))
    write("definitions/new/kustomization.yaml", "resources: [crd.yaml]\nnamespace: x\ncommonLabels: {a: b}\n")
    write("definitions/old/crd.yaml", DEFINITION.replace("MOST", "3"))
    for number in range(4):
        write(f"loose/l{number}/job.yaml", make_job(chance, "alone"))
        write(f"loose/l{number}/drone.yaml", DRONE)
        write(f"loose/l{number}/again.yaml", make_job(chance, chance.choice(["alone", "other"])))
        if chance.random() < 0.5:
            write(f"loose/l{number}/krmfn.yaml", CONFIGURATION.replace("SPEC", chance.choice(SPECS)))
    write("functions/facts.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: facts}\ndata: {a: 1}\n")
    write("functions/job.yaml", make_job(chance, "train"))
    write("functions/kustomization.yaml", "resources: [job.yaml]\nnamePrefix: x-\ntransformers: [labels.yaml]\n")
    labels = (
        "apiVersion: builtin\nkind: LabelTransformer\nmetadata: {name: x}\nlabels: {a: facts.yaml}\nfieldSpecs: []\n"
    )
    write("functions/labels.yaml", labels)
    if chance.random() < 0.5:
        write("broken.yaml", "kind: [\n")
    if chance.random() < 0.3:
        write("kinds/drone.yaml", KIND)
    write("README.yaml", "not: an object\n")
    return folder


def check_shards(folder: Path, words: Sequence[str], number: int, into: Path) -> Done:
    """One run in a folder is what its shards say together; the run."""
    whole = call(words=["validate", *words, "-o", "json"], folder=folder)
    paths = []
    for each in range(1, number + 1):
        done = call(words=["validate", *words, "--shard", f"{each}/{number}", "-o", "json"], folder=folder)
        path = into / f"{each}.json"
        path.write_bytes(done.out)
        paths.append(str(path))
        assert done.code <= whole.code, done.err
    merged = call(words=["merge", *reversed(paths), "-o", "json"], folder=folder)
    assert whole.out, whole.err
    assert merged.out.decode() == whole.out.decode()
    assert merged.code == whole.code
    return whole


@pytest.mark.parametrize(("key", "digits"), [("apps/a", "b85b19f2e5ed42f2"), ("", "e3b0c44298fc1c14")])
@pytest.mark.parametrize("of", [2, 3, 16, 100])
def test_a_shard_keeps_its_worlds_from_release_to_release(key: str, digits: str, of: int) -> None:
    """`digits` are the first sixteen that sha256sum prints of the key: caches in CI are kept by shard."""
    assert [number for number in range(1, of + 1) if Shard(number, of).owns(key)] == [int(digits, 16) % of + 1]


@pytest.mark.parametrize("number", [2, 100])
@pytest.mark.parametrize("path", ["fixtures", "examples", "examples/overlays", "examples/argocd"])
def test_all_shards_of_our_folders_say_what_one_run_says(path: str, number: int, tmp_path: Path) -> None:
    require_kustomize()
    check_shards(ROOT, [path], number, tmp_path)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("number", NUMBERS)
def test_all_shards_of_made_repositories_say_what_one_run_says(seed: int, number: int, tmp_path: Path) -> None:
    require_kustomize()
    (tmp_path / "reports").mkdir()
    folder = make(tmp_path / "repository", seed)
    whole = check_shards(folder, [], number, tmp_path / "reports")
    assert json.loads(whole.out)["results"]


@pytest.mark.parametrize("seed", range(4))
def test_shards_agree_about_a_change(seed: int, tmp_path: Path) -> None:
    """Kustomizations are moved, added, removed and changed: how they are paired depends on all of them."""
    require_kustomize()
    (tmp_path / "reports").mkdir()
    folder = make(tmp_path / "repository", seed)
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "old")
    chance = random.Random(seed)
    for place in sorted(folder.glob("overlays/*")):
        if chance.random() < 0.4:
            place.rename(place.with_name(f"moved-{place.name}"))
    (folder / "loose/l0").rename(folder / "loose/moved")
    (folder / "environments").mkdir()
    (folder / "environments/kustomization.yaml").write_text("resources: [../functions]\n")
    for path in sorted(folder.rglob("*.yaml")):
        text = path.read_text()
        if "kind: Job" in text and chance.random() < 0.5:
            path.write_text(text.replace("restartPolicy: Never", "restartPolicy: OnFailure").replace("ns: 8", "ns: 9"))
    check_shards(folder, ["--against", "HEAD"], 7, tmp_path / "reports")
    whole = call(words=["diff", "HEAD", "-o", "json"], folder=folder)
    parts = [call(words=["diff", "HEAD", "-o", "json", "--shard", f"{n}/3"], folder=folder) for n in (1, 2, 3)]
    entries = [
        [json.dumps(each) for each in json.loads(done.out or "{}").get("entries", ())] for done in (whole, *parts)
    ]
    assert sorted(entries[0]) == sorted(entry for part in entries[1:] for entry in part)
    assert len(entries[0]) > 5


def test_generate_and_fit_are_shared_too(tmp_path: Path) -> None:
    for number in range(12):
        place = tmp_path / f"team{number}"
        place.mkdir()
        (place / "job.yaml").write_text(JOB)
        (place / "kustomization.yaml").write_text("resources: [job.yaml]\n")
    nodes = tmp_path / "nodes.yml"
    nodes.write_text("apiVersion: v1\nkind: Node\nmetadata: {name: n}\nstatus: {allocatable: {cpu: 4, pods: 110}}\n")
    for words in (["generate", "--check"], ["fit", "-o", "json", "--cluster", "nodes.yml", "--prove"]):
        whole = call(words=words, folder=tmp_path)
        parts = [call(words=[*words, "--shard", f"{each}/5"], folder=tmp_path) for each in range(1, 6)]
        for team in range(12):
            name = f"team{team}/".encode() if "generate" in words else f'"team{team}"'.encode()
            assert name in whole.out
            assert sum(name in part.out for part in parts) == 1
        assert max(part.code for part in parts) == whole.code


def test_reports_that_are_no_whole_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(JOB)
    for number in (1, 2, 3):
        done = call(words=["validate", ".", "--shard", f"{number}/3", "-o", "json"], folder=tmp_path)
        (tmp_path / f"{number}.txt").write_bytes(done.out)
    (tmp_path / "a.yaml").write_text(JOB.replace("8", "9"))
    other = call(words=["validate", ".", "--shard", "3/3", "-o", "json"], folder=tmp_path)
    (tmp_path / "other.txt").write_bytes(other.out)
    (tmp_path / "none.txt").write_text('{"results": [{"message": 1, "severity": "error"}]}')
    for words, said in (
        (["1.txt", "2.txt"], "the report of shard 3 of 3 is missing"),
        (["1.txt", "2.txt", "2.txt"], "shard 2 of 3 is there twice"),
        (["1.txt", "2.txt", "other.txt"], "a shard of something else"),
        (["none.txt"], "not a report"),
        (["a.yaml"], "not a report"),
        (["gone.json"], "gone.json"),
    ):
        done = call(words=["merge", *words], folder=tmp_path)
        assert done.code == 2
        assert said in done.err.decode()
    for shard in ("0/3", "4/3", "x", "1/0", "-1/3"):
        assert call(words=["validate", f"--shard={shard}"], folder=tmp_path).code == 2


HOSTILE: dict[str, tuple[object, ...]] = {
    "number": ("1", None, 0, -1, 4, 1.5, [], True, 10**30),
    "of": ("3", None, 0, 3.0),
    "digest": ([], {}),
    "failOn": (None, [], "info"),
    "worlds": (None, [], {}, {"0": None}, {"x": "a", "0": "b"}),
    "ignores": (
        None,
        [],
        {},
        "abcd",
        [[], [], []],
        [1, 2, 3, 4],
        [[["a"]], [], [], []],
        [[[[1], "a", None]], [], [], []],
    ),
    "ranks": ("x", "99", "-1", "1.5", " "),
}


@pytest.mark.parametrize("key", HOSTILE)
def test_a_report_that_says_of_itself_what_no_shard_says_is_refused(key: str, tmp_path: Path) -> None:
    """None of its findings may get lost, and nobody is told of a bug in krmfn."""
    (tmp_path / "a.yaml").write_text(JOB.replace("spec:", "spec:\n  backoffLimit: -1", 1))
    reports = []
    for number in (1, 2, 3):
        done = call(words=["validate", ".", "--shard", f"{number}/3", "-o", "json"], folder=tmp_path)
        reports.append(json.loads(done.out))
        (tmp_path / f"{number}.txt").write_bytes(done.out)
    owner = next(number for number, report in enumerate(reports, 1) if report["shard"]["worlds"])
    assert call(words=["merge", "1.txt", "2.txt", "3.txt"], folder=tmp_path).code == 1
    for value in HOSTILE[key]:
        report = json.loads(json.dumps(reports[owner - 1]))
        if key == "ranks":
            for result in report["results"]:
                result["tags"]["worlds"] = value
        else:
            report["shard"][key] = value
        (tmp_path / f"{owner}.txt").write_text(json.dumps(report))
        done = call(words=["merge", "1.txt", "2.txt", "3.txt"], folder=tmp_path)
        assert (done.code, done.out) == (2, b""), value
        assert f"{owner}.txt: not a report" in done.err.decode(), value


PLACES = (
    {"index": "0"},
    {"index": None},
    {"line": "3"},
    {"column": 1.5},
    {"line": True},
)


@pytest.mark.parametrize("place", PLACES)
def test_a_report_whose_places_are_no_numbers_is_refused(place: dict[str, object], tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(JOB.replace("spec:", "spec:\n  backoffLimit: -1", 1))
    report = json.loads(call(words=["validate", "a.yaml", "-o", "json"], folder=tmp_path).out)
    report["results"][0]["file"] |= place
    (tmp_path / "report").write_text(json.dumps(report))
    done = call(words=["merge", "report"], folder=tmp_path)
    assert (done.code, done.out) == (2, b"")
    assert "report: not a report" in done.err.decode()


def test_several_repositories_become_one_report(tmp_path: Path) -> None:
    """What two reports say is there once, as its worst; a name tells equal paths apart."""
    (tmp_path / "a.yaml").write_text(
        make_job(random.Random(1), "train").replace("spec:", "spec:\n  backoffLimit: -1", 1)
    )
    report = call(words=["validate", "a.yaml", "-o", "json"], folder=tmp_path)
    assert report.code == 1
    (tmp_path / "a.json").write_bytes(report.out)
    mild = report.out.replace(b'"severity": "error"', b'"severity": "warning"')
    (tmp_path / "b.json").write_bytes(mild)
    one = call(words=["merge", "b.json", "a.json", "-o", "json"], folder=tmp_path)
    assert one.out == report.out
    assert one.code == 1
    assert call(words=["merge", "b.json"], folder=tmp_path).code == 0
    assert call(words=["merge", "b.json", "--fail-on", "warning"], folder=tmp_path).code == 1
    two = json.loads(call(words=["merge", "x=a.json", "y=a.json", "-o", "json"], folder=tmp_path).out)
    assert {each["file"]["path"] for each in two["results"]} == {"x/a.yaml", "y/a.yaml"}
    assert len(two["results"]) == 2 * len(json.loads(report.out)["results"])
    known = ["--baseline", "known.txt"]
    assert call(words=["merge", "a.json", *known, "--write-baseline"], folder=tmp_path).code == 0
    assert call(words=["merge", "a.json", *known], folder=tmp_path).code == 0


def test_what_is_about_the_whole_is_refused_for_a_shard(tmp_path: Path) -> None:
    (tmp_path / "known.txt").write_text("")
    for words in (
        ["validate", "--fix"],
        ["validate", "--baseline", "known.txt"],
        ["generate"],
        ["generate", "--write"],
    ):
        done = call(words=[*words, "--shard", "1/2"], folder=tmp_path)
        assert done.code == 2
        assert "--shard" in done.err.decode()
