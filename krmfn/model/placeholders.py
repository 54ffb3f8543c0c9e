"""Values that somebody fills in later: envsubst, Flux, Terraform, Helm, sed.

What they will be is unknown, so nothing is said about them; the rest of an object is judged.
"""

from __future__ import annotations

import re
from typing import Any

_MARK = (
    r"\$\{[^{}\n]*\}"  # envsubst, Flux, Terraform
    r"|\$\([A-Za-z_][^()\n]*\)"  # make, Kubernetes itself, a shell
    r"|\$[A-Za-z_]\w*"  # envsubst
    r"|%\{[^{}\n]*\}"  # Terraform
    r"|< ?[A-Za-z*][^<>\n]{0,80}>"  # for people
    r"|@[A-Za-z_][\w.-]*@"  # CMake, Maven
    r"|__[A-Za-z][A-Za-z0-9_]*__"
    r"|ENC\[[A-Z0-9_]+,[^][]*\]"  # SOPS
    r"|(?<!\S)\.\.\.|\.\.\.(?!\S)|\b(?:A\.B\.C\.D|[xX](?:\.[xX]){3})\b"  # for people: `...the key...`, an address
    r"|(?i:\b(?:replaced|filled|overridden|patched) by [a-z])"
    r"|(?<![A-Za-z0-9])(?:(?:PLACEHOLDER|CHANGE_?ME|REPLACE_?ME)(?![A-Za-z0-9])|YOUR[_-][A-Z])"
)
#: Of Helm, Jinja, Argo.
_PAIRS = (("{{", "}}"), ("[[", "]]"))
_NAMED = r"[A-Z]*(?:NAME|NAMESPACE|TENANT|TEAM|USER|PROJECT|CLUSTER|DOMAIN)[0-9]*"
#: Words such as YOUR_NAMESPACE, NAMESPACE or FILLED BY HAND, which are replaced as they stand. No object is called so.
_WORD = rf"[A-Z][A-Z0-9]*(?:[ _-][A-Z0-9]+)+|{_NAMED}"
#: The same as a part of a name: `cache-V_ZONE-ro`, `shell-HOSTNAME`; not what is set, as in `CRON_TZ=UTC 0 3 * * *`.
_PART = rf"(?<![A-Za-z0-9_])(?:[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+|{_NAMED})(?![A-Za-z0-9_=])"
#: Mappings of labels are small; what is larger is not one value.
_MOST = 100


def is_placeholder(value: object) -> bool:
    """Whether a value is a text with a part that is filled in later.

    >>> [is_placeholder(text) for text in ("job-${NAME}", "<your-queue>", "replaced by kustomize", "job")]
    [True, True, True, False]
    """
    return (
        isinstance(value, str)
        and not _is_simple(value)
        and (
            re.search(_MARK, value) is not None
            or any(-1 < value.find(begin) < value.rfind(end) - 1 for begin, end in _PAIRS)
        )
    )


def is_name_placeholder(value: object) -> bool:
    """As is_placeholder, and words in capitals, where a name is meant.

    >>> [is_name_placeholder(text) for text in ("YOUR_NAMESPACE", "NAMESPACE", "a-V_ZONE", "TCP", "a_JOB", "A_B=c")]
    [True, True, True, False, False, False]
    """
    if not isinstance(value, str) or _is_simple(value):
        return False
    return is_placeholder(value) or re.fullmatch(_WORD, value) is not None or re.search(_PART, value) is not None


def is_number_placeholder(value: object) -> bool:
    """As is_name_placeholder, and any word in capitals or in braces, where no text is meant.

    >>> is_number_placeholder("PORT"), is_number_placeholder("eighty"), is_number_placeholder("80")
    (True, False, False)
    """
    in_capitals = isinstance(value, str) and value.isupper() and value.isidentifier()
    return in_capitals or is_braced(value) or is_name_placeholder(value)


def is_braced(value: object) -> bool:
    """Whether a value is `{name}`, which is a mapping in YAML.

    >>> is_braced({"replicas": None}), is_braced({"replicas": 1}), is_braced({})
    (True, False, False)
    """
    return isinstance(value, dict) and [*value.values()] == [None]


def spell(value: object) -> str:
    """A placeholder as it is written.

    >>> spell("${NAME}"), spell({"replicas": None})
    ('${NAME}', '{replicas}')
    """
    return f"{{{next(iter(value))}}}" if isinstance(value, dict) else str(value)


def _is_simple(text: str) -> bool:
    """Whether a text has nothing but small letters, digits, - and dots, as most names: the expressions that it cannot
    match take as long to compile as a file takes to read."""
    return text.islower() and text.replace("-", "").replace(".", "").isalnum()


def has_placeholder(value: Any) -> bool:
    """Whether the value is a placeholder, or there is one in a small mapping or list. Words in capitals count in
    mappings of texts, such as labels: capabilities and arguments of programs are words in capitals, too.

    >>> has_placeholder({"app": "YOUR_APP"}), has_placeholder({"capabilities": {"add": ["NET_ADMIN"]}})
    (True, False)
    """
    if is_name_placeholder(value):
        return True
    waiting, seen = [value], 0
    while waiting and seen < _MOST:
        each = waiting.pop()
        seen += 1
        if isinstance(each, dict):
            parts = [*each, *each.values()]
            waiting += parts
            if all(isinstance(part, str) for part in parts) and any(map(is_name_placeholder, parts)):
                return True
        elif isinstance(each, list):
            waiting += each
        elif is_placeholder(each):
            return True
    return False
