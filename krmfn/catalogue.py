"""The rule catalogue: every row, wherever it stands, by id; and its pages.

A row is looked up part by part, so that a finding of a source does not import the rules of the checks. Knows no rule.
`python -m krmfn.catalogue DIRECTORY` writes the pages.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from krmfn.model.findings import Rule


def _configuration() -> Iterable[Rule]:
    from krmfn.config.rules import RULES

    return RULES


def _sources() -> Iterable[Rule]:
    from krmfn.sources.rules import RULES

    return RULES


def _targets() -> Iterable[Rule]:
    from krmfn.targets.rules import RULES

    return RULES


def _reading() -> Iterable[Rule]:
    from krmfn.checks.reading import RULES

    return RULES


def _files() -> Iterable[Rule]:
    from krmfn.workspace.manifests import RULES

    return RULES


def _server() -> Iterable[Rule]:
    from krmfn.checks.server.rules import RULES

    return RULES


def _scheduler() -> Iterable[Rule]:
    from krmfn.checks.scheduler import list_checks

    return (check.rule for check in list_checks())


def _operator() -> Iterable[Rule]:
    from krmfn.checks.operator import list_checks

    return (check.rule for check in list_checks())


def _gitops() -> Iterable[Rule]:
    from krmfn.checks.gitops import list_checks

    return (check.rule for check in list_checks())


def _converting() -> Iterable[Rule]:
    from krmfn.convert.rules import RULES

    return RULES


#: In the order in which a build needs them: the first ones are on the function's path.
PARTS: tuple[Callable[[], Iterable[Rule]], ...] = (
    _sources,
    _targets,
    _configuration,
    _reading,
    _server,
    _files,
    _scheduler,
    _operator,
    _gitops,
    _converting,
)


class Catalogue(Mapping[str, "Rule"]):
    """Rules by id; parts are read when an id was not found in those before. KeyError for an unknown id."""

    def __init__(self, parts: Iterable[Callable[[], Iterable[Rule]]]) -> None:
        self._unread = list(parts)
        self._rules: dict[str, Rule] = {}

    def __getitem__(self, rule_id: str) -> Rule:
        while rule_id not in self._rules and self._unread:
            self._read_part()
        return self._rules[rule_id]

    def __iter__(self) -> Iterator[str]:
        while self._unread:
            self._read_part()
        return iter(sorted(self._rules))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def _read_part(self) -> None:
        for rule in self._unread.pop(0)():
            self._rules.setdefault(rule.id, rule)


RULES: Mapping[str, Rule] = Catalogue(PARTS)


def find_duplicates() -> list[str]:
    """Ids that stand in the catalogue twice; a test says that there are none."""
    ids = [rule.id for part in PARTS for rule in part()]
    return sorted({rule_id for rule_id in ids if ids.count(rule_id) > 1})


def render_page(rule: Rule) -> str:
    """The rule's page in Markdown."""
    releases = ", ".join(rule.releases) or "all"
    parts = [
        f"# {rule.id}",
        rule.sentence,
        f"| stage | severity | Kubernetes releases |\n|---|---|---|\n| {rule.stage} | {rule.severity} | {releases} |",
    ]
    if rule.why:
        parts += ["## Why it matters", rule.why]
    if rule.fix:
        parts += ["## What to do", rule.fix]
    sources = [source for source in rule.sources if not _is_shorthand(source)]
    if sources:
        parts += ["## Based on", "\n".join(f"* {source}" for source in sources)]
    return "\n\n".join(parts) + "\n"


def _is_shorthand(source: str) -> bool:
    """Whether a source is a number like C21, which orders the rows of one release and names nothing to read."""
    return len(source) <= 3 and source[:1].isupper() and source[1:].isdigit()


def render_index(rules: Iterable[Rule]) -> str:
    """The page that lists the rules, by stage."""
    lines = ["# Rules", "", "Every finding names its rule; `krmfn rules ID` prints these pages, too.", ""]
    by_stage: dict[str, list[Rule]] = {}
    for rule in rules:
        by_stage.setdefault(rule.stage, []).append(rule)
    for stage, titles in _STAGES.items():
        if stage in by_stage:
            lines += [f"## {stage}", "", titles, "", "| rule | severity | what it finds |", "|---|---|---|"]
            lines += [f"| [{rule.id}]({rule.id}.md) | {rule.severity} | {rule.sentence} |" for rule in by_stage[stage]]
            lines.append("")
    return "\n".join(lines)


_STAGES = {
    "server": "Would the API server refuse it?",
    "scheduler": "It is stored; will it ever be scheduled, and all at once?",
    "operator": "Will KubeRay, the Job controller, Volcano and Kueue act as meant?",
    "gitops": "Will the delivery from Git work: order, names, deletion, functions?",
}


def render_pages() -> dict[str, str]:
    """Every page by file name, `index.md` included."""
    pages = {f"{rule_id}.md": render_page(rule) for rule_id, rule in RULES.items()}
    return {"index.md": render_index(RULES.values()), **pages}


def write_pages(directory: str) -> list[str]:
    """Write the pages into `directory` and remove those of rules that are gone; the names that changed."""
    import os

    pages = render_pages()
    changed = []
    for name in sorted({*pages, *(entry for entry in os.listdir(directory) if entry.endswith(".md"))}):
        path = os.path.join(directory, name)
        if name not in pages:
            os.remove(path)
            changed.append(name)
            continue
        old = None
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                old = file.read()
        if old != pages[name]:
            with open(path, "w", encoding="utf-8", newline="\n") as file:
                file.write(pages[name])
            changed.append(name)
    return changed


if __name__ == "__main__":
    import sys

    for changed_page in write_pages(sys.argv[1]):
        print(changed_page)
