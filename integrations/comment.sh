#!/bin/sh
# Writes a report into one comment of a GitHub pull request, and updates that comment on later runs. Needs gh and GH_TOKEN.
#
#   comment.sh FILE PULL_REQUEST      in the repository $GITHUB_REPOSITORY
#
# A comment that cannot be written is a warning: pull requests from forks have a token that may only read.
set -eu

file=$1 number=$2
case $number in
  '' | *[!0-9]*) echo "krmfn: no pull request: $number" >&2; exit 2 ;;
esac
comments=repos/$GITHUB_REPOSITORY/issues/$number/comments

write() {
  # The comment of an earlier run: it begins with the mark that the file begins with, and a program wrote it.
  found=$(gh api --paginate "$comments" \
    --jq '.[] | select(.user.type == "Bot" and (.body | startswith("<!-- krmfn -->"))) | .id') || return
  found=$(printf '%s\n' "$found" | head -n 1)
  if [ -n "$found" ]; then
    gh api --silent --method PATCH "repos/$GITHUB_REPOSITORY/issues/comments/$found" --field "body=@$file"
  else
    gh api --silent --method POST "$comments" --field "body=@$file"
  fi
}

write || echo "::warning title=krmfn::the report could not be written as a comment: the token needs the permission pull-requests: write"
