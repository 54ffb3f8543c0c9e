"""What to say of the feature gates that the objects of a gang need."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from krmfn.krm.paths import Path
from krmfn.model.findings import Note
from krmfn.model.wording import join
from krmfn.releases import schemastore
from krmfn.releases.gates import list_needed
from krmfn.releases.release import GROUP, Release


def check_gates(release: Release, objects: Iterable[Mapping[str, Any]], given: Mapping[str, bool]) -> Iterator[Note]:
    """An error for every gate that the objects need and that is `given` as off."""
    if False not in given.values():
        return
    for gate in list_needed(release, objects):
        if given.get(gate) is False:
            message = (
                f"the gang needs the feature gate {gate}, which is off in kubernetes.featureGates or --feature-gates"
            )
            hint = schemastore.load("ways.json")["gates"].get(gate, "Turn the feature gate on.")
            yield Note("gate-off", (), message, False, True, hint)


def note_gates(
    release: Release,
    objects: Iterable[Mapping[str, Any]],
    given: Mapping[str, bool],
    rule: str = "gates-needed",
    path: Path = (),
) -> Note | None:
    """What to turn on in the cluster for all `objects`, in one note: gates that are off by default and not `given`.

    None when there is no such gate.
    """
    values = list(objects)
    missing = [gate for gate in list_needed(release, values) if gate not in given and not release.gates[gate].default]
    if not missing:
        return None
    found = sorted(set(_list_versions(release, values)))
    versions = [version for version in found if "alpha" in version or "beta" in version]
    needs = [f"the feature {'gate' if len(missing) == 1 else 'gates'} {join(missing)}"]
    flags = [f"--feature-gates={','.join(f'{gate}=true' for gate in missing)}"]
    if versions:
        needs.append(f"the API {'version' if len(versions) == 1 else 'versions'} {join(versions)}")
        flags.append(f"--runtime-config={','.join(f'{version}=true' for version in versions)}")
    off = "is off" if len(missing) + len(versions) == 1 else "are off"
    message = f"the groups need {join(needs)}, which {off} by default in Kubernetes {release}"
    components = dict.fromkeys(name for gate in missing for name in release.gates[gate].components)
    hint = f"Start {join(list(components))} with {flags[0]}"
    hint += "".join(f", and kube-apiserver also with {flag}" for flag in flags[1:])
    hint += ". Once they are on, pass the same --feature-gates to krmfn, or list them under"
    hint += " kubernetes.featureGates in its configuration."
    return Note(rule, path, message, hint=hint)


def _list_versions(release: Release, objects: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """The API versions of groups; instead of one that the release does not have, that in which it has the kind."""
    for value in objects:
        group, _, version = value["apiVersion"].rpartition("/")
        served = release.kinds.get(str(value.get("kind")), ()) if group == GROUP else ()
        if served:
            yield f"{GROUP}/{version if version in served else served[0]}"
