"""A RayCluster of thirteen groups: more than the lists of a Workload have room for."""

from __future__ import annotations

_GROUP = """\
  - groupName: w{index}
    replicas: 2
    rayStartParams: {{}}
    template:
      spec:
        containers: [{{name: worker, image: ray}}]
"""
WIDE = """\
apiVersion: ray.io/v1
kind: RayCluster
metadata:
  name: wide
  annotations:
    krmfn.dev/gang: "true"
    krmfn.dev/granularity: Group
spec:
  headGroupSpec:
    rayStartParams: {}
    template:
      spec:
        containers: [{name: head, image: ray}]
  workerGroupSpecs:
""" + "".join(_GROUP.format(index=index) for index in range(12))
