"""Gang scheduling for Git: Workload, PodGroup and CompositePodGroup from the manifests that need them."""

__version__ = "0.1.0"
