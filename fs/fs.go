package fs

import (
	"context"
	"log/slog"
	"time"

	"github.com/zarrfs/zarrfs/fs/adopt"
	"github.com/zarrfs/zarrfs/fs/alias"
	"github.com/zarrfs/zarrfs/fs/attributes"
	"github.com/zarrfs/zarrfs/fs/coherence"
	"github.com/zarrfs/zarrfs/fs/compare"
	"github.com/zarrfs/zarrfs/fs/composite"
	"github.com/zarrfs/zarrfs/fs/creation"
	"github.com/zarrfs/zarrfs/fs/document"
	"github.com/zarrfs/zarrfs/fs/errno"
	"github.com/zarrfs/zarrfs/fs/input"
	"github.com/zarrfs/zarrfs/fs/install"
	"github.com/zarrfs/zarrfs/fs/known"
	"github.com/zarrfs/zarrfs/fs/library"
	"github.com/zarrfs/zarrfs/fs/links"
	"github.com/zarrfs/zarrfs/fs/listing"
	"github.com/zarrfs/zarrfs/fs/material"
	"github.com/zarrfs/zarrfs/fs/netcdf"
	"github.com/zarrfs/zarrfs/fs/nodes"
	"github.com/zarrfs/zarrfs/fs/pagecache"
	"github.com/zarrfs/zarrfs/fs/presence"
	"github.com/zarrfs/zarrfs/fs/program"
	"github.com/zarrfs/zarrfs/fs/remake"
	"github.com/zarrfs/zarrfs/fs/renaming"
	"github.com/zarrfs/zarrfs/fs/replacing"
	"github.com/zarrfs/zarrfs/fs/resolve"
	"github.com/zarrfs/zarrfs/fs/rights"
	"github.com/zarrfs/zarrfs/fs/selfcopy"
	"github.com/zarrfs/zarrfs/fs/site"
	"github.com/zarrfs/zarrfs/fs/stat"
	"github.com/zarrfs/zarrfs/fs/statusfile"
	"github.com/zarrfs/zarrfs/fs/texts"
	"github.com/zarrfs/zarrfs/fs/transient"
	"github.com/zarrfs/zarrfs/fs/wire"
	"github.com/zarrfs/zarrfs/fs/writing"
	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/store"
)

const (
	// statusFile is the one file of names.ControlDir.
	statusFile = "status.json"
	// groupFile shows the metadata and attributes of its group.
	groupFile = resolve.GroupFile
	// timeout is how long the kernel may believe attributes and names. A change of the store shows
	// after it at most.
	timeout = time.Second
	// blockSize is st_blksize of files: programs that look at it read and write that much at a
	// time.
	blockSize = 1 << 20
	// pageSize is that of the kernel's page cache, or a part of it.
	pageSize = 4096
	// dirBlockSize is st_blksize of directories: glibc asks for so many bytes of a listing at once.
	dirBlockSize = 256 << 10
)

// Options says how a hierarchy is shown.
type Options struct {
	Views      []string     // the views that are listed; nil: all
	IO         pagecache.IO // page-cache policy; "" is pagecache.IOAuto
	AllowOther bool         // other users may enter the mount too
	UID, GID   *uint32      // owner of all files; nil: with AllowOther as in the store, otherwise the user who mounts
	Umask      *uint32      // permissions that files and folders do not have; nil: those that they have in the store
	Name       string       // the store's base name: what a root that is an array is called
	Source     string       // the store as df and /proc/mounts show it
	Folder     string       // a local folder of the store, whose free space statfs shows; "" if it has none
	Store      *store.Store // the store itself, for the bytes that arrays take and for changes of folders; nil: unknown
	Version    string       // the program's version, for status.json
	Log        *slog.Logger // nil: discard
	LogName    string       // where the log is, for status.json
	Debug      bool         // log every request
	ReadOnly   bool         // nothing can be written

	HDF5Layout netcdf.Layout // of the files that show a group

	// Files up to Materialize bytes that are read again and again are kept decoded in ScratchDir.
	// All of them take half of ScratchSize at most. 0: none. Files that are not arrays take as much
	// as ScratchSize, or 64 MiB.
	Materialize, ScratchSize int64
	ScratchDir               string

	RefuseOthers bool   // make no files that are not views, except temporary ones
	KeepDir      string // such files are kept in a folder in it when the mount ends; "": in the scratch folder
}

// filesystem is one mount: everything that its nodes share.
type filesystem struct {
	errno.Answers

	h        *zarrcore.Hierarchy
	o        Options
	log      *slog.Logger
	names    *resolve.Resolver
	rights   *rights.Rights
	mount    string // the mountpoint
	started  time.Time
	states   known.States
	stat     *stat.Cache
	material *material.Files
	notes    wire.Notes
	again    wire.Again
	writings *writing.Arrays
	ids      nodes.Table
	traces   *alias.Traces
	unlinked *alias.Unlinked
	sites    *site.Paths

	transients *transient.Files
	adopting   *adopt.Files
	creation   *creation.Arrays
	remade     *remake.Arrays
	documents  *document.Files
	present    *presence.Paths
	links      *links.Links
	renames    *renaming.Renames
	wholes     *texts.Files
	composites *composite.Files
	listings   listing.Mount
	attributes *attributes.Attributes
	reads      *input.Reads
	copied     *input.Copies
	kernel     *coherence.Kernel
	compared   *compare.Files
	between    selfcopy.Mount
	libraries  *library.Answers
	ctx        context.Context // ends with the mount
	cancel     context.CancelFunc
	count      statusfile.Counters
	report     statusfile.Source
}

// newFilesystem returns what the nodes of a mount at dir share.
func newFilesystem(h *zarrcore.Hierarchy, dir string, o *Options) *filesystem {
	f := &filesystem{h: h, o: *o, log: o.Log, mount: dir, started: time.Now()}
	if f.log == nil {
		f.log = slog.New(slog.DiscardHandler)
	}
	if f.o.IO == "" {
		f.o.IO = pagecache.IOAuto
	}
	f.o.ReadOnly = f.o.ReadOnly || !h.Writable()
	f.ctx, f.cancel = context.WithCancel(context.Background())
	f.sites = site.New(f.ctx, h)
	f.traces = alias.NewTraces(f.states.Traces())
	f.unlinked = alias.NewUnlinked(f.states.Unlinked(), f.sites.Identity)
	f.Failures = errno.NewFailures(f.states.Failures())
	f.reads = input.NewReads(f.states.Reads())
	f.copied = input.NewCopies(f.states.Copied())
	f.between = selfcopy.Mount{Dir: dir, Folder: f.o.Folder}
	f.compared = compare.New(f.ctx, h, f.traces, f.states.Views())
	if f.o.Name == "" {
		f.o.Name = "array"
	}
	f.Errors.To, f.Folder, f.Unsaved = f.log, f.o.Folder, f.whyUnsaved
	f.Root = func() error {
		_, err := f.o.Store.Stat(f.ctx, "")
		return err
	}
	f.PathOf = func(dir, name string) (string, bool) {
		path, _, ok := f.names.Path(dir, name)
		return path, ok
	}
	f.transients = transient.New(f.ctx, f.transientOptions(), f.states.Transients())
	f.rights = rights.New(f.ctx, rights.Options{AllowOther: o.AllowOther, ReadOnly: f.o.ReadOnly,
		UID: o.UID, GID: o.GID, Umask: o.Umask}, f.o.Store)
	f.stat = stat.NewCache(f.ctx, h, f.o.Store, &f.Errors, f.states.Stat())
	f.material = material.New(f.ctx, f.materialOptions(), h, f.states.Material())
	f.kernel = coherence.New(f.cached, f.stat, f.material, f.log)
	f.names = resolve.New(f.ctx, h, resolve.Options{Views: o.Views, Name: f.o.Name, Mount: f.mount},
		f.stat, f.unlinked)
	f.writings = writing.New(writing.Mount{Ctx: f.ctx, H: h, Log: f.log, Stat: f.stat,
		Kernel: f.kernel, Material: f.material, Compared: f.compared,
		Ended: func(path string) { f.adopting.WritingEnded(path) }},
		f.states.Writings())
	f.adopting = adopt.New(adopt.Mount{Ctx: f.ctx, H: h, Names: f.names, Sites: f.sites,
		Transients: f.transients, Stat: f.stat, Kernel: f.kernel, Writings: f.writings,
		Layout: f.o.HDF5Layout})
	f.creation = creation.New(creation.Mount{Ctx: f.ctx, H: h, Log: f.log, Names: f.names, Sites: f.sites,
		Traces: f.traces, Unlinked: f.unlinked, Compared: f.compared, Transients: f.transients,
		Stat: f.stat, Failures: f.Failures, Files: f.adopting,
		IsFromDocument: func(path, attr string, by program.Process) bool {
			return f.attributes.IsFromDocument(path, attr, by)
		},
		Report: func(op, path string, err error) { f.Answer(op, path, err) }})
	f.wholes = texts.New(texts.Mount{Ctx: f.ctx, H: h, Log: f.log, Sites: f.sites,
		Transients: f.transients, Compared: f.compared, Stat: f.stat, Failures: f.Failures},
		f.states.Texts())
	f.remade = remake.New(remake.Mount{Ctx: f.ctx, H: h, Sites: f.sites, Stat: f.stat, Kernel: f.kernel,
		Texts: f.wholes, Unlinked: f.unlinked, Waiting: f.adopting})
	f.libraries = library.New(library.Mount{Ctx: f.ctx, H: h, Log: f.log, Names: f.names,
		Traces: f.traces, Transients: f.transients, Errors: &f.Errors, Failures: f.Failures,
		Gone:      func(path string) { f.present.Ended(path) },
		IsWritten: func(path string) bool { return f.documents.Find(path) != nil }})
	f.documents = document.New(document.Mount{H: h, Log: f.log, Sites: f.sites, Texts: f.wholes,
		Writings: f.writings, Traces: f.traces, Reads: f.reads, Copied: f.copied,
		Transients: f.transients, Stat: f.stat, Kernel: f.kernel, Material: f.material,
		Arrays: f.creation, Remade: f.remade,
		Taken: func(path string, by program.Process, err error) {
			f.Failures.Note(f.libraries.RefusedAt(path, by, err), err)
		}}, f.states.Texts())
	f.present = presence.New(presence.Mount{Ctx: f.ctx, H: h, States: &f.states, Nodes: &f.ids,
		Sites: f.sites, Texts: f.wholes, Writings: f.writings})
	f.links = links.New(links.Mount{Ctx: f.ctx, H: h, Log: f.log, Names: f.names, Sites: f.sites,
		Present: f.present, Stat: f.stat, Traces: f.traces, Unlinked: f.unlinked,
		Transients: f.transients})
	f.attributes = attributes.New(attributes.Mount{Answers: &f.Answers, Ctx: f.ctx, H: h, Log: f.log,
		Nodes: &f.ids, Sites: f.sites, Documents: f.documents, Transients: f.transients,
		Traces: f.traces, Copied: f.copied, Rights: f.rights, Stat: f.stat})
	f.listings = listing.Mount{Ctx: f.ctx, H: h, Names: f.names, Unlinked: f.unlinked,
		Transients: f.transients, Errors: &f.Errors}
	f.composites = composite.New(composite.Mount{Ctx: f.ctx, H: h, Log: f.log, Rights: f.rights,
		Material: f.material, Writings: f.writings, Layout: f.o.HDF5Layout})
	f.renames = renaming.New(f.renamingMount())
	f.report = statusfile.Source{Is: statusfile.Status{Version: f.o.Version, Store: f.o.Source, Dir: dir,
		Started: f.started, ReadOnly: f.o.ReadOnly, IO: f.o.IO, Log: f.o.LogName, Scratch: f.o.ScratchDir},
		Ctx: f.ctx, H: h, Store: f.o.Store, Count: &f.count, Errors: &f.Errors, Material: f.material,
		Texts: f.wholes, Transients: f.transients, Adopting: f.adopting}
	return f
}

// renamingMount returns what a rename needs of the mount.
func (f *filesystem) renamingMount() renaming.Mount {
	replaces := replacing.New(replacing.Mount{Ctx: f.ctx, H: f.h, Store: f.o.Store, States: &f.states,
		Nodes: &f.ids, Present: f.present, Traces: f.traces, Stat: f.stat, Documents: f.documents,
		Remade: f.remade})
	installs := install.New(install.Mount{Ctx: f.ctx, H: f.h, Sites: f.sites, Traces: f.traces,
		Transients: f.transients, Writings: f.writings, Documents: f.documents, Compared: f.compared,
		Material: f.material, Kernel: f.kernel, Adopting: f.adopting, Creation: f.creation})
	return renaming.Mount{Ctx: f.ctx, H: f.h, Names: f.names, Sites: f.sites, Nodes: &f.ids,
		Present: f.present, Links: f.links, Replacing: replaces, Traces: f.traces,
		Unlinked: f.unlinked, Rights: f.rights, Failures: f.Failures,
		Files: renaming.Files{Transients: f.transients, Creation: f.creation, Adopting: f.adopting,
			Installs: installs, Libraries: f.libraries, Between: f.between}}
}

// transientOptions returns what is done with files that the store does not have.
func (f *filesystem) transientOptions() transient.Options {
	return transient.Options{Scratch: f.o.ScratchDir, SpaceSize: f.o.ScratchSize, KeepDir: f.o.KeepDir,
		Refuse: f.o.RefuseOthers, Log: f.log, Ended: f.ids.RemoveKey,
		Of: transient.Origin{Name: f.o.Name, Store: f.h.Name(), Mount: f.mount, Since: f.started}}
}

// materialOptions returns what may be materialised.
func (f *filesystem) materialOptions() material.Options {
	o := material.Options{Limit: f.o.ScratchSize / 2, Dir: f.o.ScratchDir, Log: &f.Errors}
	if f.o.IO == pagecache.IOAuto && f.o.ScratchDir != "" {
		o.Most = f.o.Materialize
	}
	return o
}

// request returns the context of a kernel request and what must be called when it is answered.
func (f *filesystem) request(ctx context.Context) *wire.Request { return wire.NewRequest(f.ctx, ctx) }

// whyUnsaved returns why what was written to the array at path could not be stored at the last
// attempt. It returns nil if it was stored.
func (f *filesystem) whyUnsaved(path string) error {
	if w := f.writings.Find(path); w != nil {
		if _, err := w.Unsaved(); err != nil {
			return err
		}
	}
	return f.wholes.Unsaved(path)
}
