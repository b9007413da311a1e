// Package input has what programs write until it is an array or a document: a .npy file whose
// header is not complete, how much of one has come, and the text of a document. It knows which
// programs have read a document, and which have copied one. The lock of a text is held while it is
// applied, and that of an incoming file while its array is made. That of the states comes after
// both.
package input

import (
	"context"
	"errors"
	"fmt"
	"io"
	iofs "io/fs"
	"sync"
	"sync/atomic"

	"github.com/zarrfs/zarrfs/layout/npy"
	"github.com/zarrfs/zarrfs/zarrcore/dtype"
)

// earlyMost is how many bytes behind a gap are kept until the header is complete.
const earlyMost = 8 << 20

// Incoming is a .npy file that is rewritten: it collects the header, lets Create make the array
// that it describes, and passes on what was written behind it. The header may come in pieces, and
// after what follows it.
type Incoming struct {
	// Create makes the array that header describes. text is what has come of the file, up to the
	// first gap: the header, and what follows it.
	Create func(ctx context.Context, header npy.Info, t dtype.Type, text []byte) (ArrayWriter,
		error)
	Parse func(text []byte) (npy.Info, error)
	Name  string // of the view, for errors

	// Both are read without mu, for which stat would wait while the array is made.
	end  atomic.Int64 // the file's size
	done atomic.Bool  // the array was made, and what came before has been passed on

	mu      sync.Mutex
	head    []byte  // written from the file's beginning on, without a gap
	early   []Piece // written behind a gap, in the order in which it came
	kept    int64   // bytes of early
	jumped  bool    // a write did not begin where the one before it had ended
	refused error   // why the header was not taken; stands until the file is truncated to nothing
	header  []byte  // the complete header; nil: the array is not there yet
}

// ArrayWriter is what an Incoming needs of an array.
type ArrayWriter interface {
	WriteAt(ctx context.Context, p []byte, off int64) (int, error)
}

// Piece is bytes that were written at Off.
type Piece struct {
	Off  int64
	Data []byte
}

// Size returns the file's size as long as the array is not made. It waits for nothing.
func (in *Incoming) Size() int64 { return in.end.Load() }

// IsDone reports whether the array was made. What is written then goes to the array itself. It
// waits for nothing.
func (in *Incoming) IsDone() bool { return in.done.Load() }

// IsInOrder reports whether each write began where the one before it had ended.
func (in *Incoming) IsInOrder() bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	return !in.jumped
}

// Text returns the header as it was written, nil as long as it is not complete.
func (in *Incoming) Text() []byte {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.header
}

// Write takes bytes that were written at off of the file. When they complete the header it makes
// the array.
func (in *Incoming) Write(ctx context.Context, p []byte, off int64) error {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.refused != nil {
		return in.refused
	}
	in.jumped = in.jumped || off != int64(len(in.head))
	if off > int64(len(in.head)) {
		return in.keep(p, off)
	}
	in.put(p, off)
	header, err := in.Parse(in.head)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return nil
	}
	if err == nil {
		defer func() { in.done.Store(in.header != nil) }() // also if this panics
		err = in.make(ctx, header)
	}
	if err != nil && in.header == nil {
		in.refused = err
	}
	return err
}

// keep remembers what was written behind a gap.
func (in *Incoming) keep(p []byte, off int64) error {
	if in.kept+int64(len(p)) > earlyMost {
		return fmt.Errorf("%w: expected the header of a .%s file before %d bytes at %d, found "+
			"%d bytes of it", iofs.ErrInvalid, in.Name, len(p), off, len(in.head))
	}
	in.early = append(in.early, Piece{off, append([]byte(nil), p...)})
	in.kept += int64(len(p))
	in.extend(off + int64(len(p)))
	return nil
}

// put writes p into head, and appends what was kept and now joins it.
func (in *Incoming) put(p []byte, off int64) {
	n := copy(in.head[off:], p)
	in.head = append(in.head, p[n:]...)
	for i := 0; i < len(in.early); i++ {
		e := in.early[i]
		if have := int64(len(in.head)); e.Off <= have && e.Off+int64(len(e.Data)) > have {
			in.head = append(in.head, e.Data[have-e.Off:]...)
			i = -1 // it may join one that came before
		}
	}
	in.extend(int64(len(in.head)))
}

// extend makes the file at least so long. The caller holds mu.
func (in *Incoming) extend(end int64) { in.end.Store(max(in.end.Load(), end)) }

// make creates the array and hands it what was written behind the header.
func (in *Incoming) make(ctx context.Context, header npy.Info) error {
	t, err := dtype.ParseDescr(header.Descr)
	if err != nil {
		return err
	}
	arr, err := in.Create(ctx, header, t, in.head)
	if err != nil {
		return err
	}
	in.header = in.head[:header.Len:header.Len]
	early := append([]Piece{{header.Len, in.head[header.Len:]}}, in.early...)
	in.head, in.early, in.kept = nil, nil, 0
	for _, e := range early {
		if end, err := PassOn(ctx, arr, e, header.Len); err != nil {
			in.end.Store(end)
			return err
		}
	}
	return nil
}

// PassOn writes the part of e that lies behind a header of so many bytes. It returns up to where
// the file was taken.
func PassOn(ctx context.Context, arr ArrayWriter, e Piece, header int64) (end int64, err error) {
	if e.Off < header {
		e.Data = e.Data[min(header-e.Off, int64(len(e.Data))):]
		e.Off = header
	}
	if len(e.Data) == 0 {
		return e.Off, nil
	}
	n, err := arr.WriteAt(ctx, e.Data, e.Off-header)
	return e.Off + int64(n), err
}

// SetSize truncates or extends the file. Truncated to nothing, it begins again.
func (in *Incoming) SetSize(size int64) error {
	in.mu.Lock()
	defer in.mu.Unlock()
	if size == 0 {
		in.head, in.early, in.kept, in.jumped, in.refused = nil, nil, 0, false, nil
		in.end.Store(0)
		return nil
	}
	if in.refused != nil {
		return in.refused
	}
	if size < in.end.Load() {
		return fmt.Errorf("%w: a .%s file without its header cannot be truncated to %d bytes",
			iofs.ErrInvalid, in.Name, size)
	}
	in.end.Store(size)
	in.jumped = true
	return nil
}

// Complete says why what was written is not a .npy file: its header was not taken, or is
// incomplete. An empty file is not a .npy file yet, which is not an error.
func (in *Incoming) Complete() error {
	in.mu.Lock()
	defer in.mu.Unlock()
	switch {
	case in.refused != nil:
		return in.refused
	case in.header != nil || in.end.Load() == 0:
		return nil
	}
	return fmt.Errorf("%w: expected the header of a .%s file, found %d bytes of it",
		iofs.ErrInvalid, in.Name, len(in.head))
}

// Read returns the n bytes at off that were written. What was not written reads as zero bytes. ok
// is false once the array was made, which has the bytes.
func (in *Incoming) Read(off, n int64) (p []byte, ok bool) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.header != nil {
		return nil, false
	}
	p = make([]byte, max(0, min(n, in.end.Load()-off)))
	for _, e := range append([]Piece{{0, in.head}}, in.early...) {
		if from := max(off, e.Off); from < min(off+int64(len(p)), e.Off+int64(len(e.Data))) {
			copy(p[from-off:], e.Data[from-e.Off:])
		}
	}
	return p, true
}
