"""From one manifest to its tree of groups.

To add a kind:

1. Add its file, `schemas/kinds/<Kind>.<group>.yaml`: where its pod templates are, how they are counted, which release
   of its CRD keeps the link. `interpreter` reads it. A kind that only has to be explained has `gang: Never` and a
   reason.
2. Only for what a file cannot say, write a function `read_<kind>(manifest: Manifest) -> Group | None`, and name it in
   READERS. It reads through the Manifest (typed access, the API server's defaults for absent fields, notes) and returns
   a Leaf or a Composite whose names are the user's own. The number of pods is that which the kind's controller creates;
   cite the source.
3. Where there is nothing to schedule as a group, leave a note that says why and return None. What the controller would
   refuse is a note whose rule has severity error: then there is no tree, whatever is returned.
4. Say in the table "Kinds" of `docs/reference/mapping.md` how its pods are counted. `python docs/generate.py` writes
   the other table there from the file.
5. Add the rules you need to `schemas/rules.json`, worked examples to `tests/sources/` and `fixtures/accept/kinds`, and
   a gang to EXAMPLES in `tests/sources/test_source_properties.py`. `./dev test tests/sources tests/config/test_kinds.py
   tests/docs/test_mapping.py` says what is forgotten.

Sources know neither targets nor checks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING

from krmfn.krm.results import ResourceRef
from krmfn.model.kinds import find_kind, find_own_scheduling
from krmfn.model.placeholders import is_name_placeholder
from krmfn.model.tree import Composite, leaves
from krmfn.model.values import Value

if TYPE_CHECKING:
    from krmfn.config import GangOptions, Settings
    from krmfn.model.tree import Group
    from krmfn.sources.manifest import Find, Manifest, SourceReading

__all__ = ["count_pods", "is_read", "read_group", "read_tree"]


def is_read(ref: ResourceRef) -> bool:
    """Whether there is something to say of resources of this kind."""
    row = find_kind(ref)
    return row is not None and row.is_read


#: The functions that read what the file of a kind cannot say, each with the reason in its docstring.
READERS: Mapping[tuple[str, str], str] = {
    ("apps", "Deployment"): "apps.read_deployment",
    ("apps", "StatefulSet"): "apps.read_statefulset",
    ("batch", "Job"): "job.read_job",
    ("batch", "CronJob"): "job.read_cronjob",
    ("ray.io", "RayCluster"): "ray.read_ray",
    ("ray.io", "RayJob"): "ray.read_ray",
    ("ray.io", "RayService"): "ray.read_ray",
    ("ray.io", "RayCronJob"): "ray.read_ray",
    ("jobset.x-k8s.io", "JobSet"): "job.read_jobset",
    ("leaderworkerset.x-k8s.io", "LeaderWorkerSet"): "apps.read_leaderworkerset",
    ("workload.codeflare.dev", "AppWrapper"): "appwrapper.read_appwrapper",
    ("trainer.kubeflow.org", "TrainJob"): "trainjob.read_trainjob",
}


def read_tree(
    value: Value, ref: ResourceRef, options: GangOptions, settings: Settings, find: Find | None = None
) -> SourceReading:
    """The tree of the manifest `value`, of a kind that is read, and the notes on the way. `find` gets the objects that
    it names.

    Without a tree one of the notes says why. With a note whose rule is an error there is no tree.
    """
    from krmfn.sources.manifest import Manifest, SourceReading

    manifest = Manifest(value, ref, options, settings, find)
    owns = find_own_scheduling(ref, settings.release)
    if not ref.name and manifest.get(("metadata", "generateName")):
        manifest.tell("generated-name", ("metadata", "generateName"))
    elif is_name_placeholder(ref.name):
        manifest.note("value-unknown", ("metadata", "name"), "")  # one group would be for all that it is filled in with
    elif owns and manifest.get(owns) is not None:
        manifest.tell("own-scheduling", owns, field=".".join(owns))
    else:
        return _read(manifest)
    return SourceReading(None, tuple(manifest.notes))


def count_pods(value: Value, ref: ResourceRef, settings: Settings, find: Find | None = None) -> SourceReading:
    """The tree of all pods that the manifest makes, whether they get a gang or not, and what its controller refuses.

    Notes that only explain why there is no gang are not among the notes.
    """
    from krmfn.sources.manifest import Manifest

    return _read(Manifest(value, ref, None, settings, find))


def _read(manifest: Manifest) -> SourceReading:
    from krmfn.sources.manifest import SourceReading

    group = read_group(manifest)
    if group is None and not manifest.notes:
        places = " or ".join(role.path for role in manifest.kind.templates)
        manifest.note("group-without-pods", ("spec",), f"this {manifest.ref.kind} has no pods: nothing is at {places}")
    if group is not None and not manifest.counting:
        _check_bridge(manifest, group)
        options = manifest.options
        if options.slices:
            from krmfn.sources.slices import check_slices

            check_slices(manifest, group)
        if options.min_count == "MinReplicas" or options.min_groups is not None or options.group_min_counts:
            from krmfn.sources.slices import check_minima

            check_minima(manifest, group)
    return SourceReading(None if manifest.refused else group, tuple(manifest.notes), manifest.value)


def read_group(manifest: Manifest) -> Group | None:
    """The tree as the source of its kind, which has to be one that is read, reads it, with a note where the CRD of the
    kind may drop the links. Of a kind of pods that no group in Git can be linked to the reason in its row is told."""
    row = manifest.kind
    if not row.has_gangs:
        manifest.pass_over(row.reason, row.hint)
        return None
    group = _find_reader(row.group, row.name)(manifest)
    if group is not None and row.keeper is not None and not manifest.counting:
        every = leaves(group)
        if not _shares_templates(manifest, group):
            last = row.templates[-1].path.rpartition(".")[2]  # that of the most pods
            paths = [template.path for leaf in every for template in leaf.templates]
            manifest.note_link_version(next((path for path in paths if path[-1] == last), paths[0]))
    return group


@cache
def _find_reader(group: str, kind: str) -> Callable[[Manifest], Group | None]:
    """The function that reads a kind. Its module is imported when the kind turns up, because most runs meet two or
    three kinds, and every run pays for imports."""
    module, _, function = READERS.get((group, kind), "interpreter.read_roles").partition(".")
    reader: Callable[[Manifest], Group | None] = getattr(
        __import__(f"krmfn.sources.{module}", fromlist=[function]), function
    )
    return reader


def _shares_templates(manifest: Manifest, group: Group) -> bool:
    """Whether pods of one template are to be in several groups: slices, or replicas."""
    options = manifest.options
    replicas = options.granularity == "Replica" and any(leaf.by for leaf in leaves(group))
    return bool(options.slices) or replicas or (isinstance(group, Composite) and group.whole)


def _check_bridge(manifest: Manifest, group: Group) -> None:
    """Say where pods cannot be linked when they are created, although that is what the configuration says."""
    settings, options, every = manifest.settings, manifest.options, leaves(group)
    apart = _shares_templates(manifest, group)
    if not apart and not any(template.bridged for leaf in every for template in leaf.templates):
        return
    path = ("metadata", "annotations", "krmfn.dev/slices" if options.slices else "krmfn.dev/granularity")
    part = "slice" if options.slices else "replica"
    if settings.scheduler != "Kubernetes":
        manifest.tell("bridge-not-possible", path, "scheduler", scheduler=settings.scheduler, part=part)
    elif not settings.release.has("pod-groups"):
        manifest.tell("bridge-not-possible", path, "release", release=settings.release)
    elif apart and settings.link == "Template":
        manifest.tell("bridge-not-possible", path, "link", part=part)
