package integration

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// engines are the ways of fio to write: as most programs do, past the page cache with many requests
// at once, through a mapping.
var engines = map[string][]string{
	"psync": {"--ioengine=psync", "--bsrange=1k-256k", "--bs_unaligned=1"},
	"libaio": {"--ioengine=libaio", "--direct=1", "--iodepth=16", "--bsrange=4k-256k",
		"--blockalign=4k"},
	"mmap": {"--ioengine=mmap", "--bsrange=4k-256k", "--blockalign=4k"},
}

// TestFio lets fio write blocks with checksums into a raw view and verify them.
func TestFio(t *testing.T) {
	needRoot(t, "fio")
	for name := range engines {
		t.Run(name, func(t *testing.T) {
			array := blob
			array.Shape = []int64{24<<20 + 5*4096}
			store := filepath.Join(t.TempDir(), "s.zarr")
			array.write(t, store)
			d := started(t, store, "--dirty-size", "8MiB")
			verify(t, name, d.path("a.raw"), array.Shape[0])
			before, err := os.ReadFile(d.path("a.raw"))
			if err := errors.Join(err, d.stop(), d.start()); err != nil {
				t.Fatal(err)
			}
			after, err := os.ReadFile(d.path("a.raw"))
			if err != nil || !bytes.Equal(before, after) {
				t.Errorf("the next mount shows something else than what fio has verified, %v", err)
			}
		})
	}
}

// verify lets fio write and read a file of that size.
func verify(t *testing.T, engine, file string, size int64) {
	t.Helper()
	run(t, "fio", append([]string{"--name=v", "--filename=" + file, fmt.Sprintf("--size=%d", size),
		"--rw=randwrite", "--verify=crc32c", "--verify_fatal=1",
		"--do_verify=1", "--verify_backlog=256", "--overwrite=1", "--fallocate=none",
		"--allow_file_create=0", "--end_fsync=1", "--verify_state_save=0",
		"--aux-path=" + t.TempDir()}, engines[engine]...)...)
}
