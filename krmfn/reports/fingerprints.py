"""Fingerprints: what makes a finding the same finding after lines moved.

A fingerprint holds the rule, the file, the object and the field path; neither line numbers nor values. Equal findings
are told apart by their number among their equals.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from krmfn.krm.results import Result
from krmfn.reports.report import rule_id


def fingerprint(results: Iterable[Result]) -> list[str]:
    """One fingerprint per result, in the same order, each different: 32 hexadecimal digits."""
    seen: dict[str, int] = {}
    prints = []
    for result in results:
        parts = (
            rule_id(result) or result.message,
            result.file.path if result.file else "",
            "\n".join(result.ref) if result.ref else "",
            result.path,
        )
        identity = "\0".join(parts)
        number = seen.get(identity, 0)
        seen[identity] = number + 1
        text = f"{identity}\0{number}".encode("utf-8", "surrogatepass")
        prints.append(hashlib.sha256(text).hexdigest()[:32])
    return prints
