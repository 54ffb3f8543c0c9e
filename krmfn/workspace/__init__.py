"""The work tree, git and kustomize: the only room that touches the disk and starts processes."""
