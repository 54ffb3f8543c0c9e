"""What the policies of the link bridge do to a pod, offline. Recorded answers of API servers are compared with it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from krmfn.bridge import ASIDE, LABELLED, LINKED, NAMED, LinkRule
from krmfn.model.marks import POD_GROUP, POD_GROUP_BY


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
        return Prediction("", _refuse(NAMED))
    if by and by not in labels:
        return Prediction("", _refuse(LABELLED, by))
    group = f"{base}-{labels[by]}" if by else base
    return Prediction(group) if groups else Prediction("", _refuse(LINKED, group, "none"))


def _texts(value: Any) -> Mapping[str, str]:
    """Labels or annotations; what is no text there is refused before any policy runs."""
    if not isinstance(value, Mapping):
        return {}
    return {key: text for key, text in value.items() if isinstance(text, str)}


def _refuse(rule: LinkRule, *values: str) -> str:
    """The refusal, as the API server spells it: a text of several lines is replaced by the expression."""
    text = rule.text.format(*values)
    return f"failed expression: {rule.expression}" if "\n" in text else text
