#!/bin/sh
# fuzz.sh COUNT [WORD...]: runs every native fuzz target COUNT executions, or only targets with one
# of these words in "package target". It prints the executions of each and of all. Counts, not
# times: `go test -fuzztime 20s` may end in "context deadline exceeded".
#
# Go makes each input that reaches new code smaller. It spends up to a minute on that, in which it
# counts no execution. If the code that is reached is a little random (pools, maps), this never
# succeeds, and a target has 50 executions in a minute. So it may try only 20 times.
set -eu
cd "$(dirname "$0")/.."
count=$1
shift
targets() {
	grep -rho --include='*_test.go' -H '^func Fuzz[A-Za-z0-9_]*' . |
		sed -E 's,/[^/]*:func , ,' | sort -u
}
wanted() {
	if [ $# -eq 0 ]; then
		cat
	else
		grep -Fw "$(printf '%s\n' "$@")"
	fi
}
targets | wanted "$@" | {
	total=0
	while read -r package target; do
		if ! out=$(go test "$package" -run '^$' -fuzz "^$target\$" -fuzztime "$count" \
			-fuzzminimizetime 20x </dev/null 2>&1); then
			printf '%s\n' "$out"
			exit 1
		fi
		runs=$(printf '%s\n' "$out" | sed -nE 's/.*execs: ([0-9]+).*/\1/p' | tail -n 1)
		total=$((total + runs))
		printf '%-20s %-22s %10d executions\n' "$package" "$target" "$runs"
	done
	printf '%-43s %10d executions\n' total "$total"
}
