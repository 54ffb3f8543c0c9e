"""Places where kubectl, kustomize and others read different values, in objects that concern gangs.

The codes of `Item.problems` are the rules' ids.
"""

from __future__ import annotations

import re

from krmfn.model.findings import Finding, Findings
from krmfn.survey.census import Census


def find_problems(census: Census) -> Findings:
    """What readers disagree on in groups and in objects whose pods link to one. Duplicate keys are the server's."""
    concerned = {id(template.item): template.item for template in census.templates if template.link}
    concerned |= {id(item): item for item in census.list_scheduling()}
    suspicious = re.compile(_SUSPICIOUS).search
    seen: set[str] = set()
    odd: set[str] = set()
    for item in concerned.values():
        # Looking for problems composes the whole item; the pattern tells at a tenth of that what cannot have one, and
        # most lines have been there before.
        lines = set(item.text.splitlines())
        if fresh := lines - seen:
            seen |= fresh
            odd.update(filter(suspicious, fresh))
        if not odd.isdisjoint(lines):
            for problem in item.problems:
                if problem.code in _CODES:
                    yield Finding(item, problem.path, problem.message, hint=_CODES[problem.code], rule=problem.code)


#: Beginnings of plain scalars in a line that readers could disagree on, merges, escaped slashes, folded texts, and
#: empty values in flow style. Finds too much, never too little.
_SUSPICIOUS = r"""(?x)
    (?:^|[\s\[{,]|":)(?=[-+.~\dfnotyFNOTY])(?:
        [-+]?\.?\d[^\s,\]}[{]*[_:eE-] | [-+]?0[\dxXoObB] | [-+]?\.(?i:inf|nan) | ~ |
        (?i:y|yes|n|no|on|off|true|false|null)(?=[\s,\]}:]|$)
    )|<<|\\/|\s>|:\s*[,}]|^\s*[],}]|&[\w-]+\s*[],}]|\{\s*[^][{}\s:,'"]+\s*[,}]|,\s*[^][{}\s:,'"]+\s*\}"""

_CODES = {
    "merged-key-set-twice": "Write the merge first, or set the key once.",
    "non-string-key": "Write the key in quotes.",
    "refused-escape": "Write / instead of \\/.",
    "ambiguous-scalar": "If the value is a string, write it in quotes; otherwise write null, or the number in decimal.",
}
