// Package scan looks at which objects of an array are stored, and notices when they change.
package scan

import (
	"context"
	"encoding/binary"
	"errors"
	"hash/maphash"
	iofs "io/fs"
	"sort"
	"strings"
	"time"

	"github.com/zarrfs/zarrfs/zarrcore/catalog"
	"github.com/zarrfs/zarrfs/zarrcore/meta"
	"github.com/zarrfs/zarrfs/zarrcore/object"
	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// A Scan is what one walk over an array's objects has found: how much they take, the parts of the
// array in them, and a fingerprint. By the fingerprint the next walk sees whether anything has
// changed.
type Scan struct {
	Bytes   int64     // that its objects have
	ModTime time.Time // of the newest object
	Print   uint64    // over names and versions, in any order
	Objects []int64   // their C-order numbers, sorted
	Looks   int       // that it took
	Stores  uint64    // Watch.Stores when it began

	at    time.Time     // when it began
	took  time.Duration //
	most  int           // looks that it might take
	whole bool          // false: there was more to look at
	opens uint64        // Watch.opens when it began
}

// Limit is how many looks a scan takes that no open waits for.
const Limit = 200_000

// How many looks at objects an open, or a stat, waits for. A look takes 1 to
// 4 µs. Where the grid has more objects than fewObjects, most may be missing all
// the same: a few looks show whether they are.
const (
	fewObjects = 4096
	fewLooks   = fewObjects * 3 / 2
	firstLooks = 512
)

// Looks returns how many looks at the objects of an array an open, or a stat,
// may wait for: one for each object, and object.DirLooks for each directory.
func Looks(m *meta.Array) int {
	if m == nil {
		return firstLooks
	}
	grid, err := m.Grid()
	if err != nil {
		return firstLooks
	}
	return looksAt(grid.Chunks())
}

// looksAt returns how many looks an open takes at an array of so many objects.
func looksAt(objects int64) int {
	if objects > fewObjects {
		return firstLooks
	}
	return fewLooks
}

// printSeed makes fingerprints differ between processes, which never compare
// them.
var printSeed = maphash.MakeSeed()

// errEnough ends a walk that has seen as much as it might.
var errEnough = errors.New("enough objects seen")

// Walk takes at most so many looks at the objects of an array.
func Walk(ctx context.Context, st *store.Store, keys *object.Keys, most int) (*Scan, error) {
	s := &Scan{at: time.Now(), whole: true, most: most}
	err := keys.Walk(ctx, st, s.add, s.look)
	switch {
	case err == errEnough, errors.Is(err, store.ErrCannotList):
		s.whole = false
	case errors.Is(err, iofs.ErrNotExist):
	case err != nil:
		return nil, listError(keys, err)
	}
	sort.Slice(s.Objects, func(i, j int) bool { return s.Objects[i] < s.Objects[j] })
	s.took = time.Since(s.at)
	return s, nil
}

// Each calls visit with the number of every object of an array that is stored. The store may be a
// directory that is held open.
func Each(ctx context.Context, st *store.Store, keys *object.Keys, visit func(n int64)) error {
	err := keys.Walk(ctx, st, func(n int64, _ store.Info) error {
		visit(n)
		return nil
	}, nil)
	if err == nil || errors.Is(err, iofs.ErrNotExist) {
		return nil
	}
	return listError(keys, err)
}

// Outside returns the keys of the stored objects of an array, old, that it does not have with
// another shape, now.
func Outside(ctx context.Context, st *store.Store, old, now *object.Keys) (
	gone []string, err error) {
	err = Each(ctx, st, old, func(n int64) {
		for i, c := range old.Coords(n, nil) {
			if c >= now.Counts()[i] {
				gone = append(gone, old.Key(n))
				return
			}
		}
	})
	return gone, err
}

// listError names the array whose objects cannot be listed.
func listError(keys *object.Keys, err error) error {
	return &catalog.Error{Op: "list", Path: strings.TrimSuffix(keys.Prefix(), "/"), Err: err}
}

// look counts looks.
func (s *Scan) look(n int) error {
	if s.Looks += n; s.Looks > s.most {
		return errEnough
	}
	return nil
}

// add notes one object.
func (s *Scan) add(n int64, info store.Info) error {
	s.Objects = append(s.Objects, n)
	s.Bytes += info.Size
	if info.ModTime.After(s.ModTime) {
		s.ModTime = info.ModTime
	}
	var h maphash.Hash
	h.SetSeed(printSeed)
	h.WriteString(info.Version)
	h.Write(binary.LittleEndian.AppendUint64(nil, uint64(n)))
	s.Print += h.Sum64()
	return nil
}

// IsWhole reports whether the scan has seen all objects. No scan, nil, has seen none.
func (s *Scan) IsWhole() bool { return s != nil && s.whole }

// IsThorough reports whether no other scan would take more looks.
func (s *Scan) IsThorough() bool { return s != nil && s.most >= Limit }

// Has reports whether an object from first to before end is stored.
func (s *Scan) Has(first, end int64) bool {
	i := s.from(first)
	return i < len(s.Objects) && s.Objects[i] < end
}

// from returns the place in Objects of the first object from n on.
func (s *Scan) from(n int64) int {
	return sort.Search(len(s.Objects), func(i int) bool { return s.Objects[i] >= n })
}

// NextData returns the first stretch [start, end) of an array, at or after byte off, that may be
// stored. It goes from slab to slab of objects. The array has size bytes, which is start if there
// is no such stretch.
func (s *Scan) NextData(l *object.Layout, off, size int64) (start, end int64) {
	i := s.from(l.Slab(l.SlabOf(off)).First)
	if i == len(s.Objects) {
		return size, size
	}
	first := l.Slab(l.SlabOfChunk(s.Objects[i]))
	start, end = max(off, first.Off), first.Off+first.Len
	for next := first.End; i < len(s.Objects); {
		for i < len(s.Objects) && s.Objects[i] < next {
			i++
		}
		if i == len(s.Objects) || l.SlabOfChunk(s.Objects[i]) != l.SlabOfChunk(next) {
			break
		}
		slab := l.Slab(l.SlabOfChunk(next))
		end, next = slab.Off+slab.Len, slab.End
	}
	return start, end
}
