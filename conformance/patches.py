"""What kubectl apply makes of lists: its own library is asked about made-up manifests and live objects.

The places of items matter where a server names one by its number. Must not know whether the result is allowed.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from random import Random
from typing import Any

from conformance.build import BuildFailed
from conformance.storage import Record
from conformance.threeway import run_threeway
from conformance.versions import HERE, read_releases
from krmfn.server.schema import find_kind
from krmfn.server.threeway import keep_filled

RECORDED = HERE / "data" / "patches.jsonl.xz"
NEWEST = list(read_releases().values())[-1]
NAMES = "abcdef"
GROUP = "scheduling.k8s.io"


def make_cases(seed: int, count: int) -> Iterator[tuple[Any, Any, Any]]:
    """The manifest applied before, the new one, and the live object."""
    rng = Random(f"patches/{seed}")
    for _ in range(count):
        make = rng.choice((make_group, make_deployment))
        old = make(rng)
        live = without_repetition(without_empty(mix(rng, old, make(rng))))
        yield old, mix(rng, rng.choice((old, live)), make(rng)), live


def pick(rng: Random, most: int = 4) -> list[str]:
    return rng.sample(NAMES, rng.randrange(most + 1))


def make_group(rng: Random) -> Any:
    """Lists of names, two of them merged with others' changes, and lists of objects."""
    names = [f"{name}.example/x" for name in pick(rng)]
    owner = {"apiVersion": "v1", "kind": "ConfigMap"}
    spec: dict[str, Any] = {
        "schedulingPolicy": rng.choice(({"basic": {}}, {"gang": {"minCount": rng.randrange(1, 4)}}))
    }
    if rng.random() < 0.6:
        spec["resourceClaims"] = [
            {"name": name, rng.choice(("resourceClaimName", "resourceClaimTemplateName")): rng.choice("xy")}
            for name in pick(rng)
        ]
    meta: dict[str, Any] = {"name": "a", "labels": {name: rng.choice("xy") for name in pick(rng)}}
    if rng.random() < 0.8:
        meta["finalizers"] = names + rng.choices(names, k=rng.choice((0, 0, 0, 1))) if names else []
    if rng.random() < 0.4:
        meta["ownerReferences"] = [owner | {"name": rng.choice("xy"), "uid": name} for name in pick(rng)]
    return {"apiVersion": f"{GROUP}/v1beta1", "kind": "PodGroup", "metadata": meta, "spec": spec}


def make_deployment(rng: Random) -> Any:
    """Lists in lists, items with one key, and parts of which one takes the place of another."""
    containers = []
    for name in pick(rng, 3):
        container: dict[str, Any] = {"name": name, "image": rng.choice("xy")}
        if rng.random() < 0.5:
            container["env"] = [{"name": one, "value": rng.choice("xy")} for one in pick(rng)]
        if rng.random() < 0.4:
            container["ports"] = [
                {"containerPort": ord(one), "protocol": protocol, "name": rng.choice("xy")}
                for one in pick(rng)
                for protocol in rng.choice((("TCP",), ("TCP", "UDP")))
            ]
        if rng.random() < 0.3:
            container["args"] = pick(rng)
        containers.append(container)
    sources: tuple[dict[str, Any], ...] = (
        {"emptyDir": {}},
        {"configMap": {"name": "x"}},
        {"emptyDir": {"medium": "Memory"}},
        {"secret": None},
    )
    spec: dict[str, Any] = {"containers": containers}
    if rng.random() < 0.6:
        spec["volumes"] = [{"name": name} | copy.deepcopy(rng.choice(sources)) for name in pick(rng)]
    if rng.random() < 0.3:
        spec["tolerations"] = [{"key": name} for name in pick(rng)]
    if rng.random() < 0.3:
        spec["imagePullSecrets"] = [{"name": name} for name in pick(rng)]
    whole: dict[str, Any] = {"selector": {"matchLabels": {"a": "b"}}, "template": {"spec": spec}}
    if rng.random() < 0.5:
        parts: tuple[Any, ...] = ({"type": "Recreate"}, {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}, {})
        whole["strategy"] = rng.choice(parts)
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"}, "spec": whole}


def without_empty(value: Any) -> Any:
    """As a server stores it: no empty list, no null."""
    if isinstance(value, dict):
        return {key: without_empty(item) for key, item in value.items() if item not in (None, [])}
    return [without_empty(item) for item in value] if isinstance(value, list) else value


def without_repetition(group: Any) -> Any:
    """With every finalizer once."""
    meta = group["metadata"]
    if "finalizers" in meta:
        meta["finalizers"] = list(dict.fromkeys(meta["finalizers"]))
    return group


def mix(rng: Random, value: Any, other: Any) -> Any:
    """Some parts are those of another object of the kind; some lists have another order, one item less, or one more."""
    if rng.random() < 0.15:
        return copy.deepcopy(other)
    if isinstance(value, dict) and isinstance(other, dict):
        mixed = {key: mix(rng, item, other.get(key, item)) for key, item in value.items()}
        return mixed | {key: item for key, item in other.items() if key not in value and rng.random() < 0.3}
    if isinstance(value, list) and isinstance(other, list):
        kept = [copy.deepcopy(item) for item in value if rng.random() < 0.8]
        keys = [_key(item) for item in kept]
        added = [copy.deepcopy(item) for item in other if _key(item) not in keys and rng.random() < 0.4]
        kept[(at := rng.randrange(len(kept) + 1)) : at] = added
        return rng.sample(kept, len(kept)) if rng.random() < 0.3 else kept
    return value


def _key(item: Any) -> Any:
    if not isinstance(item, dict):
        return item
    return next(item[key] for key in ("uid", "containerPort", "name", "key") if key in item)


def ask_kubectl(cases: Iterator[tuple[Any, Any, Any]]) -> list[Record]:
    """Answers of the library. Raises BuildFailed where its program is not built."""
    with run_threeway(NEWEST) as program:
        if program is None:
            raise BuildFailed("the program threeway is missing: python -m conformance build")
        return [{"old": old, "new": new, "live": live, **program.ask(old, new, live)} for old, new, live in cases]


def differ(record: Record) -> str:
    """What is wrong about our answer; empty when it is right. A patch that kubectl cannot make has no result; one that
    leaves directives in the object (for an item that another client had taken away) is refused by servers."""
    result = record.get("result")
    if result is None or '"$' in json.dumps(result):
        return ""
    new = record["new"]
    kind = find_kind(new["apiVersion"].partition("/")[0], new["kind"], NEWEST.name, {})
    assert kind is not None
    ours = without_empty(keep_filled(kind.root, new, record["old"], record["live"]))
    theirs = without_empty(result)
    return "" if ours == theirs else f"said {ours}, not {theirs}"
