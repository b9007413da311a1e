package fs

import (
	"context"
	"errors"
	iofs "io/fs"
	"math/rand/v2"
	"testing"

	"github.com/zarrfs/zarrfs/layout/npy"
	"github.com/zarrfs/zarrfs/zarrcore/dtype"
)

// memory is an array as far as incoming knows one.
type memory []byte

func (m *memory) WriteAt(_ context.Context, p []byte, off int64) (int, error) {
	if need := int(off) + len(p); need > len(*m) {
		*m = append(*m, make([]byte, need-len(*m))...)
	}
	return copy((*m)[off:], p), nil
}

// npyOf returns a .npy file of int16 of that shape, with the given bytes.
func npyOf(t *testing.T, data string, shape ...int64) []byte {
	t.Helper()
	head, err := npy.Header("'<i2'", false, shape)
	if err != nil {
		t.Fatal(err)
	}
	return append(head, data...)
}

// into returns an incoming file whose array is m, and what its header says.
func into(m *memory) (*incoming, *npy.Info) {
	header := &npy.Info{}
	return &incoming{parse: npy.Parse, create: func(_ context.Context, h npy.Info, t dtype.Type) (arrayWriter, error) {
		*header = h
		return m, nil
	}}, header
}

// TestIncoming: however a file is cut into writes, and in whatever order they come, the array is
// made with all bytes.
func TestIncoming(t *testing.T) {
	file := npyOf(t, "abcdefghijkl", 2, 3)
	rng := rand.New(rand.NewPCG(1, 2))
	for run := range 300 {
		var m memory
		in, header := into(&m)
		var pieces []piece
		for off := 0; off < len(file); {
			n := 1 + rng.IntN(len(file)-off)
			pieces = append(pieces, piece{int64(off), file[off : off+n]})
			off += n
		}
		rng.Shuffle(len(pieces), func(i, j int) { pieces[i], pieces[j] = pieces[j], pieces[i] })
		for _, p := range pieces {
			if in.done() { // then they are no longer for it
				if err := passOn(t.Context(), &m, p, header.Len); err != nil {
					t.Fatal(err)
				}
				continue
			}
			if err := in.write(t.Context(), p.data, p.off); err != nil {
				t.Fatal(err)
			}
			if got, ok := in.read(p.off, int64(len(p.data))); ok && string(got) != string(p.data) {
				t.Fatalf("run %d: written %q at %d, read %q", run, p.data, p.off, got)
			}
		}
		if string(m) != "abcdefghijkl" || len(header.Shape) != 2 || in.complete() != nil {
			t.Fatalf("run %d, %d pieces: %q of shape %v, %v", run, len(pieces), m, header.Shape, in.complete())
		}
	}
}

// TestIncomingRefused: what is not a .npy file is refused as soon as that shows, and so is all that
// follows.
func TestIncomingRefused(t *testing.T) {
	file := npyOf(t, "abcdef", 3)
	var m memory
	in, _ := into(&m)
	if err := in.write(t.Context(), []byte("hello"), 0); !errors.Is(err, npy.ErrHeader) {
		t.Errorf("text in the place of a header: %v", err)
	}
	if err := in.write(t.Context(), file, 0); !errors.Is(err, npy.ErrHeader) {
		t.Errorf("a write after it: %v", err)
	}
	if err := in.setSize(0); err != nil {
		t.Error(err)
	}
	if err := in.write(t.Context(), file, 0); err != nil || string(m) != "abcdef" {
		t.Errorf("a file after it was emptied: %v, %q", err, m)
	}
	in, _ = into(&m)
	if err := in.write(t.Context(), []byte(npyOf(t, "")[:100]), 0); err != nil {
		t.Error(err)
	}
	if err := in.complete(); !errors.Is(err, iofs.ErrInvalid) {
		t.Errorf("a header of 100 bytes: %v", err)
	}
	var err error
	for off := int64(200); off < 10*earlyMost && err == nil; off += maxRequest {
		err = in.write(t.Context(), make([]byte, maxRequest), off)
	}
	if !errors.Is(err, iofs.ErrInvalid) {
		t.Errorf("no end of data without a header: %v", err)
	}
	refuse := errors.New("no such arrays here")
	in = &incoming{parse: npy.Parse, create: func(context.Context, npy.Info, dtype.Type) (arrayWriter, error) { return nil, refuse }}
	if err := in.write(t.Context(), file, 0); err != refuse || in.complete() != refuse || in.done() {
		t.Errorf("an array that is not made: %v, %v", err, in.complete())
	}
}

// TestIncomingEmpty: a file that has nothing in it yet is not an error, and one that was only made
// large is.
func TestIncomingEmpty(t *testing.T) {
	var m memory
	in, _ := into(&m)
	if err := in.complete(); err != nil || in.size() != 0 {
		t.Errorf("%v, %d bytes", err, in.size())
	}
	if err := in.setSize(1000); err != nil || in.size() != 1000 || in.complete() == nil {
		t.Errorf("extended: %v, %d bytes, %v", err, in.size(), in.complete())
	}
	if err := in.write(t.Context(), npyOf(t, "ab", 1), 0); err != nil || !in.done() || in.complete() != nil {
		t.Errorf("%v, done %v, %v", err, in.done(), in.complete())
	}
}
