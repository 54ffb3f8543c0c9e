"""What the policies of the link bridge do to a pod, offline. Recorded answers of API servers are compared with it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from krmfn.model.marks import POD_GROUP, POD_GROUP_BY
from krmfn.model.podnumber import read_slice
from krmfn.releases import schemastore

#: The label and the value of a pod that KubeRay makes when a cluster is deleted.
ASIDE = ("ray.io/node-type", "redis-cleanup")


class Prediction(NamedTuple):
    """What becomes of a pod: `link` is the PodGroup that it is linked to, "" for none; with `refusal` it is refused."""

    link: str
    refusal: str = ""


def predict(metadata: Mapping[str, Any], link: str = "", groups: bool = True) -> Prediction:
    """What becomes of a pod with this metadata that was sent with a `link` of its own, when both policies act in its
    namespace. Without `groups` the feature gate GenericWorkload is off, so that no pod keeps a link."""
    annotations, labels = (_texts(metadata.get(key)) for key in ("annotations", "labels"))
    base, by = annotations.get(POD_GROUP), annotations.get(POD_GROUP_BY, "")
    if base is None or labels.get(ASIDE[0]) == ASIDE[1]:
        return Prediction(link if groups else "")
    if not base:
        return Prediction("", _refuse("named"))
    terms = read_slice(by)
    keys = [key for key, _ in terms.terms] if terms else _list_keys(by)
    if any(key not in labels for key in keys):
        return Prediction("", _refuse("labelled", by))
    if " / " in by and not (terms and all(re.fullmatch("[0-9]{1,9}", labels[key]) for key in keys)):
        return Prediction("", _refuse("counted", by))
    if terms:
        group = f"{base}-{sum(int(labels[key]) * stride for key, stride in terms.terms) // terms.size}"
    else:
        group = f"{base}-{labels[by]}" if by else base
    return Prediction(group) if groups else Prediction("", _refuse("linked", group, "none"))


def _list_keys(by: str) -> list[str]:
    """The labels that a text names which is not understood, as the policies take it apart."""
    if " / " not in by:
        return [by] if by else []
    total = by.partition(" / ")[0].replace("(", "").replace(")", "")
    return [term.partition("*")[0] for term in total.split(" + ")]


def _texts(value: Any) -> Mapping[str, str]:
    """Labels or annotations; what is no text there is refused before any policy runs."""
    if not isinstance(value, Mapping):
        return {}
    return {key: text for key, text in value.items() if isinstance(text, str)}


def _refuse(name: str, *values: str) -> str:
    """The refusal by a rule, as the API server spells it: a text of several lines is replaced by the expression."""
    rule = schemastore.load("bridge.json")["rules"][name]
    text: str = rule["text"].format(*values)
    return f"failed expression: {rule['expression']}" if "\n" in text else text
