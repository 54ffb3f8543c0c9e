#!/usr/bin/env python3
"""A KRM function: puts the labels in the `data` of its functionConfig on every object."""

import sys

from krmfn.krm import ABSENT, ResourceList, Result, run


def set_labels(resources: ResourceList) -> list[Result]:
    """Every label that is missing or different is set, and told."""
    config = resources.function_config
    labels = config.get(("data",), {}) if config else {}
    if not labels:
        return [Result("the functionConfig has no labels in data", "error")]
    results = []
    for item in resources.items:
        for key, value in labels.items():
            old = item.labels.get(key, ABSENT)
            if old != value:
                item.set(("metadata", "labels", key), value)
                results.append(Result("label set", "info", item.ref, f"metadata.labels.{key}", old, value))
    return results


if __name__ == "__main__":
    sys.exit(run(set_labels))
