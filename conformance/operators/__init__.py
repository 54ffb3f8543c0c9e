"""The controllers of JobSet, LeaderWorkerSet and KubeRay on a real control plane: gangs of theirs that do not start."""
