"""Which kinds there are: those that the servers of a release have, as their discovery says, and the groups of projects
that are known here."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, Literal

from krmfn.krm.item import Item
from krmfn.krm.paths import dig
from krmfn.releases import schemastore

#: served: by default; off: with --runtime-config or a gate; missing: of a built-in group, but not there; foreign:
#: of a group that a CustomResourceDefinition or another server may bring.
Standing = Literal["served", "off", "missing", "foreign"]

#: Groups that Kubernetes itself had once.
_GONE = frozenset({"extensions", "settings.k8s.io", "auditregistration.k8s.io"})


@cache
def read_kinds(release: str) -> Mapping[str, Mapping[str, frozenset[str]]]:
    """By standing (served, off), the kinds of each API version."""
    table = schemastore.load(f"kubernetes/{release}/others/kinds.json")
    return {
        standing: {version: frozenset(kinds.split()) for version, kinds in table[standing].items()}
        for standing in ("served", "off")
    }


@cache
def _list_groups(release: str) -> frozenset[str]:
    return _GONE | {version.rpartition("/")[0] for table in read_kinds(release).values() for version in table}


def find_standing(api_version: str, kind: str, release: str) -> Standing:
    """What a server of the release does with the kind."""
    table = read_kinds(release)
    if kind in table["served"].get(api_version, ()):
        return "served"
    if kind in table["off"].get(api_version, ()):
        return "off"
    group = api_version.rpartition("/")[0]
    # A group without a dot cannot be that of a CustomResourceDefinition.
    return "missing" if "." not in group or group in _list_groups(release) else "foreign"


def is_of_kubernetes(api_version: str, release: str) -> bool:
    """Whether Kubernetes has, or had, a group of this name; the core group has the version v1 alone."""
    group = api_version.rpartition("/")[0]
    return group in _list_groups(release) if group else api_version == "v1"


def is_of_program(item: Item, release: str) -> bool:
    """Whether a document is for a program and sent to no cluster: its kind is not known, and it has no name (a
    kubeconfig), or a group that no definition can have and Kubernetes never had (`skaffold/v4beta12` Config)."""
    standing = find_standing(item.api_version, item.kind, release)
    if standing in ("served", "off") or item.api_version in read_projects():
        return False
    if not item.name and not isinstance(dig(item.value, "metadata", "generateName"), str):
        return True
    known = standing == "foreign" or is_of_kubernetes(item.api_version, release)
    return not known and find_similar(item.kind, release)[0].lower() != item.kind.lower()


def find_similar(kind: str, release: str) -> tuple[str, tuple[str, ...]]:
    """The kind that a wrong one means, and the versions in which the release has it, empty when none is like it. Those
    that are off count only if there are no others."""
    from difflib import get_close_matches

    table = read_kinds(release)
    names = {name.lower(): name for of in table.values() for kinds in of.values() for name in kinds}
    close = get_close_matches(kind.lower(), names, 1, 0.8)
    found = names[close[0]] if close else ""
    served, off = (tuple(each for each in table[word] if found in table[word][each]) for word in ("served", "off"))
    return found, served or off


@cache
def read_projects() -> Mapping[str, list[tuple[str, Mapping[str, Any]]]]:
    """The projects that have kinds of a group."""
    found: dict[str, list[tuple[str, Mapping[str, Any]]]] = {}
    for project, row in schemastore.load("crds/projects.json").items():
        for group in row["groups"]:
            found.setdefault(group, []).append((project, row))
    return found
