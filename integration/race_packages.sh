#!/bin/sh
# Prints the packages whose tests can have a race for the race detector to find. Such tests start a
# goroutine, or import a package of this module that does, directly or not. In the others, such as
# compressors and parsers of formats, the detector would only make the tests ten times slower.
set -eu
cd "$(dirname "$0")/.."
module=$(go list -m)
starts='^[[:space:]]*(defer )?go |\.Go\(|\.Parallel\(\)|\.RunParallel\('
packages() { grep -lE "$starts" "$@" | sed "s|/[^/]*\$||; s|^\.|$module|" | sort -u; }
in_code=$(packages $(find . -name '*.go' ! -name '*_test.go' ! -path './.venv*'))
in_tests=$(packages $(find . -name '*_test.go' ! -path './.venv*'))
go list -test -f '{{.ImportPath}} {{join .Deps " "}}' ./... |
	awk -v in_code="$in_code" -v in_tests="$in_tests" '
		BEGIN {
			split(in_code, names, "\n"); for (i in names) code[names[i]]
			split(in_tests, names, "\n"); for (i in names) tests[names[i]]
		}
		$1 ~ /\.test$/ && NF > 2 {
			name = substr($1, 1, length($1) - 5)
			found = name in tests
			for (i = 2; i <= NF; i++) found = found || $i in code
			if (found) print name
		}'
