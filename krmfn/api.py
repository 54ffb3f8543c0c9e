"""Generating and checking as functions, for programs and for tests with pytest.

    findings = krmfn.validate("base", kubernetes="1.37")
    assert not findings.errors

A thin layer over the pipeline; knows how arguments name manifests, nothing about checks.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from krmfn.config import ConfigError, Settings, check_feature_gates, read_settings
from krmfn.config.kinds import use_objects
from krmfn.judging import Judging, leave_out_present, tell_findings
from krmfn.krm import Item, Unreadable
from krmfn.krm.results import Result, Severity
from krmfn.model.findings import STAGES
from krmfn.model.kinds import KINDS
from krmfn.model.values import Fields, Value
from krmfn.releases.release import complete
from krmfn.reports import order, render
from krmfn.workspace.definitions import Definitions
from krmfn.workspace.manifests import load
from krmfn.workspace.trees import InputMissing, ManifestFile
from krmfn.workspace.world import Rendering, World
from krmfn.workspace.worlds import Worlds, find_worlds, pair

__all__ = [
    "ConfigError",
    "Findings",
    "Generated",
    "InputMissing",
    "Manifests",
    "Result",
    "Unreadable",
    "generate",
    "validate",
]

#: A path as on the command line (file, folder, `git:REV[:PATH]`), an object as plain values, YAML or JSON as bytes,
#: or several of them.
Manifests = str | os.PathLike[str] | Value | bytes | Iterable[str | os.PathLike[str] | Value | bytes]
#: How a change is sent.
UPDATES = ("apply", "server-side-apply", "replace")
_EMPTY = {"apiVersion": "krmfn.dev/v1alpha1", "kind": "GangScheduling"}


class Findings(tuple[Result, ...]):
    """Results in the order of the reports. Prints as the text report, so that a failed assertion can be read."""

    __slots__ = ()

    @property
    def errors(self) -> Findings:
        """Those of severity error."""
        return self._only("error")

    @property
    def warnings(self) -> Findings:
        """Those of severity warning."""
        return self._only("warning")

    def of(self, *rules: str) -> Findings:
        """Those of the rules with these ids."""
        return Findings(result for result in self if result.tags.get("rule") in rules)

    def _only(self, severity: Severity) -> Findings:
        return Findings(result for result in self if result.severity == severity)

    def __str__(self) -> str:
        """The text report."""
        return render(self, "text").rstrip("\n")

    def __repr__(self) -> str:
        """The text report, in brackets when there is something in it."""
        return f"Findings(\n{self}\n)" if self else "Findings()"


class Generated(NamedTuple):
    """The objects as they would be applied, with their groups and links, and what there is to say of them."""

    objects: list[Fields]
    findings: Findings


def generate(
    manifests: Manifests,
    *,
    kubernetes: str | None = None,
    feature_gates: Mapping[str, bool] | None = None,
    config: Value | None = None,
) -> Generated:
    """The objects of `manifests` with the groups that they ask for; files are not changed.

    The arguments are those of `validate`. What a folder holds counts as one input, and kustomizations are rendered.
    Raises ConfigError, InputMissing, Unreadable and ValueError.
    """
    from krmfn import pipeline

    settings = _read_settings(kubernetes, feature_gates, config)
    found, problems = _read(manifests)
    use_objects(found.items)
    objects: list[Fields] = []
    results = [*problems]
    for world in found.apply(pipeline.run_functions).worlds:
        items, told = pipeline.complete(world.items, settings)
        objects += [dict(item.value) for item in items]
        results += told
    return Generated(objects, Findings(order(results)))


def validate(
    manifests: Manifests,
    *,
    kubernetes: str | None = None,
    feature_gates: Mapping[str, bool] | None = None,
    config: Value | None = None,
    against: Manifests | None = None,
    update: str = "apply",
    stages: Collection[str] = STAGES,
) -> Findings:
    """What the API server, the scheduler and the operators would say of `manifests`.

    `kubernetes` is a version such as "1.37" or "v1.37.2"; `feature_gates` are the cluster's, as its API server's flag
    names them (required gates count as on when none is named); `config` is a GangScheduling object, under which the two
    others lie. `against` is an older state: the step from it is checked too, sent as `update` says ("apply",
    "server-side-apply" or "replace"). `stages` are some of server, scheduler, operator and gitops.

    A folder is read in worlds, as on the command line: kustomizations are rendered, and what is not rendered is a
    warning of the rule not-rendered. No krmfn.yaml is looked for: a test depends on what it says. What `spec.rules` of
    `config`, comments and annotations ignore is left out.

    Raises ConfigError, InputMissing and Unreadable, and ValueError for arguments that mean nothing.
    """
    from krmfn import pipeline

    settings = _read_settings(kubernetes, feature_gates, config)
    _refuse_unknown("stage", stages, STAGES)
    _refuse_unknown("update", [update], UPDATES)
    new, problems = _read(manifests, complete=True)
    use_objects(new.items)
    old = None if against is None else _read(against, complete=True)[0].apply(pipeline.run_functions)
    from krmfn.workspace.world import merge

    judging = Judging()
    judging.read(new.files, stages)
    kept = judging.judge([(None, problem) for problem in problems], settings.rules)
    results = [("", problem) for problem in kept if problem is not None]
    new = new.apply(pipeline.run_functions)
    states = {id(after): before for before, after in pair(old, new)} if old else {}
    known_definitions = Definitions(new.worlds)
    found = []
    for world in new.worlds:
        before = states.get(id(world))
        known = settings._replace(base=world.base, rivals=known_definitions.near(world))
        findings = pipeline.find_all(world.items, known, before.items if before else None, stages, update)
        found.append((world, judging.judge_findings(world, known, tell_findings(world, findings))))
    results += [(world.name, result) for world, pairs in leave_out_present(found) for _, result in pairs]
    return Findings(order(merge(results)))


def _read_settings(kubernetes: str | None, feature_gates: Mapping[str, bool] | None, config: Value | None) -> Settings:
    """The settings that the arguments of `validate` say. Raises ConfigError and ValueError."""
    KINDS.forget_own()  # not those of an earlier call
    settings = read_settings({**_EMPTY, **(config or {})})
    if settings.kind_files:
        raise ValueError("kinds names files: give each WorkloadKind itself, or among the manifests")
    check_feature_gates(feature_gates or {})
    for gate, on in (feature_gates or {}).items():
        if not isinstance(on, bool):
            raise ValueError(f"the feature gate {gate} is neither True nor False: {on!r}")
    if kubernetes is not None:
        # Read like a configuration, so that an unknown release is refused in the same words.
        spec = {"kubernetes": {"version": kubernetes}}
        settings = settings._replace(release=read_settings({**_EMPTY, "spec": spec}).release, assumed=False)
    if feature_gates:
        gates = complete(feature_gates, settings.release)
        settings = settings._replace(feature_gates={**settings.feature_gates, **gates})
    return settings


def _refuse_unknown(what: str, given: Collection[str], known: Collection[str]) -> None:
    for each in given:
        if each not in known:
            raise ValueError(f"no such {what}: {each}; there are {', '.join(known)}")


def _read(manifests: Manifests, complete: bool = False) -> tuple[Worlds, tuple[Result, ...]]:
    """The worlds of manifests: paths as on the command line, or objects and bytes. For `complete` see find_worlds."""
    texts: list[ManifestFile] = []
    paths: list[str] = []
    for each in [manifests] if isinstance(manifests, bytes | Mapping | str | os.PathLike) else manifests:
        if isinstance(each, bytes | Mapping):
            texts.append(ManifestFile("", each if isinstance(each, bytes) else Item.new(each).text.encode()))
        else:
            paths.append(os.fspath(each))
    found, given = find_worlds(paths, Rendering(), complete=complete), load(texts)
    problems = (*found.problems, *given.problems)
    for problem in problems:
        if problem.tags.get("rule") == "unreadable" and problem.file:
            raise Unreadable(problem.message, problem.file.line, problem.file.column)
    if not given.items:
        return found, problems
    own = World("", ".", given.items, None, ".")
    if len(found.worlds) == 1 and not found.worlds[0].name:  # named one by one, so they belong together
        return Worlds((own._replace(items=[*found.worlds[0].items, *given.items]),), problems), problems
    return Worlds((*found.worlds, own), problems), problems
