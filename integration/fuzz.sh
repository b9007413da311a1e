#!/bin/sh
# fuzz.sh COUNT [WORD...]: runs every native fuzz target COUNT executions, or those whose "package
# target" has one of these words, and prints the executions of each and of all. Counts, not times:
# `go test -fuzztime 20s` may end in "context deadline exceeded".
#
# Go spends up to a minute, in which it counts no execution, on making each input that reaches new
# code smaller. Where how much code is reached is a little random (pools, maps) that never succeeds,
# and a target manages 50 executions in a minute: so it may try but 20 times.
set -eu
cd "$(dirname "$0")/.."
count=$1
shift
targets() {
	grep -rho --include='*_test.go' -H '^func Fuzz[A-Za-z0-9_]*' . | sed -E 's,/[^/]*:func , ,' | sort -u
}
wanted() {
	if [ $# -eq 0 ]; then cat; else grep -Fw "$(printf '%s\n' "$@")"; fi
}
targets | wanted "$@" | {
	total=0
	while read -r package target; do
		if ! out=$(go test "$package" -run '^$' -fuzz "^$target\$" -fuzztime "$count" -fuzzminimizetime 20x </dev/null 2>&1); then
			printf '%s\n' "$out"
			exit 1
		fi
		runs=$(printf '%s\n' "$out" | sed -nE 's/.*execs: ([0-9]+).*/\1/p' | tail -n 1)
		total=$((total + runs))
		printf '%-20s %-22s %10d executions\n' "$package" "$target" "$runs"
	done
	printf '%-43s %10d executions\n' total "$total"
}
