#!/bin/sh
# Checks a change, and writes what a pull request shows. The GitHub Action, the GitLab component, the Tekton task and the
# Argo WorkflowTemplate run this file; it needs krmfn, and kustomize where there are kustomizations.
#
#   KRMFN_PATHS      what is checked, separated by white space (default: .)
#   KRMFN_AGAINST    the state to compare with, such as origin/main; empty: none
#   KRMFN_CLUSTER    a file with data about the cluster (krmfn facts); empty: none
#   KRMFN_OPTIONS    more options of krmfn validate, separated by white space
#   KRMFN_OUTPUT     how findings are printed: github, gitlab, junit or text (default: text)
#   KRMFN_REPORTS    the folder for krmfn.sarif, krmfn.json and krmfn.md (default: krmfn-reports)
#
# Ends with the exit status of krmfn validate: 0, 1 with findings at or above --fail-on, 2 when something was not read.
set -euf

: "${KRMFN_PATHS:=.}" "${KRMFN_AGAINST:=}" "${KRMFN_CLUSTER:=}" "${KRMFN_OPTIONS:=}" "${KRMFN_OUTPUT:=text}"
: "${KRMFN_REPORTS:=krmfn-reports}"
limit=60000 # GitHub takes comments of 65,536 characters

mkdir -p "$KRMFN_REPORTS"
summary=$KRMFN_REPORTS/krmfn.md
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

validate() { # validate FORMAT: as the change is checked
  # shellcheck disable=SC2086 # lists of words
  krmfn validate -o "$1" ${KRMFN_AGAINST:+--against "$KRMFN_AGAINST"} ${KRMFN_CLUSTER:+--cluster "$KRMFN_CLUSTER"} \
    $KRMFN_OPTIONS -- $KRMFN_PATHS
}

show() { # show FILE TITLE [LANGUAGE]: the file as a block that no text in it can end
  [ -s "$1" ] || return 0
  fence=$({ echo '```'; grep -o '````*' "$1" || true; } | awk 'length > n { n = length } END { while (n-- >= 0) printf "`" }')
  printf '\n<details><summary>%s</summary>\n\n%s%s\n' "$2" "$fence" "${3:-text}"
  head -c "$limit" "$1"
  [ "$(wc -c <"$1")" -le "$limit" ] || printf '\n... (cut; the whole text is in the output of the job)'
  printf '\n%s\n\n</details>\n' "$fence"
}

status=0
validate "$KRMFN_OUTPUT" >"$scratch/findings" || status=$?
cat "$scratch/findings"
[ "$KRMFN_OUTPUT" != gitlab ] || cp "$scratch/findings" "$KRMFN_REPORTS/krmfn.gitlab.json"
[ "$status" -le 1 ] || exit "$status" # the reason is on stderr
validate sarif >"$KRMFN_REPORTS/krmfn.sarif" 2>/dev/null || true
validate json >"$KRMFN_REPORTS/krmfn.json" 2>/dev/null || true
validate text >"$scratch/text" 2>"$scratch/counts" || true

{
  echo '<!-- krmfn -->'
  printf '## krmfn: %s\n' "$(sed -n 's/^krmfn: //p' "$scratch/counts" | sed 's/; for details.*//' | head -n 1)"
  show "$scratch/text" 'Findings'
  if [ -n "$KRMFN_AGAINST" ]; then
    # shellcheck disable=SC2086 # a list of words
    set -- $KRMFN_PATHS
    new=.
    [ $# -ne 1 ] || new=$1
    krmfn diff -q -o markdown "$KRMFN_AGAINST" "$new" >"$scratch/plan" 2>/dev/null || true
    [ ! -s "$scratch/plan" ] || { echo; head -c "$limit" "$scratch/plan"; }
  fi
  # shellcheck disable=SC2086 # a list of words
  krmfn tree -q -o mermaid -- $KRMFN_PATHS >"$scratch/tree" 2>/dev/null || true
  # A graph of many groups is drawn by nobody.
  [ "$(wc -l <"$scratch/tree")" -lt 2 ] || [ "$(wc -l <"$scratch/tree")" -gt 200 ] || show "$scratch/tree" 'Groups' mermaid
  if [ -n "$KRMFN_CLUSTER" ]; then
    # shellcheck disable=SC2086 # a list of words
    krmfn fit -q --cluster "$KRMFN_CLUSTER" -- $KRMFN_PATHS >"$scratch/fit" 2>/dev/null || true
    show "$scratch/fit" 'What would run'
  fi
} >"$summary"
if [ "$(wc -c <"$summary")" -gt "$limit" ]; then
  sed -n '1,2p' "$summary" >"$scratch/short"
  printf '\nThe report is too long for a comment: see the output of the job.\n' >>"$scratch/short"
  cp "$scratch/short" "$summary"
fi
exit "$status"
