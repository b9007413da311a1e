package integration

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// answeredEarly returns how many WRITEs the daemon has answered before it had copied their bytes.
func answeredEarly(t *testing.T, d *daemon) int {
	t.Helper()
	text, err := os.ReadFile(d.path(".zarrfs/status.json"))
	if err != nil {
		t.Fatal(err)
	}
	var status struct {
		Mount struct {
			Early *int `json:"writes_early"`
		}
	}
	if err := json.Unmarshal(text, &status); err != nil || status.Mount.Early == nil {
		t.Fatalf("no writes_early in %s: %v", text, err)
	}
	return *status.Mount.Early
}

// TestAnsweredEarly: when a write has returned, each view has its bytes for all readers, although
// the daemon answers before it has copied them. While the kernel keeps pages of a view, it does
// not.
func TestAnsweredEarly(t *testing.T) {
	zarrfs(t)
	const size = 4 << 20
	spec := arraySpec{Format: 3, Type: elementTypes[0], Shape: []int64{16, size / 16}, Chunks: []int64{5, size / 16}, Order: "C", Codec: "[]", Keys: "/"}
	d := newMountedArray(t, spec, nil, "--answer-early", "1").daemon
	open := func(view string) *os.File {
		f, err := os.OpenFile(d.path("a"+view), os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		return f
	}
	raw, npy := open(".raw"), open(".npy")
	header, _, err := npyHeader(npy)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	var mapped []byte
	writes := func(n int) (early int) {
		before := answeredEarly(t, d)
		for range n {
			off := rng.IntN(size)
			p, found := bytes.Repeat([]byte{byte(rng.Uint32())}, 1+rng.IntN(min(size-off, 1<<20))), make([]byte, 1<<20)
			if _, err := npy.WriteAt(p, header+int64(off)); err != nil {
				t.Fatal(err)
			}
			if n, err := raw.ReadAt(found[:len(p)], int64(off)); err != nil || !bytes.Equal(found[:n], p) {
				t.Fatalf("%d bytes at %d of a.raw: %v; %s", len(p), off, err, difference(found[:n], p))
			}
			if mapped != nil && !bytes.Equal(mapped[off:off+len(p)], p) {
				t.Fatalf("%d bytes at %d in a mapping: %s", len(p), off, difference(mapped[off:off+len(p)], p))
			}
		}
		return answeredEarly(t, d) - before
	}
	if early := writes(200); early < 200 {
		t.Errorf("%d of 200 writes were answered early", early)
	}
	if early := completeHeader(t, d, npy, header); early > 0 {
		t.Error("a write that completes a header, and so resizes the array, was answered early")
	}
	if mapped, err = unix.Mmap(int(raw.Fd()), 0, size, unix.PROT_READ, unix.MAP_SHARED); err != nil {
		t.Fatal(err)
	}
	defer unix.Munmap(mapped)
	if found := make([]byte, 1); copy(found, mapped) != 1 { // the kernel has a page of it now
		t.Fatal("nothing is mapped")
	}
	if early := writes(50); early > 0 {
		t.Errorf("%d writes were answered early while a view was mapped", early)
	}
}

// completeHeader writes a header with one row more to a .npy file, except its end, and then bytes
// behind it, from which on the header counts; and in the same way the header that was there. It
// returns how many of the latter writes were answered early.
func completeHeader(t *testing.T, d *daemon, npy *os.File, header int64) (early int) {
	t.Helper()
	old := make([]byte, header)
	if _, err := npy.ReadAt(old, 0); err != nil {
		t.Fatal(err)
	}
	longer := bytes.Replace(old, []byte("(16,"), []byte("(17,"), 1)
	for _, text := range [][]byte{longer, old} {
		if _, err := npy.WriteAt(text[:header-1], 0); err != nil {
			t.Fatal(err)
		}
		before := answeredEarly(t, d)
		if _, err := npy.WriteAt(make([]byte, 4096), header); err != nil {
			t.Fatal(err)
		}
		early += answeredEarly(t, d) - before
		info, err := npy.Stat()
		if err != nil {
			t.Fatal(err)
		}
		raw, err := os.Stat(d.path("a.raw"))
		if err != nil || raw.Size() != info.Size()-header {
			t.Errorf("a.npy has %d bytes, its header %d, and a.raw %d (%v)", info.Size(), header, raw.Size(), err)
		}
	}
	return early
}
