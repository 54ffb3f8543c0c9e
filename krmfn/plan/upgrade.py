"""The upgrade of a cluster: what has to be deleted before it, by which commands, and what comes after.

The order is that of a rehearsal on real programs (`python -m conformance upgrade`): pods may go on running, groups are
deleted under the old release and made anew under the new one. Reads no file, runs nothing.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from krmfn.config import Settings
from krmfn.krm.item import Item, Items
from krmfn.model.values import Names
from krmfn.model.wording import join
from krmfn.releases.release import GROUP, Release, find_release, find_writer, list_releases, list_steps, tell_damage
from krmfn.releases.spelling import find_finalizer
from krmfn.survey.counting import count_all
from krmfn.survey.jobs import list_own_gangs

PHASES = ("before", "after", "repair")
#: What the server takes for a name. Any other is in no cluster, and may be an option (`--all`) or a path (`../x`).
_NAME = re.compile(r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?")
_BELOW_FIRST = ("PodGroup", "CompositePodGroup", "Workload")
_OPTIONS = '{"apiVersion":"v1","kind":"DeleteOptions","ignoreStoreReadErrorWithClusterBreakingPotential":true}'


class Upgrade(NamedTuple):
    """The upgrade of objects that `release` cannot read: a script per phase, of commands and comments."""

    release: Release
    blockers: tuple[Item, ...]
    before: Names
    after: Names
    repair: Names

    def spell(self, phases: Sequence[str] = PHASES) -> str:
        """The phases as a shell script."""
        lines: list[str] = []
        for phase in phases:
            steps: Names = getattr(self, phase)
            lines += [*steps, ""] if steps and phase != phases[-1] else steps
        return "\n".join([*lines, ""])


def plan_upgrade(items: Items, release: Release, files: Sequence[str] = (), told: Sequence[str] = ()) -> Upgrade:
    """The upgrade to `release` of the cluster in which `items` are stored, as manifests or as its dump say; `files` are
    those that the manifests can be converted in, `told` what else is said of the time after it."""
    more = tuple(map(_say, told))
    items = [item for item in items if _NAME.fullmatch(item.name) and _NAME.fullmatch(item.space)]
    written = [(find_writer(item.value, release), item) for item in sorted(items, key=_order)]
    releases = map(find_release, list_releases())
    stored = {one: mine for one in releases if (mine := [item for writer, item in written if writer is one])}
    if not stored:
        return Upgrade(
            release, (), (_say(f"Nothing in the input prevents an upgrade to Kubernetes {release}."),), more, ()
        )
    before: list[str] = []
    repair: list[str] = []
    if len(stored) > 1:
        before.append(
            _say(f"The input has groups of {join([*map(str, stored)])}. No cluster has both; each has its part here.")
        )
    for writer, mine in stored.items():
        first, *later = list_steps(writer, release)  # what the first one cannot read stops it, whatever comes after it
        # Overlays can have the same object.
        before += dict.fromkeys(_list_before(mine, writer, first, later))
        repair += dict.fromkeys(_list_repair(mine, writer, first))
    after = tuple(dict.fromkeys(_list_after(items, [*stored], release, files))) + more
    blockers = tuple(item for mine in stored.values() for item in mine)
    return Upgrade(release, blockers, tuple(before), after, tuple(repair))


def compare_jobs(items: Items, settings: Settings, release: Release) -> Iterator[str]:
    """Which gangs the Job controller of `release` makes, and that of the settings does not, or the other way round."""
    both = settings, settings._replace(release=release)
    old, new = ({str(gang.group.item.ref) for gang in list_own_gangs(count_all(items, at), at)} for at in both)
    gate = "" if settings.feature_gates.get("WorkloadWithJob") else " if the feature gate WorkloadWithJob is on"
    if gained := sorted(new - old):
        yield f"Kubernetes {release} creates gangs for {join(gained)}{gate}; Kubernetes {settings.release} does not."
    if lost := sorted(old - new):
        yield f"Kubernetes {settings.release} creates gangs for {join(lost)}; Kubernetes {release} does not."


def _list_before(blockers: Items, writer: Release, release: Release, later: Sequence[Release]) -> Iterator[str]:
    kinds = sorted({item.kind for item in blockers})
    yield _say(f"Before the upgrade from Kubernetes {writer} to {release}, which cannot read what {writer} stored.")
    if later:
        steps = ", then to ".join(map(str, (release, *later)))
        between = " and ".join(map(str, (release, *later[:-1])))
        yield _say(
            f"A control plane is upgraded one minor release at a time: to {steps}. Create no groups under {between}: "
            "the next release might not be able to read them either."
        )
    for kind in kinds:
        yield _say(f"If a single {kind} remains, {tell_damage(kind, release)}.")
    yield _say(
        "First stop everything that applies manifests automatically (Argo CD, Flux, CI). Running pods keep running; "
        "new members of a gang wait for their group."
    )
    for item in blockers:
        wait = " --wait=false" if find_finalizer(item.kind, writer) else ""
        yield f"kubectl delete {_spell(item)} --ignore-not-found{wait}"
        if wait:
            patch = shlex.quote('{"metadata":{"finalizers":null}}')
            gone = "|| true  # gone already where no pods are"
            yield f"kubectl patch {_spell(item)} --type=merge --patch={patch} {gone}"
    yield _say("No group may remain, including those of other teams. This command must find no resources:")
    everything = ",".join(f"{kind.lower()}s.{GROUP}" for kind in sorted(writer.kinds))
    yield f"kubectl get {everything} --all-namespaces"


def _list_after(items: Items, writers: Sequence[Release], release: Release, files: Sequence[str]) -> Iterator[str]:
    yield _say(
        f"After the upgrade, once every API server is {release}. {join([str(each) for each in writers])} cannot read "
        f"what {release} stores, so after the first of these commands you cannot go back."
    )
    for writer in writers:
        if writer.link == release.link:
            continue
        of_it = f" of {writer}" if len(writers) > 1 else ""
        yield _say(
            f"Running pods{of_it} have lost their link and continue without a gang. They get their group when they are "
            "created again. The template of a Job cannot change, so the Job is deleted."
        )
        for item in items:
            if item.group_kind == ("batch", "Job") and item.get(("spec", "template", "spec", writer.link[0])):
                yield f"kubectl delete {_spell(item)} --ignore-not-found"
    if files:
        words = shlex.join(files)
        yield f"krmfn convert --to {release} {words} | kubectl apply --filename=-"
        yield _say(f"To change the files: krmfn convert --to {release} --write {words}")
    else:
        yield _say(
            f'If groups are generated, set spec.kubernetes.version to "{release}" and build again; convert others '
            f"with krmfn convert --to {release}. Then apply them as before."
        )


def _list_repair(blockers: Items, writer: Release, release: Release) -> Iterator[str]:
    yield _say(
        f"Only if the cluster was upgraded while it still had groups. As long as {release} has not stored a group, you "
        f"can start kube-apiserver {writer} again and delete them as above. Or:"
    )
    if not release.has("delete-unreadable"):
        yield _say("kube-apiserver needs --feature-gates=AllowUnsafeMalformedObjectDeletion=true for this.")
    for item in blockers:
        if item.kind not in release.kinds:
            continue  # nothing can ask for it any more
        version = release.kinds[item.kind][0]
        space = item.space or "default"
        path = f"/apis/{GROUP}/{version}/namespaces/{space}/{item.kind.lower()}s/{item.name}"
        yield f"echo {shlex.quote(_OPTIONS)} | kubectl delete --raw {shlex.quote(path)} --filename=-"


def _order(item: Item) -> tuple[int, str, str]:
    """Children before their parents, and groups before the Workload that they name."""
    return (_BELOW_FIRST.index(item.kind) if item.kind in _BELOW_FIRST else 0, item.space, item.name)


def _spell(item: Item) -> str:
    kind = item.kind.lower() + (f".{item.group}" if item.group else "")
    space = f" --namespace={shlex.quote(item.namespace)}" if item.namespace else ""
    return f"{kind} {shlex.quote(item.name)}{space}"


def _say(text: str) -> str:
    """A comment."""
    from textwrap import wrap

    return "\n".join(f"# {line}" for line in wrap(text, 110))
