// Package diskcache keeps on disk what is read of a store behind a network.
//
// It is a store.Driver over another one. It keeps the bytes of objects as they are stored, with the
// version that they had. Before bytes are taken from the disk the server is asked by that version,
// unless the user says that the store never changes. It says that the object has not changed, and
// that it may still be read. That takes one request without data.
//
// # What is kept
//
// An object is kept by cells of 256 KiB, a file each, with the stretches that were read. The first
// cell also says how large the object is. A cell counts only if its version, its size and its
// checksum are right. What is damaged, cut or of another version is as if it were not there.
//
// Where the server reports no version, or a weak one, bytes of two fetches may be of two objects.
// Then only whole objects are kept, and only where the user says that the store never changes.
//
// # Processes
//
// Several processes share a cache folder; see folder and account. Files are named by a hash of
// Options.Identity and the key. So a process finds what another one has kept only if it reads the
// same place with the same credentials.
//
// # Locks
//
// object.mu is held while the object below is opened. Driver.mu, base.mu and keeper.mu are
// innermost: they are not held while a request is sent, or a file is read or written.
package diskcache

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// Options say where a cache is, and for what.
type Options struct {
	Dir      string          // the cache folder
	Size     int64           // bytes that it holds at most, of all stores
	Identity string          // which data this is, and by which credentials it is read; hashed
	Fresh    store.Freshness // with FreshNever, what is kept is not asked for again
	Log      *slog.Logger    // may be nil
}

// Driver is a store whose objects are kept on disk. It is safe for concurrent use. It does not
// write to the store.
type Driver struct {
	o      Options
	folder *folder
	keeper *keeper
	base   *base
	traits store.Traits
	counters

	mu      sync.Mutex
	current map[string]validated // by key: objects that the server knew a moment ago
}

// validated is when the server has said that an object has a version.
type validated struct {
	version string
	at      time.Time
}

// mostCurrent bounds Driver.current.
const mostCurrent = 1 << 16

// Open returns the store that dial opens, with a cache on disk. Where nothing is asked for again,
// it is opened only when the cache lacks what is needed.
func Open(
	ctx context.Context, o Options, dial func(context.Context) (store.Driver, error),
) (*Driver, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	f, readOnly, err := openFolder(o.Dir, o.Size)
	if err != nil {
		return nil, fmt.Errorf("the cache on disk: %w", err)
	}
	d := &Driver{o: o, folder: f, current: map[string]validated{}, base: newBase(dial)}
	d.keeper = newKeeper(f, o.Log, readOnly)
	var t keptTraits
	if d.isOffline() && d.readBlob(traitsKey, &t) {
		d.traits = store.Traits{Remote: true, List: t.List, Versions: t.Versions}
		return d, nil
	}
	b, err := d.base.get(ctx)
	if err != nil {
		d.Close()
		return nil, err
	}
	d.traits = store.TraitsOf(b)
	d.keepBlob(traitsKey, keptTraits{d.traits.List, d.traits.Versions})
	return d, nil
}

// isOffline reports whether what is kept is not asked for again.
func (d *Driver) isOffline() bool { return d.o.Fresh.When == store.FreshNever }

// base is the driver below, which may not be open yet.
type base struct {
	dial    func(context.Context) (store.Driver, error)
	opening chan struct{} // of 1: taken while it is opened

	mu     sync.Mutex
	driver store.Driver
	failed error // of the last try to open it
	at     time.Time
}

// newBase returns what dial opens.
func newBase(dial func(context.Context) (store.Driver, error)) *base {
	return &base{dial: dial, opening: make(chan struct{}, 1)}
}

// dialEvery is how often a server that cannot be reached is tried at most. Meanwhile all is refused
// at once, for the reason that was found: a try takes long where nothing answers.
const dialEvery = 5 * time.Second

// get returns the driver.
func (b *base) get(ctx context.Context) (store.Driver, error) {
	if d, err := b.known(); d != nil || err != nil {
		return d, err
	}
	select {
	case b.opening <- struct{}{}:
		defer func() { <-b.opening }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if d, err := b.known(); d != nil || err != nil {
		return d, err
	}
	d, err := b.dial(ctx)
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case err == nil:
		b.driver = d
		return d, nil
	case ctx.Err() == nil:
		b.failed, b.at = err, time.Now()
	}
	return nil, err
}

// known returns the driver, or why it could not be opened a moment ago, or nothing.
func (b *base) known() (store.Driver, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.driver == nil && b.failed != nil && time.Since(b.at) < dialEvery {
		return nil, b.failed
	}
	return b.driver, nil
}

// opened returns the driver, nil if it is not open.
func (b *base) opened() store.Driver {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.driver
}

// Close waits until what was read is kept, and closes the driver below.
func (d *Driver) Close() error {
	d.keeper.stop()
	err := d.folder.close()
	if c, ok := d.base.opened().(io.Closer); ok {
		err = errors.Join(err, c.Close())
	}
	return err
}

// Traits are those of the driver below.
func (d *Driver) Traits() store.Traits { return d.traits }

// name returns the name of the file for something about a key.
func (d *Driver) name(about, key string, cell int64) string {
	h := sha256.New()
	fmt.Fprintf(h, "%q %s %d %q", d.o.Identity, about, cell, key)
	return hex.EncodeToString(h.Sum(nil)[:20])
}

// Names of files are made of these and a key.
const (
	aboutObject = "object"
	aboutStat   = "stat" // what Stat said of a key that has no object
	aboutBlob   = "blob"
)

// cell returns the file of a cell of an object, nil if there is none.
func (d *Driver) cell(key string, n int64) *record {
	return d.folder.read(d.name(aboutObject, key, n))
}

// kept returns the first cell of an object, nil if there is none, or it may not be used. One
// without a version that says enough counts only where nothing is asked for again.
func (d *Driver) kept(key string) *record {
	r := d.cell(key, 0)
	if r == nil || r.Take != "" && !d.isOffline() || r.Kind != isObject && r.Kind != isAbsent {
		return nil
	}
	return r
}

// isCurrent reports whether the server need not be asked whether an object has still that version.
func (d *Driver) isCurrent(key, version string) bool {
	if d.isOffline() {
		return true
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	v, ok := d.current[key]
	return ok && v.version == version && time.Since(v.at) < d.o.Fresh.Found()
}

// noteCurrent notes that an object has that version. The server has said so in answer to a request
// that began at that time.
func (d *Driver) noteCurrent(key, version string, at time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.current) >= mostCurrent {
		clear(d.current)
	}
	if version == "" {
		delete(d.current, key)
		return
	}
	d.current[key] = validated{version, at}
}

// forget makes objects below dir be asked for again.
func (d *Driver) forget(dir string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for key := range d.current {
		if dir == "" || strings.HasPrefix(key, dir+"/") {
			delete(d.current, key)
		}
	}
}

// tellsEnough reports whether objects of one version have the same bytes. A weak ETag does not say
// that (RFC 9110, section 8.8.1).
func tellsEnough(version string) bool { return version != "" && !strings.HasPrefix(version, "W/") }

// Open opens an object for no bytes.
func (d *Driver) Open(ctx context.Context, key string) (store.Object, error) {
	return d.OpenFor(ctx, key, store.Want{})
}

// OpenFor opens an object with the bytes that are wanted, from the disk where it can: by one
// request at most. See store.Opener.
func (d *Driver) OpenFor(ctx context.Context, key string, w store.Want) (store.Object, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	r := d.kept(key)
	if r != nil && r.Kind == isAbsent {
		if d.isOffline() && w.Version == "" {
			d.hit(0)
			return nil, fs.ErrNotExist
		}
		r = nil
	}
	if r == nil || w.Version != "" && w.Version != r.Version {
		return d.fetch(ctx, key, w, nil)
	}
	o := &object{driver: d, ctx: ctx, key: key, info: r.info(key), like: r}
	missing, ok := o.load(w)
	switch {
	case !ok:
		return d.fetch(ctx, key, w, nil)
	case missing.N > 0:
		missing.Version = w.Version
		return d.fetch(ctx, key, missing, o)
	case d.isCurrent(key, r.Version):
		d.hit(o.loaded())
		return o, nil
	}
	return d.fetch(ctx, key, store.Want{Off: w.Off, N: w.N, Unless: r.Version}, o)
}

// fetch opens an object by a request. old is what the disk has of it, nil if nothing: it is
// returned if it is of the right version.
func (d *Driver) fetch(
	ctx context.Context, key string, w store.Want, old *object,
) (store.Object, error) {
	b, err := d.base.get(ctx)
	if err != nil {
		return nil, err
	}
	began := time.Now()
	got, err := store.OpenFor(ctx, b, key, w)
	switch {
	case errors.Is(err, store.ErrUnchanged) && old != nil:
		d.noteCurrent(key, old.info.Version, began)
		d.hit(old.loaded())
		return old, nil
	case err != nil:
		d.noteMissing(key, err)
		return nil, err
	}
	d.misses.Add(1)
	info := got.Info()
	d.noteCurrent(key, info.Version, began)
	o := old
	if old == nil || !tellsEnough(info.Version) || info.Version != old.info.Version ||
		info.Size != old.info.Size {
		o = d.newObject(ctx, key, info)
	}
	o.capture(got, w)
	return o, nil
}

// newObject returns an object of which the disk has nothing.
func (d *Driver) newObject(ctx context.Context, key string, info store.Info) *object {
	like := &record{Kind: isObject, Version: info.Version, Size: info.Size, Stored: info.Stored,
		ModTime: info.ModTime, Changed: info.Changed}
	if !tellsEnough(info.Version) {
		like.Take = rand.Text()
	}
	return &object{driver: d, ctx: ctx, key: key, info: info, like: like}
}

// noteMissing keeps what an error says if it says that there is no object.
func (d *Driver) noteMissing(key string, err error) {
	d.noteCurrent(key, "", time.Time{})
	if errors.Is(err, fs.ErrNotExist) {
		d.misses.Add(1)
		d.keeper.put(&record{Name: d.name(aboutObject, key, 0), Kind: isAbsent})
	}
}

// doubt makes an object be asked for when it is opened next, also where nothing is asked for again:
// the server has another version, and bytes of two are never mixed.
func (d *Driver) doubt(key string) {
	d.noteCurrent(key, "", time.Time{})
	d.keeper.put(&record{Name: d.name(aboutObject, key, 0), Kind: isDoubtful})
}

// GetIf reads a small object if it has changed, by one request at most; see store.Getter.
func (d *Driver) GetIf(
	ctx context.Context, key, version string, limit int64,
) ([]byte, store.Info, error) {
	if version != "" && !d.isOffline() {
		return d.getNew(ctx, key, version, limit)
	}
	r := d.kept(key)
	if r != nil && r.Kind == isAbsent && d.isOffline() {
		d.hit(0)
		return nil, store.Info{}, fs.ErrNotExist
	}
	if r == nil || r.Kind == isAbsent || r.Size > limit {
		return d.getNew(ctx, key, version, limit)
	}
	o := &object{driver: d, ctx: ctx, key: key, info: r.info(key), like: r}
	data := make([]byte, r.Size)
	if len(o.fromDisk(data, 0)) > 0 {
		return d.getNew(ctx, key, version, limit)
	}
	if !d.isOffline() {
		got, info, err := d.getNew(ctx, key, r.Version, limit)
		if !errors.Is(err, store.ErrUnchanged) {
			return got, info, err
		}
	}
	d.hit(r.Size)
	if version != "" && version == r.Version {
		return nil, store.Info{}, store.ErrUnchanged
	}
	return data, o.info, nil
}

// getNew asks for a small object, and keeps it.
func (d *Driver) getNew(
	ctx context.Context, key, version string, limit int64,
) ([]byte, store.Info, error) {
	b, err := d.base.get(ctx)
	if err != nil {
		return nil, store.Info{}, err
	}
	data, info, err := store.GetIf(ctx, b, key, version, limit)
	switch {
	case errors.Is(err, store.ErrUnchanged):
	case err != nil:
		d.noteMissing(key, err)
	default:
		d.misses.Add(1)
		d.forget(store.Parent(key)) // a document has changed: what it describes may have, too
		d.newObject(ctx, key, info).keep(0, data)
	}
	return data, info, err
}

// Stat describes an object or directory; see store.Driver.
func (d *Driver) Stat(ctx context.Context, key string) (store.Info, error) {
	if err := ctx.Err(); err != nil {
		return store.Info{}, err
	}
	if d.isOffline() {
		if info, err, ok := d.statKept(key); ok {
			d.hit(0)
			return info, err
		}
	}
	b, err := d.base.get(ctx)
	if err != nil {
		return store.Info{}, err
	}
	info, err := b.Stat(ctx, key)
	d.keepStat(ctx, key, info, err)
	return info, err
}

// statKept returns what is known of a key.
func (d *Driver) statKept(key string) (info store.Info, err error, ok bool) {
	if key == "" {
		return store.Info{Dir: true}, nil, true
	}
	if r := d.kept(key); r != nil && r.Kind == isObject {
		return r.info(key), nil, true
	}
	switch r := d.folder.read(d.name(aboutStat, key, 0)); {
	case r != nil && r.Kind == isDir:
		return store.Info{Name: store.Base(key), Dir: true}, nil, true
	case r != nil && r.Kind == isAbsent:
		return store.Info{}, fs.ErrNotExist, true
	}
	return store.Info{}, nil, false
}

// keepStat keeps what Stat has said of a key.
func (d *Driver) keepStat(ctx context.Context, key string, info store.Info, err error) {
	about := &record{Name: d.name(aboutStat, key, 0), Kind: isDir}
	switch {
	case key == "":
	case errors.Is(err, fs.ErrNotExist):
		about.Kind = isAbsent
		d.noteMissing(key, err)
		d.keeper.put(about)
	case err != nil:
	case info.Dir:
		d.keeper.put(about)
	default:
		d.newObject(ctx, key, info).keep(0, nil)
	}
}

// readBlob reads what keepBlob has kept.
func (d *Driver) readBlob(key string, v any) bool {
	r := d.folder.read(d.name(aboutBlob, key, 0))
	return r != nil && r.Kind == isBlob && len(r.Extents) == 1 &&
		json.Unmarshal(r.Extents[0].data, v) == nil
}

// keepBlob keeps something other than an object.
func (d *Driver) keepBlob(key string, v any) {
	data, err := json.Marshal(v)
	if err != nil || len(data) > mostList {
		return
	}
	r := &record{Name: d.name(aboutBlob, key, 0), Kind: isBlob, Size: int64(len(data))}
	r.add(0, data)
	d.keeper.put(r)
}

// traitsKey is the blob with the traits of the store.
const traitsKey = "traits"

// keptTraits are those traits in which stores behind a network differ.
type keptTraits struct {
	List     store.ListKind
	Versions store.VersionKind
}
