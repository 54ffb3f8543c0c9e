"""Programs that are asked about made-up cases, and whose answers are compared one by one: `python -m conformance NAME`.

The module of an oracle has RECORDED, the file of its answers for the tests, and `differ`, which tells what krmfn says
otherwise.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple


class Oracle(NamedTuple):
    """Module, what is asked, how many cases unless told otherwise, and how the module asks about a seed's cases."""

    module: str
    summary: str
    cases: int
    ask: Callable[[Any, int, int], Sequence[Any]]

    def load(self) -> Any:
        return importlib.import_module(f"conformance.{self.module}")


def _ask_grove(module: Any, seed: int, count: int) -> Sequence[Any]:
    clone = module.find_clone()
    found: Sequence[Any] = module.ask_grove(clone, [*module.read_examples(clone), *module.make_cases(seed, count)])
    return found


ORACLES = {
    "webhooks": Oracle(
        "webhooks",
        "ask the webhooks of JobSet and LeaderWorkerSet, compare",
        400,
        lambda module, seed, count: module.ask_webhooks(module.make_objects(seed, count)),
    ),
    "patterns": Oracle(
        "patterns",
        "compare how krmfn and Go read the patterns of definitions, each with six texts",
        1500,
        lambda module, seed, count: module.ask_go(list(module.make_cases(seed, count))),
    ),
    "patches": Oracle(
        "patches",
        "compare how krmfn and kubectl's library merge lists in an apply",
        1000,
        lambda module, seed, count: module.ask_kubectl(module.make_cases(seed, count)),
    ),
    "explained": Oracle(
        "explained",
        "compare what krmfn and kubectl explain of the fields of made-up definitions",
        40,
        lambda module, seed, count: module.ask_kubectl(list(module.make_definitions(seed, count))),
    ),
    "jobgroups": Oracle(
        "jobgroups",
        "ask the Job controller of 1.38 which gangs it makes of Jobs, compare",
        500,
        lambda module, seed, count: module.ask_controller(list(module.make_cases(seed, count))),
    ),
    "grove": Oracle(
        "grove", "ask Grove which gangs it makes of its examples and of made-up PodCliqueSets, compare", 300, _ask_grove
    ),
}
