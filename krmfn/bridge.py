"""The link bridge: two admission policies that link a pod to its PodGroup when the pod is created.

For kinds whose CRD drops `schedulingGroup`, and for groups per replica, whose pods share one template: objects of
admissionregistration.k8s.io/v1, with their CEL.

A pod asks for its link by the annotation `krmfn.dev/pod-group`; with `krmfn.dev/pod-group-by`, the value of that label
of the pod is appended to the name, or the number of its slice (model.podnumber). The mutating policy sets the link, and
runs once more after webhooks, because some operators put their labels on in one. It leaves a pod alone whose label is
missing or not a number, and the validating policy, which runs at the end, refuses it: no other pods are refused.

Every expression can be evaluated for every pod: an error in one would refuse pods that ask for nothing. They are data,
in schemas/bridge.json: which pods are looked at (KubeRay makes one from the template of the head when the cluster is
deleted, which belongs to no gang), variables, and the rules for pods that ask, of which the first that does not hold is
the answer. The `values` of a rule are CEL, in the order of the `{}` in its text.
"""

from __future__ import annotations

from krmfn.model.values import Fields, Names, Value
from krmfn.releases import schemastore

#: The name of all four objects.
NAME = "gang-link.krmfn.dev"
_VERSION = "admissionregistration.k8s.io/v1"
_PATCH = "variables.base == '' || !variables.told ? [] : [JSONPatch{op: 'add', path: '/spec/%s', value: %s}]"


def write_policies(namespaces: Value, link: Names) -> tuple[Fields, ...]:
    """The two policies, each with its binding. `namespaces` is a LabelSelector of the namespaces that they act in,
    `link` the path from the spec of a pod to the name of its group."""
    scope = {"matchResources": {"namespaceSelector": dict(namespaces)}} if namespaces else {}
    told = schemastore.load("bridge.json")
    variables = [{"name": name, "expression": expression} for name, expression in told["variables"].items()]
    standing = {"name": "link", "expression": f"object.spec.?{'.?'.join(link)}.orValue('')"}
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}
    head = {
        "failurePolicy": "Fail",
        "matchConstraints": {"resourceRules": [rule]},
        "matchConditions": told["conditions"],
    }
    mutating = {
        **head,
        "reinvocationPolicy": "IfNeeded",
        "variables": variables,
        "mutations": [{"patchType": "JSONPatch", "jsonPatch": {"expression": _PATCH % (link[0], _nest(link))}}],
    }
    validations = [
        {"expression": rule["expression"], "messageExpression": _concatenate(rule["text"], *rule.get("values", ()))}
        for rule in told["rules"].values()
    ]
    validating = {**head, "variables": [*variables, standing], "validations": validations}
    bind = {"policyName": NAME, **scope}
    return (
        _object("MutatingAdmissionPolicy", mutating),
        _object("MutatingAdmissionPolicyBinding", bind),
        _object("ValidatingAdmissionPolicy", validating),
        _object("ValidatingAdmissionPolicyBinding", {**bind, "validationActions": ["Deny"]}),
    )


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
