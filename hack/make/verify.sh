#!/usr/bin/env bash
# Fails if a generated file, the format of a Go file or a go.mod is not what the sources say. All of
# it happens in a copy, so that the tree that somebody works in, and its index, stay as they are.
#
# usage: verify.sh TOOLS_DIR MODULE...
set -euo pipefail

tools=$1
shift
cd "$(git rev-parse --show-toplevel)"

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/copy" "$scratch/objects"

# An index and an object store of our own hold the tree as it is now, whether committed or not.
GIT_ALTERNATE_OBJECT_DIRECTORIES=$(git rev-parse --path-format=absolute --git-path objects)
GIT_DIR=$(git rev-parse --absolute-git-dir)
export GIT_ALTERNATE_OBJECT_DIRECTORIES GIT_DIR
export GIT_INDEX_FILE=$scratch/index GIT_OBJECT_DIRECTORY=$scratch/objects
GIT_WORK_TREE=$PWD git add --all
export GIT_WORK_TREE=$scratch/copy
git checkout-index --all --prefix="$scratch/copy/"
cd "$scratch/copy"

failed=0
fail() {
  echo "verify: $1" >&2
  failed=1
}

make --silent TOOLS_DIR="$tools" generate manifests || fail "the generators failed"
changed=$(git diff --name-only && git ls-files --others --exclude-standard)
if [[ -n $changed ]]; then
  git --no-pager diff --unified=0 >&2
  fail "not up to date, run \"make generate manifests\":"$'\n'"$changed"
fi

unformatted=$(git ls-files -z -- '*.go' | xargs -0 gofmt -l)
[[ -z $unformatted ]] || fail "not formatted, run \"make lint-fix\":"$'\n'"$unformatted"

for module in "$@"; do
  go -C "$module" mod tidy -diff >&2 || fail "$module/go.mod is not tidy, run \"go mod tidy\" there"
done

exit "$failed"
