"""What both policies and the prediction have in common: the names, the pods that are passed over, and the refusals."""

from __future__ import annotations

from krmfn.krm.types import Final, NamedTuple

#: The name of all four objects.
NAME: Final = "gang-link.krmfn.dev"
#: KubeRay makes this pod from the template of the head when the cluster is deleted: it belongs to no gang.
ASIDE: Final = ("ray.io/node-type", "redis-cleanup")


class LinkRule(NamedTuple):
    """What must hold of a pod that asks for its link, and what it is refused with: `values` are CEL, in the order of
    the `{}` in `text`."""

    expression: str
    text: str
    values: tuple[str, ...] = ()

    def refuse(self, *values: str) -> str:
        """The refusal, as the API server spells it: a text of several lines is replaced by the expression."""
        text = self.text.format(*values)
        return f"failed expression: {self.expression}" if "\n" in text else text


NAMED: Final = LinkRule(
    "variables.base != ''", "the annotation krmfn.dev/pod-group is empty: write the name of a PodGroup"
)
LABELLED: Final = LinkRule(
    "variables.labelled",
    "the pod does not have the label {}, which krmfn.dev/pod-group-by names: its PodGroup is not known",
    ("variables.by",),
)
LINKED: Final = LinkRule(
    "variables.link == variables.group",
    "the pod should be in the PodGroup {}, but is linked to {}: the MutatingAdmissionPolicy "
    f"{NAME} did not run, or the feature gate GenericWorkload is off",
    ("variables.group", "(variables.link == '' ? 'none' : variables.link)"),
)
