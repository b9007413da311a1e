package fs

import (
	"context"
	"errors"
	"fmt"
	"io"
	iofs "io/fs"
	"sync"

	"github.com/zarrfs/zarrfs/layout/npy"
	"github.com/zarrfs/zarrfs/zarrcore/dtype"
)

// earlyMost is how many bytes behind a gap are kept until the header is complete.
const earlyMost = 8 << 20

// incoming is a .npy file that is rewritten: it collects the header, lets create make the array
// that it describes, and passes on what was written behind it. The header may come in pieces, and
// after what follows it.
type incoming struct {
	create func(ctx context.Context, header npy.Info, t dtype.Type) (arrayWriter, error)
	parse  func(text []byte) (npy.Info, error)

	mu      sync.Mutex
	head    []byte  // written from the file's beginning on, without a gap
	early   []piece // written behind a gap, in the order in which it came
	kept    int64   // bytes of early
	end     int64   // the file's size
	refused error   // why the header was not taken; it stands until the file is cut to nothing
	header  []byte  // the complete header; nil: the array is not there yet
}

// arrayWriter is what incoming needs of an array.
type arrayWriter interface {
	WriteAt(ctx context.Context, p []byte, off int64) (int, error)
}

// piece is bytes that were written at off.
type piece struct {
	off  int64
	data []byte
}

// size returns the file's size as long as the header is incomplete.
func (in *incoming) size() int64 {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.end
}

// done reports whether the array was made. What is written then goes to the array itself.
func (in *incoming) done() bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.header != nil
}

// text returns the header as it was written, nil as long as it is not complete.
func (in *incoming) text() []byte {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.header
}

// write takes bytes that were written at off of the file. When they complete the header it makes
// the array.
func (in *incoming) write(ctx context.Context, p []byte, off int64) error {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.refused != nil {
		return in.refused
	}
	if off > int64(len(in.head)) {
		return in.keep(p, off)
	}
	in.put(p, off)
	header, err := in.parse(in.head)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return nil
	}
	if err == nil {
		err = in.make(ctx, header)
	}
	if err != nil && in.header == nil {
		in.refused = err
	}
	return err
}

// keep remembers what was written behind a gap.
func (in *incoming) keep(p []byte, off int64) error {
	if in.kept+int64(len(p)) > earlyMost {
		return fmt.Errorf("%w: expected the header of a .npy file before %d bytes at %d, found %d bytes of it", iofs.ErrInvalid, len(p), off, len(in.head))
	}
	in.early = append(in.early, piece{off, append([]byte(nil), p...)})
	in.kept += int64(len(p))
	in.end = max(in.end, off+int64(len(p)))
	return nil
}

// put writes p into head, and appends what was kept and now joins it.
func (in *incoming) put(p []byte, off int64) {
	n := copy(in.head[off:], p)
	in.head = append(in.head, p[n:]...)
	for i := 0; i < len(in.early); i++ {
		e := in.early[i]
		if have := int64(len(in.head)); e.off <= have && e.off+int64(len(e.data)) > have {
			in.head = append(in.head, e.data[have-e.off:]...)
			i = -1 // it may join one that came before
		}
	}
	in.end = max(in.end, int64(len(in.head)))
}

// make creates the array and hands it what was written behind the header.
func (in *incoming) make(ctx context.Context, header npy.Info) error {
	t, err := dtype.ParseDescr(header.Descr)
	if err != nil {
		return err
	}
	arr, err := in.create(ctx, header, t)
	if err != nil {
		return err
	}
	in.header = in.head[:header.Len:header.Len]
	early := append([]piece{{header.Len, in.head[header.Len:]}}, in.early...)
	in.head, in.early, in.kept = nil, nil, 0
	for _, e := range early {
		if err := passOn(ctx, arr, e, header.Len); err != nil {
			in.end = e.off // what was refused has not come
			return err
		}
	}
	return nil
}

// passOn writes the part of e that lies behind a header of so many bytes.
func passOn(ctx context.Context, arr arrayWriter, e piece, header int64) error {
	if e.off < header {
		e.data = e.data[min(header-e.off, int64(len(e.data))):]
		e.off = header
	}
	if len(e.data) == 0 {
		return nil
	}
	_, err := arr.WriteAt(ctx, e.data, e.off-header)
	return err
}

// setSize truncates or extends the file. Truncated to nothing, it begins again.
func (in *incoming) setSize(size int64) error {
	in.mu.Lock()
	defer in.mu.Unlock()
	if size == 0 {
		in.head, in.early, in.kept, in.end, in.refused = nil, nil, 0, 0, nil
		return nil
	}
	if in.refused != nil {
		return in.refused
	}
	if size < in.end {
		return fmt.Errorf("%w: a .npy file without its header cannot be cut to %d bytes", iofs.ErrInvalid, size)
	}
	in.end = size
	return nil
}

// complete says why what was written is not a .npy file: its header was not taken, or is
// incomplete. An empty file is not a .npy file yet, which is not an error.
func (in *incoming) complete() error {
	in.mu.Lock()
	defer in.mu.Unlock()
	switch {
	case in.refused != nil:
		return in.refused
	case in.header != nil || in.end == 0:
		return nil
	}
	return fmt.Errorf("%w: expected the header of a .npy file, found %d bytes of it", iofs.ErrInvalid, len(in.head))
}

// read returns the n bytes at off that were written. What was not written reads as zero bytes. ok
// is false once the array was made, which has the bytes.
func (in *incoming) read(off, n int64) (p []byte, ok bool) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.header != nil {
		return nil, false
	}
	p = make([]byte, max(0, min(n, in.end-off)))
	for _, e := range append([]piece{{0, in.head}}, in.early...) {
		if from := max(off, e.off); from < min(off+int64(len(p)), e.off+int64(len(e.data))) {
			copy(p[from-off:], e.data[from-e.off:])
		}
	}
	return p, true
}
