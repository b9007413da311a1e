#!/bin/sh
# Looks for what building, testing and mounting need, and says how to get it.
missing=0
need() { # NAME HOW
	echo "missing: $1" >&2
	echo "         $2" >&2
	missing=1
}
command -v go >/dev/null || need "Go 1.26 or newer" "see your distribution's package golang-go, or the Go project's own download page"
[ -e /dev/fuse ] || need "/dev/fuse" "modprobe fuse; in a container: run it with --device /dev/fuse --cap-add SYS_ADMIN"
if [ "$(id -u)" != 0 ]; then
	command -v fusermount3 >/dev/null || need "fusermount3" "sudo apt-get install fuse3"
	[ ! -e /dev/fuse ] || [ -w /dev/fuse ] || need "permission to use /dev/fuse" "sudo chmod 666 /dev/fuse"
fi
exit $missing
