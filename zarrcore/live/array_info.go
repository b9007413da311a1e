package live

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zarrfs/zarrfs/zarrcore/band"
	"github.com/zarrfs/zarrfs/zarrcore/generation"
	"github.com/zarrfs/zarrfs/zarrcore/meta"
	"github.com/zarrfs/zarrfs/zarrcore/scan"
	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// What is shown of an array is one generation of it, and what is cached of that. It knows no draft.
type shown struct {
	of    *Options
	gen   *generation.Array
	bands *band.Set   // nil where bands do not serve this array
	watch *scan.Watch // notices changed objects

	past   atomic.Bool // another generation has taken its place, and is told of changed objects
	noRoom sync.Once   // said in the log
}

// Generation returns the array as its metadata describes it.
func (a *shown) Generation() *generation.Array { return a.gen }

// Watch returns what notices that other programs change the array's objects.
func (a *shown) Watch() *scan.Watch { return a.watch }

// Path returns the array's path in the hierarchy.
func (a *shown) Path() string { return a.gen.Path }

// Meta returns the array's metadata; the caller must not change it.
func (a *shown) Meta() *meta.Array { return a.gen.Meta }

// Size returns the array's size in bytes.
func (a *shown) Size() int64 { return a.gen.Size }

// Chunk returns the shape, in elements, of the smallest separately decodable
// block: an inner chunk where the array is sharded.
func (a *shown) Chunk() []int64 { return a.gen.Grid.ChunkShape() }

// WaitsForRow reports whether the end of the array is not stored while its last row is incomplete.
// That is so in a bounded grid, whose objects end with the array.
func (a *shown) WaitsForRow() bool { return a.gen.Objects.IsBounded() }

// ModTime returns when the array was last changed, as far as is known.
func (a *shown) ModTime() time.Time {
	if s := a.watch.Last(); s != nil {
		return s.ModTime
	}
	return time.Time{}
}

// Fingerprint returns a text that changes whenever the array's bytes may have. It
// waits for an epoch that is about to begin: a reader that is given its fingerprint must
// not read bands of the one before.
func (a *shown) Fingerprint() string {
	epoch, stores := a.watch.Now()
	return fmt.Sprintf("%d.%d.%d", a.gen.ID, epoch, stores)
}

// stored is Fingerprint of an array whose document has that version.
func (a *shown) stored(version string) string {
	epoch, stores := a.watch.Now()
	if a.watch.IsLarge() { // each open begins an epoch
		epoch = 0
	}
	return fmt.Sprintf("%s %d.%d.%d", version, a.gen.ID, epoch, stores)
}

// ObjectRights returns what users may do with all objects of the array that were opened. It is not
// Known if everybody may read them, or without Options.KeepRights.
func (a *shown) ObjectRights() store.Rights { return a.of.Shared.Objects.RightsTo(a.gen.ID) }

// MayHold reports whether the slabs of objects around bytes [off, off+n) hold
// anything stored, as far as the last scan knows. It only decides how they are
// read: where there is nothing a band, which may be gigabytes, is not worth it.
func (a *shown) MayHold(off, n int64) bool {
	s := a.watch.Last()
	if !s.IsWhole() {
		if a.bands.BandBytes() >= largeBand { // otherwise all bands are filled
			a.watch.ScanBehind(s)
		}
		return true
	}
	first := a.gen.Objects.Slab(a.gen.Objects.SlabOf(off)).First
	return s.Has(first, a.gen.Objects.Slab(a.gen.Objects.SlabOf(off+n-1)).End)
}

// recheck lets cached chunks be compared with their objects before they are used.
func (a *shown) recheck() {
	a.watch.NewEpoch()
	a.of.Store.Ahead().Forget(a.gen.Path)
	if a.bands != nil {
		a.bands.Invalidate()
	}
}

// retire frees what a generation holds that is no longer current. A read through it
// that has begun goes on, and may cache more.
func (a *shown) retire() {
	a.of.Shared.Retire(a.gen.ID)
	if a.bands != nil {
		a.bands.Close()
	}
}

// checked returns the epoch in which a cached chunk must have been compared with its object to be
// used. A flush forgets the chunks of an object under the number of the generation that counts.
// Chunks that a read caches under an older one are compared each time.
func (a *shown) checked() uint64 {
	if a.past.Load() {
		return a.watch.NewEpoch()
	}
	return a.watch.Epoch()
}

// largeBand is the size of a band, in bytes, that takes longer to fill than all
// objects to look at.
const largeBand = 64 << 20
