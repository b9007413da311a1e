#!/bin/sh
# Runs the long proofs of this commit, two at a time, the longest first. Their output is in the
# folder that is given, one file for each; what each has found, and how long it took, is printed.
set -u
logs=$1
export logs
mkdir -p "$logs"
git log -1 --format='%H %s'
git status --short
printf '%s\n' kill model races limits everyday mistakes faults | xargs -P 2 -I TARGET sh -c '
	begun=$(date +%s)
	make TARGET RACE_MS=2500 >"$logs/TARGET.log" 2>&1
	code=$?
	echo "$(date +%T) make TARGET: exit $code after $(($(date +%s) - begun)) s"
	grep -E "^clauses:|acknowledged bytes lost|runs?: [0-9]|^all[[:space:]]|^--- FAIL" \
		"$logs/TARGET.log" | cut -c 1-200
	exit $code'
