"""What all commands share: options, mistakes, exit codes, the configuration that is found by itself."""

from __future__ import annotations

import importlib
import json
import os
import re
from pathlib import Path

import pytest

from krmfn.cli import COMMANDS, app
from krmfn.cli.options import Option, parse, read_command
from krmfn.model.findings import STAGES
from krmfn.plan.upgrade import PHASES
from krmfn.releases.release import list_releases
from krmfn.reports import FORMATS, outlooks, plans, trees
from tests.cli.conftest import Call
from tests.workspace.repositories import JOB

VALIDATE = read_command("validate")
COMMON = [option for option in VALIDATE.options if option.key in ("kubernetes", "feature_gates", "config", "quiet")]
OPTIONS = (Option(("-o", "--output"), "", "text", ("text", "json")), Option(("-v",), "", False, flag=True), *COMMON)
COMMAND = VALIDATE._replace(options=OPTIONS)


@pytest.mark.parametrize(
    ("words", "paths", "given"),
    [
        (["a", "b"], ["a", "b"], {}),
        ([], ["."], {}),
        (["-o", "json", "a"], ["a"], {"output": "json"}),
        (["--output=json", "-"], ["-"], {"output": "json"}),
        (["a", "-v", "--kubernetes", "1.36"], ["a"], {"v": True, "kubernetes": "1.36"}),
    ],
)
def test_plain_reads_ordinary_lines(words: list[str], paths: list[str], given: dict[str, object]) -> None:
    read = parse(COMMAND, words)
    assert read is not None
    assert read[0] == paths
    assert {key: value for key, value in read[1].items() if key in given} == given


@pytest.mark.parametrize(
    "words",
    [
        ["--help"],
        ["a", "-o"],
        ["a", "-o", "xml"],
        ["a", "--outpu", "json"],
        ["a", "-v=1"],
        ["a", "-o=json"],
        ["a", "--", "-b"],
        ["a", "--kubernetes", "-v"],
        ["-", "-"],
    ],
)
def test_plain_leaves_the_rest_to_click(words: list[str]) -> None:
    assert parse(COMMAND, words) is None


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(command: str, krmfn: Call) -> None:
    done = krmfn(command, "--help")
    assert done.code == 0
    assert done.out.startswith(f"Usage: krmfn {command}")


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_that_folds_its_notes_can_show_them(command: str) -> None:
    """Of many notes alike only the first is shown, with the option that shows the others."""
    module, _, run = read_command(command).run.partition(".")
    found = vars(importlib.import_module(f"krmfn.cli.{module}"))
    called = [run]
    for name in called:  # it grows
        if getattr(found.get(name), "__module__", "") == f"krmfn.cli.{module}" and hasattr(found[name], "__code__"):
            called += [each for each in found[name].__code__.co_names if each not in called]
    folds = {"report", "report_aside"}.intersection(called)
    assert not folds or "verbose" in {option.key for option in read_command(command).options}


@pytest.mark.parametrize(
    ("command", "option", "known"),
    [
        ("validate", "output", FORMATS),
        ("merge", "output", FORMATS),
        ("fit", "output", outlooks.FORMATS),
        ("tree", "output", trees.FORMATS),
        ("diff", "output", tuple(dict.fromkeys((*plans.FORMATS, *FORMATS)))),
        ("validate", "stage", STAGES),
        ("rules", "stage", STAGES),
        ("upgrade", "only", PHASES),
    ],
)
def test_choices_are_those_that_there_are(command: str, option: str, known: tuple[str, ...]) -> None:
    found = {each.key: each.choices for each in read_command(command).options}
    assert found.get(option, known) == known


def test_version_names_the_releases(krmfn: Call) -> None:
    assert krmfn("--version").out.endswith(f"(Kubernetes {', '.join(list_releases())})\n")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["genrate", "."], "Did you mean generate?"),
        (["generate", "--chekc", "."], "--check"),
        (["validate", "--stage", "servr", "."], "Did you mean server?"),
        (["generate", "--kubernetes", "1.34", "."], 'unknown Kubernetes version "1.34": use 1.35, '),
        (["generate", "nowhere.yaml"], "nowhere.yaml: no such file or folder"),
        (["generate", "--config", "nowhere.yaml", "."], "nowhere.yaml"),
        (["generate", "--feature-gates", "A", "."], "--feature-gates: 'A' is not Name=true"),
        (["rules", "minimun"], "there is no rule 'minimun'. Did you mean minimum?"),
        (["rules", "xyz"], "krmfn rules lists them"),
        (["rules", "nope"], "there is no rule 'nope'. krmfn rules lists them"),
        (["rules", "quota"], "Did you mean quota-too-small or volcano-job-above-quota?"),
        (["schema", "ray"], "Did you mean raycluster, raycronjob, rayjob or rayservice?"),
        (["validate", "--nope"], "Error: No such option '--nope'.\n"),
        (["validate", "--basline", "x"], "Error: No such option '--basline'. Did you mean '--baseline'?\n"),
        (["rules", "--stage", "server,schedule"], "Did you mean scheduler?"),
        (["schema", "PodGrup"], "PodGrup: no schema of that kind for Kubernetes 1.37. Did you mean podgroup?"),
        (["schema", "xyz"], "There are compositepodgroup, cronjob, "),
        (["validate", "-o", "jsno", "."], "Did you mean json?"),
        (["validate", "--color=alway"], "Did you mean always?"),
        (["validate", "--select", "minimun"], "there is no rule 'minimun'. Did you mean minimum?"),
        (["validate", "--ignore", "minimun"], "Did you mean minimum?"),
        (["validate", "--ignore", "xyz", "nowhere.yaml"], "krmfn rules lists them"),
        (["validate", "--severity", "minimun=info"], "Did you mean minimum?"),
        (["validate", "k.yaml"], "k.yaml: no such file or folder. Did you mean job.yaml?"),
        (["validate", "--config", "jobb.yaml"], "jobb.yaml: no such file. Did you mean job.yaml?"),
        (["init", "appps"], "appps: no such folder. Did you mean apps?"),
        (["init", "job.yaml"], "job.yaml: a file, not a folder"),
        (["init", "broken"], "broken/kustomization.yaml:900:15: cannot be read: the text ends too early"),
        (["init", "mistyped"], "mistyped/kustomization.yaml:900: transformers is not a list"),
        (["convert", "a b"], "--to is missing: krmfn convert --to 1.37 'a b'"),
        (["upgrade", "--to", "1.37"], "--kubernetes is missing: the version that the cluster runs before the upgrade"),
        (["diff", "--to-kubernetes", "1.37", "job.yaml"], "krmfn diff --to-kubernetes 1.37 --kubernetes 1.36 job.yaml"),
        (["hlep"], "Did you mean help?"),
        (["explain", "minimum"], "krmfn rules minimum prints the page of that rule"),
        (["explain", "job/ml/train"], "krmfn why job/ml/train says why an object does not run"),
        (["help", "genrate"], "Did you mean generate?"),
        (["completion"], "Missing argument SHELL: One of bash, zsh, fish."),
        (["completion", "bsh"], "Did you mean bash?"),
        (["why"], "Missing argument OBJECT: KIND/NAME or KIND/NAMESPACE/NAME"),
        (["why", "jbo/train", "--cluster", "job.yaml"], "Did you mean job/train?"),
        (["why", "job/ml/train", "--cluster", "job.yaml"], "Did you mean job/default/train?"),
        (["validate", "git:"], "no revision"),
        (["why", "node/n1", "--cluster", "job.yaml"], "krmfn why explains pods, groups and what creates pods"),
        (["diff", "-", "-"], "Stdin can be read only once, but - is given twice."),
        (["validate", "-", "-"], "Stdin can be read only once"),
        (["validate", "--cluster", "-", "-"], "Stdin can be read only once"),
        (
            ["diff", "-", "job.yaml", "--shard", "1/2"],
            "--shard reads two states twice, and stdin can be read only once",
        ),
        (["apply"], "The commands are generate, validate, "),
        (["--", "-x"], "No such option '-x'."),
        (["validate", "--against", "nowhere", "."], "no such file or folder, and the working directory is not in a"),
        (["upgrade", "--kubernetes", "1.37", "--to", "1.36"], "--to 1.36 is older than 1.37, which the cluster runs"),
    ],
)
def test_a_mistake_ends_with_2_and_the_way_out(words: list[str], message: str, tmp_path: Path, krmfn: Call) -> None:
    (tmp_path / "apps").mkdir()
    (tmp_path / "job.yaml").write_text(JOB)
    for name, value in (("broken", "["), ("mistyped", "{a: b}")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "kustomization.yaml").write_text("# a line\n" * 899 + f"transformers: {value}\n")
    done = krmfn(*words)
    assert (done.out, done.code) == ("", 2), done.err
    assert message in done.err


LIMITED = {name: most for name in COMMANDS if (most := read_command(name).argument.most)}


@pytest.mark.parametrize("command", LIMITED)
def test_an_argument_too_many_is_not_ignored(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert app.main([command, *["words"] * LIMITED[command], "more"]) == 2
    assert "nexpected" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("command", "option"),
    [(name, option) for name in COMMANDS for option in read_command(name).options if option.choices],
)
def test_a_mistyped_choice_gets_the_nearest(command: str, option: Option, capsys: pytest.CaptureFixture[str]) -> None:
    for choice in option.choices:
        assert app.main([command, option.names[-1], f"{choice}x"]) == 2
        assert re.search(
            f"'{choice}x' is not one of {', '.join(option.choices)}. Did you mean", capsys.readouterr().err
        )


def test_help_is_what_the_option_prints(krmfn: Call) -> None:
    assert krmfn("help") == krmfn("--help") == krmfn("--", "--help")
    assert krmfn("help", "tree") == krmfn("tree", "--help")


@pytest.mark.slow
def test_every_schema_that_is_offered_is_that_of_a_kind(krmfn: Call) -> None:
    offered = krmfn("schema", "nonsense").err.partition("There are ")[2].rstrip(".\n").split(", ")
    assert len(offered) > 15
    for word in offered:
        printed = json.loads(krmfn("schema", word).out)
        assert printed["$schema"], word
        assert printed["title"].lower().startswith(word.partition(".")[0]), word


def test_a_schema_is_printed(krmfn: Call) -> None:
    done = krmfn("schema", "PodGroup", "--kubernetes", "1.36")
    assert (done.code, done.err) == (0, "")
    assert json.loads(done.out)["x-kubernetes-versions"] == {"v1alpha2": ["GenericWorkload"]}


def test_a_version_is_written_as_clusters_print_it(tmp_path: Path, krmfn: Call) -> None:
    (tmp_path / "job.yaml").write_text(JOB)
    for_release, for_cluster = (
        krmfn("generate", "--kubernetes", version, str(tmp_path)) for version in ("1.36", "v1.36.2-gke.1000")
    )
    assert for_release.code == 0
    assert "scheduling.k8s.io/v1alpha2" in for_release.out
    assert for_cluster == for_release


def test_terminal_or_nothing_on_stdin_is_a_mistake(krmfn: Call) -> None:
    done = krmfn()
    assert (done.out, done.code) == ("", 2)
    assert "ResourceList" in done.err


def test_configuration_of_a_parent_folder(tmp_path: Path, krmfn: Call) -> None:
    (tmp_path / "krmfn.yaml").write_text(
        "apiVersion: krmfn.dev/v1alpha1\nkind: GangScheduling\nmetadata: {name: x}\n"
        'spec: {kubernetes: {version: "1.35"}}\n'
    )
    assert "scheduling.k8s.io/v1alpha1" in krmfn("generate", "-", stdin=JOB).out


def test_mistake_in_the_configuration(tmp_path: Path, krmfn: Call) -> None:
    (tmp_path / "krmfn.yaml").write_text(
        "apiVersion: krmfn.dev/v1alpha1\nkind: GangScheduling\nmetadata: {name: x}\nspec: {gang: {granularty: Group}}\n"
    )
    done = krmfn("generate", "-", stdin=JOB)
    assert (done.out, done.code) == ("", 2)
    assert "Did you mean granularity?" in done.err


def test_completion_is_not_taken_for_the_function(krmfn: Call) -> None:
    done = krmfn(_KRMFN_COMPLETE="bash_source")
    assert "_KRMFN_COMPLETE=bash_complete" in done.out


@pytest.mark.parametrize(
    ("words", "begun", "offered"),
    [
        ("", "val", "validate"),
        ("rules", "min-count-o", "min-count-one"),
        ("help", "comp", "completion"),
        ("schema", "podgroup.", "podgroup.volcano"),
        ("completion", "z", "zsh"),
        ("validate -o", "sar", "sarif"),
        ("validate", "--require", "--require-render"),
    ],
)
def test_a_shell_completes_commands_options_and_arguments(words: str, begun: str, offered: str, krmfn: Call) -> None:
    asked = {"_KRMFN_COMPLETE": "fish_complete", "COMP_WORDS": f"krmfn {words} {begun}", "COMP_CWORD": begun}
    assert [line.split("\t")[0].rpartition(",")[2] for line in krmfn(**asked).out.splitlines()] == [offered]


def test_no_color(krmfn: Call) -> None:
    bad = JOB.replace("parallelism: 8", "parallelism: -1")
    assert "\x1b[" in krmfn("generate", "-", "--color", "always", stdin=bad).err
    assert "\x1b[" not in krmfn("generate", "-", stdin=bad).err


@pytest.mark.slow
@pytest.mark.parametrize("start", ["", "outside"], ids=["inside", "outside"])
@pytest.mark.parametrize("where", [".", "sub/deep"], ids=["top", "below"])
@pytest.mark.parametrize("git", [True, False], ids=["git", "folder"])
def test_paths_of_services_begin_at_the_top(tmp_path: Path, krmfn: Call, where: str, git: bool, start: str) -> None:
    place = tmp_path / "repository" / where
    place.mkdir(parents=True)
    (place / "job.yaml").write_text(JOB.replace("parallelism: 8", "parallelism: -1"))
    if git:
        (tmp_path / "repository/.git").mkdir()
    here = tmp_path if start else place
    shown = os.path.relpath(place / "job.yaml", here)
    path = f"{where}/job.yaml".removeprefix("./") if git else shown

    def told(form: str) -> str:
        return krmfn("validate", "-o", form, os.path.relpath(place, here), folder=here).out

    assert {issue["location"]["path"] for issue in json.loads(told("gitlab"))} == {path}
    assert f"::error file={path},line=" in told("github")
    assert f'<testsuite name="{path}" tests="1"' in told("junit")
    (run,) = json.loads(told("sarif"))["runs"]
    places = [each["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for each in run["results"]]
    assert set(places) == {path}
    assert told("text").startswith(f"{shown}:")


def test_stdin_has_no_place_in_the_repository(tmp_path: Path, krmfn: Call) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "sub").mkdir()
    bad = JOB.replace("parallelism: 8", "parallelism: -1")
    assert "::error file=-,line=" in krmfn("validate", "-o", "github", "-", stdin=bad, folder=tmp_path / "sub").out
