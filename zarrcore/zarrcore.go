// Package zarrcore reads and writes Zarr hierarchies, and shows every array as one flat
// file of bytes: C order, in the array's data type and byte order. It is a
// library of its own right, with no FUSE in it; the mount is one of its users.
//
//	h, err := zarrcore.Open(ctx, st, nil)
//	a, err := h.OpenArray(ctx, "ocean/temperature")
//	n, err := a.ReadAt(ctx, p, off)
//
// A read finds the chunks it touches by layout arithmetic, and gets them from one cache for all
// arrays. What is missing is loaded concurrently, once each. Readers that go through an array in
// order are served from bands (package band). Workers prepare the bands ahead of the readers.
//
// Package live has the open arrays. Its comment says when an array shows what others have stored,
// and how writing works. Package vlenarray has arrays whose elements have no fixed size. Package
// catalog finds nodes. This package changes nodes, and lets open arrays follow.
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
	"time"

	"github.com/zarrfs/zarrfs/zarrcore/band"
	"github.com/zarrfs/zarrfs/zarrcore/catalog"
	"github.com/zarrfs/zarrfs/zarrcore/chunk"
	"github.com/zarrfs/zarrfs/zarrcore/dirty"
	"github.com/zarrfs/zarrfs/zarrcore/durable"
	"github.com/zarrfs/zarrfs/zarrcore/edit"
	"github.com/zarrfs/zarrfs/zarrcore/keyed"
	"github.com/zarrfs/zarrfs/zarrcore/live"
	"github.com/zarrfs/zarrfs/zarrcore/object"
	"github.com/zarrfs/zarrfs/zarrcore/pieces"
	"github.com/zarrfs/zarrfs/zarrcore/recipe"
	"github.com/zarrfs/zarrfs/zarrcore/store"
	fetchahead "github.com/zarrfs/zarrfs/zarrcore/store/ahead"
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
	CacheSize int64 // bytes of decoded chunks and bands kept in memory
	// folder for bands that memory cannot hold; default: $TMPDIR, otherwise /var/tmp
	ScratchDir  string
	ScratchSize int64 // bytes they may take there; negative: none
	DirtySize   int64 // bytes written and not stored that are kept in memory
	// note the users who may read an object when it is opened; see Array.ObjectRights
	KeepRights bool
	KeepFill   bool // store chunks that hold nothing but fill value, too
	ReadOnly   bool // refuse every change
	Workers    int  // decodes, and encodes, at once; default: one per CPU
	// bytes to ask for ahead of a program; the requests for them come in any order
	ReadAhead int64
	Recipe    recipe.Recipe // what new arrays look like, where no group says otherwise
	// names the store in the documents of groups, which say that they are shown in a mount; "":
	// they do not
	MountOf string
	Fresh   store.Freshness // how old what is known of a remote store may be
	// the root may be a folder without metadata: stores lie below it, each of a format of its own
	Folder bool
	Log    *slog.Logger
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

// DefaultScratchDir returns the folder for large temporary files where Options name none: $TMPDIR,
// otherwise /var/tmp. On many systems /tmp is memory, which scratch files are to spare.
func DefaultScratchDir() string {
	if info, err := os.Stat("/var/tmp"); err == nil && info.IsDir() && os.Getenv("TMPDIR") == "" {
		return "/var/tmp"
	}
	return os.TempDir()
}

// A Hierarchy is an open store: groups and arrays by path. Paths are node
// names joined by "/"; "" is the root. All methods may be called concurrently.
type Hierarchy struct {
	nodes
	opened
	vlens
	*changes
	creation

	opt       Options
	shared    pieces.Shared // by the arrays
	pool      *band.Pool
	scratch   *band.Scratch
	dirty     *dirty.Pool
	undurable durable.Dirs // what an fsync has yet to sync
	stopAhead func()
}

// changes changes nodes: it sets documents, renames and removes. It keeps those changes apart that
// must not meet.
type changes struct {
	nodes
	opened
	vlens
	edit     *edit.Editor
	readOnly bool

	// moving is stopped at what is renamed, and at groups that are removed. It is used while a node
	// is created or replaced, or an array removed.
	moving   keyed.Tree
	renaming sync.Mutex // after moving: that one of these renames and removals is done at a time
	// by path: held while a document is changed, or an array replaced by its copy
	describing keyed.Mutex
	beside     besides // the arrays that are made beside another one
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
		nodes: nodes{st, catalog.New(ctx, st, catalog.Options{
			MountOf: opt.MountOf, Folder: opt.Folder, Recipe: opt.Recipe, Fresh: opt.Fresh,
			Log: opt.Log,
		})},
		opt: opt,
		shared: pieces.Shared{
			Store: st, Cache: chunk.NewCache(mem),
			Requests: chunk.NewPatient(opt.CacheSize, requestsHang),
			Encoded:  chunk.NewSemaphore(opt.CacheSize / encodedShare),
			Large:    chunk.NewSemaphore(1),
			Memory:   mem, Objects: object.NewShared(mem), Count: new(object.Counters),
		},
		scratch:   scratch,
		pool:      band.NewPool(mem, scratch, opt.Workers, opt.ReadAhead, opt.Log),
		dirty:     dirty.NewPool(opt.DirtySize, scratch),
		stopAhead: stop,
	}
	h.shared.Cache.KeepLarge(scratch, opt.ScratchSize/largeShare)
	if opt.KeepRights {
		h.shared.Objects.KeepRights()
	}
	h.opened = opened{h.newArrays()}
	h.vlens = h.newVlens()
	h.changes = newChanges(h.nodes, &h.undurable)
	h.changes.opened, h.changes.vlens, h.readOnly = h.opened, h.vlens, opt.ReadOnly
	h.creation = creation{h.changes}
	_, err := h.Node(ctx, "")
	if errors.Is(err, iofs.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w: expected zarr.json, .zgroup, .zarray, "+
			"or meta and attrs at its root", st.Name(), ErrNotStore)
	}
	if err != nil {
		return nil, err
	}
	return h, nil
}

// encodedShare: the encoded bytes of chunks that are decoded at once for reads at random take at
// most this part of the cache's size. They come beside it.
const encodedShare = 16

// requestsHang is how long reads wait for the memory of others. If none of these ends meanwhile,
// they are taken to wait for a store that hangs.
const requestsHang = 5 * time.Second

// largeShare: chunks that are larger than the cache are kept in at most this part of scratch.
const largeShare = 4

// aheadShare: what is fetched ahead of all readers takes at most this part of the cache.
const aheadShare = 4

// fetchingAhead returns a remote store that fetches ahead, within a share of the memory, until stop
// is called. Another store is returned as it is.
func fetchingAhead(st *store.Store, mem *chunk.Memory) (_ *store.Store, stop func()) {
	if !st.Traits().Remote || st.IsWritable() {
		return st, func() {}
	}
	stop = func() {}
	return st.Wrapped(func(d store.Driver) store.Driver {
		a := fetchahead.New(d, fetchahead.Options{Budget: mem.Budget() / aheadShare, Memory: mem})
		stop = a.Stop
		return a
	}), stop
}

// newChanges returns what changes nodes of which none is open. It notes in undurable what an fsync
// has yet to sync.
func newChanges(n nodes, undurable *durable.Dirs) *changes {
	return &changes{
		nodes:  n,
		edit:   &edit.Editor{Store: n.store, Catalog: n.catalog, Undurable: undurable},
		beside: besides{all: map[*Beside]struct{}{}},
		moving: keyed.Tree{Upwards: true}, // a node above may seem to be empty meanwhile
	}
}

// newArrays returns the arrays that are open: none yet.
func (h *Hierarchy) newArrays() *live.Arrays {
	return live.New(live.Options{
		Store: h.store, Catalog: h.catalog, Shared: &h.shared, Bands: h.pool, Dirty: h.dirty,
		Durable: &h.undurable, Room: chunk.NewSemaphore(h.opt.CacheSize),
		Workers: h.opt.Workers, KeepFill: h.opt.KeepFill,
		ReadOnly: h.opt.ReadOnly, ScratchDir: h.opt.ScratchDir, Fresh: h.opt.Fresh, Log: h.opt.Log,
	})
}

// KeepsRights reports whether the hierarchy notes rights; see Options.KeepRights.
func (h *Hierarchy) KeepsRights() bool { return h.opt.KeepRights }

// Close frees memory and scratch space. Arrays must not be read any more, and
// what Flush has not stored is lost.
func (h *Hierarchy) Close() error {
	h.arrays.Close()
	h.stopAhead()
	h.shared.Cache.Close()
	h.dirty.Close()
	return nil
}
