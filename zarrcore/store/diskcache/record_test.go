package diskcache

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"testing"
)

// FuzzRecord: a file is read as it was written, or refused. One that was made up with a right
// checksum ends no program, and its extents lie inside the object.
func FuzzRecord(f *testing.F) {
	r := &record{Name: "n", Kind: isObject, Version: "1", Size: 100}
	r.add(10, []byte("abc"))
	r.add(50, []byte("defg"))
	whole, err := r.encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	f.Add(whole[:len(whole)-1])
	f.Add([]byte(magic))
	f.Fuzz(func(t *testing.T, b []byte) {
		if got, err := decode(b, "n"); err == nil && !bytes.Equal(b, whole) {
			check(t, got)
		}
		sum := binary.LittleEndian.AppendUint32(nil, crc32.Checksum(b, castagnoli))
		if got, err := decode(append(bytes.Clone(b), sum...), "n"); err == nil {
			check(t, got)
		}
	})
}

// check reads all of a record.
func check(t *testing.T, r *record) {
	for _, e := range r.Extents {
		if e.Off < 0 || e.N <= 0 || e.Off+e.N > r.Size || int64(len(e.data)) != e.N {
			t.Errorf("an extent %d+%d of %d bytes", e.Off, e.N, r.Size)
		}
	}
	r.covered(make([]byte, 64), 20)
	r.add(30, make([]byte, 10))
}

// TestExtents: stretches that are added in any order are found again, each byte of it.
func TestExtents(t *testing.T) {
	want := make([]byte, 64)
	for i := range want {
		want[i] = byte(i) + 1
	}
	for seed := range 200 {
		r, known := &record{Kind: isObject, Size: 64}, make([]byte, 64)
		for i := range 6 {
			lo := (seed*7 + i*i*13) % 60
			hi := lo + 1 + (seed+i*5)%(64-lo)
			r.add(int64(lo), want[lo:hi])
			copy(known[lo:hi], want[lo:hi])
		}
		got := make([]byte, 64)
		missing := r.covered(got, 0)
		for _, s := range missing {
			if !bytes.Equal(s.P, known[s.Off:s.Off+int64(len(s.P))]) || bytes.ContainsFunc(s.P,
				func(c rune) bool { return c != 0 }) {
				t.Fatalf("%d: %d bytes at %d are said to be missing", seed, len(s.P), s.Off)
			}
		}
		if !bytes.Equal(got, known) {
			t.Fatalf("%d: %v, want %v", seed, got, known)
		}
		if b, err := r.encode(); err != nil || len(b) == 0 {
			t.Fatal(err)
		}
	}
}
