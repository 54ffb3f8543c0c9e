"""Each rule reads its own example with one value replaced by one of another type, and all rules read it beside.

`clusters` runs whole commands on the same pages and spoils more at once; here a case is one call without files, so
that every value of every page has its turn.
"""

from __future__ import annotations

import copy
import functools
import random
from typing import Any

import yaml

from krmfn.config import Settings, read_settings
from krmfn.krm import Item
from krmfn.pipeline import validate
from tests.checks.cases import SHOWN
from tests.fuzz.clusters import read_rule_page
from tests.fuzz.mutations import Path, walk

CASES = 1500
_OTHERS: tuple[Any, ...] = (5, "x", [5], {"a": 5}, [{"a": 5}], [], {}, True)


@functools.cache
def _read(rule: str) -> tuple[list[Any], list[Path], Settings]:
    documents, spec = read_rule_page(rule)
    config = {"apiVersion": "krmfn.dev/v1alpha1", "kind": "GangScheduling", "metadata": {"name": "a"}, "spec": spec}
    return documents, [path for path in walk(documents) if len(path) > 2], read_settings(config)


def check(chance: random.Random) -> None:
    documents, paths, settings = _read(chance.choice(SHOWN))
    *above, last = chance.choice(paths)
    documents = copy.deepcopy(documents)
    value: Any = documents
    for part in above:
        value = value[part]
    value[last] = copy.deepcopy(chance.choice(_OTHERS))
    validate([Item.parse(yaml.dump(document, Dumper=yaml.CSafeDumper).encode()) for document in documents], settings)
