"""What krmfn finds in real repositories, and how much of it a real API server says too.

Every object is one that a deployment would send: kustomizations are rendered, the rest is taken as it is written. An
object of a kind that the server has is sent to it as a dry run. A *false alarm* is an object with an error of the stage
server that the server accepts; a *miss* is one that the server refuses and of which krmfn says nothing.
"""

from __future__ import annotations

import os
import resource
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import quote

from conformance.accept import STRICT, class_body, find_classes, read_resources, read_text
from conformance.address import namespace_of
from conformance.client import Answer, Client
from krmfn.config import read_settings
from krmfn.config.settings import Settings
from krmfn.krm import Item
from krmfn.krm.results import Result
from krmfn.model.findings import STAGES, Finding
from krmfn.model.marks import is_local
from krmfn.model.placeholders import is_name_placeholder
from krmfn.pipeline import find_all, to_results
from krmfn.workspace.definitions import Definitions
from krmfn.workspace.world import Rendering
from krmfn.workspace.worlds import Worlds, find_worlds

#: 403: what else the cluster has (classes, quotas); 409: the server has an object of this name itself.
NOT_ABOUT_THE_OBJECT = (403, 404, 409)
#: What says that an object was not judged, or not wholly.
DOUBTS = ("value-unknown", "custom-rule", "priority-class-unknown")


class Disagreement(NamedTuple):
    """`said` is what krmfn said, or the server where krmfn said nothing."""

    is_false_alarm: bool
    place: str
    object: str
    said: str


class Survey(NamedTuple):
    """One repository. `found` counts (severity, rule); `asked` are the objects that were sent, `refused` those of them
    that the server refused."""

    name: str
    worlds: int
    objects: int
    seconds: float
    found: Mapping[tuple[str, str], int]
    asked: int
    refused: int
    disagreements: Sequence[Disagreement]


def survey_repository(folder: str, client: Client | None) -> Survey:
    """Checks everything in a folder as `krmfn validate` does when every kind that can be a gang is selected."""
    settings = read_settings({"apiVersion": "krmfn.dev/v1alpha1", "kind": "GangScheduling", "spec": {"select": "All"}})
    before, here = spent(), os.getcwd()
    os.chdir(folder)
    try:
        worlds = find_worlds((".",), Rendering())
        told = list(find_in(worlds, settings))
    finally:
        os.chdir(here)
    seconds = spent() - before
    # A mistake in a base is found in each of its overlays, and told once.
    results = {repr(result): result for _, result in told}.values()
    found = Counter[tuple[str, str]](
        (result.severity, str(result.tags.get("rule"))) for result in (*results, *worlds.problems)
    )
    name, objects = os.path.basename(os.path.abspath(folder)), len(worlds.items)
    if client is None:
        return Survey(name, len(worlds.worlds), objects, seconds, found, 0, 0, ())
    asked, refused, apart = compare(client, worlds, told)
    return Survey(name, len(worlds.worlds), objects, seconds, found, asked, refused, apart)


def find_in(worlds: Worlds, settings: Settings) -> Iterator[tuple[Finding, Result]]:
    definitions = Definitions(worlds.worlds)
    for world in worlds.worlds:
        known = settings._replace(base=world.base, rivals=definitions.near(world))
        found = list(find_all(world.items, known, None, STAGES, "apply"))
        for finding, result in zip(found, to_results(world.trace(each) for each in found), strict=True):
            yield finding, world.settle(result)


def compare(
    client: Client, worlds: Worlds, told: Sequence[tuple[Finding, Result]]
) -> tuple[int, int, Sequence[Disagreement]]:
    """How many different objects were sent and refused, and what the two say differently."""
    resources, classes = read_resources(client), set[str]()
    said: dict[int, list[Result]] = {}
    for finding, result in told:
        said.setdefault(id(finding.item), []).append(result)
    refused, apart, seen = 0, [], set[str]()
    for world, item in ((each, item) for each in worlds.worlds for item in each.items):
        place = resources.get((item.api_version, item.kind))
        unknown = is_name_placeholder(item.name) or is_name_placeholder(item.namespace)
        if place is None or unknown or is_local(item) or item.text in seen:
            continue
        seen.add(item.text)
        results = said.get(id(item), [])
        errors = [each for each in results if each.severity == "error" and each.tags["stage"] == "server"]
        answer = ask(client, place, item, any(each.tags["rule"] == "duplicate-field" for each in errors), classes)
        is_refused = not answer.accepted and answer.status not in NOT_ABOUT_THE_OBJECT
        refused += is_refused
        at = world.locate(item, ())
        where = f"{at.path}:{at.line}"
        if errors and answer.accepted:
            apart += [
                Disagreement(True, where, str(item.ref), f"{each.tags['rule']}: {each.message}") for each in errors
            ]
        elif is_refused and not errors and not any(each.tags["rule"] in DOUBTS for each in results):
            apart.append(Disagreement(False, where, str(item.ref), read_text(answer)))
    return len(seen), refused, apart


def ask(client: Client, place: str, item: Item, as_text: bool, classes: set[str]) -> Answer:
    """A dry run of a create. Only a text can have a key twice."""
    value: dict[str, Any] = dict(item.value)
    for name in sorted(set(find_classes(value)) - classes):
        classes.add(name)
        client.post("/apis/scheduling.k8s.io/v1/priorityclasses", class_body(name))
    path = place.replace("{namespace}", quote(namespace_of(value), safe=""))
    body = item.text.encode("utf-8", "surrogatepass") if as_text else value
    kind = "application/yaml" if as_text else "application/json"
    return client.send("POST", path, body, {**STRICT, "dryRun": "All"}, kind)


def spent() -> float:
    """The seconds of the processor that this process and its children took."""
    return sum(
        used.ru_utime + used.ru_stime
        for used in (resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN))
    )


def report(surveys: Sequence[Survey]) -> Iterator[str]:
    """The table of the repositories, what was found by rule, and every disagreement, as Markdown."""
    yield "| repository | worlds | objects | errors | warnings | sent | refused | seconds |"
    yield "|---|---|---|---|---|---|---|---|"
    for each in surveys:
        counts = Counter[str]()
        for (severity, _), number in each.found.items():
            counts[severity] += number
        cells = (each.name, each.worlds, each.objects, counts["error"], counts["warning"], each.asked, each.refused)
        yield f"| {' | '.join(map(str, cells))} | {each.seconds:.1f} |"
    found = sum((Counter(each.found) for each in surveys), Counter[tuple[str, str]]())
    yield "\n| severity | rule | findings |"
    yield "|---|---|---|"
    for (severity, rule), number in sorted(found.items(), key=lambda pair: (pair[0][0], -pair[1])):
        yield f"| {severity} | {rule} | {number} |"
    apart = [(each.name, one) for each in surveys for one in each.disagreements]
    alarms = sum(one.is_false_alarm for _, one in apart)
    asked, refused = (sum(getattr(each, name) for each in surveys) for name in ("asked", "refused"))
    yield f"\n{asked} objects sent, {refused} refused; {alarms} false alarms, {len(apart) - alarms} misses."
    for name, one in apart:
        yield f"* {'false alarm' if one.is_false_alarm else 'miss'}: {name}/{one.place}: {one.object}: {one.said}"
