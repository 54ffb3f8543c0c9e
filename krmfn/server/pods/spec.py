"""The rules of a pod that look at more than one part of it: its links and claims, its annotations, its selectors, and
what it asks of the host. Those of one part are rows of `schemas/kubernetes/parts.json`, which also name the functions.

Source: ValidatePodSpec, ValidatePodTemplateSpec, ValidatePodCreate, ValidatePodSpecificAnnotations and what they call
in k8s.io/kubernetes/pkg/apis/core/validation, PodValidationOptions there and in pkg/api/pod/util.go;
ValidateLabelSelector of k8s.io/apimachinery/pkg/apis/meta/v1/validation.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import NoneType
from typing import Any

from krmfn.krm.paths import Path, dig
from krmfn.model.gotext import parse_int, quote
from krmfn.model.values import Value
from krmfn.releases.spelling import GROUP_LINKS
from krmfn.server.cases import check_each, check_part
from krmfn.server.formats import Faults, check_label_key, check_long_name, count_bytes, find_format
from krmfn.server.metadata import check_template_metadata
from krmfn.server.schema import Gates, Kind, Stored
from krmfn.server.spell import Key, write_json
from krmfn.server.verdict import (
    Causes,
    Out,
    duplicate,
    forbidden,
    invalid,
    invalid_text,
    of_rule,
    refuse_text,
    required,
)

#: The lists of containers in a pod's spec, in the order in which the server visits them.
LISTS = ("initContainers", "containers", "ephemeralContainers")
#: The annotation of static pods.
MIRROR = "kubernetes.io/config.mirror"
#: The annotation that names a container's AppArmor profile, up to the container's name.
APP_ARMOR = "container.apparmor.security.beta.kubernetes.io/"
#: The rule of what annotations say.
_ANNOTATIONS = "pod-annotations"
_TOLERATIONS = "scheduler.alpha.kubernetes.io/tolerations"
_TOLERATION_FIELDS = {"key": str, "operator": str, "value": str, "effect": str, "tolerationSeconds": int}
_SECCOMP_POD = "seccomp.security.alpha.kubernetes.io/pod"
_SECCOMP = "container.seccomp.security.alpha.kubernetes.io/"
#: Settings of the namespace for interprocess communication, as are those under `fs.mqueue.`.
_IPC_SYSCTLS = frozenset(
    "kernel." + name
    for name in ("sem", "shmall", "shmmax", "shmmni", "shm_rmid_forced", "shm", "msgmax", "msgmnb", "msgmni", "msg")
)
_TWICE = "exists in both matchLabelKeys and labelSelector"
_USER = "runAsUserName"


class PodContext:
    """What rules ask of the whole pod. `allowed` names what an update may keep because the stored pod has it."""

    def __init__(
        self, spec: Value, gates: Gates, meta: Value | None = None, allowed: frozenset[str] = frozenset()
    ) -> None:
        self.gates = gates
        self.allowed = allowed
        #: Whether this is a pod itself, and no template; only a pod has a name.
        self.is_pod = meta is not None
        self.name: str = meta.get("name", "") if meta else ""
        self.annotations: Value = meta.get("annotations", {}) if meta else {}
        self.grace: int | None = spec.get("terminationGracePeriodSeconds")
        self.os: str | None = spec["os"].get("name", "") if "os" in spec else None
        self.claims = frozenset(claim["name"] for claim in spec.get("resourceClaims", ()) if claim.get("name"))
        #: The volumes that are right, by name: mounts look for theirs among these.
        self.volumes: dict[str, Value] = {}
        #: What rows of parts ask of the whole pod.
        self.facts = {
            "users-of-host": spec.get("hostUsers") is not False,
            "restarts-never": spec.get("restartPolicy") == "Never",
            "template": not self.is_pod,
            "no-os": self.os is None,
            "linux": self.os == "linux",
            "windows": self.os == "windows",
        }

    def is_on(self, gate: str) -> bool:
        """Whether the gate is on, or what it brings is in use already; also of what a release does without a gate."""
        return self.gates.get(gate, False) or gate in self.allowed or self.facts.get(gate, False)


def visit_containers(spec: Value, path: Path) -> Iterator[tuple[Value, Path]]:
    """Every container with its path."""
    for name in LISTS:
        for index, container in enumerate(spec.get(name, ())):
            yield container, (*path, name, index)


def check_template(template: Value, path: Path, gates: Gates, allowed: frozenset[str] = frozenset()) -> Causes:
    """The template of a pod, with its labels and annotations."""
    meta, spec = template.get("metadata", {}), template.get("spec", {})
    yield from check_template_metadata(meta, path)
    pod = PodContext(spec, gates, None, allowed)
    annotations = meta.get("annotations")
    if annotations:
        yield from of_rule(_ANNOTATIONS, _check_annotations(pod, annotations, spec, (*path, "annotations")))
    yield from check_part(pod, "podSpec", spec, (*path, "spec"))
    if annotations:
        yield from of_rule(_ANNOTATIONS, _check_profiles(pod, annotations, spec, (*path, "spec")))


def check_pod(pod: PodContext, spec: Value) -> Causes:
    """A pod on every write. Its metadata are checked elsewhere."""
    yield from of_rule(_ANNOTATIONS, _check_annotations(pod, pod.annotations, spec, ("metadata", "annotations")))
    yield from check_part(pod, "podSpec", spec, ("spec",))
    yield from check_part(pod, "pod", spec, ("spec",))


def check_created_pod(kind: Kind, new: Value, old: Stored) -> Causes:
    """A pod when it is made."""
    spec, pod = new["spec"], PodContext(new["spec"], kind.gates, new["metadata"])
    yield from check_pod(pod, spec)
    yield from check_part(pod, "createdPod", spec, ("spec",))
    yield from of_rule(_ANNOTATIONS, _check_profiles(pod, pod.annotations, spec, ("spec",)))


def check_group(pod: PodContext, spec: Value, path: Path) -> Causes:
    """The link to a group, and that a pod with one has no eviction responders."""
    for link in GROUP_LINKS:
        if spec.get(link[0]) is None:
            continue
        where = (*path, *link)
        name = dig(spec, *link)
        if name is None:
            yield invalid(where, None, f"must specify one of: `{link[-1]}`")
        else:
            yield from refuse_text(where, name, check_long_name(name))
        if spec.get("evictionResponders"):
            yield forbidden((*path, link[0]), "may not be set when evictionResponders is set")


def check_claims(pod: PodContext, claims: list[Any], path: Path) -> Causes:
    """The claims of a pod, by which it shares those of its group."""
    if MIRROR in pod.annotations:
        # The server names no field, but an entry without a name: `[]`.
        yield forbidden((Key(""),), "static pods do not support resource claims")
        return
    seen: set[str] = set()
    targets = ("resourceClaimName", "resourceClaimTemplateName")
    for index, claim in enumerate(claims):
        name = claim.get("name", "")
        where = (*path, index)
        if name in seen:
            yield duplicate((*where, "name"), quote(name))
        else:
            yield from check_part(pod, "resourceClaim", claim, where)
            seen |= {name} - {""}
        given = [target for target in targets if target in claim]
        if len(given) != 1:
            detail = "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"
            if given:
                detail = "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"
            # The server shows the claim in Go's own spelling.
            shown = {"Name": name, **{target[:1].upper() + target[1:]: claim.get(target) for target in targets}}
            yield invalid_text(where, write_json(shown), detail)
        for target in given:
            yield from refuse_text((*where, target), claim[target], check_long_name(claim[target]))


def check_searches(pod: PodContext, searches: list[str], path: Path) -> Causes:
    if count_bytes(" ".join(searches)) > 2048:
        detail = "must not have more than 2048 characters (including spaces) in the search list"
        yield invalid_text(path, write_json(searches), detail)
    for index, search in enumerate(searches):
        name = search.removesuffix(".")
        if search != ".":
            yield from refuse_text((*path, index), name, find_format("relaxed_long_name")(name))


def _check_annotations(pod: PodContext, annotations: Value, spec: Value, path: Path) -> Causes:
    """Annotations that are fields by now, and the cost of deleting the pod."""
    for key, value in annotations.items():
        if "kubernetes.io/" not in key:
            continue
        if key == MIRROR and not spec.get("nodeName"):
            yield invalid((*path, Key(key)), value, "must set spec.nodeName if mirror pod annotation is set")
        elif key == "controller.kubernetes.io/pod-deletion-cost":
            if "deletion-cost" not in pod.allowed and pod.is_on("PodDeletionCost") and not is_int32(value):
                yield invalid((*path, Key(key)), value, "must be a 32bit integer")
        elif key == _TOLERATIONS and value:
            yield from _check_tolerations(pod, value, path)
        elif key == _SECCOMP_POD or key.startswith(_SECCOMP):
            yield from _check_seccomp(value, (*path, key))
        elif key.startswith(APP_ARMOR):
            name = key.removeprefix(APP_ARMOR)
            if not any(container.get("name", "") == name for container, _ in visit_containers(spec, ())):
                yield invalid((*path, Key(key)), name, "container not found")
            if value not in ("", "runtime/default", "unconfined") and not value.startswith("localhost/"):
                yield invalid((*path, Key(key)), value, f"invalid AppArmor profile name: {quote(value)}")


def is_int32(value: str) -> bool:
    """Whether a text is an int32 as the server reads it in an annotation: no plus, no zeros in front."""
    digits = value.removeprefix("-")
    if not (digits.isascii() and digits.isdigit()) or (value[0] == "0" and value != "0"):
        return False
    number = parse_int(value)
    return number is not None and -(2**31) <= number < 2**31


def _check_tolerations(pod: PodContext, value: str, path: Path) -> Causes:
    from krmfn.krm.json_reading import load_json

    try:
        found = load_json(value)
    except ValueError:
        found = ""
    if isinstance(found, list) and all(map(_is_toleration, found)):
        yield from check_each(pod, "toleration", found, (*path, _TOLERATIONS), "pod-tolerations")
    elif found is not None:
        # The server goes on with Go's words for what is no JSON, or is something else.
        yield invalid_text(path, quote(_TOLERATIONS), "")


def _is_toleration(value: Any) -> bool:
    return isinstance(value, dict) and all(
        type(value.get(name)) in (kind, NoneType) for name, kind in _TOLERATION_FIELDS.items()
    )


def _check_seccomp(value: str, path: Path) -> Causes:
    if value in ("runtime/default", "docker/default", "unconfined"):
        return
    if value.startswith("localhost/"):
        local = value.removeprefix("localhost/")
        yield from refuse_text(path, local, find_format("relative_path")(local))
    else:
        yield invalid(path, value, "must be a valid seccomp profile")


def _check_profiles(pod: PodContext, annotations: Value, spec: Value, path: Path) -> Causes:
    """A profile that is in a field and in an annotation has to be the same."""
    context = spec.get("securityContext", {})
    if _SECCOMP_POD in annotations and "seccompProfile" in context:
        where = (*path, "securityContext")
        yield from _compare_profile(annotations[_SECCOMP_POD], context["seccompProfile"], where, "seccomp")
    if not any(key.startswith((_SECCOMP, APP_ARMOR)) for key in annotations):
        return
    for container, at in visit_containers(spec, path):
        own, name = container.get("securityContext", {}), container.get("name", "")
        where = (*at, "securityContext")
        if "seccompProfile" in own and _SECCOMP + name in annotations:
            yield from _compare_profile(annotations[_SECCOMP + name], own["seccompProfile"], where, "seccomp")
        profile = own.get("appArmorProfile", context.get("appArmorProfile"))
        if profile is not None and APP_ARMOR + name in annotations and pod.os != "windows":
            yield from _compare_profile(annotations[APP_ARMOR + name], profile, where, "apparmor")


def _compare_profile(annotation: str, profile: Value, at: Path, word: str) -> Causes:
    field = "seccompProfile" if word == "seccomp" else "appArmorProfile"
    kind = profile.get("type", "")
    default = ("runtime/default", "docker/default") if word == "seccomp" else ("runtime/default",)
    same = {
        "Unconfined": annotation == "unconfined",
        "RuntimeDefault": annotation in default,
        "Localhost": annotation.startswith("localhost/"),
    }.get(kind, True)
    if not same:
        yield forbidden((*at, field, "type"), f"{word} type in annotation and field must match")
    elif kind == "Localhost" and annotation.removeprefix("localhost/") != profile.get("localhostProfile"):
        yield forbidden((*at, field, "localhostProfile"), f"{word} profile in annotation and field must match")


def check_label_selector(kind: Any, selector: Value | None, path: Path, any_value: bool = False) -> Out:
    """A label selector. `any_value`: the stored object has values that are no labels."""
    return check_part(kind, "labelSelectorOfAnyValues" if any_value else "labelSelector", selector or {}, path)


def is_wrong_selector(selector: Value | None) -> bool:
    """Whether the server cannot use a selector: it has an invalid key, operator or value."""
    return bool(check_label_selector(None, selector, ()))


def check_label_keys(pod: PodContext, term: Value, at: Path) -> Causes:
    """matchLabelKeys, which the server adds to the selector with the pod's values: it must not have them before."""
    places = {key: index for index, key in enumerate(term["matchLabelKeys"])}
    selector = term.get("labelSelector", {})
    seen = set(selector.get("matchLabels", ()))
    for need in selector.get("matchExpressions", ()):
        key = need.get("key", "")
        if key in places and key in seen:
            yield invalid((*at, places[key]), key, _TWICE)
        seen.add(key)
    for index, key in enumerate(term["matchLabelKeys"]):
        if key in term.get("mismatchLabelKeys", ()):
            detail = "exists in both matchLabelKeys and mismatchLabelKeys"
            yield invalid((*at, "matchLabelKeys", index), key, detail)


def check_spread(pod: PodContext, constraints: list[Any], path: Path) -> Causes:
    """How evenly pods are spread over domains."""
    pairs = [(one.get("topologyKey", ""), one.get("whenUnsatisfiable", "")) for one in constraints]
    for index, one in enumerate(constraints):
        at = (*path, index)
        yield from check_part(pod, "spread", one, at)
        if pairs[index] in pairs[index + 1 :]:
            key, action = pairs[index]
            yield duplicate((*at, "{topologyKey, whenUnsatisfiable}"), quote(f"{{{key}, {action}}}"))


def check_spread_keys(pod: PodContext, one: Value, at: Path) -> Causes:
    keys, selector = one["matchLabelKeys"], one.get("labelSelector")
    merged = pod.is_on("MatchLabelKeysInPodTopologySpread")
    if merged and pod.is_on("MatchLabelKeysInPodTopologySpreadSelectorMerge") != ("spread-keys" in pod.allowed):
        yield from check_part(pod, "labelKeys", one, at)
        return
    path = (*at, "matchLabelKeys")
    if selector is None:
        yield forbidden(path, "must not be specified when labelSelector is not set")
        selector = {}
    known = set(selector.get("matchLabels", ()))
    known.update(need.get("key", "") for need in selector.get("matchExpressions", ()))
    for index, key in enumerate(keys):
        yield from refuse_text((*path, index), key, check_label_key(key))
        if key in known:
            yield invalid((*path, index), key, _TWICE)


def check_number(kind: Any, value: str, path: Path) -> Causes:
    yield from refuse_text(path, value, find_format("decimal")(value))
    digits = value[1:] if value[:1] in ("+", "-") else value
    if not (digits.isascii() and digits.isdigit()):
        yield invalid(path, value, f"strconv.ParseInt: parsing {quote(value)}: invalid syntax")
    elif parse_int(value) is None:
        yield invalid(path, value, f"strconv.ParseInt: parsing {quote(value)}: value out of range")


def check_sysctls(pod: PodContext, spec: Value, path: Path) -> Causes:
    seen = set()
    for index, one in enumerate(spec["securityContext"]["sysctls"]):
        name, where = one.get("name", ""), (*path, "securityContext", "sysctls", index, "name")
        if not name:
            yield required(where)
        elif wrong := find_format("sysctl")(name):
            yield from refuse_text(where, name, wrong)
        elif name in seen:
            yield duplicate(where, quote(name))
        seen.add(name)
        field = find_host_field(name, spec)
        if field and not pod.is_on("host-sysctls"):
            yield invalid(where, name, f"may not be specified when '{field}' is true")


def find_host_field(name: str, spec: Value) -> str:
    """The field that gives the pod the host's namespace, so that it cannot have the sysctl; "" when there is none."""
    dots, slashes = name.find("."), name.find("/")
    if slashes >= 0 and (dots < 0 or slashes < dots):
        name = name.translate({ord("."): "/", ord("/"): "."})
    name = name.partition("*")[0]
    if spec.get("hostNetwork") and name.startswith("net."):
        return "hostNetwork"
    is_ipc = name in _IPC_SYSCTLS or name.startswith("fs.mqueue.")
    return "hostIPC" if is_ipc and spec.get("hostIPC") else ""


def list_user_faults(text: str) -> Faults:
    """What is wrong with `user` or `domain\\user` of Windows."""
    import re  # rare

    domain, found, user = text.rpartition("\\")
    if not text:
        return (_USER + " cannot be an empty string",)
    if re.search("[\x00-\x1f\x7f]", text):
        return (_USER + " cannot contain control characters",)
    if "\\" in domain:
        return (_USER + " cannot contain more than one backslash",)
    wrong = []
    if count_bytes(domain) >= 256:
        wrong.append("'s Domain length must be under 256 characters")
    label = "[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?"
    pattern = rf"[^\\/:*?\"<>|.][^\\/:*?\"<>|]{{0,14}}|{label}(?:\.{label})*"
    if found and not re.fullmatch(pattern, domain):
        wrong.append("'s Domain doesn't match the NetBios nor the DNS format")
    if not user:
        wrong.append("'s User cannot be empty")
    elif count_bytes(user) > 104:
        wrong.append("'s User length must not be longer than 104 characters")
    if user and not user.strip(". "):
        wrong.append("'s User cannot contain only periods or spaces")
    if set(user) & set('"/\\:;|=,+*?<>@[]'):
        wrong.append("'s User cannot contain the following characters: \"/\\:;|=,+*?<>@[]")
    return tuple(_USER + fault for fault in wrong)


def check_host_processes(pod: PodContext, spec: Value, path: Path) -> Causes:
    """Containers that are processes of a Windows host: all of a pod's, or none."""
    of_pod = spec.get("securityContext", {}).get("windowsOptions", {}).get("hostProcess")
    count = total = 0
    for container, at in visit_containers(spec, path):
        total += 1
        own = container.get("securityContext", {}).get("windowsOptions", {}).get("hostProcess")
        if of_pod is not None and own is not None and own != of_pod:
            detail = f"pod hostProcess value must be identical if both are specified, was {str(of_pod).lower()}"
            where = (*at, "securityContext", "windowsOptions", "hostProcess")
            yield invalid(where, own, detail)
        count += bool(of_pod if own is None else own)
    if not count:
        return
    if count != total:
        detail = "If pod contains any hostProcess containers then all containers must be HostProcess containers"
        yield invalid(path, "", detail)
    if not spec.get("hostNetwork"):
        detail = "hostNetwork must be true if pod contains any hostProcess containers"
        yield invalid((*path, "hostNetwork"), False, detail)
