"""Pods that are linked to their group when they are created: whether the policies that do it are there, and act."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from krmfn.bridge import NAME
from krmfn.checks.rule import rule
from krmfn.config import Settings
from krmfn.krm.results import DEFAULT_NAMESPACE
from krmfn.model.findings import Finding
from krmfn.model.selectors import match_namespace
from krmfn.model.values import as_text, dig
from krmfn.model.wording import join
from krmfn.releases.spelling import GROUP_LINKS
from krmfn.survey.census import Census, Template

_GROUP: Final = "admissionregistration.k8s.io"
_POLICY: Final = "MutatingAdmissionPolicy"
_BINDING: Final = f"{_POLICY}Binding"


@rule("bridge-missing", "info", "Pods rely on the link bridge, but its policies are not in the files checked.")
def find_bridge_missing(census: Census, settings: Settings) -> Iterator[Finding]:
    """Pods ask for a link, and there is no policy or no binding; an error where the facts list all of them."""
    first = next(_list_bridged(census), None)
    if first is None or first.link is None:
        return
    path = first.link.path
    if not settings.release.has("pod-groups"):
        message = (
            f"Kubernetes {settings.release} has no PodGroups that a pod could be linked to: the pods are not in a gang"
        )
        hint = "Link the pods in their templates: set link: Template."
        yield Finding(first.item, path, message, hint=hint, severity="error")
        return
    missing = [kind for kind in (_POLICY, _BINDING) if not any(_named(census, kind))]
    if missing:
        known = any(census.facts.lists_all(kind) for kind in missing)
        where = "in the cluster" if known else "in the files checked"
        message = f"no {join(missing)} {NAME} {where}: without it the pods of this {first.item.kind} are not in a gang"
        hint = "Apply the output of krmfn bridge, once per cluster and before the pods."
        yield Finding(first.item, path, message, hint=hint, severity="error" if known else None)


@rule("bridge-elsewhere", "error", "The link bridge does not act in the namespace of the pods.")
def find_bridge_elsewhere(census: Census) -> Iterator[Finding]:
    selectors = [dig(value, "spec", "matchResources", "namespaceSelector") for value in _named(census, _BINDING)]
    if not selectors:
        return
    known = census.facts.by_name("", "Namespace")
    told: set[str] = set()
    for template in _list_bridged(census):
        space = template.item.namespace or DEFAULT_NAMESPACE
        if space in told or template.link is None:
            continue
        found = known.get(space)
        if all(selector and match_namespace(selector, space, found) is False for selector in selectors):
            told.add(space)
            message = (
                f"the binding of {NAME} does not select the namespace {space}: pods in it get no link and are not in a "
                "gang"
            )
            hint = "Add the label to the namespace, or print the policies again with krmfn bridge --namespace-selector."
            yield Finding(template.item, template.link.path, message, hint=hint)


@rule("bridge-replaces-link", "warning", "The link of a pod template differs from its annotation krmfn.dev/pod-group.")
def find_link_replaced(census: Census, settings: Settings) -> Iterator[Finding]:
    for template in _list_bridged(census):
        link = next((path for path in GROUP_LINKS if dig(template.spec, *path)), settings.release.link)
        own = as_text(template.spec, *link)
        if own and template.link is not None and (template.link.by or own != template.link.group):
            path = (*template.spec_path, *link)
            group = template.link.group + ("-…" if template.link.by else "")
            message = f'the pods are linked to the group "{group}" when they are created, not to "{own}"'
            hint = "Remove the link, or the annotations krmfn.dev/pod-group and krmfn.dev/pod-group-by."
            yield Finding(template.item, path, message, own, hint=hint)


def _list_bridged(census: Census) -> Iterator[Template]:
    return (template for template in census.templates if template.link is not None and template.link.bridged)


def _named(census: Census, kind: str) -> Iterator[Mapping[str, Any]]:
    """The policy or binding of the bridge, in the input or among the facts."""
    field = ("metadata", "name") if kind == _POLICY else ("spec", "policyName")
    return (value for value in census.facts.objects(_GROUP, kind) if dig(value, *field) == NAME)
