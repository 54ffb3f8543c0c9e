"""`krmfn bridge`: prints the admission policies that link pods to their groups."""

from __future__ import annotations

from krmfn.bridge import write_policies
from krmfn.cli import Options, Words, streams
from krmfn.cli.options import UsageError, read_release
from krmfn.config.selectors import Requirement, SelectorError, parse_requirements
from krmfn.krm.writing import write_block
from krmfn.model.values import Fields
from krmfn.releases.release import first_release
from krmfn.reports import channels

_HEAD = """\
# Links pods to their PodGroup when they are created: pods with the annotation krmfn.dev/pod-group.
# Pods without it are not changed. Apply this file once per cluster, before the pods.
"""


def run(_: Words, options: Options) -> int:
    """Writes YAML to stdout. Raises UsageError for a release without PodGroups, and for an invalid selector."""
    release = read_release(options)
    if not release.has("pod-groups"):
        raise UsageError(f"Kubernetes {release} has no PodGroups: use {first_release('pod-groups')}")
    try:
        terms = [_spell(term) for term in parse_requirements(options["namespace_selector"])]
    except SelectorError as error:
        raise UsageError(f"--namespace-selector: {error}") from None
    policies = write_policies({"matchExpressions": terms} if terms else {}, release.link)
    streams.write(_HEAD + channels.yaml("---\n".join(write_block(policy) + "\n" for policy in policies)))
    return 0


def _spell(term: Requirement) -> Fields:
    """A term as an entry of matchExpressions."""
    key, operator, values = term
    if operator in ("Gt", "Lt"):
        sign = ">" if operator == "Gt" else "<"
        raise SelectorError(f"{key} {sign} {values[0]}: a namespaceSelector cannot compare numbers")
    return {"key": key, "operator": operator, **({"values": list(values)} if values else {})}
