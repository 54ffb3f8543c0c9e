"""The rules of a projected volume's sources.

Source: validateProjectionSources of k8s.io/kubernetes/pkg/apis/core/validation; ValidateSignerName and
ValidateClusterTrustBundleName of pkg/apis/certificates/validation.
"""

from __future__ import annotations

from collections.abc import Callable

from krmfn.krm.paths import Path
from krmfn.model.gotext import quote
from krmfn.server.cases import check_part
from krmfn.server.formats import check_label_key, check_local_path, check_long_name, check_short_name, count_bytes
from krmfn.server.pods.placement import check_selector
from krmfn.server.pods.setting import Object, Setting
from krmfn.server.pods.volume_files import check_downward_file

_RULE = "pod-volumes"
_TWICE = "conflicting duplicate paths"
_NO_DOMAIN = 'must be a domain-prefixed key (such as "acme.io/foo")'
_KINDS = ("secret", "configMap", "downwardAPI", "serviceAccountToken", "clusterTrustBundle", "podCertificate")


def check_projection(part: Object, at: Path, paths: set[str], pod: Setting) -> None:
    """One source. `paths` are the files of those before it; the server names the volume where two meet."""
    volume = at[:-2]
    for kind in ("secret", "configMap"):
        if kind in part:
            name = part[kind].get("name", "")
            if not name:
                pod.required((*at, kind, "name"), _RULE)
            for index, item in enumerate(part[kind].get("items", ())):
                pod.out += check_part(pod, "keyToPath", item, (*at, kind, "items", index), _RULE)
                _claim(item.get("path", ""), name, volume, paths, pod)
    for item in part.get("downwardAPI", {}).get("items", ()):
        check_downward_file(item, (*at, "downwardAPI"), pod)
        _claim(item.get("path", ""), item.get("path", ""), volume, paths, pod)
    if "serviceAccountToken" in part:
        _check_token(part["serviceAccountToken"], (*at, "serviceAccountToken"), volume, pod)
    if "clusterTrustBundle" in part:
        bundle = part["clusterTrustBundle"]
        _check_bundle(bundle, (*at, "clusterTrustBundle"), pod)
        text = bundle.get("path", "")
        if text in paths:
            pod.invalid(volume, _RULE, text, _TWICE)
        paths.add(text)
    if "podCertificate" in part:
        _check_certificate(part["podCertificate"], (*at, "podCertificate"), paths, pod)
    if sum(kind in part for kind in _KINDS) > 1:
        pod.forbidden(at, _RULE, "may not specify more than 1 volume type per source")


def _claim(text: str, shown: str, volume: Path, paths: set[str], pod: Setting) -> None:
    if text and text in paths:
        pod.invalid(volume, _RULE, shown, _TWICE)
    if text:
        paths.add(text)


def _check_token(token: Object, at: Path, volume: Path, pod: Setting) -> None:
    pod.out += check_part(pod, "serviceAccountToken", token, at, _RULE)
    text = token.get("path", "")
    if not text:
        pod.required((*volume, "path"), _RULE)
    elif "projected-token-path" not in pod.allowed:
        pod.refuse((*volume, "path"), _RULE, text, check_local_path(text))
    pod.check_id(token, "user", at, _RULE)


def _check_bundle(bundle: Object, at: Path, pod: Setting) -> None:
    name, signer = bundle.get("name"), bundle.get("signerName")
    pod.out += check_part(pod, "clusterTrustBundle", bundle, at, _RULE)
    if name is not None and signer is None:
        for message in _check_bundle_name(name):
            pod.invalid((*at, "name"), _RULE, name, f"not a valid clustertrustbundlename: {message}")
    elif signer is not None and name is None:
        _check_signer(signer, (*at, "signerName"), pod)
        check_selector(bundle.get("labelSelector"), (*at, "labelSelector"), _RULE, pod)
    pod.out += check_part(pod, "clusterTrustBundle.path", bundle, at, _RULE)


def _check_bundle_name(name: str) -> tuple[str, ...]:
    """A bundle of a signer is named after it: its name with colons, a colon, a DNS name."""
    signer, found, rest = name.rpartition(":")
    if found and not signer:
        return ('ClusterTrustBundle without signer name must not have ":" in its name',)
    return check_long_name(rest)


def _check_signer(name: str, path: Path, pod: Setting) -> None:
    """`domain/path`, both of DNS names."""
    if not name:
        pod.required(path, _RULE)
        return
    if name.count("/") != 1:
        detail = "must be a fully qualified domain and path of the form 'example.com/signer-name'"
        pod.invalid(path, _RULE, name, detail)
        return
    domain, _, rest = name.partition("/")
    if count_bytes(domain) > 253:
        pod.too_long(path, _RULE, 253)
    _check_labels(domain, check_short_name, path, pod)
    if "." not in domain:
        pod.invalid(path, _RULE, domain, "should be a domain with at least two segments separated by dots")
    _check_labels(rest, check_long_name, path, pod)
    if count_bytes(name) > 571:
        pod.too_long(path, _RULE, 571)


def _check_labels(text: str, check: Callable[[str], tuple[str, ...]], path: Path, pod: Setting) -> None:
    """The first part between dots that is wrong."""
    for label in text.split("."):
        wrong = check(label)
        for message in wrong:
            pod.invalid(path, _RULE, text, f"validating label {quote(label)}: {message}")
        if wrong:
            return


def _check_certificate(certificate: Object, at: Path, paths: set[str], pod: Setting) -> None:
    signer = certificate.get("signerName", "")
    _check_signer(signer, (*at, "signerName"), pod)
    for key in map(str.lower, certificate.get("userAnnotations", {})):
        wrong = check_label_key(key) if "/" in key or check_label_key(key) else (_NO_DOMAIN,)
        pod.refuse((*at, "userAnnotations"), _RULE, key, wrong)
    pod.out += check_part(pod, "podCertificate", certificate, at, _RULE)
    seconds = certificate.get("maxExpirationSeconds")
    if seconds is not None:
        host = signer.partition("/")[0]
        most = 86400 if host == "kubernetes.io" or host.endswith(".kubernetes.io") else 7862400
        if seconds > most:
            detail = f"if provided, maxExpirationSeconds must be <= {most}"
            pod.invalid((*at, "maxExpirationSeconds"), _RULE, seconds, detail)
    for field in ("credentialBundlePath", "keyPath", "certificateChainPath"):
        _claim(certificate.get(field, ""), certificate.get(field, ""), at[:-3], paths, pod)
