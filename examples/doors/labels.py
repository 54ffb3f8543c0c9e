import sys

from krmfn.krm import ResourceList, run


def label(resources: ResourceList) -> tuple[()]:
    """Puts a label on every object that has none; there is nothing to report."""
    for item in resources.items:
        if "team" not in item.labels:
            item.set(("metadata", "labels", "team"), "ml")
    return ()


sys.exit(run(label))
