"""Webhook configurations; ValidatingAdmissionPolicy, MutatingAdmissionPolicy and their bindings. Whether an expression
compiles is not checked.

Source: k8s.io/kubernetes/pkg/apis/admissionregistration/validation; k8s.io/apiserver/pkg/util/webhook/validation.go.
"""

from __future__ import annotations

import re

from krmfn.krm.paths import Path
from krmfn.model.gotext import quote
from krmfn.model.values import Value
from krmfn.server.cases import check_part
from krmfn.server.formats import check_dns_1035, check_label_key, check_long_name
from krmfn.server.pods.spec import check_label_selector, is_wrong_selector
from krmfn.server.schema import Kind, Stored
from krmfn.server.verdict import Causes, duplicate, find_repeated, invalid, invalid_text, refuse_text, required

_SELECTORS = ("namespaceSelector", "objectSelector")
_REVIEWS = ("v1", "v1beta1")
_NO_EFFECTS = ("None", "NoneOnDryRun")
_FORM = "; desired format: https://host[/path]"
_MOST_ANNOTATIONS, _LONGEST_EXPRESSION = 20, 5 * 1024


def check_webhooks(kind: Kind, new: Value, old: Stored) -> Causes:
    """The webhooks of a configuration. What the stored ones have wrong is not refused in the new ones."""
    hooks, before = new.get("webhooks", []), old.get("webhooks", []) if old else []
    names, names_before = ([hook.get("name", "") for hook in each] for each in (hooks, before))
    repeated = set() if find_repeated(names_before) else find_repeated(names)
    strict = all(hook.get("sideEffects") in _NO_EFFECTS for hook in before)
    reviewed = all(set(_REVIEWS) & set(hook.get("admissionReviewVersions", ())) for hook in before)
    any_value = any(is_wrong_selector(hook.get(name)) for hook in before for name in _SELECTORS)
    conditions = [[hook.get("matchConditions") for hook in each] for each in (hooks, before)]
    for index, hook in enumerate(hooks):
        at: Path = ("webhooks", index)
        if names[index] and index in repeated:
            yield duplicate((*at, "name"), quote(names[index]))
        yield from check_part(kind, "effects" if strict else "anyEffects", hook, at)
        yield from check_versions(hook.get("admissionReviewVersions", []), (*at, "admissionReviewVersions"), reviewed)
        for name in _SELECTORS:
            yield from check_label_selector(kind, hook.get(name), (*at, name), any_value)
        if conditions[0] != conditions[1]:
            yield from check_part(kind, "matchConditions", hook.get("matchConditions", []), (*at, "matchConditions"))


def check_resources(kind: Kind, resources: list[str], path: Path) -> Causes:
    """The resources of a rule: none that another one with `*` contains."""
    before: set[str] = set()
    for index, text in enumerate(resources):
        resource, slash, inner = text.partition("/")
        for wider in (f"{resource}/*", f"*/{inner}"):
            if slash and wider in before:
                yield invalid((*path, index), text, f"if '{wider}' is present, must not specify {text}")
        before.add(text)
    if len(resources) > 1 and "*/*" in resources:
        yield invalid_text(path, "{…}", "if '*/*' is present, must not specify other resources")
    alone = [text for text in resources if text and "/" not in text]
    if "*" in alone and alone[-1] != "*":
        detail = "if '*' is present, must not specify other resources without subresources"
        yield invalid_text(path, "{…}", detail)


def check_versions(versions: list[str], path: Path, reviewed: bool) -> Causes:
    """The admissionReviewVersions of a webhook. `reviewed`: one of them has to be known to the server."""
    if not versions:
        yield required(path, "must specify one of v1, v1beta1")
        return
    repeated = find_repeated(versions)
    for index, version in enumerate(versions):
        if index in repeated:
            yield invalid((*path, index), version, "duplicate version")
        else:
            yield from refuse_text((*path, index), version, check_dns_1035(version))
    if reviewed and not set(_REVIEWS) & set(versions):
        yield invalid_text(path, "{…}", "must include at least one of v1, v1beta1")


def check_client(kind: Kind | None, client: Value, path: Path) -> Causes:
    """The clientConfig of a webhook, also of one that converts the objects of a CustomResourceDefinition."""
    url, service = client.get("url"), client.get("service")
    yield from check_part(kind, "clientConfig", client, path)
    if url is not None and service is None:
        yield from _check_url(url, (*path, "url"))
    elif service is not None and url is None:
        yield from _check_path(service.get("path", ""), (*path, "service", "path"))


def _check_path(text: str, path: Path) -> Causes:
    if text in ("", "/"):
        return
    if text == "//":
        yield invalid(path, text, "segment[0] may not be empty")
        return
    if text[0] != "/":
        yield invalid(path, text, "must start with a '/'")
    for index, step in enumerate(text[1:].removesuffix("/").split("/")):
        wrong = check_long_name(step)
        if not step:
            yield invalid(path, text, f"segment[{index}] may not be empty")
        else:
            yield from refuse_text(path, text, [f"segment[{index}]: {message}" for message in wrong])


def _find_fault(text: str) -> str:
    """The error of Go's net/url about a wrong address; empty for others."""
    if re.search(r"[\x00-\x1f\x7f]", text):
        return "net/url: invalid control character in URL"
    scheme, colon, _ = re.split("[/?#]", text, maxsplit=1)[0].partition(":")
    if colon and not re.match("[a-zA-Z][a-zA-Z0-9+.-]*$", scheme):
        return "first path segment in URL cannot contain colon" if scheme else "missing protocol scheme"
    found = re.match("[^/?#]*//([^/?#]*)", text)
    host = found[1].rpartition("@")[2] if found else ""
    if host.startswith("[") and "]" not in host:
        return "missing ']' in host"
    wrong = re.search(r"[ \\^`{|}]", host)
    if wrong:
        return f"invalid character {quote(wrong[0])} in host name"
    port = re.search(r":[^\]]*$", host)
    return f"invalid port {quote(port[0])} after host" if port and not re.match(":[0-9]*$", port[0]) else ""


def _check_url(text: str, path: Path) -> Causes:
    from urllib.parse import urlsplit

    reason = _find_fault(text)
    if reason:
        yield required(path, f"url must be a valid URL: parse {quote(text)}: {reason}{_FORM}")
        return
    url = urlsplit(text)
    user, _, host = url.netloc.rpartition("@")
    if url.scheme != "https":
        yield invalid(path, url.scheme, f"'https' is the only allowed URL scheme{_FORM}")
    if not host:
        yield invalid(path, host, f"host must be specified{_FORM}")
    if user:
        yield invalid(path, user, "user information is not permitted in the URL")
    if url.fragment:
        yield invalid(path, url.fragment, "fragments are not permitted in the URL")
    if url.query:
        yield invalid(path, url.query, "query parameters are not permitted in the URL")


def check_policy(kind: Kind, new: Value, old: Stored) -> Causes:
    """The match conditions of an admission policy, if they or its paramKind change, and its audit annotations."""
    spec, before = new["spec"], old["spec"] if old else {}
    at: Path = ("spec",)
    if any(spec.get(name) != before.get(name) for name in ("paramKind", "matchConditions")):
        yield from check_part(kind, "matchConditions", spec.get("matchConditions", []), (*at, "matchConditions"))
    if kind.name.startswith("Validating"):
        yield from _check_validations(new, spec, at)


def check_group_version(kind: Kind, text: str, path: Path) -> Causes:
    """The apiVersion of a paramKind."""
    group, _, version = text.rpartition("/")
    if text.count("/") > 1:
        yield invalid(path, text, f"unexpected GroupVersion string: {text}")
    else:
        if group and (wrong := check_long_name(group)):
            yield invalid(path, group, ",".join(wrong))
        if not version:
            yield invalid(path, text, "version must be specified")
        elif wrong := check_dns_1035(version):
            yield invalid(path, version, ",".join(wrong))


def _check_validations(new: Value, spec: Value, at: Path) -> Causes:
    annotations = spec.get("auditAnnotations", [])
    if len(annotations) > _MOST_ANNOTATIONS:
        detail = f"must not have more than {_MOST_ANNOTATIONS} auditAnnotations"
        yield invalid_text((*at, "auditAnnotations"), "{…}", detail)
    repeated = find_repeated([each.get("key", "") for each in annotations])
    for index, each in enumerate(annotations):
        place: Path = (*at, "auditAnnotations", index)
        key, text = each.get("key", ""), each.get("valueExpression", "").strip()
        if name := new["metadata"].get("name", ""):
            yield from refuse_text((*place, "key"), f"{name}/{key}", check_label_key(f"{name}/{key}"))
        else:
            yield invalid((*place, "key"), key, "requires metadata.name be non-empty")
        if not text:
            yield required((*place, "valueExpression"), "valueExpression is not specified")
        elif len(text.encode()) > _LONGEST_EXPRESSION:
            detail = f"must not exceed {_LONGEST_EXPRESSION} bytes in length"
            yield required((*place, "valueExpression"), detail)
        if index in repeated:
            yield duplicate((*place, "key"), quote(key))
