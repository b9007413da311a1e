package integration

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// blob is an array that holds a disk: bytes.
var blob = arraySpec{Format: 3, Type: elementTypes[0], Shape: []int64{96 << 20},
	Chunks: []int64{1 << 20}, Order: "C", Keys: "/",
	Codec: `[{"name": "zstd", "configuration": {"level": 1, "checksum": false}}]`, Filter: "null"}

// TestFileSystemInAnArray puts an ext4 file system into a raw view, works in it, and checks it: on
// the mount, and in the bytes that zarr-python decodes.
func TestFileSystemInAnArray(t *testing.T) {
	needRoot(t, "losetup", "mkfs.ext4", "e2fsck")
	reader := startPeer(t, python(t, "ZARRFS_PY3", ".venv-v3"))
	store, base := filepath.Join(t.TempDir(), "s.zarr"), t.TempDir()
	blob.write(t, store)
	d := started(t, store, "--dirty-size", "32MiB")
	work := filepath.Join(base, "work")
	if err := os.Mkdir(work, 0o777); err != nil {
		t.Fatal(err)
	}

	useAsDisk(t, d.path("a.raw"), work)
	if err := d.stop(); err != nil {
		t.Fatal(err)
	}

	image := filepath.Join(base, "image")
	var shape []int64
	err := reader.ask(request{"do": "read", "path": filepath.Join(store, "a"), "dtype": "|u1",
		"out": image}, &shape)
	if err != nil {
		t.Fatal(err)
	}
	run(t, "e2fsck", "-fn", image)
	run(t, "mount", "-o", "loop,ro", image, work)
	run(t, "diff", "-r", "--no-dereference", "..", filepath.Join(work, "copy3"), "--exclude=.*",
		"--exclude=bench-data", "--exclude=bin", "--exclude=target")
	run(t, "umount", work)
}

// useAsDisk makes a file system in the file, works in it, and checks it.
func useAsDisk(t *testing.T, file, work string) {
	t.Helper()
	device := attachLoop(t, file)
	run(t, "mkfs.ext4", "-q", "-E", "lazy_itable_init=0,lazy_journal_init=0", device)
	run(t, "mount", device, work)
	t.Cleanup(func() { command("umount", "-l", work) }) // if the test has failed before
	workInFileSystem(t, work)
	run(t, "umount", work)
	run(t, "e2fsck", "-fn", device)
	run(t, "losetup", "-d", device)
}

// attachLoop makes a file a block device until the test ends.
func attachLoop(t *testing.T, file string) string {
	t.Helper()
	device := strings.TrimSpace(run(t, "losetup", "-f", "--show", file))
	t.Cleanup(func() { command("losetup", "-d", device) })
	return device
}

// workInFileSystem copies this repository several times, changes, moves and removes.
func workInFileSystem(t *testing.T, dir string) {
	t.Helper()
	run(t, "sh", "-ec", `
		cd "$1"
		for i in 1 2 3; do
			mkdir copy$i
			tar -C "$0" --exclude './.*' --exclude ./bench-data --exclude ./bin --exclude target \
				-cf - . | tar -C copy$i -xf -
			sync -f .
		done
		rm -r copy1
		find copy2 -name '*.go' -exec sh -c 'for f; do echo more >>"$f"; done' - {} +
		mv copy2 moved
		dd if=/dev/urandom of=big bs=64k count=300 status=none conv=fsync
		dd if=/dev/urandom of=big bs=4k count=50 seek=777 conv=notrunc,fsync status=none
		fallocate -p -o 100000 -l 1000000 big
		rm -r moved
		cp big bigger; cmp big bigger
		diff -r --no-dereference --exclude='.*' --exclude=bench-data \
			--exclude=bin --exclude=target "$0" copy3
	`, absolute(t, ".."), dir)
}

func absolute(t *testing.T, path string) string {
	t.Helper()
	path, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return path
}
