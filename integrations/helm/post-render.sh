#!/bin/sh
# The manifests on stdin with their groups and links on stdout. With --validate before all other words, errors in them
# stop Helm. The other words are options of krmfn, such as --kubernetes 1.37.
set -eu
# Helm (4.3) drops what a post-renderer says on stderr: it is said where Helm speaks, or at the terminal.
for place in "/proc/$PPID/fd/2" /dev/tty; do
  if (: >>"$place") 2>/dev/null; then
    exec 2>>"$place"
    break
  fi
done
validate=
if [ "${1:-}" = --validate ]; then
  validate=yes
  shift
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
krmfn generate -q "$@" - >"$folder/rendered.yaml"
[ -z "$validate" ] || krmfn validate -q "$@" - <"$folder/rendered.yaml" >&2
cat "$folder/rendered.yaml"
