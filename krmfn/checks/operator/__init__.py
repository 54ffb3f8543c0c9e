"""Stage operator: whether KubeRay, the Job controller, Volcano, Kueue and others act as the manifests mean.

What an operator refuses when it reads one resource is noted by that resource's source; here is what can be seen only
when resources, groups and links are looked at together.
"""

TOPICS = (
    "crds",
    "ray",
    "elsewhere",
    "jobs",
    "ordering",
    "kueue",
    "volcano",
    "kai",
    "yunikorn",
    "webhooks",
    "handwritten",
)
