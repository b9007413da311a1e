#!/bin/sh
# fuzz.sh COUNT: runs every native fuzz target COUNT executions. Counts, not
# times: `go test -fuzztime 20s` may end in "context deadline exceeded".
set -eu
cd "$(dirname "$0")/.."
grep -rl --include='*_test.go' '^func Fuzz' . | xargs -n1 dirname | sort -u | while read -r pkg; do
	grep -hoE '^func Fuzz[A-Za-z0-9_]*' "$pkg"/*_test.go | cut -c6- | sort -u | while read -r target; do
		echo "== $pkg $target"
		go test "$pkg" -run '^$' -fuzz "^$target\$" -fuzztime "$1" </dev/null | grep -E 'FAIL|PASS|ok|panic' || exit 1
	done
done
