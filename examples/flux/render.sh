#!/bin/sh
# Renders a kustomization with its groups into a folder that Flux can build: render.sh SOURCE RENDERED
set -eu
source=$1 rendered=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# No pipe: a failure in the middle of one would go unnoticed, and Flux prunes what is missing.
kustomize build "$source" > "$work/built.yaml"
krmfn generate --config "$source/krmfn.yaml" - < "$work/built.yaml" > "$work/manifests.yaml"
krmfn validate --config "$source/krmfn.yaml" - < "$work/manifests.yaml"
mkdir -p "$rendered"
mv "$work/manifests.yaml" "$rendered/manifests.yaml"
# The kustomization of the rendered folder: Flux changes names with it (spec.namePrefix), and the references must follow.
krmfn init --no-function --quiet "$rendered"
