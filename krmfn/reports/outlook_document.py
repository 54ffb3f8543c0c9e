"""Outlooks as JSON or YAML."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from krmfn.forecast.standing import Load, Place, Standing
from krmfn.model.quantity import format_quantity
from krmfn.reports import channels
from krmfn.reports.document import write_yaml
from krmfn.reports.outlook_view import View


def render(views: Sequence[View], form: str) -> str:
    """One document: an outlook, or with several worlds a list of them."""
    outlooks = [_spell(view) for view in views]
    document = outlooks[0] if len(outlooks) == 1 else {"worlds": outlooks}
    if form == "json":
        return channels.json(document)
    return write_yaml(document)


def _spell(view: View) -> dict[str, Any]:
    outlook = view.outlook
    document: dict[str, Any] = {"world": view.world} if view.world else {}
    document |= {
        "simulator": outlook.simulator or None,
        "gangs": [_spell_standing(standing) for standing in outlook.standings],
        "podsWithoutGroup": [_spell_place(place) for place in outlook.loose],
    }
    if outlook.loads is not None:
        document |= {"topologyKey": outlook.key, "nodes": [_spell_load(load) for load in outlook.loads]}
    return document


def _spell_standing(standing: Standing) -> dict[str, Any]:
    document: dict[str, Any] = {
        "name": standing.name,
        "verdict": standing.verdict,
        "pods": len(standing.places),
        "placed": standing.placed,
    }
    if standing.why:
        document["why"] = standing.why
    if standing.way_out:
        document["change"] = standing.way_out
    if standing.rule:
        document["rule"] = standing.rule
    document["groups"] = [{"name": f"{group.namespace}/{group.name}"} for group in standing.groups]
    document["places"] = [_spell_place(place) for place in standing.places]
    return document


def _spell_place(place: Place) -> dict[str, Any]:
    document: dict[str, Any] = {"pod": place.pod.name, "node": place.node or None}
    if place.message:
        document["message"] = place.message
    return document


def _spell_load(load: Load) -> dict[str, Any]:
    document: dict[str, Any] = {"name": load.name}
    if load.domain:
        document["domain"] = load.domain
    if load.unschedulable:
        document["unschedulable"] = True
    document["allocatable"] = {name: format_quantity(amount) for name, amount in load.allocatable.items()}
    document["used"] = {name: format_quantity(amount) for name, amount in load.used.items()}
    document["gangs"] = dict(load.gangs)
    document["otherPods"] = load.others
    return document
