"""The rules of a projected volume's sources.

Source: validateProjectionSources of k8s.io/kubernetes/pkg/apis/core/validation; ValidateSignerName and
ValidateClusterTrustBundleName of pkg/apis/certificates/validation.
"""

from __future__ import annotations

from krmfn.krm.paths import Path
from krmfn.model.gotext import quote
from krmfn.server.cases import check_part
from krmfn.server.formats import Form, check_label_key, check_long_name, check_short_name, count_bytes
from krmfn.server.pods.setting import Object, Setting

_TWICE = "conflicting duplicate paths"
_NO_DOMAIN = 'must be a domain-prefixed key (such as "acme.io/foo")'


def check_projection(pod: Setting, part: Object, at: Path, paths: set[str]) -> None:
    """One source. `paths` are the files of those before it; the server names the volume where two meet."""
    check_part(pod, "projection", part, at)
    volume = at[:-2]
    for kind in ("secret", "configMap", "downwardAPI"):
        for item in part.get(kind, {}).get("items", ()):
            text = item.get("path", "")
            _claim(pod, text, text if kind == "downwardAPI" else part[kind].get("name", ""), volume, paths)
    if "clusterTrustBundle" in part:
        text = part["clusterTrustBundle"].get("path", "")
        if text in paths:
            pod.invalid(volume, text, _TWICE)
        paths.add(text)
    for field in ("credentialBundlePath", "keyPath", "certificateChainPath"):
        text = part.get("podCertificate", {}).get(field, "")
        _claim(pod, text, text, volume, paths)


def _claim(pod: Setting, text: str, shown: str, volume: Path, paths: set[str]) -> None:
    if text and text in paths:
        pod.invalid(volume, shown, _TWICE)
    if text:
        paths.add(text)


def check_bundle_name(pod: Setting, name: str, path: Path) -> None:
    """A bundle of a signer is named after it: its name with colons, a colon, a DNS name."""
    signer, found, rest = name.rpartition(":")
    wrong = check_long_name(rest)
    if found and not signer:
        wrong = ('ClusterTrustBundle without signer name must not have ":" in its name',)
    pod.refuse(path, name, [f"not a valid clustertrustbundlename: {message}" for message in wrong])


def check_signer(pod: Setting, name: str, path: Path) -> None:
    """`domain/path`, both of DNS names."""
    if not name:
        pod.required(path)
        return
    if name.count("/") != 1:
        detail = "must be a fully qualified domain and path of the form 'example.com/signer-name'"
        pod.invalid(path, name, detail)
        return
    domain, _, rest = name.partition("/")
    if count_bytes(domain) > 253:
        pod.too_long(path, 253)
    _check_labels(pod, domain, check_short_name, path)
    if "." not in domain:
        pod.invalid(path, domain, "should be a domain with at least two segments separated by dots")
    _check_labels(pod, rest, check_long_name, path)
    if count_bytes(name) > 571:
        pod.too_long(path, 571)


def _check_labels(pod: Setting, text: str, check: Form, path: Path) -> None:
    """The first part between dots that is wrong."""
    for label in text.split("."):
        wrong = check(label)
        for message in wrong:
            pod.invalid(path, text, f"validating label {quote(label)}: {message}")
        if wrong:
            return


def check_user_annotations(pod: Setting, annotations: Object, path: Path) -> None:
    for key in map(str.lower, annotations):
        wrong = check_label_key(key) if "/" in key or check_label_key(key) else (_NO_DOMAIN,)
        pod.refuse(path, key, wrong)


def check_lifetime(pod: Setting, certificate: Object, at: Path) -> None:
    host = certificate.get("signerName", "").partition("/")[0]
    most = 86400 if host == "kubernetes.io" or host.endswith(".kubernetes.io") else 7862400
    seconds = certificate["maxExpirationSeconds"]
    if seconds > most:
        detail = f"if provided, maxExpirationSeconds must be <= {most}"
        pod.invalid((*at, "maxExpirationSeconds"), seconds, detail)
