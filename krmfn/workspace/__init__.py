"""The work tree, git and kustomize: the only room that touches the files of users and starts other programs."""
