#!/bin/sh
# demo.sh BINARY: makes a small store, mounts it, and shows what plain tools
# can do with it, reading and writing. Leaves nothing behind.
set -eu
zarrfs=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
cd "$(dirname "$0")/../.."
tmp=$(mktemp -d)
mnt=$tmp/mnt
mkdir "$mnt"
trap '"$zarrfs" umount "$mnt" 2>/dev/null || true; rm -rf "$tmp"' EXIT INT TERM

show() {
	printf '\n$ %s\n' "$(echo "$*" | sed "s|$zarrfs|zarrfs|g; s|$tmp/||g")"
	sh -c "$*"
}

go run ./integration/demo "$tmp/demo.zarr"
cd "$tmp"
show "$zarrfs tree demo.zarr"
show "$zarrfs mount demo.zarr mnt"
show "ls -l mnt mnt/ocean"
show "head -c 118 mnt/ocean/temperature.npy | strings"
show "dd if=mnt/ocean/temperature.raw bs=4 skip=8100 count=4 status=none | od -An -tf4"
show "od -An -tu1 -j 370700 -N 16 mnt/mask.raw"
show "ls -ls mnt/mask.raw   # 1 MB, of which one chunk is stored"
show "grep -A1 attributes mnt/ocean/temperature.json"
show "tail -c +129 mnt/ocean/temperature.npy | cmp - mnt/ocean/temperature.raw &&
	echo same bytes behind the header"
if command -v python3 >/dev/null && python3 -c 'import numpy' 2>/dev/null; then
	show "python3 -c 'import numpy as np
a = np.load(\"mnt/ocean/temperature.npy\", mmap_mode=\"r\")
print(a.shape, a.dtype, a[0, 45, :3])'"
fi
show "mkdir mnt/copies && cp mnt/ocean/temperature.npy mnt/copies/t.npy   # a new array"
show "cmp mnt/ocean/temperature.npy mnt/copies/t.npy && echo the same"
show "head -c 64800 mnt/ocean/temperature.raw >> mnt/copies/t.raw   # one hour: 90 x 180 numbers"
show "dd if=/dev/zero of=mnt/copies/t.raw bs=4 seek=1 count=1 conv=notrunc status=none   # in place"
show "od -An -tf4 -j 128 -N 12 mnt/copies/t.npy"
show "echo '{\"attributes\": {\"units\": \"K\"}}' > mnt/copies/t.json"
show "grep -A2 attributes mnt/copies/t.json"
show "ls -ls mnt/copies"
show "$zarrfs umount mnt"
show "$zarrfs tree demo.zarr; find demo.zarr/copies | head -4"
printf '\nThat was zarrfs: every array is a file, and every .npy file can be an array.\n'
