"""What `krmfn validate` proves about recorded worlds, beside what Kueue decided.

An error says that Kueue never admits a job: an admitted one makes it a false "never". A warning says the same where
something may be outside the data.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

import krmfn
from conformance.kueue.record import JOBS

Value = dict[str, Any]

#: Rules about Kueue whose finding does not say that a job is never admitted.
OTHERS: Final = frozenset({"kueue-partial-admission", "kueue-several-workloads", "kueue-topology-differs"})
_LISTED: Final = (
    *("ResourceFlavor", "ClusterQueue", "LocalQueue", "Cohort", "AdmissionCheck", "Topology", "Namespace"),
    "WorkloadPriorityClass",
)


class Row(NamedTuple):
    """A job: what krmfn says (`never`, `warning` or nothing) by which rule, and what became of it in Kueue."""

    job: str
    said: str
    rule: str
    message: str
    became: str
    answer: Mapping[str, Any]


def judge(record: Mapping[str, Any]) -> Iterator[Row]:
    """Each job of a world."""
    nodes = [value for value in record["objects"] if value["kind"] == "Node"]
    made = [
        value for value in record["objects"] if f"{value['kind']}/{value['metadata']['name']}" not in record["refused"]
    ]
    others = [value for value in made if value["kind"] not in JOBS]
    jobs = [value for value in record["objects"] if value["kind"] in JOBS]
    cluster = {"items": others, "listed": [*_LISTED, *(["Node"] if nodes else ())]}
    config = {"spec": {"kubernetes": {"version": "1.37"}, "cluster": cluster}}
    text = "---\n".join(json.dumps(value) + "\n" for value in jobs)
    found = krmfn.validate(text.encode(), config=config, stages=("operator",))
    rated: dict[str, tuple[str, str, str]] = {}
    for severity, said in (("warning", "warning"), ("error", "never")):
        for each in found:
            rule = each.tags.get("rule", "")
            if each.ref and each.severity == severity and rule.startswith("kueue-") and rule not in OTHERS:
                rated[f"{each.ref.namespace}/{each.ref.kind}/{each.ref.name}"] = (said, rule, each.message)
    for job, answer in record["answers"].items():
        said, rule, message = rated.get(job, ("nothing", "", ""))
        yield Row(job, said, rule, message, _classify(answer), answer)


def _classify(answer: Mapping[str, Any]) -> str:
    """What became of a job."""
    if "refused" in answer:
        return "refused"
    if not answer.get("managed", True):
        return "not managed"
    if answer["admitted"]:
        return "admitted"
    if answer["preempted"]:
        return "preempted"
    return "checks pending" if answer["reserved"] else "not admitted"


def write_matrix(rows: Iterable[Row]) -> list[str]:
    """The confusion matrix, and under it which rules spoke, as Markdown."""
    rows = list(rows)
    columns = ("admitted", "preempted", "checks pending", "not admitted", "refused", "not managed")
    counted = Counter((row.said, row.became) for row in rows)
    lines = [f"| krmfn says | {' | '.join(columns)} |", "|---" * (len(columns) + 1) + "|"]
    for said in ("never", "warning", "nothing"):
        lines.append(f"| {said} | " + " | ".join(str(counted[said, became]) for became in columns) + " |")
    lines += ["", "| rule | says | jobs | of them admitted |", "|---|---|---|---|"]
    rules = Counter((row.rule, row.said) for row in rows if row.rule)
    for (rule, said), number in sorted(rules.items()):
        admitted = sum(row.became == "admitted" for row in rows if (row.rule, row.said) == (rule, said))
        lines.append(f"| `{rule}` | {said} | {number} | {admitted} |")
    return lines
