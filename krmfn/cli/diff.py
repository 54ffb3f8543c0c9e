"""`krmfn diff OLD NEW`: what an apply would do to each object, before it is merged."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from krmfn.cli import Options, Words
from krmfn.cli.configuration import Configurations, refuse_assumed
from krmfn.cli.findings import is_colored, report, report_aside, show
from krmfn.cli.options import UsageError
from krmfn.cli.reading import miss_state, read_crds, read_worlds, share
from krmfn.config import Settings
from krmfn.forecast.standing import PREEMPTED, Outlook, Standing
from krmfn.krm.item import Items
from krmfn.krm.results import FileRef, ResourceRef
from krmfn.model.kept import Printed
from krmfn.pipeline import complete
from krmfn.plan.making import make_plan
from krmfn.plan.records import Entry, Plan, Shift
from krmfn.releases.release import find_release
from krmfn.reports import plans
from krmfn.reports.outlook_view import MEANINGS, Outlooks, View, list_places
from krmfn.reports.plans import to_results
from krmfn.workspace.definitions import Definitions
from krmfn.workspace.manifests import NOT_RENDERED, hides, name_state
from krmfn.workspace.trees import GIT, RevisionMissing
from krmfn.workspace.world import World
from krmfn.workspace.worlds import find_missing, pair


class State(NamedTuple):
    """A world with all its groups, generated ones included. `settings` are read as its cluster's."""

    world: World
    items: Items
    settings: Settings


def run(words: Words, options: Options) -> int:
    """Compares the two states, generated in memory where they were not. Raises UsageError and InputMissing."""
    version = options["to_kubernetes"] or ""
    given, words = words, _name_states(words, upgrades=bool(version))
    paths = [_path(word) for word in words]
    configurations = Configurations(options)
    done = Printed()
    named = [([word], other or ".") for word, other in zip(words, reversed(paths), strict=True)]
    try:
        shard = share(named, options)
        old, new = (read_worlds(each, options, default, done=done, shard=shard) for each, default in named)
    except RevisionMissing as missing:
        raise miss_state(missing, given) from None
    noted = [*old.problems, *new.problems]
    problems = [problem for problem in noted if problem.severity != "info"]
    wholes = (note for note in noted if note.message.startswith(NOT_RENDERED))
    reasons = problems or [note._replace(severity="error", tags={"rule": "skipped"}) for note in wholes]
    if options["require_render"] and (old.missing or new.missing):
        report_aside(reasons, options)
        return 2
    entries: list[Entry] = []
    pictures = []
    definitions = read_crds(options)
    known_definitions = Definitions(new.worlds)
    for before, after in pair(old, new):
        was = _complete(before, configurations) if before else None
        # What an upgrade does to groups that nobody wrote depends on the release that made them.
        if version and was and was.settings.assumed and len(was.items) > len(was.world.items):
            raise refuse_assumed("diff --to-kubernetes", find_release(version), given)
        now = _complete(after, configurations, version, convert=words[0] == words[1])
        settings = now.settings._replace(definitions=definitions, base=after.base, rivals=known_definitions.near(after))
        entries += _plan(was, now._replace(settings=settings), options)
        if options["cluster"]:
            pictures.append((_foresee(was, options) if was else None, _foresee(now, options)))
    # Nobody knows what a broken document would be: its file is compared no more than what cannot be rendered.
    broken = {problem.file.path for problem in problems if hides(problem) and problem.file}
    entries = [entry for entry in entries if entry.file is None or entry.file.path not in broken]
    if (find_missing(old, new) or broken) and not entries:  # nothing was compared
        report_aside((problem._replace(severity="error") for problem in reasons), options)
        return 2
    skipped = {note.file: note for note in noted if note.tags.get("rule") == "skipped"}
    report_aside((*problems, *skipped.values()), options)
    plan = Plan(tuple(entries))
    if options["cluster"]:
        plan = _tell_cluster(plan, pictures)
    if options["output"] in plans.FORMATS:
        show(plans.render_plan(plan, options["output"], color=is_colored(options), pictures=pictures), options)
    else:
        report(to_results(plan), options)
    return 2 if broken else int(plan.is_refused or plan.is_harmful)


def _complete(world: World, configurations: Configurations, version: str = "", convert: bool = False) -> State:
    """The objects of a world with their groups, for the `version` that its cluster runs; converted to it if wanted."""
    wanted = configurations.find(world, kubernetes=version)
    items = world.items
    if convert and version:
        from krmfn.convert import convert as convert_items

        done = convert_items(items, version, wanted.api_versions)
        kept = [item for item in items if item not in done.removed]
        items = [*kept, *(items[0].new(addition.value) for addition in done.added)]
    settings = configurations.find(world, as_cluster=True, kubernetes=version)
    return State(world, complete(items, wanted)[0], settings)


def _foresee(state: State, options: Options) -> View:
    """What would become of the gangs of a world in the cluster."""
    from krmfn.cli.fit import predict

    return View(state.world.name, predict("", state.items, state.settings, options).outlook)


def _tell_cluster(plan: Plan, pictures: Iterable[Outlooks]) -> Plan:
    """The plan with the gangs whose outlook changes, and the pods that have to make room for that."""
    pairs = [(before.outlook if before else None, after.outlook) for before, after in pictures]
    gone = (pod for old, new in pairs for pod in new.preempted if not old or pod not in old.preempted)
    shifts = tuple(shift for pair in pairs for shift in _compare(*pair))
    return plan._replace(shifts=shifts, preempted=tuple(dict.fromkeys(gone)))


def _compare(old: Outlook | None, new: Outlook) -> Iterator[Shift]:
    """The gangs of which something else becomes, and those whose pods are in other domains."""
    before, after = ({each.name: each for each in (state.standings if state else ())} for state in (old, new))
    for name in dict.fromkeys((*before, *after)):
        was, now = before.get(name), after.get(name)
        places = [list_places(each, new) if each and each.verdict == "runs" else {} for each in (was, now)]
        same = was and now and was.verdict == now.verdict and (now.verdict != "grows" or was.why == now.why)
        if same and not (new.key and places[0] != places[1]):
            continue
        harmful = now is not None and (now.verdict == "never" or _is_stopped(was, now))
        why, way_out = (now.why, now.way_out) if now and now.verdict != "runs" else ("", "")
        past, present = (MEANINGS[each.verdict] if each else "" for each in (was, now))
        yield Shift(name, past, present, why, way_out, harmful, new.key, *places)


def _is_stopped(was: Standing | None, now: Standing) -> bool:
    """Whether a gang that ran has to make room for others."""
    gone = any(place.message == PREEMPTED for place in now.places)
    return gone and was is not None and was.verdict == "runs" and now.verdict != "runs"


def _plan(old: State | None, new: State, options: Options) -> Sequence[Entry]:
    """What becomes of the objects of a world."""
    before = old.settings if old else None
    entries = make_plan(old.items if old else (), new.items, new.settings, options["update"], before).entries
    worlds = [state.world for state in (old, new) if state and state.world.overlay]
    places = {item.ref: world.place(item) for world in worlds for item in world.items}
    made = FileRef(worlds[-1].overlay if worlds else new.world.name)
    return [_place(entry, new.world.name, places, made) for entry in entries]


def _place(entry: Entry, world: str, places: Mapping[ResourceRef, FileRef], made: FileRef) -> Entry:
    """The entry with places that somebody can open: `made` for what a kustomization makes."""
    if not world:
        return entry
    renames = tuple(place._replace(file=places.get(place.ref, made)) for place in entry.renames)
    return entry._replace(file=places.get(entry.ref, made), renames=renames, world=world)


def _name_states(words: Words, upgrades: bool) -> Words:
    """OLD and NEW. A revision alone is compared with the work tree; before and after an upgrade, OLD is both where
    there is no NEW. Raises UsageError."""
    if upgrades and words == ["-"]:
        raise UsageError("--to-kubernetes reads its manifests twice, and stdin can be read only once: name a file")
    states = [name_state(word) for word in words]
    if len(states) == 2 or upgrades:
        return [states[0], states[-1]]
    if not states[0].startswith(GIT):
        raise UsageError(f"diff compares two states: krmfn diff {words[0]} NEW, or krmfn diff REVISION")
    return states[0], _path(states[0]) or "."


def _path(word: str) -> str:
    """The path in an argument, empty when it names none."""
    if not word.startswith(GIT):
        return "" if word == "-" else word
    return word.removeprefix(GIT).partition(":")[2]
