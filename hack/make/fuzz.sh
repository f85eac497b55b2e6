#!/usr/bin/env bash
# Runs every fuzz target of the repository, or of some directories, one after the other: go test takes
# one at a time.
#
# usage: fuzz.sh FUZZTIME [DIRECTORY...]
set -euo pipefail

fuzztime=$1
shift
pathspecs=("${@/%//*_test.go}")
((${#pathspecs[@]} > 0)) || pathspecs=('*_test.go')
go=${GO:-go}
failed=()

while IFS=: read -r file line; do
  target=$(sed -E 's/^func (Fuzz[A-Za-z0-9_]*).*/\1/' <<<"$line")
  package=$(dirname "$file")
  echo "fuzzing $target in $package"
  $go -C "$package" test -run '^$' -fuzz "^$target\$" -fuzztime "$fuzztime" -fuzzminimizetime 5x . || failed+=("$package $target")
done < <(git grep --untracked --extended-regexp '^func Fuzz[A-Za-z0-9_]*\([a-z]+ \*testing\.F\)' -- "${pathspecs[@]}")

if ((${#failed[@]} > 0)); then
  printf 'fuzz: failed: %s\n' "${failed[@]}" >&2
  exit 1
fi
