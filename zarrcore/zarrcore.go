// Package zarrcore reads and writes Zarr hierarchies, and shows every array as one flat
// file of bytes: C order, in the array's data type and byte order. It is a
// library of its own right, with no FUSE in it; the mount is one of its users.
//
//	h, err := zarrcore.Open(ctx, st, nil)
//	a, err := h.OpenArray(ctx, "ocean/temperature")
//	n, err := a.ReadAt(ctx, p, off)
//
// A read finds the chunks it touches by layout arithmetic, gets them from one
// cache for all arrays, and loads what is missing concurrently, once each.
// Readers that go through an array in order are served from bands that workers
// prepare ahead of them (package band).
//
// # Consistency
//
// [Hierarchy.OpenArray] sees everything that was stored before it was called: it reads the array's
// documents again and forgets what is outdated. Another document is another generation, with
// cache entries of its own. Other objects begin a new epoch: bands are dropped, and a cached chunk
// is compared with its object when it is next used.
//
// Where an array has few objects, an open lists all of them with their versions (package scan). An
// epoch begins only if one has changed. An array is large where its grid has more than 4,096
// objects and a bounded number of looks has not shown all that are stored. Each open of a large
// array begins an epoch and lists nothing. Changes are found chunk by chunk, as chunks are read.
// Two uses still look at all its objects: a search for holes, and a read in order with large
// bands, which looks in the background.
//
// Open handles keep the generation that they opened until a program of this mount writes to the
// array (outside.go). Handles in Fortran order keep it even then, because their elements would
// otherwise be at other bytes. Dirty bytes are taken into the generation that is opened
// (joinEarly in flush.go).
//
// # Writing
//
// [Array.WriteAt] copies into memory; [Array.Flush] stores what was written, merged with what is
// stored now, object by object. See draft.go, flush.go and docs/ARCHITECTURE.md, "A write".
//
// Truncating axis 0 stores nothing at once. The draft remembers the lowest length it had, and
// stored rows from there on read as the fill value. A flush stores the document last. So the rows
// that a document counts are never leftovers of a truncation, whenever the process is killed. If
// another program has changed the document meanwhile, the array is truncated again as it is then
// (errOvertaken in flush.go).
//
// A .npy in Fortran order shows the array with its axes reversed (transposed.go), so its chunks
// need no transposing. Each of the two orders has a draft of its own. Each stores its dirty bytes
// before the other is used, and only one is written or resized at a time.
//
// All of a flush happens in the array's own directory, which stays open (catalog.Home).
// Directories are created below it only. So what is stored follows a rename by another program,
// and nothing is created again under the old name.
//
// # Elements of no fixed size
//
// Package vlenarray opens such arrays; vlen.go shows them. They are written as a whole, or with rows
// behind the last.
//
// # Lock order
//
// Hierarchy.moving, draft.flushing, draft.away, draft.reshaping, draft.pair, draft.mu,
// table.mu, scan.Watch.mu; then the locks of dirty, band and chunk. From draft.pair on none is
// held while reading from the store, writing to it, decoding or encoding. Of the two drafts of a Fortran
// array the reversed one is locked last. See docs/LOCKS.md.
package zarrcore

import (
	"context"
	"errors"
	"fmt"
	iofs "io/fs"
	"log/slog"
	"os"
	"runtime"
	"sync"

	"github.com/zarrfs/zarrfs/zarrcore/band"
	"github.com/zarrfs/zarrfs/zarrcore/catalog"
	"github.com/zarrfs/zarrfs/zarrcore/chunk"
	"github.com/zarrfs/zarrfs/zarrcore/dirty"
	"github.com/zarrfs/zarrfs/zarrcore/durable"
	"github.com/zarrfs/zarrfs/zarrcore/edit"
	"github.com/zarrfs/zarrfs/zarrcore/keyed"
	"github.com/zarrfs/zarrfs/zarrcore/object"
	"github.com/zarrfs/zarrfs/zarrcore/pieces"
	"github.com/zarrfs/zarrfs/zarrcore/recipe"
	"github.com/zarrfs/zarrfs/zarrcore/store"
	fetchahead "github.com/zarrfs/zarrfs/zarrcore/store/ahead"
	"github.com/zarrfs/zarrfs/zarrcore/vlenarray"
)

// ErrNotStore says that what was opened holds no Zarr metadata.
var ErrNotStore = errors.New("not a Zarr store")

// Default sizes in bytes, where Options leave them open.
const (
	DefaultCacheSize   = 1 << 30
	DefaultScratchSize = 16 << 30
	DefaultDirtySize   = 1 << 30
)

// Options tune a Hierarchy. The zero value and nil mean the defaults.
type Options struct {
	CacheSize   int64           // bytes of decoded chunks and bands kept in memory
	ScratchDir  string          // folder for bands that memory cannot hold; default: $TMPDIR, else /var/tmp
	ScratchSize int64           // bytes they may take there; negative: none
	DirtySize   int64           // bytes written and not stored that are kept in memory
	KeepRights  bool            // note which users may read the objects that are opened; see Array.ObjectRights
	KeepFill    bool            // store chunks that hold nothing but fill value, too
	ReadOnly    bool            // refuse every change
	Workers     int             // decodes, and encodes, at once; default: one per CPU
	ReadAhead   int64           // bytes that are asked for ahead of a program, in requests that come in any order
	Recipe      recipe.Recipe   // what new arrays look like, where no group says otherwise
	MountOf     string          // names the store in the documents of groups, which say that they are shown in a mount; "": they do not
	Fresh       store.Freshness // how old what is known of a remote store may be
	Folder      bool            // the root may be a folder without metadata: stores lie below it, each of a format of its own
	Log         *slog.Logger
}

func (o *Options) withDefaults() Options {
	var d Options
	if o != nil {
		d = *o
	}
	if d.CacheSize <= 0 {
		d.CacheSize = DefaultCacheSize
	}
	if d.DirtySize <= 0 {
		d.DirtySize = DefaultDirtySize
	}
	if d.Workers <= 0 {
		d.Workers = runtime.NumCPU()
	}
	if d.ScratchSize == 0 {
		d.ScratchSize = DefaultScratchSize
	}
	if d.ScratchDir == "" {
		d.ScratchDir = DefaultScratchDir()
	}
	if d.Log == nil {
		d.Log = slog.New(slog.DiscardHandler)
	}
	return d
}

// DefaultScratchDir returns the folder for large temporary files where Options
// name none: $TMPDIR, else /var/tmp. /tmp is memory on many systems, which
// scratch files are to spare.
func DefaultScratchDir() string {
	if info, err := os.Stat("/var/tmp"); err == nil && info.IsDir() && os.Getenv("TMPDIR") == "" {
		return "/var/tmp"
	}
	return os.TempDir()
}

// A Hierarchy is an open store: groups and arrays by path. Paths are node
// names joined by "/"; "" is the root. All methods may be called concurrently.
type Hierarchy struct {
	store     *store.Store
	catalog   *catalog.Catalog // of its nodes
	edit      *edit.Editor
	opt       Options
	shared    pieces.Shared // by the arrays
	pool      *band.Pool
	scratch   *band.Scratch
	stopAhead func()
	vlens     *vlenarray.Table
	dirty     *dirty.Pool
	undurable durable.Dirs // what an fsync has yet to sync
	arrays    *Arrays      // that are open
	changes
}

// changes keep those changes of nodes apart that must not meet.
type changes struct {
	// moving is held while arrays are renamed or groups removed, and for reading while a node is
	// created or replaced.
	moving     sync.RWMutex
	describing keyed.Mutex // by path: held while a document is changed, or an array replaced by its copy
	beside     besides     // the arrays that are made beside another one
}

// Open opens the hierarchy in a store. A store without Zarr metadata at its
// root is ErrNotStore.
func Open(ctx context.Context, st *store.Store, o *Options) (*Hierarchy, error) {
	opt := o.withDefaults()
	opt.Fresh = opt.Fresh.Of(st.Traits())
	mem := chunk.NewMemory(opt.CacheSize)
	st, stop := fetchingAhead(st, mem)
	scratch := band.NewScratch(opt.ScratchDir, max(opt.ScratchSize, 0))
	h := &Hierarchy{
		store: st, opt: opt,
		catalog: catalog.New(ctx, st, catalog.Options{
			MountOf: opt.MountOf, Folder: opt.Folder, Recipe: opt.Recipe, Fresh: opt.Fresh,
			Log: opt.Log,
		}),
		shared: pieces.Shared{
			Store: st, Cache: chunk.NewCache(mem), Requests: chunk.NewSemaphore(opt.CacheSize),
			Memory: mem, Objects: object.NewShared(mem), Count: new(object.Counters),
		},
		scratch: scratch,
		pool:    band.NewPool(mem, scratch, opt.Workers, opt.ReadAhead, opt.Log),
		dirty:   dirty.NewPool(opt.DirtySize, scratch),
		changes: changes{beside: besides{all: map[*Beside]struct{}{}}},
	}
	h.stopAhead = stop
	h.arrays = h.newArrays()
	if opt.KeepRights {
		h.shared.Objects.KeepRights()
	}
	h.edit = h.newEditor()
	h.vlens = h.newVlens()
	_, err := h.Node(ctx, "")
	if errors.Is(err, iofs.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w: expected zarr.json, .zgroup, .zarray, or meta and attrs at its root", st.Name(), ErrNotStore)
	}
	if err != nil {
		return nil, err
	}
	return h, nil
}

// aheadShare: what is fetched ahead of all readers takes at most this part of the cache.
const aheadShare = 4

// fetchingAhead returns a remote store that fetches ahead, within a share of the memory, until stop
// is called. Another store is returned as it is.
func fetchingAhead(st *store.Store, mem *chunk.Memory) (_ *store.Store, stop func()) {
	if !st.Traits().Remote || st.Writable() {
		return st, func() {}
	}
	stop = func() {}
	return st.Wrapped(func(d store.Driver) store.Driver {
		a := fetchahead.New(d, fetchahead.Options{Budget: mem.Budget() / aheadShare, Memory: mem})
		stop = a.Stop
		return a
	}), stop
}

// newEditor returns what changes nodes in the store.
func (h *Hierarchy) newEditor() *edit.Editor {
	return &edit.Editor{Store: h.store, Catalog: h.catalog, Undurable: &h.undurable}
}

// newArrays returns the arrays that are open: none yet.
func (h *Hierarchy) newArrays() *Arrays {
	return NewArrays(ArraysOptions{
		Store: h.store, Catalog: h.catalog, Shared: &h.shared, Bands: h.pool, Dirty: h.dirty,
		Durable: &h.undurable, Workers: h.opt.Workers, KeepFill: h.opt.KeepFill,
		ReadOnly: h.opt.ReadOnly, ScratchDir: h.opt.ScratchDir, Fresh: h.opt.Fresh, Log: h.opt.Log,
	})
}

// KeepsRights reports whether the hierarchy notes rights; see Options.KeepRights.
func (h *Hierarchy) KeepsRights() bool { return h.opt.KeepRights }

// recheck lets cached chunks be compared with their objects before they are used.
func (a *Array) recheck() {
	a.watch.NewEpoch()
	a.h.of.Store.ForgetAhead(a.gen.Path)
	if a.bands != nil {
		a.bands.Invalidate()
	}
}

// Name returns the store's name.
func (h *Hierarchy) Name() string { return h.store.Name() }

// Close frees memory and scratch space. Arrays must not be read any more, and
// what Flush has not stored is lost.
func (h *Hierarchy) Close() error {
	h.arrays.Close()
	h.stopAhead()
	return nil
}
