package integration

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/zarrfs/zarrfs/integration/mounttest"
)

// largeChunks is an array of 16 rows of 1 MB of noise. Its chunks are four times as large as the
// cache of its mounts.
type largeChunks struct {
	chunks int64 // how many
	first  int64 // decodings before it is known that a program reads in order
	flags  string
}

const inBlocks = "in blocks that are decoded one by one"

var largeChunkArrays = map[string]largeChunks{
	"a few rows each": {4, 1, "--chunks 4,1000000 --codecs zstd"},
	"beside another":  {4, 1, "--chunks 8,500000 --codecs zstd"},
	"cut at the end":  {6, 1, "--chunks 7,600000 --codecs zstd"},
	"in shards":       {4, 1, "--chunks 4,1000000 --shards 8,1000000 --codecs zstd"},
	inBlocks:          {4, 8, "--chunks 4,1000000 --codecs blosc:lz4:5:shuffle"},
}

// mounted mounts a store with the array a, and returns all its bytes.
func (l largeChunks) mounted(t *testing.T) (mnt string, all []byte) {
	t.Helper()
	store := filepath.Join(t.TempDir(), "s.zarr")
	run(t, zarrfs(t), "create", store, "--group")
	args := "a --dtype u1 --shape 16,1000000 " + l.flags
	run(t, zarrfs(t), append([]string{"create", store}, strings.Fields(args)...)...)
	for r := range int64(16) {
		all = append(all, noise(r)...)
	}
	writer := started(t, store)
	f, err := os.OpenFile(writer.path("a.raw"), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	writeRow(t, f, all, 0)
	f.Close()
	if err := writer.stop(); err != nil {
		t.Fatal(err)
	}
	return mount(t, store, "--cache-size", "1MiB", "--io", "direct"), all
}

// TestChunksLargerThanTheCache: arrays whose chunks are larger than the cache are read in order, in
// pieces of several sizes, again and again. Each time every chunk is decoded once, beside what
// small pieces need until it is known that a program reads in order.
func TestChunksLargerThanTheCache(t *testing.T) {
	for name, l := range largeChunkArrays {
		t.Run(name, func(t *testing.T) {
			mnt, all := l.mounted(t)
			for _, size := range []int{1 << 20, 1 << 17, 1 << 12} {
				before := chunksDecoded(t, mnt)
				if got := readInPieces(t, mnt, size); !bytes.Equal(got, all) {
					t.Fatalf("in pieces of %d bytes: not what was written", size)
				}
				most := l.chunks
				if size < 1<<17 {
					most += l.first
				}
				if n := chunksDecoded(t, mnt) - before; n > most {
					t.Errorf("in pieces of %d bytes: %d chunks were decoded, want each of %d once",
						size, n, l.chunks)
				}
			}
		})
	}
}

func readInPieces(t *testing.T, mnt string, size int) []byte {
	t.Helper()
	f, err := os.Open(filepath.Join(mnt, "a.raw"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var got bytes.Buffer
	onlyReads := struct{ io.Reader }{f}
	onlyWrites := struct{ io.Writer }{&got}
	if _, err := io.CopyBuffer(onlyWrites, onlyReads, make([]byte, size)); err != nil {
		t.Fatal(err)
	}
	return got.Bytes()
}

// TestLargeChunksAtRandom: eight programs at once read at random in a chunk that is larger than the
// cache, and then in another one, too. It is decoded once for all of them. A chunk of blosc blocks
// is never decoded as a whole for that.
func TestLargeChunksAtRandom(t *testing.T) {
	for name, l := range largeChunkArrays {
		if name == inBlocks {
			continue
		}
		t.Run(name, func(t *testing.T) {
			mnt, all := l.mounted(t)
			for i, rows := range [][]int64{{0, 1, 2, 3}, {0, 1, 2, 3, 8, 9, 10, 11}} {
				var readers sync.WaitGroup
				for k := range 8 {
					random := rand.New(rand.NewPCG(uint64(i), uint64(k)))
					readers.Go(func() { readAtRandom(t, mnt, all, rows, random) })
				}
				readers.Wait()
				if n := chunksDecoded(t, mnt); n != int64(i+1) {
					t.Errorf("%d chunks were decoded, expected %d", n, i+1)
				}
			}
		})
	}
}

// readAtRandom reads in the first half of some rows.
func readAtRandom(t *testing.T, mnt string, all []byte, rows []int64, random *rand.Rand) {
	f, err := os.Open(filepath.Join(mnt, "a.raw"))
	if err != nil {
		t.Error(err)
		return
	}
	defer f.Close()
	got := make([]byte, 5000)
	for range 100 {
		at := rows[random.IntN(len(rows))]*1_000_000 + random.Int64N(490_000)
		if _, err := f.ReadAt(got, at); err != nil || !bytes.Equal(got, all[at:at+5000]) {
			t.Errorf("at byte %d: %v, or not what was written", at, err)
			return
		}
	}
}

// TestMemoryGroupLargeChunks reads chunks of 100 MB in a control group of 256 MiB, with all
// defaults: two programs in order, and two at random. The kernel does not end the daemon.
func TestMemoryGroupLargeChunks(t *testing.T) {
	needRoot(t)
	if mounttest.Race {
		t.Skip("SKIPPED: the race detector takes memory of its own")
	}
	const rows = 300 // of 1 MB
	store, mnt := filepath.Join(t.TempDir(), "s.zarr"), t.TempDir()
	run(t, zarrfs(t), "create", store, "--group")
	run(t, zarrfs(t), "create", store, "a", "--dtype", "u1", "--codecs", "zstd",
		"--shape", fmt.Sprintf("%d,1000000", rows), "--chunks", "100,1000000")
	writer := started(t, store)
	written, err := os.OpenFile(writer.path("a.raw"), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	for r := range int64(rows) {
		writeRow(t, written, noise(r), r*1_000_000)
	}
	written.Close()
	if err := writer.stop(); err != nil {
		t.Fatal(err)
	}
	group := memoryGroup(t, 256<<20)
	mountInGroup(t, group, store, mnt)
	defer unmount(t, mnt)
	var readers sync.WaitGroup
	for i := range 4 {
		readers.Go(func() {
			f, err := os.Open(filepath.Join(mnt, "a.raw"))
			if err != nil {
				t.Error(err)
				return
			}
			defer f.Close()
			got := make([]byte, 1_000_000)
			for r := range int64(rows) {
				if i%2 == 1 {
					r = r * 7919 % rows
				}
				if _, err := f.ReadAt(got, r*1_000_000); err != nil || !bytes.Equal(got, noise(r)) {
					t.Errorf("row %d: %v, or not what was written", r, err)
					return
				}
			}
		})
	}
	readers.Wait()
	t.Logf("the daemon had %d MiB in memory", peakMemory(t, daemonPID(t, mnt))>>20)
}
