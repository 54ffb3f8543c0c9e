"""Items as a directory of files holds them, for tests that reconcile several times."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from krmfn.krm.item import Item
from krmfn.model.tree import Group
from krmfn.reconcile import Reconciliation, Wanted, reconcile
from krmfn.targets import emit
from tests.targets.trees import cluster, gang, settings, workers

CONTAINERS = {"containers": [{"name": "c", "image": "i"}]}


def ray(name: str = "demo", namespace: str = "ml", groups: Sequence[str] = ("cpu", "gpu")) -> Item:
    entries = [{"groupName": group, "template": {"spec": CONTAINERS}} for group in groups]
    spec = {"headGroupSpec": {"template": {"spec": CONTAINERS}}, "workerGroupSpecs": entries}
    return build("ray.io/v1", "RayCluster", name, namespace, spec)


def train(name: str = "train", namespace: str = "ml") -> Item:
    return build("batch/v1", "Job", name, namespace, {"template": {"spec": CONTAINERS}})


def build(api_version: str, kind: str, name: str, namespace: str, spec: Any) -> Item:
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    return Item.new({"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": spec})


TREE = cluster(workers(0, "cpu", 2), workers(1, "gpu", 4))


class Files:
    """Items as a directory of files holds them from run to run."""

    def __init__(self, *items: Item) -> None:
        self.items = list(items)

    def run(self, *wanted: Wanted, released: Sequence[Item] = (), manages: str = "None") -> Reconciliation:
        done = reconcile(self.items, wanted, released, manages)
        self.items = [item for item in self.items if item not in done.removed]
        self.items += [Item.new(addition.value) for addition in done.added]
        return done

    def want(self, root: Group, item: Item, release: str = "1.37", **options: Any) -> Wanted:
        asked = gang(root, item.ref, **options)
        return Wanted(asked, (item,), emit(asked, settings(release)))

    @property
    def names(self) -> list[str]:
        return [f"{item.kind}/{item.name}" for item in self.items]

    @property
    def texts(self) -> list[str]:
        return [item.text for item in self.items]

    def find(self, name: str) -> Item:
        (found,) = (item for item in self.items if f"{item.kind}/{item.name}" == name)
        return found


def rules(done: Reconciliation) -> list[str]:
    return [finding.rule for finding in done.findings]


def link(item: Item, index: int = 0) -> Any:
    return item.get(("spec", "workerGroupSpecs", index, "template", "spec", "schedulingGroup", "podGroupName"))
