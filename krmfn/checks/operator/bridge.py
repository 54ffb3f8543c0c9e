"""Pods that are linked to their group when they are created: whether the policies that do it are there, and act."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from krmfn.bridge import NAME
from krmfn.checks.rule import Match, rule, tell
from krmfn.config import Settings
from krmfn.krm.results import DEFAULT_NAMESPACE
from krmfn.model.selectors import match_namespace
from krmfn.model.values import as_text, dig
from krmfn.releases.spelling import GROUP_LINKS
from krmfn.survey.census import Census, Template

_GROUP: Final = "admissionregistration.k8s.io"
_POLICY: Final = "MutatingAdmissionPolicy"
_BINDING: Final = f"{_POLICY}Binding"


@rule("bridge-missing")
def find_bridge_missing(census: Census, settings: Settings) -> Iterator[Match]:
    """Pods ask for a link, and there is no policy or no binding; an error where the facts list all of them."""
    first = next(_list_bridged(census), None)
    if first is None or first.link is None:
        return
    path = first.link.path
    if not settings.release.has("pod-groups"):
        yield tell(first.item, path, severity="error")
        return
    missing = [kind for kind in (_POLICY, _BINDING) if not any(_named(census, kind))]
    if missing:
        known = any(census.facts.lists_all(kind) for kind in missing)
        where = "in the cluster" if known else "in the files checked"
        yield tell(first.item, path, case="policies", severity="error" if known else None, missing=missing, where=where)


@rule("bridge-elsewhere")
def find_bridge_elsewhere(census: Census) -> Iterator[Match]:
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
            yield tell(template.item, template.link.path, space=space)


@rule("bridge-replaces-link")
def find_link_replaced(census: Census, settings: Settings) -> Iterator[Match]:
    for template in _list_bridged(census):
        link = next((path for path in GROUP_LINKS if dig(template.spec, *path)), settings.release.link)
        own = as_text(template.spec, *link)
        if own and template.link is not None and (template.link.by or own != template.link.group):
            path = (*template.spec_path, *link)
            group = template.link.group + ("-…" if template.link.by else "")
            yield tell(template.item, path, own, group=group)


def _list_bridged(census: Census) -> Iterator[Template]:
    return (template for template in census.templates if template.link is not None and template.link.bridged)


def _named(census: Census, kind: str) -> Iterator[Mapping[str, Any]]:
    """The policy or binding of the bridge, in the input or among the facts."""
    field = ("metadata", "name") if kind == _POLICY else ("spec", "policyName")
    return (value for value in census.facts.objects(_GROUP, kind) if dig(value, *field) == NAME)
