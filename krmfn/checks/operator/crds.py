"""Whether pods get the link to their group: installed CRDs keep the field that links a pod template, and the policies
that link pods when they are created are there, and act.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from krmfn.bridge import NAME
from krmfn.checks.rule import Matches, rule, tell
from krmfn.config import Settings
from krmfn.config.selection import is_selected
from krmfn.krm.paths import Path
from krmfn.model.kinds import KINDS, find_kind, keeps_link, kuberay_keeps
from krmfn.model.selectors import match_namespace
from krmfn.model.values import Value, as_list, as_mapping, as_text, dig
from krmfn.releases.spelling import GROUP_LINKS, LINK_FIELDS
from krmfn.survey.census import Census, Template, TemplateLink


@rule("crd-drops-link", once=True)
def find_link_dropped(census: Census, settings: Settings) -> Matches:
    for template, link in _list_links(census, bridged=False):
        if find_kind(template.item.ref) is None:
            continue
        field = _find_field(link)
        verdict, reason = _judge(census, settings, template, field)
        if verdict is True or (verdict is None and not reason):
            continue
        does = "may drop" if verdict is None else "drops"
        yield tell(template, (field,), error=verdict is False, does=does, field=field, reason=reason)


@rule("link-of-other-release")
def find_link_of_other_release(census: Census, settings: Settings) -> Matches:
    """workloadRef on 1.36 and later, schedulingGroup on 1.35."""
    wanted = settings.release.link[0]
    for template, link in _list_links(census, bridged=False):
        if (field := _find_field(link)) != wanted:
            yield tell(template, (field,), field=field, wanted=wanted)


def _list_links(census: Census, bridged: bool) -> Iterator[tuple[Template, TemplateLink]]:
    """The templates with a link that stands in them, or that they ask the bridge for, each with it."""
    for template in census.templates:
        if template.link and template.link.bridged == bridged:
            yield template, template.link


def _find_field(link: TemplateLink) -> str:
    """The field of the pods' spec in which a link stands."""
    return next(str(part) for part in link.path if part in LINK_FIELDS)


def _judge(census: Census, settings: Settings, template: Template, field: str) -> tuple[bool | None, str]:
    """Whether the field is kept (None: unknown), and why it is not."""
    item = template.item
    for name, crd in census.facts.schemas.items():
        if dig(crd, "spec", "group") == item.group and dig(crd, "spec", "names", "kind") == item.kind:
            kept = _keeps(crd, item.api_version.rpartition("/")[2], (*template.spec_path, field))
            return kept, f"the CRD {name} has no such field"
    for name, fields in census.facts.kept_fields.items():
        if name.partition(".")[2] == item.group and name.startswith(item.kind.lower()):
            return field in fields, f"the facts say that the CRD {name} keeps {', '.join(map(str, fields)) or 'none'}"
    if is_selected(item, settings):
        return None, ""  # the source of the resource has said it
    if item.group == "ray.io":
        version = settings.kuberay.version
        return kuberay_keeps(version, field), f"the CRDs of KubeRay {version[0]}.{version[1]} do not have it"
    row = KINDS[item.group_kind]
    installed = keeps_link(row, settings.operators)
    if installed is not None and field == "schedulingGroup":
        return installed, f"{row.keeper} is the first that keeps it"
    version_of_api, project = row.drops
    if project and (not version_of_api or item.api_version.endswith(f"/{version_of_api}")):
        return False, f"no release of {project} has it"
    if row.keeper is None:
        return None, ""  # every CRD keeps it, as the file of the kind says
    return None, f"{row.keeper} is the first that keeps it" if row.keeper else "no release is known that keeps it"


def _keeps(crd: Value, version: str, path: Path) -> bool:
    """Whether the schema of `version` has `path`, or keeps unknown fields on the way."""
    entry = next((one for one in as_list(crd, "spec", "versions") if as_text(one, "name") == version), None)
    node = as_mapping(entry, "schema", "openAPIV3Schema")
    for part in path:
        if node.get("x-kubernetes-preserve-unknown-fields") is True:
            return True
        if isinstance(part, int):
            node = as_mapping(node, "items")
        else:
            node = as_mapping(as_mapping(node, "properties").get(part) or node.get("additionalProperties"))
        if not node:
            return False
    return True


_GROUP = "admissionregistration.k8s.io"
_POLICY = "MutatingAdmissionPolicy"
_BINDING = f"{_POLICY}Binding"


@rule("bridge-missing")
def find_bridge_missing(census: Census, settings: Settings) -> Matches:
    """Pods ask for a link, and there is no policy or no binding; an error where the facts list all of them."""
    missing = [kind for kind in (_POLICY, _BINDING) if not any(_named(census, kind))]
    for template, link in islice(_list_links(census, bridged=True), 1):
        if not settings.release.has("pod-groups"):
            yield tell(template.item, link.path, error=True)
        elif missing:
            known = any(map(census.facts.lists_all, missing))
            where = "in the cluster" if known else "in the files checked"
            yield tell(template.item, link.path, case="policies", error=known, missing=missing, where=where)


@rule("bridge-elsewhere")
def find_bridge_elsewhere(census: Census) -> Matches:
    selectors = [dig(value, "spec", "matchResources", "namespaceSelector") for value in _named(census, _BINDING)]
    if not selectors:
        return
    known = census.facts.by_name("", "Namespace")
    told = set()
    for template, link in _list_links(census, bridged=True):
        space = template.item.space
        left_out = (each and match_namespace(each, space, known.get(space)) is False for each in selectors)
        if space not in told and all(left_out):
            told.add(space)
            yield tell(template.item, link.path, space=space)


@rule("bridge-replaces-link")
def find_link_replaced(census: Census, settings: Settings) -> Matches:
    for template, link in _list_links(census, bridged=True):
        place = next((path for path in GROUP_LINKS if dig(template.spec, *path)), settings.release.link)
        own = as_text(template.spec, *place)
        if own and (link.by or own != link.group):
            yield tell(template, place, own, group=link.group + ("-…" if link.by else ""))


def _named(census: Census, kind: str) -> Iterator[Value]:
    """The policy or binding of the bridge, in the input or among the facts."""
    field = ("metadata", "name") if kind == _POLICY else ("spec", "policyName")
    return (value for value in census.facts.objects(_GROUP, kind) if dig(value, *field) == NAME)
