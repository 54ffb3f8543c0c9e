"""FlowSchema and PriorityLevelConfiguration. Those that a server makes by itself (`exempt`, `catch-all`) have fixed
contents, which are not compared.

Source: k8s.io/kubernetes/pkg/apis/flowcontrol/validation and pkg/apis/flowcontrol/v1/defaults.go.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from krmfn.krm.paths import Path
from krmfn.server.formats import check_short_name
from krmfn.server.pods.setting import Object
from krmfn.server.schema import Kind
from krmfn.server.verdict import Cause, invalid, refuse_text

_MOST_BITS = 60


def check_namespaces(kind: Kind, names: list[str], path: Path) -> Iterator[Cause]:
    for index, name in enumerate(names if "*" not in names else ()):
        wrong = check_short_name(name)
        prefix = "each member of this list must be '*' or a DNS-1123 label; "
        yield from refuse_text((*path, index), name, [prefix + message for message in wrong])


def check_queues(kind: Kind, queuing: Object, at: Path) -> Iterator[Cause]:
    queues, hand = queuing["queues"], queuing["handSize"]
    if hand > queues:
        yield invalid((*at, "handSize"), hand, f"should not be greater than queues ({queues})")
    elif hand > 0 and math.ceil(math.log2(queues) * hand) > _MOST_BITS:
        detail = (
            f"required entropy bits of deckSize {queues} and handSize {hand} should not be greater than {_MOST_BITS}"
        )
        yield invalid((*at, "handSize"), hand, detail)
