"""`krmfn upgrade`: what has to be deleted before a cluster is upgraded, and the commands in the order that works."""

from __future__ import annotations

from collections.abc import Sequence

from krmfn.cli import Options, Words, streams
from krmfn.cli.configuration import Configurations, refuse_assumed
from krmfn.cli.findings import report_aside
from krmfn.cli.options import UsageError, spell_command
from krmfn.cli.reading import read_worlds
from krmfn.krm.item import Items
from krmfn.model.values import as_mapping
from krmfn.pipeline import complete
from krmfn.plan.upgrade import PHASES, compare_jobs, plan_upgrade
from krmfn.releases.release import find_release, list_releases, newest_release
from krmfn.workspace.manifests import is_path
from krmfn.workspace.worlds import Worlds


def run(words: Words, options: Options) -> int:
    """Reads manifests, or the output of kubectl get; 1 when something has to be deleted first. Raises UsageError."""
    if not options["to"]:
        raise UsageError(f"--to is missing: {spell_command(f'krmfn upgrade --to {newest_release()}', words)}")
    release = find_release(options["to"])
    configurations = Configurations(options)
    found = read_worlds(words, options)
    report_aside(found.problems, options)
    if found.unreadable:
        return 2
    items = []
    told: list[str] = []
    for world in found.worlds:
        settings = configurations.find(world)
        if not settings.assumed and list_releases().index(release.name) < list_releases().index(settings.release.name):
            raise UsageError(
                f"--to {release} is older than {settings.release}, which the cluster runs: Kubernetes cannot go back. "
                f"For manifests alone: {spell_command(f'krmfn convert --to {release}', words)}"
            )
        whole = complete(world.items, settings)[0]
        if settings.assumed and len(whole) > len(world.items):
            raise refuse_assumed("upgrade --to", release, words)
        items += whole
        told += compare_jobs(whole, settings, release)
    done = plan_upgrade(items, release, _name_files(words, found, items), [*dict.fromkeys(told)])
    streams.write(done.spell([options["only"]] if options["only"] else PHASES))
    return int(bool(done.blockers))


def _name_files(words: Words, found: Worlds, items: Items) -> Sequence[str]:
    """The arguments, where they hold all that is applied: no dump, nothing rendered, nothing generated in memory."""
    dumped = any("uid" in as_mapping(item.value, "metadata") for item in items)
    whole = all(not world.overlay for world in found.worlds) and len(items) == sum(
        len(world.items) for world in found.worlds
    )
    return [*words] if whole and not dumped and all(map(is_path, words)) else []
