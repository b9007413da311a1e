package integration

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zarrfs/zarrfs/integration/mounttest"
)

// TestMemoryGroupLargeObjects writes objects of 60 MB and more in a control group of 256 MiB, with
// all defaults: shards of 100 MB, and chunks of 60 MB with and without compression. Then it changes
// them in many places. The kernel does not end the daemon, and all is there after a remount.
func TestMemoryGroupLargeObjects(t *testing.T) {
	needRoot(t)
	if mounttest.Race {
		t.Skip("SKIPPED: the race detector takes memory of its own")
	}
	const rows = 240 // of 1 MB
	for name, flags := range map[string]string{
		"shards": "--chunks 10,1000000 --shards 100,1000000",
		"chunks": "--chunks 60,1000000",
		"plain":  "--chunks 60,1000000 --codecs none",
	} {
		t.Run(name, func(t *testing.T) {
			group := memoryGroup(t, 256<<20)
			store, mnt := filepath.Join(t.TempDir(), "s.zarr"), t.TempDir()
			run(t, zarrfs(t), "create", store, "--group")
			shape := fmt.Sprintf("a --dtype u1 --shape %d,1000000 %s", rows, flags)
			run(t, zarrfs(t), append([]string{"create", store}, strings.Fields(shape)...)...)
			mounted := func(use func(f *os.File)) {
				mountInGroup(t, group, store, mnt)
				defer unmount(t, mnt)
				f, err := os.OpenFile(filepath.Join(mnt, "a.raw"), os.O_RDWR, 0)
				if err != nil {
					t.Fatal(err)
				}
				defer f.Close()
				use(f)
			}
			mounted(func(f *os.File) {
				for r := range int64(rows) {
					writeRow(t, f, noise(r), r*1_000_000)
				}
				syncFile(t, f)
				for r := int64(0); r < rows; r += 7 {
					writeRow(t, f, noise(r + 1)[:1000], r*1_000_000)
				}
				syncFile(t, f)
				t.Logf("the daemon had %d MiB in memory", peakMemory(t, daemonPID(t, mnt))>>20)
			})
			mounted(func(f *os.File) { expectNoise(t, f, rows) })
		})
	}
}

// expectNoise compares rows of noise, of which each seventh begins with that of the next one.
func expectNoise(t *testing.T, f *os.File, rows int64) {
	t.Helper()
	got := make([]byte, 1_000_000)
	for r := range rows {
		want := noise(r)
		if r%7 == 0 {
			copy(want, noise(r + 1)[:1000])
		}
		if _, err := f.ReadAt(got, r*1_000_000); err != nil || !bytes.Equal(got, want) {
			t.Fatalf("row %d: %v, or not what was written", r, err)
		}
	}
}

// noise returns 1 MB that no codec makes smaller, the same for each seed.
func noise(seed int64) []byte {
	b := make([]byte, 1_000_000)
	rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8)}).Read(b)
	return b
}

func writeRow(t *testing.T, f *os.File, p []byte, off int64) {
	t.Helper()
	if _, err := f.WriteAt(p, off); err != nil {
		t.Fatal(err)
	}
}

func syncFile(t *testing.T, f *os.File) {
	t.Helper()
	if err := f.Sync(); err != nil {
		t.Fatal(err)
	}
}
