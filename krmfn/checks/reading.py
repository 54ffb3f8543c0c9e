"""Places where kubectl, kustomize and others read different values, in objects that concern gangs.

The codes of `Item.problems` are the rules' ids.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from krmfn.krm.item import Item
from krmfn.krm.types import Final
from krmfn.model.findings import Finding
from krmfn.releases.release import GROUP
from krmfn.survey.census import Census


def find_problems(census: Census) -> Iterator[Finding]:
    """What readers disagree on in groups and in objects whose pods link to one. Duplicate keys are the server's."""
    concerned: dict[int, Item] = {id(template.item): template.item for template in census.templates if template.link}
    for kind in ("Workload", "PodGroup", "CompositePodGroup"):
        concerned |= {id(item): item for item in census.kind(GROUP, kind)}
    suspicious = re.compile(_SUSPICIOUS).search
    seen: set[str] = set()
    odd: set[str] = set()
    harmless: set[str] = set()
    for item in concerned.values():
        # Looking for problems composes the whole item; the pattern tells at a tenth of that what cannot have one, and
        # most words and lines have been there before.
        words = set(item.text.split())
        if fresh := words - seen:
            seen |= fresh
            odd |= _list_odd(fresh)
        if odd.isdisjoint(words):
            continue
        lines = set(item.text.splitlines()) - harmless
        if any(suspicious(line) for line in lines if not odd.isdisjoint(line.split())):
            for problem in item.problems:
                if problem.code in _CODES:
                    yield Finding(item, problem.path, problem.message, hint=_CODES[problem.code], rule=problem.code)
        else:
            harmless.update(lines)


def _list_odd(words: Iterable[str]) -> set[str]:
    """Those of which a line has one where the pattern finds something in it."""
    suspicious = re.compile(_SUSPICIOUS).search
    return {word for word in words if suspicious(word) or word[0] in ">," or "{" in word or "}" in word}


#: Beginnings of plain scalars in a line that readers could disagree on, merges, escaped slashes, folded texts, and
#: empty values in flow style. Finds too much, never too little.
_SUSPICIOUS: Final = r"""(?x)
    (?:^|[\s\[{,]|":)(?:
        [-+]?\.?\d[^\s,\]}[{]*[_:eE-] | [-+]?0[\dxXoObB] | [-+]?\.(?i:inf|nan) | ~ |
        (?i:y|yes|n|no|on|off|true|false|null)(?=[\s,\]}:]|$)
    )|<<|\\/|\s>|:\s*[,}]|^\s*[],}]|&[\w-]+\s*[],}]|\{\s*[^][{}\s:,'"]+\s*[,}]|,\s*[^][{}\s:,'"]+\s*\}"""

_CODES: Final = {
    "merged-key-set-twice": "Write the merge first, or set the key once.",
    "non-string-key": "Write the key in quotes.",
    "refused-escape": "Write / instead of \\/.",
    "ambiguous-scalar": "If the value is a string, write it in quotes; otherwise write null, or the number in decimal.",
}
