"""What became of many repositories: JSON, Markdown, and one HTML page that sorts and filters itself."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from typing import NamedTuple

from krmfn.krm.results import SEVERITIES, Result
from krmfn.model.values import group_by
from krmfn.reports import channels
from krmfn.reports.channels import Lines, markup, open_page, read_asset
from krmfn.reports.report import count, describe, rule_id, summarize


class FleetRow(NamedTuple):
    """A repository and what was found in it. `failure` says why it could not be checked, or not all of it; `before` has
    the counts by severity of the last run, None where there was none."""

    name: str
    owner: str
    results: Sequence[Result]
    failure: str
    seconds: float
    before: Mapping[str, int] | None

    @property
    def status(self) -> str:
        """`failed`, the worst severity that was found, or `clean`."""
        found = count(self.results)
        return "failed" if self.failure else next((each for each in SEVERITIES if found[each]), "clean")


def render_json(checked: Sequence[FleetRow]) -> str:
    """The repositories, each with its counts and rules; the next run compares itself with that."""
    repositories = [
        {
            "name": each.name,
            "owner": each.owner,
            "status": each.status,
            "summary": count(each.results),
            "before": dict(each.before) if each.before is not None else None,
            "seconds": round(each.seconds, 2),
            "failure": each.failure,
            "rules": [
                {"rule": rule, "severity": severity, "count": number, "first": first}
                for rule, severity, number, first in list_rules(each.results)
            ],
        }
        for each in checked
    ]
    whole = count(result for each in checked for result in each.results)
    failed = sum(bool(each.failure) for each in checked)
    return channels.json({"repositories": repositories, "summary": {**whole, "failed": failed}})


def render_markdown(checked: Sequence[FleetRow]) -> str:
    """A table: those that failed first, then by how much was found."""
    lines = [channels.markdown(sum_up(checked)), "", "| repository | owner | status | errors | warnings | rules |"]
    lines.append("|---|---|---|---:|---:|---|")
    for each in sorted(checked, key=_rank):
        numbers = [_spell_number(each, severity) for severity in ("error", "warning")]
        rules = ", ".join(
            dict.fromkeys(rule for rule, severity, _, _ in list_rules(each.results) if severity != "info")
        )
        words = [
            channels.markdown(text) for text in (each.name, each.owner, each.failure or each.status, *numbers, rules)
        ]
        lines.append(f"| {' | '.join(words)} |")
    return "\n".join([*lines, ""])


def render_html(checked: Sequence[FleetRow]) -> str:
    """The page. It loads nothing, and runs no script but its own."""
    code = read_asset("fleet.js")
    script = base64.b64encode(sha256(code.encode()).digest()).decode()
    rows = [(each, *row) for each in checked for row in list_rules(each.results)]
    lines = [
        open_page(sum_up(checked), "fleet.css", f"; script-src 'sha256-{script}'"),
        f"<h1>{markup(sum_up(checked))}</h1><p>",
        *_list_filters("owner", (each.owner for each in checked)),
        *_list_filters("severity", SEVERITIES),
        *_list_filters("rule", (row[1] for row in rows)),
        '<label>text <input data-filter="text"></label></p>',
        *_head("repository", "owner", "status", "errors", "warnings", "seconds"),
    ]
    for each in sorted(checked, key=_rank):
        lines.append(f'<tr class="{each.status}" data-text data-owner="{markup(each.owner)}">')
        lines.append(f"<td>{markup(each.name)}</td><td>{markup(each.owner)}</td>")
        lines.append(f"<td>{markup(each.failure or each.status)}</td>")
        for severity in ("error", "warning"):
            number = count(each.results)[severity]
            lines.append(f'<td class="n" data-key="{number}">{markup(_spell_number(each, severity))}</td>')
        lines.append(f'<td class="n">{each.seconds:.1f}</td></tr>')
    lines += ["</tbody></table>", *_head("repository", "owner", "rule", "severity", "findings", "the first of them")]
    for each, rule, severity, number, first in rows:
        data = {"owner": each.owner, "severity": severity, "rule": rule}
        marks = "".join(f' data-{key}="{markup(value)}"' for key, value in data.items())
        lines.append(f'<tr class="{severity}" data-text{marks}>')
        lines += [f"<td>{markup(text)}</td>" for text in (each.name, each.owner, rule, severity)]
        lines.append(f'<td class="n">{number}</td><td>{markup(first)}</td></tr>')
    return "\n".join([*lines, f"</tbody></table><script>{code}</script></body></html>", ""])


def sum_up(checked: Sequence[FleetRow]) -> str:
    """`3 repositories, 1 of them failed: 2 errors`."""
    failed = sum(bool(each.failure) for each in checked)
    number = (
        f"{len(checked)} repositor{'y' if len(checked) == 1 else 'ies'}{f', {failed} of them failed' if failed else ''}"
    )
    return f"{number}: {summarize(result for each in checked for result in each.results)}"


def list_rules(results: Iterable[Result]) -> list[tuple[str, str, int, str]]:
    """The rules of results, each with a severity, how many there are, and the first of them; the worst come first."""
    told = (result for result in results if "sort" not in result.tags)
    found = group_by(lambda result: (SEVERITIES.index(result.severity), rule_id(result)), told)
    return [(rule, SEVERITIES[at], len(found[at, rule]), _tell(found[at, rule][0])) for at, rule in sorted(found)]


def _tell(result: Result) -> str:
    return (f"{result.file.spell()}: " if result.file else "") + describe(result)


def _rank(checked: FleetRow) -> tuple[object, ...]:
    found = count(checked.results)
    return not checked.failure, *(-found[severity] for severity in SEVERITIES[:2]), checked.name


def _spell_number(checked: FleetRow, severity: str) -> str:
    """`3`, or `3 (+2)` where two more were found than in the last run."""
    number = count(checked.results)[severity]
    change = number - checked.before.get(severity, 0) if checked.before is not None else 0
    return f"{number} ({change:+})" if change else f"{number}"


def _list_filters(key: str, values: Iterable[str]) -> Lines:
    yield f'<label>{key} <select data-filter="{key}"><option value="">all</option>'
    yield from (f"<option>{markup(value)}</option>" for value in dict.fromkeys(sorted(filter(None, values))))
    yield "</select></label>"


def _head(*names: str) -> Lines:
    yield f"<table><thead><tr>{''.join(f'<th>{name}</th>' for name in names)}</tr></thead><tbody>"
