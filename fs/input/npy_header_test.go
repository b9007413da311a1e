package input

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
func into(m *memory) (*Incoming, *npy.Info) {
	header := &npy.Info{}
	return &Incoming{Parse: npy.Parse,
		Create: func(_ context.Context, h npy.Info, t dtype.Type, _ []byte) (ArrayWriter, error) {
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
		var pieces []Piece
		for off := 0; off < len(file); {
			n := 1 + rng.IntN(len(file)-off)
			pieces = append(pieces, Piece{int64(off), file[off : off+n]})
			off += n
		}
		rng.Shuffle(len(pieces), func(i, j int) { pieces[i], pieces[j] = pieces[j], pieces[i] })
		for _, p := range pieces {
			if in.IsDone() { // then they are no longer for it
				if _, err := PassOn(t.Context(), &m, p, header.Len); err != nil {
					t.Fatal(err)
				}
				continue
			}
			if err := in.Write(t.Context(), p.Data, p.Off); err != nil {
				t.Fatal(err)
			}
			if got, ok := in.Read(p.Off, int64(len(p.Data))); ok && string(got) != string(p.Data) {
				t.Fatalf("run %d: written %q at %d, read %q", run, p.Data, p.Off, got)
			}
		}
		if string(m) != "abcdefghijkl" || len(header.Shape) != 2 || in.Complete() != nil {
			t.Fatalf("run %d, %d pieces: %q of shape %v, %v", run, len(pieces), m, header.Shape,
				in.Complete())
		}
	}
}

// TestIncomingRefused: what is not a .npy file is refused as soon as that shows, and so is all that
// follows.
func TestIncomingRefused(t *testing.T) {
	file := npyOf(t, "abcdef", 3)
	var m memory
	in, _ := into(&m)
	if err := in.Write(t.Context(), []byte("hello"), 0); !errors.Is(err, npy.ErrHeader) {
		t.Errorf("text in the place of a header: %v", err)
	}
	if err := in.Write(t.Context(), file, 0); !errors.Is(err, npy.ErrHeader) {
		t.Errorf("a write after it: %v", err)
	}
	if err := in.SetSize(0); err != nil {
		t.Error(err)
	}
	if err := in.Write(t.Context(), file, 0); err != nil || string(m) != "abcdef" {
		t.Errorf("a file after it was emptied: %v, %q", err, m)
	}
	in, _ = into(&m)
	if err := in.Write(t.Context(), []byte(npyOf(t, "")[:100]), 0); err != nil {
		t.Error(err)
	}
	if err := in.Complete(); !errors.Is(err, iofs.ErrInvalid) {
		t.Errorf("a header of 100 bytes: %v", err)
	}
	var err error
	for off := int64(200); off < 10*earlyMost && err == nil; off += 1 << 20 {
		err = in.Write(t.Context(), make([]byte, 1<<20), off)
	}
	if !errors.Is(err, iofs.ErrInvalid) {
		t.Errorf("no end of data without a header: %v", err)
	}
	refuse := errors.New("no such arrays here")
	in = &Incoming{Parse: npy.Parse,
		Create: func(context.Context, npy.Info, dtype.Type, []byte) (ArrayWriter, error) {
			return nil, refuse
		}}
	if err := in.Write(t.Context(), file, 0); err != refuse || in.Complete() != refuse ||
		in.IsDone() {
		t.Errorf("an array that is not made: %v, %v", err, in.Complete())
	}
}

// TestIncomingEmpty: an empty file is not an error yet, but a file that was only made large is one.
func TestIncomingEmpty(t *testing.T) {
	var m memory
	in, _ := into(&m)
	if err := in.Complete(); err != nil || in.Size() != 0 {
		t.Errorf("%v, %d bytes", err, in.Size())
	}
	if err := in.SetSize(1000); err != nil || in.Size() != 1000 || in.Complete() == nil {
		t.Errorf("extended: %v, %d bytes, %v", err, in.Size(), in.Complete())
	}
	if err := in.Write(t.Context(), npyOf(t, "ab", 1), 0); err != nil || !in.IsDone() ||
		in.Complete() != nil {
		t.Errorf("%v, done %v, %v", err, in.IsDone(), in.Complete())
	}
}
