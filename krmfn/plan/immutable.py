"""Fields that cannot change in the kinds that make a gang's pods, besides what the server checks judge themselves.

Source: k8s.io/kubernetes/pkg/apis/{apps,batch,core}/validation of 1.35 to 1.37. Of other kinds their row tells; a field
that is not listed there is taken as mutable.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from krmfn.krm.paths import Path
from krmfn.model.kinds import find_kind
from krmfn.model.values import as_mapping
from krmfn.plan.records import Reason

_RULE: Final = "immutable"
_IMMUTABLE: Final = "field is immutable"


def find_immutable(group: str, kind: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[Reason]:
    """Why `old` cannot become `new` in place, as far as is known here."""
    row = find_kind(group, kind)
    find = _WHOLE.get((group, kind)) or _fields(*row.immutable if row else ())
    yield from find(as_mapping(old.get("spec")), as_mapping(new.get("spec")))


def _reason(path: Path, message: str = _IMMUTABLE, type_: str = "Invalid") -> Reason:
    return Reason(path, _RULE, type_, message)


def _fields(*names: str) -> Callable[[Mapping[str, Any], Mapping[str, Any]], Iterator[Reason]]:
    def find(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[Reason]:
        for name in names:
            if old.get(name) != new.get(name):
                yield _reason(("spec", name))

    return find


def _job(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[Reason]:
    loose = old.get("suspend") is True
    if _template(old.get("template"), loose) != _template(new.get("template"), loose):
        yield _reason(("spec", "template"))
    yield from _fields("completionMode", "managedBy", "podFailurePolicy", "backoffLimitPerIndex", "successPolicy")(
        old, new
    )
    if "selector" in new and old.get("selector") != new.get("selector"):
        yield _reason(("spec", "selector"))
    elastic = new.get("completionMode") == "Indexed" and new.get("completions") == new.get("parallelism")
    if old.get("completions") != new.get("completions") and not elastic:
        yield _reason(("spec", "completions"))


def _template(value: Any, loose: bool) -> Any:
    """What of a Job's pod template cannot change; a suspended Job's placement fields can."""
    if not loose:
        return value
    template = as_mapping(value)
    spec = {key: child for key, child in as_mapping(template.get("spec")).items() if key not in _LOOSE}
    boxes = spec.get("containers")
    if isinstance(boxes, list):
        spec["containers"] = [
            {key: child for key, child in as_mapping(box).items() if key != "resources"} for box in boxes
        ]
    affinity = {key: child for key, child in as_mapping(spec.pop("affinity", None)).items() if key != "nodeAffinity"}
    return {**spec, "affinity": affinity}


_LOOSE: Final = frozenset({"nodeSelector", "tolerations", "schedulingGates"})


def _statefulset(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[Reason]:
    for name in sorted({*old, *new} - _STATEFULSET_MUTABLE):
        if old.get(name) != new.get(name):
            message = (
                "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', "
                "'updateStrategy', "
                "'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden"
            )
            yield _reason(("spec", name), message, "Forbidden")


_STATEFULSET_MUTABLE: Final = {
    "replicas",
    "ordinals",
    "template",
    "updateStrategy",
    "revisionHistoryLimit",
    "persistentVolumeClaimRetentionPolicy",
    "minReadySeconds",
}


def _trainjob(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[Reason]:
    yield from _fields("runtimeRef", "initializer", "trainer", "managedBy")(old, new)
    suspended = old.get("suspend") is True or new.get("suspend") is True
    if not suspended and old.get("runtimePatches") != new.get("runtimePatches"):
        message = "RuntimePatches can only be modified when the TrainJob is suspended before or after the update"
        yield _reason(("spec", "runtimePatches"), message, "Forbidden")


def _pod(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[Reason]:
    before, after = _fixed_part(old), _fixed_part(new)
    for name in sorted({*before, *after}):
        if before.get(name) != after.get(name):
            yield _reason(("spec", name), "pod updates may not change this field", "Forbidden")


def _fixed_part(spec: Mapping[str, Any]) -> dict[str, Any]:
    fixed = {key: child for key, child in spec.items() if key not in _POD_MUTABLE}
    for name in ("containers", "initContainers"):
        boxes = fixed.get(name)
        if isinstance(boxes, list):
            fixed[name] = [{key: child for key, child in as_mapping(box).items() if key != "image"} for box in boxes]
    return fixed


_POD_MUTABLE: Final = frozenset(
    {"activeDeadlineSeconds", "tolerations", "terminationGracePeriodSeconds", "schedulingGates"}
)

_WHOLE: Final[Mapping[tuple[str, str], Callable[[Mapping[str, Any], Mapping[str, Any]], Iterator[Reason]]]] = {
    ("", "Pod"): _pod,
    ("apps", "StatefulSet"): _statefulset,
    ("batch", "Job"): _job,
    ("trainer.kubeflow.org", "TrainJob"): _trainjob,
}
