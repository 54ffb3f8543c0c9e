"""What cannot change in a Job that exists. A suspended Job may change a little more of its template.

Source: k8s.io/kubernetes/pkg/apis/batch/validation (ValidateJobSpecUpdate) and pkg/registry/batch/job/strategy.go;
rules J20-J25 of the reference.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from krmfn.checks.server.causes import Cause, invalid, invalid_text
from krmfn.checks.server.podspecs import differ
from krmfn.checks.server.spell import to_api, write_json
from krmfn.checks.server.types import Type

Object = Mapping[str, Any]


def check_job_change(root: Type, new: Object, old: Object | None, argument: Any) -> Iterator[Cause]:
    """What cannot change. `argument` says which parts of a suspended Job's template can."""
    spec, before = new.get("spec", {}), (old or {}).get("spec", {})
    of = root.fields["spec"].type
    yield from _check_completions(spec, before)
    for name in (
        "selector",
        "completionMode",
        "podFailurePolicy",
        "backoffLimitPerIndex",
        "managedBy",
        "successPolicy",
    ):
        if spec.get(name) != before.get(name):
            text = write_json(to_api(of.fields[name].type, spec[name])) if name in spec else "null"
            yield invalid_text(("spec", name), "job-immutable", text, "field is immutable")
    yield from _check_template_change(of.fields["template"].type, spec, before, argument)
    scheduling, previous = spec.get("scheduling"), before.get("scheduling")
    if scheduling is not None and previous is not None:
        policy, was = scheduling.get("schedulingPolicy"), previous.get("schedulingPolicy")
        if policy is not None and was is not None and ("basic" in policy) != ("basic" in was):
            detail = (
                "the basic/gang policy variant is immutable after creation; only schedulingPolicy.gang.minCount may be"
                " updated"
            )
            yield invalid(("spec", "scheduling", "schedulingPolicy"), "policy-variant", None, detail)


def _check_completions(spec: Object, before: Object) -> Iterator[Cause]:
    completions, was = spec.get("completions"), before.get("completions")
    if completions == was:
        return
    if spec.get("completionMode") != "Indexed":
        yield invalid(("spec", "completions"), "job-immutable", completions, "field is immutable")
    elif completions is not None and completions != spec.get("parallelism"):
        detail = "can only be modified in tandem with spec.parallelism"
        yield invalid(("spec", "completions"), "job-immutable", completions, detail)


def _check_template_change(of: Type, spec: Object, before: Object, suspended: Object) -> Iterator[Cause]:
    """The template stays. Its value is long and holds a uid, so it is not spelled here: `{…}`."""
    template, was = spec.get("template", {}), before.get("template", {})
    if template == was:
        return
    meta, pods = template.get("metadata", {}), template.get("spec", {})
    meta_was, pods_were = was.get("metadata", {}), was.get("spec", {})
    held = before.get("suspend", False)
    if held:
        meta_was = {**meta_was, "labels": meta.get("labels", {}), "annotations": meta.get("annotations", {})}
        meta_was = {key: value for key, value in meta_was.items() if value}
        pods_were = _with_directives(pods, pods_were)
    spec_type = of.fields["spec"].type
    if held and suspended.get("resources"):
        if differ(spec_type, pods, _with_resources(pods, pods_were)):
            yield invalid_text(("spec", "template", "spec"), "job-immutable", "{…}", "field is immutable")
    elif meta != meta_was or differ(spec_type, pods, pods_were):
        yield invalid_text(("spec", "template"), "job-immutable", "{…}", "field is immutable")


def _with_directives(new: Object, old: Object) -> dict[str, Any]:
    """The old spec with the scheduling directives of the new one, which a suspended Job may change."""
    out = dict(old)
    for name in ("nodeSelector", "tolerations", "schedulingGates"):
        if name in new:
            out[name] = new[name]
        else:
            out.pop(name, None)
    affinity = {key: value for key, value in old.get("affinity", {}).items() if key != "nodeAffinity"}
    if "affinity" in new:
        if "nodeAffinity" in new["affinity"]:
            affinity["nodeAffinity"] = new["affinity"]["nodeAffinity"]
        out["affinity"] = affinity
    elif "affinity" in old:
        out["affinity"] = affinity
        if not affinity:
            del out["affinity"]
    return out


def _with_resources(new: Object, old: Object) -> dict[str, Any]:
    out = dict(old)
    for name in ("containers", "initContainers"):
        mine, theirs = new.get(name, ()), old.get(name, ())
        if len(mine) == len(theirs):
            out[name] = [_take_resources(theirs[index], container) for index, container in enumerate(mine)] or theirs
            if not out[name]:
                del out[name]
    return out


def _take_resources(old: Object, new: Object) -> Object:
    if old.get("name") != new.get("name"):
        return old
    out = {key: value for key, value in old.items() if key != "resources"}
    return {**out, "resources": new["resources"]} if "resources" in new else out
