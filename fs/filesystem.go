package fs

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"github.com/zarrfs/zarrfs/fs/adopt"
	"github.com/zarrfs/zarrfs/fs/alias"
	"github.com/zarrfs/zarrfs/fs/coherence"
	"github.com/zarrfs/zarrfs/fs/compare"
	"github.com/zarrfs/zarrfs/fs/composite"
	"github.com/zarrfs/zarrfs/fs/creation"
	"github.com/zarrfs/zarrfs/fs/document"
	"github.com/zarrfs/zarrfs/fs/errno"
	"github.com/zarrfs/zarrfs/fs/inode"
	"github.com/zarrfs/zarrfs/fs/input"
	"github.com/zarrfs/zarrfs/fs/install"
	"github.com/zarrfs/zarrfs/fs/known"
	"github.com/zarrfs/zarrfs/fs/library"
	"github.com/zarrfs/zarrfs/fs/links"
	"github.com/zarrfs/zarrfs/fs/listing"
	"github.com/zarrfs/zarrfs/fs/material"
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
	"github.com/zarrfs/zarrfs/fs/xattr/requests"
	"github.com/zarrfs/zarrfs/zarrcore"
)

// filesystem is one mount: everything that its nodes share.
type filesystem struct {
	errno.Answers
	mounting
	places
	contents
	caches

	count  statusfile.Counters
	report statusfile.Source
}

// mounting is what is mounted, and how.
type mounting struct {
	h       *zarrcore.Hierarchy
	o       Options
	log     *slog.Logger
	mount   string // the mountpoint
	started time.Time
	ctx     context.Context // ends with the mount
	cancel  context.CancelFunc
}

// places are what is at each path, the names that show it to each program, and how both change.
type places struct {
	states     known.States
	ids        nodes.Table
	sites      *site.Paths
	names      *resolve.Resolver
	rights     *rights.Rights
	traces     *alias.Traces
	unlinked   *alias.Unlinked
	listings   listing.Mount
	attributes *requests.Attributes
	present    *presence.Paths
	links      *links.Links
	renames    *renaming.Renames
	between    selfcopy.Mount
}

// contents are what programs write, and what becomes of it.
type contents struct {
	writings   *writing.Arrays
	wholes     *texts.Files
	documents  *document.Files
	composites *composite.Files
	transients *transient.Files
	adopting   *adopt.Files
	creation   *creation.Arrays
	remade     *remake.Arrays
	reads      *input.Reads
	copied     *input.Copies
	compared   *compare.Files
	libraries  *library.Answers
}

// caches are what the mount and the kernel keep of the store.
type caches struct {
	stat     *stat.Cache
	inodes   *inode.Attributes
	material *material.Files
	kernel   *coherence.Kernel
	teller   *wire.Teller // nil: there is no process for it
	notes    wire.Notes
	again    wire.Again
}

// newFilesystem returns what the nodes of a mount at dir share.
func newFilesystem(h *zarrcore.Hierarchy, dir string, o *Options) *filesystem {
	f := &filesystem{mounting: mounting{h: h, o: *o, log: o.Log, mount: dir, started: time.Now()}}
	if f.log == nil {
		f.log = slog.New(slog.DiscardHandler)
	}
	f.o.IO = cmp.Or(f.o.IO, pagecache.IOAuto)
	f.o.Name = cmp.Or(f.o.Name, "array")
	f.o.Rights.ReadOnly = f.o.Rights.ReadOnly || !h.IsWritable()
	f.ctx, f.cancel = context.WithCancel(context.Background())
	f.setAnswers()
	f.setPlaces()
	f.setCaches()
	f.setInput()
	f.setContents()
	f.setChanges()
	is := statusfile.Status{Version: f.o.Version, Store: f.o.Source, Dir: dir, Started: f.started,
		ReadOnly: f.o.Rights.ReadOnly, IO: f.o.IO, Log: f.o.LogName, Scratch: f.o.Scratch.Dir}
	f.report = statusfile.Source{Is: is, Ctx: f.ctx, H: h, Store: f.o.Store, Count: &f.count,
		Errors: &f.Errors, Material: f.material, Texts: f.wholes, Transients: f.transients,
		Adopting: f.adopting}
	return f
}

// setAnswers makes what requests are answered with.
func (f *filesystem) setAnswers() {
	f.Failures = errno.NewFailures(f.states.Failures())
	f.Errors.To, f.Folder, f.Unsaved = f.log, f.o.Folder, f.whyUnsaved
	f.Root = func() error {
		_, err := f.o.Store.Stat(f.ctx, "")
		return err
	}
	f.PathOf = func(dir, name string) (string, bool) {
		path, _, ok := f.names.Path(dir, name)
		return path, ok
	}
}

// setPlaces makes what is known of paths.
func (f *filesystem) setPlaces() {
	f.sites = site.New(f.ctx, f.h)
	f.traces = alias.NewTraces(f.states.Traces())
	f.unlinked = alias.NewUnlinked(f.states.Unlinked(), f.sites.Identity)
	f.between = selfcopy.Mount{Dir: f.mount, Folder: f.o.Folder}
	f.rights = rights.New(f.ctx, f.o.Rights, f.o.Store)
}

// setCaches makes the caches of the store, and the resolver of the names that show it.
func (f *filesystem) setCaches() {
	f.stat = stat.NewCache(f.ctx, f.h, f.o.Store, &f.Errors, f.states.Stat())
	f.material = material.New(f.ctx, f.materialOptions(), f.h, f.states.Material())
	f.kernel = coherence.New(f.cached, f.stat, f.material, f.log)
	if f.o.Teller != nil {
		f.teller = wire.NewTeller(f.o.Teller)
		context.AfterFunc(f.ctx, f.teller.Close)
	}
	f.names = resolve.New(f.ctx, f.h,
		resolve.Options{Views: f.o.Views, Name: f.o.Name, Mount: f.mount}, f.stat, f.unlinked)
}

// setInput makes what programs write to.
func (f *filesystem) setInput() {
	f.reads = input.NewReads(f.states.Reads())
	f.copied = input.NewCopies(f.states.Copied())
	f.compared = compare.New(f.ctx, f.h, f.traces, f.states.Views())
	f.transients = transient.New(f.ctx, f.transientOptions(), f.states.Transients())
	f.writings = writing.New(writing.Mount{Ctx: f.ctx, H: f.h, Log: f.log, Stat: f.stat,
		Kernel: f.kernel, Material: f.material, Compared: f.compared,
		Ended: func(path string) { f.adopting.WritingEnded(path) }},
		f.states.Writings())
	f.wholes = texts.New(texts.Mount{Ctx: f.ctx, H: f.h, Log: f.log, Sites: f.sites,
		Transients: f.transients, Compared: f.compared, Stat: f.stat, Failures: f.Failures},
		f.states.Texts())
	f.composites = composite.New(composite.Mount{Ctx: f.ctx, H: f.h, Log: f.log, Rights: f.rights,
		Material: f.material, Writings: f.writings, Layout: f.o.HDF5Layout})
}

// setContents makes what becomes of that.
func (f *filesystem) setContents() {
	f.adopting = adopt.New(adopt.Mount{Ctx: f.ctx, H: f.h, Names: f.names, Sites: f.sites,
		Transients: f.transients, Stat: f.stat, Kernel: f.kernel, Writings: f.writings,
		Layout: f.o.HDF5Layout, Errors: &f.Errors})
	f.creation = creation.New(creation.Mount{Ctx: f.ctx, H: f.h, Log: f.log, Names: f.names,
		Sites: f.sites, Traces: f.traces, Unlinked: f.unlinked, Compared: f.compared,
		Transients: f.transients,
		Stat:       f.stat, Failures: f.Failures, Files: f.adopting,
		IsFromDocument: func(path, attr string, by program.Process) bool {
			return f.attributes.IsFromDocument(path, attr, by)
		},
		Report: func(op, path string, err error) { f.Answer(op, path, err) }})
	f.remade = remake.New(remake.Mount{Ctx: f.ctx, H: f.h, Sites: f.sites, Stat: f.stat,
		Kernel: f.kernel,
		Texts:  f.wholes, Unlinked: f.unlinked, Waiting: f.adopting})
	f.libraries = library.New(library.Mount{Ctx: f.ctx, H: f.h, Log: f.log, Names: f.names,
		Traces: f.traces, Transients: f.transients, Errors: &f.Errors, Failures: f.Failures,
		Gone:      func(path string) { f.present.Ended(path) },
		IsWritten: func(path string) bool { return f.documents.Find(path) != nil }})
	f.documents = document.New(document.Mount{H: f.h, Log: f.log, Sites: f.sites, Texts: f.wholes,
		Writings: f.writings, Traces: f.traces, Reads: f.reads, Copied: f.copied,
		Transients: f.transients, Stat: f.stat, Kernel: f.kernel, Material: f.material,
		Arrays: f.creation, Remade: f.remade,
		Taken: func(path string, by program.Process, err error) {
			f.Failures.Note(f.libraries.RefusedAt(path, by, err), err)
		}}, f.states.Texts())
}

// setChanges makes what changes and lists the names of groups and arrays.
func (f *filesystem) setChanges() {
	f.present = presence.New(presence.Mount{Ctx: f.ctx, H: f.h, States: &f.states, Nodes: &f.ids,
		Sites: f.sites, Texts: f.wholes, Writings: f.writings})
	f.links = links.New(links.Mount{Ctx: f.ctx, H: f.h, Log: f.log, Names: f.names, Sites: f.sites,
		Present: f.present, Stat: f.stat, Traces: f.traces, Unlinked: f.unlinked,
		Transients: f.transients})
	f.attributes = requests.New(requests.Mount{Answers: &f.Answers, Ctx: f.ctx, H: f.h,
		Log:   f.log,
		Nodes: &f.ids, Sites: f.sites, Documents: f.documents, Transients: f.transients,
		Traces: f.traces, Copied: f.copied, Rights: f.rights, Stat: f.stat})
	f.listings = listing.Mount{Ctx: f.ctx, H: f.h, Names: f.names, Unlinked: f.unlinked,
		Transients: f.transients, Errors: &f.Errors}
	f.inodes = inode.New(inode.Mount{H: f.h, Store: f.o.Store, Errors: &f.Errors,
		Started: f.started,
		Names:   f.names, Rights: f.rights, Stat: f.stat, Writings: f.writings, Texts: f.wholes,
		Documents: f.documents, Composites: f.composites, OpenSize: f.openSize})
	f.renames = renaming.New(f.renamingMount())
}

// renamingMount returns what a rename needs of the mount.
func (f *filesystem) renamingMount() renaming.Mount {
	replaces := replacing.New(replacing.Mount{Ctx: f.ctx, H: f.h, Store: f.o.Store,
		States: &f.states,
		Nodes:  &f.ids, Present: f.present, Traces: f.traces, Stat: f.stat, Documents: f.documents,
		Remade: f.remade})
	installs := install.New(install.Mount{Ctx: f.ctx, H: f.h, Sites: f.sites, Traces: f.traces,
		Transients: f.transients, Writings: f.writings, Documents: f.documents,
		Compared: f.compared,
		Material: f.material, Kernel: f.kernel, Adopting: f.adopting, Creation: f.creation})
	return renaming.Mount{Ctx: f.ctx, H: f.h, Names: f.names, Sites: f.sites, Nodes: &f.ids,
		Present: f.present, Links: f.links, Replacing: replaces, Traces: f.traces,
		Unlinked: f.unlinked, Rights: f.rights, Failures: f.Failures,
		Files: renaming.Files{Transients: f.transients, Creation: f.creation, Adopting: f.adopting,
			Installs: installs, Libraries: f.libraries, Between: f.between}}
}

// transientOptions returns what is done with files that the store does not have.
func (f *filesystem) transientOptions() transient.Options {
	return transient.Options{Scratch: f.o.Scratch.Dir, SpaceSize: f.o.Scratch.Size,
		KeepDir: f.o.Scratch.KeepDir,
		Refuse:  f.o.Scratch.RefuseOthers, Log: f.log, Ended: f.ids.RemoveKey,
		Of: transient.Origin{Name: f.o.Name, Store: f.h.Name(), Mount: f.mount, Since: f.started}}
}

// materialOptions returns what may be materialised.
func (f *filesystem) materialOptions() material.Options {
	o := material.Options{Limit: f.o.Scratch.Size / 2, Dir: f.o.Scratch.Dir, Log: &f.Errors}
	if f.o.IO == pagecache.IOAuto && f.o.Scratch.Dir != "" {
		o.Most = f.o.Scratch.Materialize
	}
	return o
}

// request returns the context of a kernel request and what must be called when it is answered.
func (f *filesystem) request(ctx context.Context) *wire.Request {
	return wire.NewRequest(f.ctx, ctx)
}

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
