#!/bin/sh
# Looks for what building, testing and mounting need, and says how to get it.
missing=0
need() { # NAME HOW
	echo "missing: $1" >&2
	echo "         $2" >&2
	missing=1
}
page="the Go project's own download page"
if ! command -v go >/dev/null; then
	need "Go 1.26 or newer" "see your distribution's package golang-go, or $page"
elif ! go list -m >/dev/null 2>&1; then # too old to read go.mod, or to fetch the Go that it needs
	found=$(GOTOOLCHAIN=local go version | cut -d ' ' -f 3)
	need "Go 1.26 or newer, found $found" "see $page"
fi
[ -e /dev/fuse ] || need "/dev/fuse" \
	"modprobe fuse; in a container: run it with --device /dev/fuse --cap-add SYS_ADMIN"
if [ "$(id -u)" != 0 ]; then
	command -v fusermount3 >/dev/null || need "fusermount3" "sudo apt-get install fuse3"
	[ ! -e /dev/fuse ] || [ -w /dev/fuse ] ||
		need "permission to use /dev/fuse" "sudo chmod 666 /dev/fuse"
fi
exit $missing
