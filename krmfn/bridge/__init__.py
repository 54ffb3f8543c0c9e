"""The link bridge: two admission policies that link a pod to its PodGroup when the pod is created.

For kinds whose CRD drops `schedulingGroup`, and for groups per replica, whose pods share one template. `policy` writes
the policies, `predicting` says offline what they do to a pod; both speak through `wording`, so they cannot differ.
"""
