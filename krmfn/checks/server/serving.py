"""What is said of objects whose kind, or whose version of it, a release does not have or serve."""

from __future__ import annotations

from krmfn.config import Settings
from krmfn.krm.item import Item
from krmfn.krm.results import ABSENT
from krmfn.model.findings import Finding, Findings
from krmfn.model.marks import OWN_KINDS, OWN_VERSION
from krmfn.model.wording import find_nearest, join
from krmfn.releases.release import GROUP, find_release, find_writer, list_releases
from krmfn.server.schema import Kind


def weigh_assumed(finding: Finding, settings: Settings) -> Finding:
    """What a release that nobody named does not serve is no error yet, if another one serves it."""
    group, _, version = finding.item.api_version.rpartition("/")
    releases = map(find_release, list_releases() if group == GROUP else ())
    kinds = [release.kinds for release in releases if not release.preview]
    served = (version in each.get(finding.item.kind, ()) for each in kinds)
    if not settings.assumed or not any(served):
        return finding
    hint = f"{finding.hint} If the cluster is older, set --kubernetes, or spec.kubernetes.version in krmfn.yaml."
    return finding._replace(severity="warning", hint=hint)


def find_no_match(item: Item, hint: str, field: str = "apiVersion") -> Finding:
    """What a server says of a kind, or of a version of it, that it does not have."""
    value = item.kind if field == "kind" else item.api_version
    return Finding(item, (field,), tell_no_match(item), value, hint=hint, type="NotFound", rule="version-not-served")


def tell_no_match(item: Item) -> str:
    return f'no matches for kind "{item.kind}" in version "{item.api_version}"'


def tell_not_served(item: Item, kind: Kind) -> Finding:
    if kind.versions:
        served = " or ".join(f"{kind.group}/{version}" for version in kind.versions)
        hint = f"Kubernetes {kind.release} serves {'this kind' if kind.name == item.kind else kind.name} as {served}."
        if item.group not in ("", kind.group) and "." in item.group:
            message = f"{item.api_version} is another API: its {item.kind} does not have these fields"
            return find_no_match(item, hint)._replace(message=message)
        if find_writer(item.value, find_release(kind.release)):
            hint += f" krmfn convert --to {kind.release} rewrites it; krmfn upgrade shows how to upgrade a cluster."
    else:
        hint = "A feature gate that this kind needs is off."
    return find_no_match(item, hint, "apiVersion" if kind.name == item.kind else "kind")


def tell_not_known(item: Item, release: str) -> Finding:
    converts = f"`krmfn convert --to {release}` converts what that release supports"
    return find_no_match(item, f"Kubernetes {release} has no {item.kind}; {converts}.")


def tell_missing(item: Item, release: str) -> Findings:
    """A kind of Kubernetes' own that the release does not have."""
    from krmfn.releases.served import find_similar, is_of_program

    if is_of_program(item, release):
        return
    similar, versions = find_similar(item.kind, release)
    hint = f"Kubernetes {release} has no such kind."
    if similar:
        hint = f"Kubernetes {release} has {similar} as {' or '.join(versions)}."
    is_kind = similar == item.kind
    told = find_no_match(item, hint, "apiVersion" if is_kind else "kind")
    if item.kind.lower() in (similar.lower(), f"{similar.lower()}s") and (is_kind or item.api_version in versions):
        [proposed] = versions if is_kind and len(versions) == 1 else [similar]
        told = told._replace(proposed=proposed) if proposed != item.kind else told
    yield told


def tell_not_ours(item: Item) -> Findings:
    """An object of our own group that no part of krmfn reads: a kind that is mistyped would have no effect."""
    is_kind = item.kind in OWN_KINDS
    meant = OWN_VERSION if is_kind else find_nearest(item.kind, OWN_KINDS)
    if is_kind and item.api_version == OWN_VERSION:
        return
    hint = f"krmfn reads {join([*OWN_KINDS])} of {OWN_VERSION}."
    yield find_no_match(item, hint, "apiVersion" if is_kind else "kind")._replace(proposed=meant or ABSENT)


def tell_switched_off(item: Item, release: str) -> Finding:
    message = f"Kubernetes {release} serves {item.api_version} {item.kind} only if it is enabled"
    hint = "The API server needs --runtime-config, or a feature gate, for this version."
    return Finding(item, ("apiVersion",), message, item.api_version, hint=hint, rule="version-off")
