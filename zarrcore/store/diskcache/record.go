package diskcache

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"hash/crc32"
	"slices"
	"time"

	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// cellSize is how many bytes of an object one file holds at most. Stretches of an object are kept
// as they were read, by cell. So no unwanted bytes are fetched. A file is written again for each
// new stretch of its cell, so it must stay small.
const cellSize = 256 << 10

// magic begins each file. Its number is that of the format.
const magic = "zarrfs cache 1\n"

// mostHeader and mostList bound what is read of a file, in bytes.
const (
	mostHeader = 64 << 10
	mostList   = 16 << 20
)

// kind is what a record is about.
type kind string

const (
	isObject kind = "object" // bytes of an object, and what is known of it
	isAbsent kind = "absent" // there is no object of that key
	isDir    kind = "dir"    // Stat says that it is a directory
	isBlob   kind = "blob"   // a listing, or the traits of the store

	isDoubtful kind = "doubtful" // the object was replaced: it must be asked for
)

// A record is what one file holds: a header, the bytes of all extents, and a checksum.
type record struct {
	Name    string    `json:"name"` // of the file: it says which cell of which key this is
	Kind    kind      `json:"kind"`
	Version string    `json:"version,omitempty"`
	Take    string    `json:"take,omitempty"` // the fetch it is of, if the version says too little
	Size    int64     `json:"size"`           // of the object
	Stored  int64     `json:"stored"`
	ModTime time.Time `json:"modified,omitzero"`
	Changed time.Time `json:"changed,omitzero"`
	Extents []extent  `json:"extents,omitempty"` // by offset, apart from each other
}

// An extent is a stretch of the object.
type extent struct {
	Off  int64 `json:"off"`
	N    int64 `json:"n"`
	data []byte
}

// info describes the object.
func (r *record) info(key string) store.Info {
	return store.Info{
		Name: store.Base(key), Size: r.Size, Stored: r.Stored, ModTime: r.ModTime,
		Changed: r.Changed, Version: r.Version,
	}
}

// isOf reports whether a record has bytes of the same object, and the same version of it.
func (r *record) isOf(other *record) bool {
	return r != nil && r.Kind == isObject && other.Kind == isObject && r.Version == other.Version &&
		r.Take == other.Take && r.Size == other.Size
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// encode returns the bytes of a file.
func (r *record) encode() ([]byte, error) {
	header, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	b := bytes.NewBufferString(magic)
	b.Write(binary.LittleEndian.AppendUint32(nil, uint32(len(header))))
	b.Write(header)
	for _, e := range r.Extents {
		b.Write(e.data)
	}
	return binary.LittleEndian.AppendUint32(b.Bytes(), crc32.Checksum(b.Bytes(), castagnoli)), nil
}

// errDamaged says of a file that it is not what was written.
var errDamaged = errors.New("the file is damaged")

// decode reads the bytes of the file of that name. The record keeps b.
func decode(b []byte, name string) (*record, error) {
	if len(b) < len(magic)+8 || string(b[:len(magic)]) != magic {
		return nil, errDamaged
	}
	body, sum := b[:len(b)-4], binary.LittleEndian.Uint32(b[len(b)-4:])
	if crc32.Checksum(body, castagnoli) != sum {
		return nil, errDamaged
	}
	body = body[len(magic):]
	n := int64(binary.LittleEndian.Uint32(body))
	if body = body[4:]; n > int64(len(body)) {
		return nil, errDamaged
	}
	r := new(record)
	if err := json.Unmarshal(body[:n], r); err != nil || r.Name != name || !r.take(body[n:]) {
		return nil, errDamaged
	}
	return r, nil
}

// take gives the extents their bytes, and reports whether all is as it must be.
func (r *record) take(data []byte) bool {
	end := int64(0)
	for i := range r.Extents {
		e := &r.Extents[i]
		if e.Off < end || e.N <= 0 || e.N > int64(len(data)) || e.Off > r.Size-e.N {
			return false
		}
		e.data, data, end = data[:e.N:e.N], data[e.N:], e.Off+e.N
	}
	return len(data) == 0 && r.Size >= 0
}

// covered copies to p, which begins at byte off of the object, what the record has of it. It
// returns the stretches of p that it does not have.
func (r *record) covered(p []byte, off int64) (missing []store.Span) {
	end := off + int64(len(p))
	at := off
	for _, e := range r.Extents {
		lo, hi := max(e.Off, at), min(e.Off+e.N, end)
		if lo >= hi {
			continue
		}
		if at < lo {
			missing = append(missing, store.Span{Off: at, P: p[at-off : lo-off]})
		}
		copy(p[lo-off:hi-off], e.data[lo-e.Off:])
		at = hi
	}
	if at < end {
		missing = append(missing, store.Span{Off: at, P: p[at-off:]})
	}
	return missing
}

// has reports whether the record has all of n bytes at off.
func (r *record) has(off, n int64) bool {
	for _, e := range r.Extents {
		if e.Off <= off && off+n <= e.Off+e.N {
			return true
		}
	}
	return n == 0
}

// add adds a stretch of the object. Where it meets others they become one.
func (r *record) add(off int64, data []byte) {
	if len(data) == 0 {
		return
	}
	joined := extent{Off: off, N: int64(len(data)), data: data}
	var all []extent
	for _, e := range r.Extents {
		if e.Off+e.N < joined.Off || joined.Off+joined.N < e.Off {
			all = append(all, e)
			continue
		}
		joined = join(e, joined)
	}
	r.Extents = append(all, joined)
	slices.SortFunc(r.Extents, func(a, b extent) int { return cmp.Compare(a.Off, b.Off) })
}

// join returns the stretch of two extents that meet. The bytes of the second one count.
func join(a, b extent) extent {
	lo, hi := min(a.Off, b.Off), max(a.Off+a.N, b.Off+b.N)
	data := make([]byte, hi-lo)
	copy(data[a.Off-lo:], a.data)
	copy(data[b.Off-lo:], b.data)
	return extent{Off: lo, N: hi - lo, data: data}
}
