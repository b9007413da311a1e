// Package zipstore reads a store from a zip file. The zip file is an object of another store, so
// that it may lie wherever a store can.
//
// Stored members and deflated members can be read, also beyond 4 GiB (ZIP64). The last of several
// members of one name counts, as with Python's zipfile. The driver does not write.
//
// The directory of the zip file is kept in memory: about 60 bytes and the name for each member. It
// is read again when the zip file has changed. The format is that of PKWARE's APPNOTE.TXT 6.3.10,
// whose sections the comments name.
//
// # Locks
//
// Driver.looking, Driver.mu, then object.mu. No lock is held while a member's bytes are read,
// except that of its own object.
package zipstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"time"

	"github.com/zarrfs/zarrfs/zarrcore/store"
)

var (
	// ErrFormat is wrapped by errors that say why a file cannot be read as a zip file.
	ErrFormat = errors.New("cannot read the zip file")

	// ErrChanged is wrapped by errors of an object whose zip file was changed while it was open.
	// The object can be opened again.
	ErrChanged = fmt.Errorf("the zip file was replaced: %w", store.ErrChanged)
)

// readOnly are the bits of a mode that let users read.
const readOnly = 0o444

// Driver is a store in a zip file. It is safe for concurrent use.
type Driver struct {
	base *store.Store
	key  string
	o    Options

	looking chan struct{} // of 1: taken to look whether the zip file has changed

	mu     sync.Mutex
	now    *archive  // nil after Close
	looked time.Time // when now was the zip file as it is; zero: it may have changed
}

// archive is one version of the zip file. All but users is constant.
type archive struct {
	directory
	file   store.Object
	info   store.Info   // of the zip file
	rights store.Rights // to all members: those to read the zip file
	driver *Driver
	cancel func() // of the context that bounds file

	users int // the driver and each open object; guarded by Driver.mu
}

// Options say how a zip file is read.
type Options struct {
	// TopFolder makes a folder that holds the whole store the root: people pack a folder, or what
	// is in it.
	TopFolder bool

	// Fresh is for how long the zip file counts as unchanged after a look at it. The base must then
	// refuse to read on from a file that was replaced, as one behind a network does.
	Fresh time.Duration
}

// Open opens the zip file that is the object key of base. The driver closes base with itself.
func Open(ctx context.Context, base *store.Store, key string, o Options) (*Driver, error) {
	d := &Driver{base: base, key: key, o: o, looking: make(chan struct{}, 1)}
	now, err := d.load(ctx)
	if err != nil {
		return nil, err
	}
	d.now, d.looked = now, time.Now()
	return d, nil
}

// Traits are those of a list in memory of what is in the zip file.
func (d *Driver) Traits() store.Traits {
	isRemote := d.base.Traits().Remote
	return store.Traits{Remote: isRemote, DirTimes: !isRemote, Versions: store.VersionContent}
}

// Traffic is that of the store that has the zip file; see store.Meter.
func (d *Driver) Traffic() *store.Traffic { return d.base.Traffic() }

// ends is how many bytes come with a zip file behind a network that is opened: its directory, if it
// is not longer.
const ends = 1 << 20

// load reads the directory of the zip file.
func (d *Driver) load(ctx context.Context) (_ *archive, err error) {
	// The file outlives the request.
	lasting, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, cancel)
	file, err := d.base.OpenFor(lasting, d.key, store.Want{Off: -ends, N: ends})
	if err != nil {
		cancel()
		return nil, cmp.Or(ctx.Err(), err)
	}
	dir, err := readDirectory(file, file.Size())
	if !stop() || err != nil {
		cancel()
		file.Close()
		return nil, cmp.Or(ctx.Err(), err)
	}
	if d.o.TopFolder {
		dir.root = dir.topFolder()
	}
	a := &archive{
		directory: dir, file: file, info: file.Info(), driver: d, cancel: cancel, users: 1,
	}
	if owned, ok := file.(store.Owned); ok {
		a.rights = owned.Rights()
		a.rights.Mode &= readOnly
	}
	return a, nil
}

// use returns the zip file as it is now, which the caller releases.
func (d *Driver) use(ctx context.Context) (*archive, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if a, err := d.known(); a != nil || err != nil {
		return a, err
	}
	if d.o.Fresh > 0 { // then one look is enough for all
		select {
		case d.looking <- struct{}{}:
			defer func() { <-d.looking }()
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if a, err := d.known(); a != nil || err != nil {
			return a, err
		}
	}
	if err := d.look(ctx); err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.now == nil {
		return nil, fs.ErrClosed
	}
	d.now.users++
	return d.now, nil
}

// known returns the zip file if it was seen a moment ago, otherwise nil.
func (d *Driver) known() (*archive, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.now == nil:
		return nil, fs.ErrClosed
	case time.Since(d.looked) >= d.o.Fresh:
		return nil, nil
	}
	d.now.users++
	return d.now, nil
}

// look reads the directory of the zip file again if that has changed.
func (d *Driver) look(ctx context.Context) error {
	began := time.Now()
	info, err := d.base.Stat(ctx, d.key)
	if err != nil {
		return lost(err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.now != nil && info.Version != d.now.info.Version {
		d.mu.Unlock()
		a, err := d.load(ctx)
		d.mu.Lock()
		if err != nil {
			return fmt.Errorf("%w, and cannot be read: %w", ErrChanged, lost(err))
		}
		if d.now == nil { // closed meanwhile
			d.drop(a)
			return fs.ErrClosed
		}
		d.drop(d.now)
		d.now = a
	}
	d.looked = began
	return nil
}

// lost is the error of a missing zip file. It is never fs.ErrNotExist, which would mean that no
// chunk was ever stored.
func lost(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: it was removed or renamed", ErrFormat)
	}
	return err
}

// release ends a use of the zip file.
func (a *archive) release() {
	a.driver.mu.Lock()
	defer a.driver.mu.Unlock()
	a.driver.drop(a)
}

// drop is release for callers that hold mu.
func (d *Driver) drop(a *archive) {
	if a.users--; a.users == 0 {
		a.file.Close()
		a.cancel()
	}
}

// changed returns an error if the zip file is not what it was when a was opened.
func (a *archive) changed(ctx context.Context) error {
	if a.driver.o.Fresh > 0 { // the base notices it
		return nil
	}
	info, err := a.driver.base.Stat(ctx, a.driver.key)
	if err == nil && info.Version == a.info.Version {
		return nil
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return ErrChanged
}

// doubt notes that a is not the zip file any more.
func (a *archive) doubt() {
	a.driver.mu.Lock()
	defer a.driver.mu.Unlock()
	if a.driver.now == a {
		a.driver.looked = time.Time{}
	}
}

// Close ends the use of the store. Objects that are open stay so.
func (d *Driver) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.now == nil {
		return fs.ErrClosed
	}
	d.drop(d.now)
	d.now = nil
	return d.base.Close()
}

// Open opens a member; see store.Driver.
func (d *Driver) Open(ctx context.Context, key string) (store.Object, error) {
	return d.OpenFor(ctx, key, store.Want{})
}

// OpenFor opens a member. One of which most is wanted is read by one request, together with its
// header. See store.Opener.
func (d *Driver) OpenFor(ctx context.Context, key string, w store.Want) (store.Object, error) {
	a, err := d.use(ctx)
	if err != nil {
		return nil, err
	}
	m, ok := a.member(key)
	if ok {
		err = m.readable()
	} else {
		err = cmp.Or(a.belowLink(key), fs.ErrNotExist)
	}
	if err != nil {
		a.release()
		return nil, err
	}
	o := &object{ctx: ctx, archive: a, member: m, key: key, once: oneRead}
	if lo, hi := w.Range(m.size); d.o.Fresh > 0 && hi-lo > m.size/2 {
		o.once = oneRequest
	}
	if w.Version != "" && w.Version != o.Info().Version {
		o.Close()
		return nil, ErrChanged
	}
	return o, nil
}

// Stat describes one member or folder; see store.Driver. A member hides a folder of the same name.
func (d *Driver) Stat(ctx context.Context, key string) (store.Info, error) {
	a, err := d.use(ctx)
	if err != nil {
		return store.Info{}, err
	}
	defer a.release()
	if m, ok := a.member(key); ok {
		if m.method == symlink {
			return store.Info{}, m.readable()
		}
		info := a.describe(key, m)
		info.Rights = a.rights
		return info, nil
	}
	if !a.isDir(key) {
		return store.Info{}, cmp.Or(a.belowLink(key), fs.ErrNotExist)
	}
	info := store.Info{
		Name: store.Base(key), Dir: true, ModTime: a.info.ModTime, Changed: a.info.Changed,
		Rights: a.rights,
	}
	info.Rights.Mode |= info.Rights.Mode >> 2 // a reader may look into folders
	return info, nil
}

// describe returns what is known of a member, without its rights.
func (a *archive) describe(key string, m *member) store.Info {
	return store.Info{
		Name: store.Base(key), Size: m.size, Stored: m.packed,
		ModTime: m.time(a.info.ModTime), Changed: a.info.Changed,
		Version: fmt.Sprintf("%s/%x/%x", a.info.Version, m.header, m.crc),
	}
}

// List calls yield for each child of dir; see store.Driver.
func (d *Driver) List(ctx context.Context, dir string, yield func(store.Entry) error) error {
	return d.Survey(ctx, dir, func(e store.Entry, _ store.Info) error { return yield(e) })
}

// Survey calls yield for each child of dir with what is known of it; see store.Surveyor.
func (d *Driver) Survey(
	ctx context.Context, dir string, yield func(store.Entry, store.Info) error,
) error {
	a, err := d.use(ctx)
	if err != nil {
		return err
	}
	defer a.release()
	if !a.isDir(dir) {
		return cmp.Or(a.belowLink(store.Join(dir, "x")), fs.ErrNotExist)
	}
	for name, m := range a.children(dir) {
		if err := ctx.Err(); err != nil {
			return err
		}
		info := store.Info{Name: name, Dir: true}
		isDir := m == nil || m.method == symlink // to be looked at, and found to be an error
		if !isDir {
			info = a.describe(name, m)
		}
		if err := yield(store.Entry{Name: name, Dir: isDir}, info); err != nil {
			return err
		}
	}
	return nil
}

// time returns when a member was changed, as its writer says, but not before the zip file was:
// writers may give all members one time, and rsync goes by it.
func (m *member) time(zip time.Time) time.Time {
	if said := time.Unix(m.changed, 0); said.After(zip) {
		return said
	}
	return zip
}

// Refresh looks for the zip file again, by its name; see store.Refresher.
func (d *Driver) Refresh(string) { d.base.Dirs().Refresh("") }
