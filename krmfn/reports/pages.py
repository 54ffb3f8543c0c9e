"""The pages of the rules: `docs/rules/<id>.md` here, `krmfn/pages` in a wheel.

The examples on a page are its rule's tests. Knows no rule.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from textwrap import indent
from typing import NamedTuple

from krmfn.releases.schemastore import find_folder
from krmfn.reports.paint import BOLD, CYAN, paint

_EXAMPLE = re.compile(r'^```yaml title="([^"]+)"\n(.*?)^```$', re.MULTILINE | re.DOTALL)


class Page(NamedTuple):
    """A page: its text as it stands, and what is below its headings."""

    text: str
    sections: Mapping[str, str]

    @property
    def examples(self) -> dict[str, str]:
        """The manifests on the page by title: `bad.yaml`, `good.yaml`, and maybe `bad.old.yaml`, the earlier state."""
        return dict(_EXAMPLE.findall(self.text))

    def paint(self) -> str:
        """The page at a terminal: titles in bold, examples indented below the names of their files."""
        text = _EXAMPLE.sub(lambda found: f"{paint(found[1], CYAN)}\n\n{indent(found[2], '    ')}", self.text)
        return re.sub(r"^#+ (.*)$", lambda found: paint(found[1], BOLD), text, flags=re.MULTILINE)


def read_page(rule_id: str) -> Page:
    """The page of a rule. Raises FileNotFoundError when it has none."""
    with open(os.path.join(find_folder("pages", "docs/rules"), f"{rule_id}.md"), encoding="utf-8") as stream:
        text = stream.read()
    parts = re.split(r"^## (.*)\n", text, flags=re.MULTILINE)
    return Page(text, {title: body.strip() for title, body in zip(parts[1::2], parts[2::2], strict=True)})
