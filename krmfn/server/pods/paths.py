"""Paths inside of containers and volumes. Source: validateLocalDescendingPath and what stands around it."""

from __future__ import annotations

from krmfn.krm.paths import Path
from krmfn.server.pods.setting import Setting


def check_no_backsteps(text: str, path: Path, rule: str, pod: Setting) -> None:
    """No part is `..`."""
    if ".." in text and ".." in text.split("/"):
        pod.invalid(path, rule, text, "must not contain '..'")


def check_relative(text: str, path: Path, rule: str, pod: Setting) -> None:
    """Downwards from where it is."""
    if text.startswith("/"):
        pod.invalid(path, rule, text, "must be a relative path")
    check_no_backsteps(text, path, rule, pod)


def check_local(text: str, path: Path, rule: str, pod: Setting) -> None:
    """Downwards, and with a name that the kubelet does not keep for itself."""
    check_relative(text, path, rule, pod)
    if text.startswith("..") and not text.startswith("../"):
        pod.invalid(path, rule, text, "must not start with '..'")
