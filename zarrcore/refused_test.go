package zarrcore_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/store"
	"github.com/zarrfs/zarrfs/zarrcore/store/memstore"
	"github.com/zarrfs/zarrfs/zarrcore/store/storetest"
)

// This file is about rows that were appended and are refused, because another program has truncated
// the array meanwhile.

// TestRefusedRowsDoNotComeBack: another program truncates the array at each step of storing rows
// that were appended to it. If they are refused, each byte of them is kept, and the store has none
// of them: where the array grows it is the fill value. What was not truncated stays.
func TestRefusedRowsDoNotComeBack(t *testing.T) {
	for _, c := range []struct {
		chunk, codecs string
		saved         int // bytes that are stored before the last are appended
	}{
		{"[4, 2]", plainBytes, 0}, {"[4, 2]", plainBytes, 15}, {"[4, 2]", plainBytes, 28},
		{"[16, 1]", plainBytes, 0}, {"[16, 1]", plainBytes, 15},
		{"[4, 2]", shardsOfRows, 0}, {"[4, 2]", shardsOfRows, 15},
	} {
		for _, cut := range sample[int64](2, 0, 6, 4, 9) {
			name := fmt.Sprintf("%s, %d bytes of codecs, %d saved, truncated to %d",
				c.chunk, len(c.codecs), c.saved, cut)
			t.Run(name, func(t *testing.T) {
				refused := 0
				for step := 0; refuse(t, c.chunk, c.codecs, c.saved, cut, step,
					&refused); step += stride() {
				}
				if refused == 0 {
					t.Error("nothing was refused")
				}
			})
		}
	}
}

const shardsOfRows = `{"name": "sharding_indexed", "configuration": {"chunk_shape": [2, 1],
	"codecs": [{"name": "bytes"}],
	"index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}}]}}`

// refuse lets another program truncate an array of ten rows of two bytes at one step of storing 20
// more. It reports whether there is such a step, and counts refusals.
func refuse(
	t *testing.T, chunk, codecs string, saved int, cut int64, step int, refused *int,
) bool {
	const rows, more = 10 * 2, 20 * 2 // in bytes
	mem, k := memstore.New(), &hook{}
	h := writable(t, 3, storetest.Faulty(mem, k))
	a := described(t, h, "a", numbers("[10, 2]", chunk, codecs))
	before, added := upTo(rows), bytes.Repeat([]byte{77}, more)
	write(t, a, 0, before)
	must(t, a.Flush(t.Context(), false))
	other := openArray(t, reopened(t, mem), "a")
	must(t, other.SetSize(t.Context(), cut*2))
	var calls, made atomic.Int64
	k.set(func(storetest.Op) error {
		if calls.Add(1) == int64(step)+1 && made.Add(1) == 1 {
			return other.Flush(t.Context(), false)
		}
		return nil
	})
	write(t, a, rows, added[:saved])
	published := rows // a part of a row is stored with it, and truncated with it
	if err := a.Save(t.Context(), false); err == nil || errors.Is(err, zarrcore.ErrFraction) {
		published += saved
	}
	_, err := a.WriteAt(t.Context(), added[saved:], int64(rows+saved))
	err = errors.Join(err, a.Flush(t.Context(), false))
	k.set(nil)
	if made.Load() == 0 {
		must(t, err)
		return false
	}
	about := fmt.Sprintf("truncated at step %d: append %v", step, err)
	if err != nil {
		*refused++
		want(t, err, store.ErrConflict)
		end := a.Live().Size()
		if kept := rescued(t, h); !bytes.Equal(kept[published:end], added[:end-int64(published)]) {
			t.Errorf("%s: in the file are %v, expected all from byte %d on", about, kept, published)
		}
	}
	sameStored(t, mem, "a", before[:cut*2])
	grown := openArray(t, reopened(t, mem), "a")
	must(t, grown.SetSize(t.Context(), rows+more+20))
	must(t, grown.Flush(t.Context(), false))
	expect := make([]byte, rows+more+20)
	copy(expect, before[:cut*2])
	if got := whole(t, openArray(t, reopened(t, mem), "a")); !bytes.Equal(got, expect) {
		t.Errorf("%s: grown again: %v, expected %v", about, got, expect)
	}
	if err != nil {
		k.set(func(storetest.Op) error { return syscall.EIO })
		want(t, a.Flush(t.Context(), false), syscall.EIO)
		k.set(nil)
		want(t, a.Flush(t.Context(), false), store.ErrConflict) // all the same
		sameStored(t, mem, "a", expect)
	}
	return true
}

// TestRefusedWhileTheirWriterGoesOn: so it is with rows that were stored in the background, and
// forgotten, before the array was truncated. They stay refused when the array is long enough again.
func TestRefusedWhileTheirWriterGoesOn(t *testing.T) {
	const row, rows, more = 4096, 10, 70
	for _, inner := range []string{plainBytes, `{"name": "bytes"}, {"name": "crc32c"}`} {
		mem := memstore.New()
		writable(t, 3, mem)
		h, err := zarrcore.Open(t.Context(), store.New(mem, "test"),
			&zarrcore.Options{ScratchDir: t.TempDir(), DirtySize: 128 << 10})
		must(t, err)
		t.Cleanup(func() { h.Close() })
		a := described(t, h, "a", numbers(fmt.Sprintf("[%d, %d]", rows, row), "[4, 4096]", inner))
		before, added := bytes.Repeat([]byte{1}, rows*row), bytes.Repeat([]byte{77}, more*row)
		write(t, a, 0, before)
		must(t, a.Flush(t.Context(), false))
		cutter := openArray(t, reopened(t, mem), "a")
		write(t, a, rows*row, added)
		stored := func(n int) bool {
			_, err := store.New(mem, "test").Stat(t.Context(), fmt.Sprintf("a/c/%d/0", n))
			return err == nil
		}
		deadline := time.Now().Add(10 * time.Second)
		for !stored(5) || !stored(6) {
			if time.Now().After(deadline) {
				t.Fatal("nothing is stored in the background")
			}
			time.Sleep(time.Millisecond)
		}
		must(t, cutter.SetSize(t.Context(), 6*row))
		must(t, cutter.Flush(t.Context(), false))
		want(t, a.Flush(t.Context(), false), store.ErrConflict)
		if kept := rescued(t, h)[rows*row:]; !bytes.Equal(kept, added) {
			t.Errorf("%d bytes are kept, of which %d are right, expected %d",
				len(kept), bytes.Count(kept, []byte{77}), len(added))
		}
		grown := openArray(t, reopened(t, mem), "a")
		must(t, grown.SetSize(t.Context(), 90*row))
		must(t, grown.Flush(t.Context(), false))
		want(t, a.Flush(t.Context(), false), store.ErrConflict) // though it is long enough again
		sameStored(t, mem, "a", append(before[:6*row:6*row], make([]byte, 84*row)...))
	}
}

// rescued returns the file with what of the only array is not stored.
func rescued(t *testing.T, h *zarrcore.Hierarchy) []byte {
	t.Helper()
	files, err := h.Rescue(t.TempDir())
	must(t, err)
	if len(files) != 1 {
		t.Fatalf("files: %q", files)
	}
	b, err := os.ReadFile(files[0])
	must(t, err)
	return b
}
