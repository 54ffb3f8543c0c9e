"""The link bridge: two admission policies that link a pod to its PodGroup when the pod is created.

For kinds whose CRD drops `schedulingGroup`, and for groups per replica, whose pods share one template: objects of
admissionregistration.k8s.io/v1, with their CEL.

A pod asks for its link by the annotation `krmfn.dev/pod-group`; with `krmfn.dev/pod-group-by`, the value of that label
of the pod is appended to the name, or the number of its slice (model.podnumber). The mutating policy sets the link, and
runs once more after webhooks, because some operators put their labels on in one. It leaves a pod alone whose label is
missing, or is no number; the validating policy, which runs at the end, refuses it. So nothing is refused but pods that
ask.

Every expression can be evaluated for every pod: an error in one would refuse pods that ask for nothing.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from krmfn.model.marks import POD_GROUP, POD_GROUP_BY
from krmfn.model.podnumber import SLICE
from krmfn.model.values import Fields, Names, Value

#: The name of all four objects.
NAME: Final = "gang-link.krmfn.dev"
#: KubeRay makes this pod from the template of the head when the cluster is deleted: it belongs to no gang.
ASIDE: Final = ("ray.io/node-type", "redis-cleanup")


class LinkRule(NamedTuple):
    """What must hold of a pod that asks for its link, and what it is refused with: `values` are CEL, in the order of
    the `{}` in `text`."""

    expression: str
    text: str
    values: Names = ()


NAMED: Final = LinkRule(
    "variables.base != ''", "the annotation krmfn.dev/pod-group is empty: write the name of a PodGroup"
)
LABELLED: Final = LinkRule(
    "variables.labelled",
    "the pod does not have the label {}, which krmfn.dev/pod-group-by names: its PodGroup is not known",
    ("variables.by",),
)
COUNTED: Final = LinkRule(
    "variables.counted",
    "krmfn.dev/pod-group-by is {}, but the labels of the pod have no numbers for it: its PodGroup is not known",
    ("variables.by",),
)
LINKED: Final = LinkRule(
    "variables.link == variables.group",
    "the pod should be in the PodGroup {}, but is linked to {}: the MutatingAdmissionPolicy "
    f"{NAME} did not run, or the feature gate GenericWorkload is off",
    ("variables.group", "(variables.link == '' ? 'none' : variables.link)"),
)

_VERSION: Final = "admissionregistration.k8s.io/v1"
_CONDITIONS: Final = (
    {"name": "asks", "expression": f"object.metadata.?annotations[?'{POD_GROUP}'].hasValue()"},
    {"name": "member", "expression": f"object.metadata.?labels[?'{ASIDE[0]}'].orValue('') != '{ASIDE[1]}'"},
)
_VARIABLES: Final = {
    "base": f"object.metadata.annotations['{POD_GROUP}']",
    "by": f"object.metadata.annotations[?'{POD_GROUP_BY}'].orValue('')",
    "sliced": "variables.by.contains(' / ')",
    "terms": "variables.by.split(' / ')[0].replace('(', '').replace(')', '').split(' + ')",
    "keys": "variables.sliced ? variables.terms.map(term, term.split('*')[0]) "
    ": variables.by == '' ? [] : [variables.by]",
    "labelled": "variables.keys.all(key, object.metadata.?labels[?key].hasValue())",
    "counted": f"!variables.sliced || (variables.by.matches('{SLICE}') && "
    "variables.keys.all(key, object.metadata.?labels[?key].orValue('').matches('^[0-9]{1,9}$')))",
    "place": "variables.terms.map(term, int(object.metadata.labels[term.split('*')[0]]) * "
    "(term.contains('*') ? int(term.split('*')[1]) : 1)).sum() / int(variables.by.split(' / ')[1])",
    "told": "variables.labelled && variables.counted",
    "suffix": "variables.by == '' || !variables.told ? '' : '-' + "
    "(variables.sliced ? string(variables.place) : object.metadata.labels[variables.by])",
    "group": "variables.base + variables.suffix",
}
_PATCH: Final = "variables.base == '' || !variables.told ? [] : [JSONPatch{op: 'add', path: '/spec/%s', value: %s}]"


def write_policies(namespaces: Value, link: Names) -> tuple[Fields, ...]:
    """The two policies, each with its binding. `namespaces` is a LabelSelector of the namespaces that they act in,
    `link` the path from the spec of a pod to the name of its group."""
    scope = {"matchResources": {"namespaceSelector": dict(namespaces)}} if namespaces else {}
    variables = [{"name": name, "expression": expression} for name, expression in _VARIABLES.items()]
    standing = {"name": "link", "expression": f"object.spec.?{'.?'.join(link)}.orValue('')"}
    mutating = {
        **_head(),
        "reinvocationPolicy": "IfNeeded",
        "variables": variables,
        "mutations": [{"patchType": "JSONPatch", "jsonPatch": {"expression": _PATCH % (link[0], _nest(link))}}],
    }
    validations = [
        {"expression": expression, "messageExpression": _concatenate(text, *values)}
        for expression, text, values in (NAMED, LABELLED, COUNTED, LINKED)  # the first that does not hold is the answer
    ]
    validating = {**_head(), "variables": [*variables, standing], "validations": validations}
    bind = {"policyName": NAME, **scope}
    return (
        _object("MutatingAdmissionPolicy", mutating),
        _object("MutatingAdmissionPolicyBinding", bind),
        _object("ValidatingAdmissionPolicy", validating),
        _object("ValidatingAdmissionPolicyBinding", {**bind, "validationActions": ["Deny"]}),
    )


def _head() -> Fields:
    """What both policies look at: pods that are created and ask."""
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}
    return {
        "failurePolicy": "Fail",
        "matchConstraints": {"resourceRules": [rule]},
        "matchConditions": list(_CONDITIONS),
    }


def _nest(link: Names, above: str = "Object.spec") -> str:
    """The CEL value of the first field of `link`: objects down to the name of the group."""
    if len(link) == 1:
        return "variables.group"
    of = f"{above}.{link[0]}"
    return f"{of}{{{link[1]}: {_nest(link[1:], of)}}}"


def _concatenate(text: str, *expressions: str) -> str:
    """The CEL expression of `text` with values in the place of its `{}`."""
    first, *rest = text.split("{}")
    parts = [f"'{first}'"]
    for expression, part in zip(expressions, rest, strict=True):
        parts += [expression, f"'{part}'"]
    return " + ".join(part for part in parts if part != "''")


def _object(kind: str, spec: Fields) -> Fields:
    return {"apiVersion": _VERSION, "kind": kind, "metadata": {"name": NAME}, "spec": spec}
