#!/bin/bash
# limits.sh BINARY [WORD...]: shows the limits, and what a mount does at them, by commands that a
# person types. For each clause it prints the commands, what they print, and ok or BAD. With words
# it runs only the clauses that have one of them.
#
# Each list of clauses is a file *.list.sh beside this one. All take eight minutes, memory alone
# five. What needs root, a program or zarr-python that is not there is skipped, and says so.
set -u
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d /var/tmp/zarrfs-limits-XXXXXX)
chmod 755 "$work" # other users come in
mkdir "$work/bin" "$work/scratch" "$work/state"
cp "$1" "$work/bin/zarrfs"
shift
words=("$@")
patience=180 # seconds for one clause
good=0 bad=0 skipped=0 running=0

export PATH=$work/bin:$PATH TMPDIR=$work/scratch XDG_STATE_HOME=$work/state PROJECT=$here/../..
export PYTHON=${ZARRFS_PY3:-$PROJECT/.venv-v3/bin/python} # one that has zarr

# A control group of memory, of version 1 or 2, and the file of its limit.
export groups=/sys/fs/cgroup/memory limit=memory.limit_in_bytes
[ -e $groups/$limit ] || groups=/sys/fs/cgroup limit=memory.max
export group=$groups/zarrfs-limits-$$

# check CLAUSE PATTERN [NEED...] runs the commands on standard input in an empty folder. They must
# succeed, and print what matches each line of PATTERN (grep -E).
check() {
	local clause=$1 pattern=$2 commands missing
	shift 2
	commands=$(cat)
	chosen "$clause" || return 0
	printf '\n# %s\n' "$clause"
	if missing=$(lacks "$@"); then
		echo "SKIPPED: needs $missing"
		skipped=$((skipped + 1))
		return
	fi
	printf '%s\n' "$commands" | sed 's/^/$ /'
	dir=$work/clause
	mkdir "$dir"
	(cd "$dir" && exec setsid timeout -k 5 $patience bash -ec "$commands") \
		>"$work/out" 2>&1 </dev/null &
	running=$!
	wait $running
	judge $? "$pattern"
	tidy
}

chosen() {
	[ ${#words[@]} -eq 0 ] || grep -qF -e "$(printf '%s\n' "${words[@]}")" <<<"$1"
}

# lacks prints the first of its arguments that is not there: root, group, zarr-python or a program.
lacks() {
	local need
	for need; do
		case $need in
		root) [ "$(id -u)" = 0 ] ;;
		group) mkdir $group 2>/dev/null && [ -e $group/$limit ] && rmdir $group ;;
		zarr-python) "$PYTHON" -c 'import zarr' 2>/dev/null ;;
		*) command -v "$need" >/dev/null ;;
		esac || { echo "$need" && return 0; }
	done
	return 1
}

# judge CODE PATTERN prints the output of the commands, and whether it is as it should be.
judge() {
	local line verdict=ok
	sed "s|$work/clause/||g; s|$work/||g; s/^/  /" "$work/out" | cut -c 1-300 | head -n 40
	[ "$1" = 0 ] || verdict="BAD: exit status $1"
	while read -r line; do
		grep -Eq -- "$line" "$work/out" || verdict="BAD: found no '$line'"
	done <<<"$2"
	echo "$verdict"
	if [ "$verdict" = ok ]; then good=$((good + 1)); else bad=$((bad + 1)); fi
}

# tidy ends and removes all that a clause may have left.
tidy() {
	if [ $running != 0 ]; then
		kill -KILL -- -$running 2>/dev/null
		wait $running 2>/dev/null
	fi
	running=0
	local folder
	fsfreeze -u "$work/clause/disk" 2>/dev/null
	while folder=$(last_mount) && [ "$folder" ]; do
		timeout 60 zarrfs umount --force --timeout 20s "$folder" >/dev/null 2>&1 ||
			umount -l "$folder" 2>/dev/null
	done
	for folder in $group/job $group; do
		for _ in $(seq 100); do
			[ -d $folder ] && ! rmdir $folder 2>/dev/null || break
			sleep 0.1
		done
	done
	rm -rf "$work/clause" "$work/scratch" "$work/out"
	mkdir "$work/scratch"
}

# last_mount prints the folder of the clause on which something was mounted last.
last_mount() {
	awk -v below="$work/clause/" 'index($2, below) == 1 { at = $2 } END { print at }' /proc/mounts
}

end() {
	tidy
	rm -rf "$work"
}
trap end EXIT
trap 'exit 130' INT TERM HUP

for list in "$here"/*.list.sh; do
	. "$list"
done
printf '\nclauses: %d, ok: %d, BAD: %d, skipped: %d\n' $((good + bad + skipped)) $good $bad $skipped
[ $bad = 0 ]
