package main

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/zarrfs/zarrfs/fs"
	"github.com/zarrfs/zarrfs/fs/netcdf"
	"github.com/zarrfs/zarrfs/fs/pagecache"
	"github.com/zarrfs/zarrfs/fs/rights"
	"github.com/zarrfs/zarrfs/fs/transient"
	"github.com/zarrfs/zarrfs/fs/view"
	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/store/dirstore"
)

// serve mounts and serves until the mount is gone. In the background it reports to the parent once
// it is there.
func serve(ctx context.Context, c *mountConfig) error {
	ballast := tuneRuntime()
	defer runtime.KeepAlive(ballast)
	go mapCode()
	v, log, err := start(ctx, c)
	if err == nil {
		warnFirst(ctx, c, v.store, v.hierarchy, log)
	}
	reportStart(err)
	if err != nil {
		if isDaemon() {
			os.Exit(codeOf(err)) // the parent says why
		}
		return err
	}
	m, h := v.mount, v.hierarchy
	limitHeap(ballast, h.HeapBuffers)
	defer v.close()
	stopProfile := startProfile(c, log)
	defer stopProfile()
	log.Info("mounted", "store", h.Name(), "dir", c.dir, "pid", os.Getpid(), "cache",
		bytesText(int64(c.cache)), "dirty", bytesText(int64(c.dirty)))
	end := &ending{mount: m, hierarchy: h, config: c, log: log, verdict: newVerdict()}
	end.entry, _ = ourMountAt(c.dir)
	go end.sayCopies()
	go end.onSignal(v.signals)
	if err := m.Wait(); err != nil {
		return end.lost(err)
	}
	if len(m.Unstored()) > 0 { // written by programs that were cut off
		return end.lost(errCutOff)
	}
	verdict{Stored: true}.say(end.verdict)
	if err := m.KeepFiles(); err != nil {
		return err
	}
	log.Info("unmounted", "store", h.Name(), "dir", c.dir)
	return nil
}

// warnFirst warns the user who mounts, in the log too, of what may not be intended.
func warnFirst(
	ctx context.Context, c *mountConfig, s *source, h *zarrcore.Hierarchy, log *mountLog,
) {
	if !c.readOnly && !h.IsWritable() {
		log.Warn("mounted read-only: the store cannot be written to", "store", h.Name())
		switch err := s.mayWrite(c.store); {
		case c.logsToStderr():
		case err != nil:
			fmt.Fprintf(stderr, "zarrfs: mounted read-only: %v\n", err)
		default:
			fmt.Fprintf(stderr, "zarrfs: %s is mounted read-only: the store cannot be written to "+
				"(%v); make it writable and mount it again, or say --read-only\n", c.store,
				whyReadOnly(c.store))
		}
	}
	if !c.listsData() {
		const why = "lists no file with the values of arrays: a copy of the mount lacks them"
		log.Warn("--views "+why, "store", h.Name(), "views", c.views)
		if !c.logsToStderr() {
			fmt.Fprintf(stderr, "zarrfs: --views %s %s\n", c.views, why)
		}
	}
	if asked, has := c.otherFormat(ctx, h); asked != has {
		log.Warn("--create-format has no effect: the store has another format, and so have all "+
			"that are created in it", "store", h.Name(), "asked", asked, "format", has)
		if !c.logsToStderr() {
			fmt.Fprintf(stderr, "zarrfs: --create-format %d has no effect: %s has format %d, "+
				"and so have all that are created in it\n", asked, c.store, has)
		}
	}
	for _, left := range transient.LeftIn(c.scratchDir) {
		if left.Store != h.Name() {
			continue
		}
		log.Warn("files are left of a mount that was killed", "store", left.Store, "folder",
			left.Folder,
			"files", left.Files, "unstored", left.Unstored, "bytes", left.Bytes)
		if !c.logsToStderr() {
			fmt.Fprintf(stderr, "zarrfs: %s\n", leftText(left))
		}
	}
	if c.log == "" && log.where == "none" {
		fmt.Fprintf(stderr, "zarrfs: there is no syslog here and no folder for a log; `zarrfs "+
			"errors %s` shows the last errors, and --log FILE keeps all\n", c.dir)
	}
}

// listsData reports whether anything but documents is listed.
func (c *mountConfig) listsData() bool {
	chosen, _ := view.Parse(c.views)
	return slices.ContainsFunc(chosen, func(name string) bool {
		return name != view.Document.Name()
	})
}

// whyReadOnly returns what the system says of writing in the store's folder.
func whyReadOnly(folder string) error {
	if err := unix.Access(strings.TrimPrefix(folder, "file://"), unix.W_OK); err != nil {
		return err
	}
	return syscall.EROFS
}

// otherFormat returns the format that the command line asks for, and the one of the store, if
// something can be created in it. They are equal where the command line asks for none.
func (c *mountConfig) otherFormat(ctx context.Context, h *zarrcore.Hierarchy) (asked, has int) {
	r, err := c.create.recipe()
	root, rootErr := h.Node(ctx, "")
	if err != nil || rootErr != nil || r.Format == 0 || !h.IsWritable() ||
		root.Kind == zarrcore.DirectoryNode {
		return 0, 0
	}
	return r.Format, root.Format
}

// served is a store that is open and mounted.
type served struct {
	store     *source
	hierarchy *zarrcore.Hierarchy
	mount     *fs.Mount
	signals   <-chan os.Signal // that are to unmount it
}

// close ends the use of the store, and removes the files that it needed in the store's folder.
func (v *served) close() {
	v.hierarchy.Close()
	v.store.Close()
}

// start opens the store and mounts it.
func start(ctx context.Context, c *mountConfig) (*served, *mountLog, error) {
	log, err := openLog(c.log, c.logLevel, c.foreground)
	if err != nil {
		return nil, nil, err
	}
	scratch := int64(c.scratch)
	if scratch == 0 {
		scratch = -1 // none
	}
	recipe, err := c.create.recipe()
	if err != nil {
		return nil, nil, err
	}
	fresh, err := c.fresh.freshness()
	if err != nil {
		return nil, nil, err
	}
	io, _ := pagecache.ParseIO(c.io)
	s, h, err := openForMount(ctx, c, &zarrcore.Options{
		KeepRights: c.allowOther,
		Recipe:     recipe, CacheSize: int64(c.cache), DirtySize: int64(c.dirty),
		ReadOnly: c.readOnly, ScratchDir: c.scratchDir, ScratchSize: scratch,
		Workers: c.workers, ReadAhead: io.ReadAhead(), Fresh: fresh, Log: log.Logger,
	})
	if err != nil {
		return nil, nil, err
	}
	v := &served{store: s, hierarchy: h}
	if h.IsWritable() {
		if err := s.Unfinished().Clean(ctx); err != nil {
			log.Warn("what a killed program left in the store is not all removed", "store",
				s.Name(), "err", err)
		}
	}
	if err := checkMountpoint(c, s.folder); err != nil {
		v.close()
		return nil, nil, mountErr(err)
	}
	views, _ := view.Parse(c.views)
	hdf5Layout, _ := netcdf.ParseLayout(c.hdf5Layout)
	if !c.foreground {
		log.keepCrashes()
	}
	v.signals = catchSignals(c, log)
	v.mount, err = fs.New(h, c.dir, &fs.Options{
		Views: views, IO: io, Name: s.base, Source: s.Name(), Folder: s.folder, Store: s.Store,
		Rights: rights.Options{AllowOther: c.allowOther, ReadOnly: c.readOnly,
			UID: c.uid.id, GID: c.gid.id, Umask: c.umask.mask},
		Version: version, Log: log.Logger, LogName: log.where, Debug: c.logLevel == "debug",
		Scratch: fs.Scratch{Dir: c.scratchDir, Size: int64(c.scratch),
			Materialize:  int64(c.material),
			RefuseOthers: c.others == "refuse", KeepDir: c.keepDir},
		HDF5Layout: hdf5Layout, Teller: tellerCommand,
	})
	if err != nil {
		v.close()
		return nil, nil, mountErr(explainMount(c, err))
	}
	return v, log, nil
}

// openForMount opens the store. An empty folder becomes a store if the command line names its
// format.
func openForMount(
	ctx context.Context, c *mountConfig, o *zarrcore.Options,
) (*source, *zarrcore.Hierarchy, error) {
	s, err := openSource(c.store, &openOptions{
		folder: &dirstore.Options{NoSync: c.noSync, SyncDir: c.syncDir, KeepRights: c.allowOther},
		fresh:  o.Fresh, log: o.Log,
	})
	if err != nil {
		return nil, nil, err
	}
	switch {
	case !isEmpty(s.folder):
	case isNode(c.dir):
		return nil, nil, storeErr(swapped(c.store, c.dir))
	case c.readOnly:
		return nil, nil,
			storeErr(fmt.Errorf("%s is an empty folder, and a read-only mount makes no store of "+
				"it; `zarrfs create %[1]s --group` does", c.store))
	case o.Recipe.Format != 0:
		if err := zarrcore.Create(ctx, s.Store, o.Recipe.Format); err != nil {
			return nil, nil, storeErr(fmt.Errorf("%s: %w", c.store, err))
		}
	}
	o.MountOf = s.Name()
	h, err := openIn(ctx, s, c.store, o, true)
	if err != nil {
		return nil, nil, err
	}
	if err := checkRoot(ctx, h, c.store); err != nil {
		h.Close()
		s.Close()
		return nil, nil, err
	}
	return s, h, nil
}

// startProfile writes a CPU profile if the environment asks for one.
func startProfile(c *mountConfig, log *mountLog) (stop func()) {
	path := os.Getenv("ZARRFS_CPUPROFILE")
	if path == "" || !c.foreground {
		return func() {}
	}
	f, err := os.Create(path)
	if err == nil {
		err = pprof.StartCPUProfile(f)
	}
	if err != nil {
		log.Error("no CPU profile", "err", fmt.Errorf("ZARRFS_CPUPROFILE: %w", err))
		return func() {}
	}
	return func() {
		pprof.StopCPUProfile()
		f.Close()
	}
}
