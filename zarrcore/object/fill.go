package object

import (
	"context"
	"errors"
	iofs "io/fs"
	"sync"

	"github.com/zarrfs/zarrfs/layout"
	"github.com/zarrfs/zarrfs/zarrcore/codec"
	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// ErrMissing says that the store has no object of a key. Every chunk of it then is the
// fill value.
var ErrMissing = errors.New("object is not stored")

// Open opens the object of a key. Here, and nowhere else, a missing key is told from an
// object: the error is ErrMissing. An object that is present but short or corrupt opens,
// and reading it is an error, never fill value.
func Open(
	ctx context.Context, st *store.Store, key string, w store.Want,
) (store.Object, error) {
	o, err := st.OpenFor(ctx, key, w)
	if errors.Is(err, iofs.ErrNotExist) {
		return nil, ErrMissing
	}
	return o, err
}

// IsMissing reports whether a chunk is the fill value because nothing of it is stored:
// there is no object for it, or the shard has no such chunk.
func IsMissing(err error) bool {
	return errors.Is(err, ErrMissing) || errors.Is(err, codec.ErrEmpty)
}

// A Fill is the fill value of an array, as reads and writes of chunks need it.
type Fill struct {
	element []byte
	page    func() []byte // whole copies of the element, to be referred to by reads
}

// NewFill returns the fill that repeats an element.
func NewFill(element []byte) *Fill {
	return &Fill{element, sync.OnceValue(func() []byte { return pageOf(element) })}
}

// pageSize is the least length of a page, in bytes.
const pageSize = 256 << 10

// Zeros are bytes to write or to show where there are none. They must not be changed.
var Zeros = make([]byte, pageSize)

// pageOf returns a stretch of whole copies of an element. Arrays whose fill value is zero
// bytes share one.
func pageOf(element []byte) []byte {
	if len(element) == 0 {
		return nil
	}
	if IsZero(element) && len(element) <= pageSize {
		return Zeros[:pageSize/len(element)*len(element)]
	}
	page := make([]byte, (pageSize+len(element)-1)/len(element)*len(element))
	layout.Repeat(page, element)
	return page
}

// Append appends n bytes of fill value to bufs, as they are from byte off of a chunk on.
// What it appends must not be changed.
func (f *Fill) Append(bufs [][]byte, off, n int64) [][]byte {
	page := f.page()
	size := int64(len(page))
	for phase := off % int64(len(f.element)); n > 0; phase = 0 {
		take := min(n, size-phase)
		bufs = append(bufs, page[phase:phase+take])
		n -= take
	}
	return bufs
}

// Fills reports whether all of a chunk is fill value, byte for byte: -0.0 is not 0.0.
func (f *Fill) Fills(chunk []byte) bool {
	k := len(f.element)
	if k == 0 || len(chunk) < k || string(chunk[:k]) != string(f.element) {
		return false
	}
	return string(chunk[k:]) == string(chunk[:len(chunk)-k])
}

// IsZero reports whether the fill value is zero bytes.
func (f *Fill) IsZero() bool { return IsZero(f.element) }

// IsZero reports whether all of some bytes are zero.
func IsZero(b []byte) bool {
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}
