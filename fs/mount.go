package fs

import (
	"cmp"
	"context"
	"fmt"
	"log"
	"log/slog"
	"path/filepath"
	"slices"

	gofuse "github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/zarrfs/zarrfs/fs/attach"
	"github.com/zarrfs/zarrfs/fs/identity"
	"github.com/zarrfs/zarrfs/fs/wire"
	"github.com/zarrfs/zarrfs/zarrcore"
)

const (
	// maxRequest is the largest READ and WRITE. The kernel takes no more without a change of its
	// settings.
	maxRequest = 1 << 20
	// maxBackground is how many read-aheads the kernel may have under way.
	maxBackground = 64
)

// A Mount is a hierarchy that is mounted.
type Mount struct {
	dir    string // absolute
	fs     *filesystem
	server *attach.Server
	gone   chan struct{}
}

// New mounts the hierarchy at dir, read-only where its store cannot be written to. It returns once
// the mount can be used.
func New(h *zarrcore.Hierarchy, dir string, o *Options) (*Mount, error) {
	if o == nil {
		o = &Options{}
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("mountpoint: %w", err)
	}
	f := newFilesystem(h, dir, o)
	m := &Mount{dir: dir, fs: f, gone: make(chan struct{})}
	if err := m.serve(&groupNode{base: newBase(f, identity.Of("", ""))}); err != nil {
		f.cancel()
		return nil, fmt.Errorf("mount at %s: %w", dir, err)
	}
	if n := f.o.IO.ReadAhead(); n > 0 {
		m.server.SetReadAhead(n, f.log)
	}
	return m, nil
}

// serve mounts, and begins to answer the kernel's requests.
func (m *Mount) serve(root *groupNode) error {
	f := m.fs
	before := wire.New
	if f.o.Rights.ReadOnly {
		before = wire.NewReadOnly
	}
	raw := before(gofuse.NewNodeFS(root, f.nodeOptions()), &f.notes)
	var err error
	if m.server, err = attach.At(m.dir, raw, f.serverOptions(), f.o.Rights.ReadOnly); err != nil {
		return err
	}
	f.material.Serve(wire.Backings{Server: m.server.Server})
	go func() {
		defer close(m.gone)
		m.server.Serve()
	}()
	if err = m.server.WaitMount(); err != nil {
		m.Detach()
	}
	return err
}

func (f *filesystem) nodeOptions() *gofuse.Options {
	id := f.ids.Root()
	return &gofuse.Options{NullPermissions: true, RootStableAttr: &id,
		Logger: f.goLog(slog.LevelWarn)}
}

// serverOptions returns how go-fuse is to serve.
func (f *filesystem) serverOptions() fuse.MountOptions {
	return fuse.MountOptions{
		Name: "zarrfs", FsName: cmp.Or(f.o.Source, "zarrfs"), AllowOther: f.o.Rights.AllowOther,
		Options:  []string{"default_permissions"},
		MaxWrite: maxRequest, MaxBackground: maxBackground,
		// a reply of 1 MiB and its header do not fit its pipe; writev is faster anyway
		DisableSplice: true,
		// Without the last of them the kernel asks before each WRITE whether the file has
		// capabilities to lose.
		ExtraCapabilities: fuse.CAP_DIRECT_IO_ALLOW_MMAP | fuse.CAP_READDIRPLUS_AUTO |
			fuse.CAP_HANDLE_KILLPRIV_V2,
		PanicHandler: func(r any) fuse.Status {
			f.Errors.Panicked("request", r)
			return fuse.EIO
		},
		Debug: f.o.Debug, Logger: f.goLog(slog.LevelDebug),
	}
}

// goLog returns a logger for go-fuse that ends up in the mount's log.
func (f *filesystem) goLog(level slog.Level) *log.Logger {
	return slog.NewLogLogger(f.log.With("from", "go-fuse").Handler(), level)
}

// Wait returns when the mount is gone, however that was done, and all that was written is stored.
// An error names what could not be stored.
func (m *Mount) Wait() error {
	m.server.Wait()
	err := m.Flush()
	m.fs.libraries.Wait()
	m.fs.cancel()
	m.fs.material.Wait()
	m.KeepFiles() // which says itself what is the matter, and can be asked again
	return err
}

// KeepFiles keeps the files that are not views, in the folder named in status.json. If it cannot
// keep a file there, it tries the scratch folder, and returns an error. It does so once.
func (m *Mount) KeepFiles() error {
	m.fs.adopting.EndCopiesOfGroups(context.Background())
	return m.fs.transients.Keep()
}

// Gone is closed when the kernel sends no more requests: the mount is unmounted, with all copies of
// it, and nobody has a file of it open.
func (m *Mount) Gone() <-chan struct{} { return m.gone }

// Unstored returns the paths of the arrays with written bytes that are not stored.
func (m *Mount) Unstored() []string {
	paths := slices.Concat(m.fs.h.Unstored(), m.fs.wholes.Unstored())
	slices.Sort(paths)
	return slices.Compact(paths)
}

// Flush stores all that was written, so that it survives a power cut. An error names what could not
// be stored.
func (m *Mount) Flush() error {
	if m.fs.o.Rights.ReadOnly {
		return nil
	}
	return m.fs.flush(context.Background(), true)
}

// Unmount ends the mount. It fails with EBUSY while a program has a file or folder of it open.
func (m *Mount) Unmount() error { return m.server.Unmount() }

// Detach takes the mount out of the tree at once; programs that have files of it open can go on
// with them. Wait returns when the last has closed them.
func (m *Mount) Detach() error { return m.server.Detach() }

// Rescue writes what is not stored of .jsonl and .npy files to files in the folder dir, as it was
// written. A program that must end calls it. It is for arrays whose elements have no fixed size. It
// returns the names of the files.
func (m *Mount) Rescue(dir string) (files []string, err error) { return m.fs.wholes.Rescue(dir) }
