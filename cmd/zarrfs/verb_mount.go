package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"

	"github.com/zarrfs/zarrfs/fs/netcdf"
	"github.com/zarrfs/zarrfs/fs/pagecache"
	"github.com/zarrfs/zarrfs/fs/view"
	"github.com/zarrfs/zarrfs/zarrcore"
)

var mountVerb = &verb{
	name: "mount", args: "STORE DIR", least: 2, most: 2,
	short: "Mount a store at a folder",
	long: `
STORE is a folder, a zip file, or a URL (file, http, https, s3, gs, az, abfs or abfss). Zip files,
and stores on web servers and in buckets, are mounted read-only. DIR is an empty folder. The command
returns when the mount can be used. The program that serves it stays in the background until it is
unmounted.

Each array A is shown as A.npy (a NumPy file), A.raw (its bytes alone) and A.json (its metadata and
attributes). Each group is shown as a folder with its own zarr.json. What programs write to .npy and
.raw is stored when they close or sync the file, or after 5 s without a write. It is stored after a
minute at the latest. A store that cannot be written to is mounted read-only.

What is copied in becomes an array. The --create-* flags set what it looks like. For what they do
not set, the attribute "zarrfs" of its group or of the nearest group above counts. Anything else is
as zarr-python 3 would make it. With --create-format an empty folder becomes a store.

Examples:
  zarrfs mount climate.zarr /mnt/climate
  zarrfs mount --views npy --cache-size 8GiB climate.zarr /mnt/climate
  zarrfs mount --foreground --log-level debug climate.zarr /mnt/climate
  mount -t fuse.zarrfs /data/climate.zarr /mnt/climate -o allow_other
  /etc/fstab: /data/climate.zarr /mnt/climate fuse.zarrfs ro,noauto,user,views=npy:json 0 0
  /etc/fstab: s3://bucket/climate.zarr /mnt/climate fuse.zarrfs ro,_netdev,nofail,anonymous 0 0

A file that is read as a whole again and again is unpacked into the scratch folder. The kernel then
reads it there as fast as any file of that disk (--materialize; needs root and Linux 6.9). All
unpacked files take at most half of --scratch-size.

The state of a mount is in DIR/.zarrfs/status.json.
With ZARRFS_CPUPROFILE=FILE, a mount in the foreground writes a profile of its CPU use.
`,
	setup: setupMount,
}

// mountConfig is a mount as the command line asks for it.
type mountConfig struct {
	store, dir string // dir is absolute
	foreground bool
	readOnly   bool
	allowOther bool
	allowRoot  bool
	uid, gid   idFlag
	umask      maskFlag
	nonEmpty   bool
	views      string
	hdf5Layout string
	io         string
	cache      sizeFlag
	dirty      sizeFlag
	noSync     bool
	syncDir    string
	scratch    sizeFlag
	scratchDir string
	material   sizeFlag
	others     string // keep or refuse
	keepDir    string // for other files
	workers    int
	log        string
	logLevel   string
	options    []string // of -o
	create     *recipeFlags
	fresh      *freshFlags
}

// logsToStderr reports whether the log goes to the terminal of the user anyway.
func (c *mountConfig) logsToStderr() bool {
	return c.foreground && (c.log == "" || c.log == "stderr")
}

func setupMount(flags *pflag.FlagSet) func(context.Context, []string) error {
	c := &mountConfig{scratch: zarrcore.DefaultScratchSize, material: 4 << 30}
	flags.BoolVarP(&c.foreground, "foreground", "f", false,
		"stay in the foreground; Ctrl-C unmounts")
	flags.BoolVarP(&c.readOnly, "read-only", "r", false, "refuse writing")
	flags.BoolVar(&c.allowOther, "allow-other", false, "let other users in too")
	flags.BoolVar(&c.allowRoot, "allow-root", false, "let root in too, and nobody else: as "+
		"--allow-other with a --umask of 077")
	c.uid, c.gid = idFlag{find: findUser, kind: "user"}, idFlag{find: findGroup, kind: "group"}
	flags.Var(&c.uid, "uid", "the owner of all files, a number or name (default: the user who "+
		"mounts; with --allow-other as in the store)")
	flags.Var(&c.gid, "gid", "the group of all files, a number or name (default: that of the "+
		"user who mounts; with --allow-other as in the store)")
	flags.Var(&c.umask, "umask", "permission bits that all files and folders lack, in octal "+
		"(default: modes as in the store)")
	flags.BoolVar(&c.nonEmpty, "nonempty", false, "mount over a folder that is not empty")
	flags.StringVar(&c.views, "views", strings.Join(view.KeeperNames(), ","),
		"the views that are listed, of "+strings.Join(view.Names(), ", ")+
			"; the others can be opened, too, except "+strings.Join(view.NamesListedOnly(), ", "))
	flags.StringVar(&c.hdf5Layout, "hdf5-layout", "contiguous",
		"the layout of arrays in .nc and .h5 files: contiguous, or chunked as in the store (for "+
			"dask)")
	flags.StringVar(&c.io, "io", "auto", "page cache: auto (streams pass it by), cached, direct")
	flags.Var(&c.cache, "cache-size", "memory for decoded chunks, such as 4GiB or 25% (default "+
		"a quarter of what is free, at most 4GiB)")
	flags.Var(&c.dirty, "dirty-size", "memory for what is written and not stored yet (default an "+
		"eighth of all, or of what control groups have left, at most 2GiB); more goes to the "+
		"scratch folder")
	flags.BoolVar(&c.noSync, "no-sync", false, "skip fsync: faster, and a power cut may lose or "+
		"empty what was written")
	flags.StringVar(&c.syncDir, "sync-dir", "",
		"take the locks of zarr-python 2's ProcessSynchronizer in `DIR`, for writers that use it")
	flags.StringVar(&c.scratchDir, "scratch-dir", "", "keep data that memory cannot hold in "+
		"`DIR` (default $TMPDIR, otherwise /var/tmp)")
	flags.Var(&c.scratch, "scratch-size", "the most that scratch files take; 0: none, except "+
		"64MiB for files that are not arrays")
	flags.StringVar(&c.others, "other-files", "keep", "files that are not arrays: keep them in a "+
		"folder when the mount ends (in --scratch-dir if that is given, otherwise in "+
		"$XDG_STATE_HOME/zarrfs), or refuse them")
	flags.Var(&c.material, "materialize", "keep files up to this size decoded in the scratch "+
		"folder when they are read again and again; 0: none")
	flags.IntVar(&c.workers, "workers", 0,
		"how many chunks to decode at once (default one per CPU)")
	flags.StringVar(&c.log, "log", "", "log to `WHERE`: syslog, stderr, none or a file (default "+
		"syslog, or without one $XDG_STATE_HOME/zarrfs/zarrfs.log; in the foreground stderr)")
	flags.StringVar(&c.logLevel, "log-level", "info", "debug, info, warn or error")
	flags.StringArrayVarP(&c.options, "option", "o", nil,
		"`OPT[,OPT]…` as mount(8) and fstab give them: ro, allow_other, or any flag as name=value")
	addCloudFlags(flags)
	c.fresh = addFreshFlags(flags)
	c.create = addRecipeFlags(flags, "create-", "new arrays")
	for _, name := range []string{"s", "n", "v"} { // mount(8) may add: sloppy, no mtab, verbose
		flags.BoolP("mount-"+name, name, false, "")
		flags.Lookup("mount-" + name).Hidden = true
	}
	flags.Lookup("cache-size").DefValue = ""
	flags.Lookup("dirty-size").DefValue = ""
	return func(ctx context.Context, args []string) error { return mount(ctx, c, flags, args) }
}

func mount(ctx context.Context, c *mountConfig, flags *pflag.FlagSet, args []string) error {
	if err := applyOptions(flags, c.options); err != nil {
		return err
	}
	if err := c.complete(args); err != nil {
		return err
	}
	if err := enoughAddresses(); err != nil {
		return mountErr(err)
	}
	if !c.foreground && !isDaemon() {
		return startDaemon()
	}
	return serve(ctx, c)
}

// complete checks the values and fills in what the machine decides.
func (c *mountConfig) complete(args []string) (err error) {
	if _, err := view.Parse(c.views); err != nil {
		return usageError{fmt.Errorf("--views: %w", err)}
	}
	if _, err := netcdf.ParseLayout(c.hdf5Layout); err != nil {
		return usageError{fmt.Errorf("--hdf5-layout: %w", err)}
	}
	if _, err := pagecache.ParseIO(c.io); err != nil {
		return usageError{fmt.Errorf("--io: %w", err)}
	}
	if _, err := c.create.recipe(); err != nil {
		return err
	}
	if _, err := c.fresh.freshness(); err != nil {
		return err
	}
	if c.others != "keep" && c.others != "refuse" {
		return usageError{fmt.Errorf("--other-files %s: expected keep or refuse", c.others)}
	}
	if c.workers < 0 {
		return usageError{fmt.Errorf("--workers %d: expected 1 or more, or 0 for one per CPU",
			c.workers)}
	}
	if c.allowRoot {
		mask := uint32(0o077)
		if c.umask.mask != nil {
			mask |= *c.umask.mask
		}
		c.allowOther, c.umask.mask = true, &mask
	}
	if c.cache == 0 {
		c.cache = sizeFlag(defaultCache())
	}
	if c.dirty == 0 {
		c.dirty = sizeFlag(defaultDirty())
	}
	if c.scratchDir == "" {
		// a user without one has the scratch folder
		if state, err := stateFolder(); err == nil && !c.readOnly {
			c.keepDir = filepath.Join(state, "other-files")
		}
	}
	c.store = args[0]
	if c.dir, err = filepath.Abs(args[1]); err != nil {
		return err
	}
	return c.findFolders()
}

// findFolders makes the paths of folders absolute, because a daemon leaves the folder that it was
// started in. It checks that they exist: an error when memory is full would come too late.
func (c *mountConfig) findFolders() (err error) {
	scratch := "--scratch-dir"
	if c.scratchDir == "" {
		scratch, c.scratchDir = "the scratch folder", zarrcore.DefaultScratchDir()
		if os.Getenv("TMPDIR") != "" {
			scratch = "TMPDIR, which is the scratch folder without --scratch-dir:"
		}
	}
	for _, folder := range []struct {
		from string // the flag or variable that names it
		path *string
	}{{scratch, &c.scratchDir}, {"--sync-dir", &c.syncDir}} {
		if *folder.path == "" {
			continue
		}
		if *folder.path, err = filepath.Abs(*folder.path); err != nil {
			return err
		}
		if info, err := os.Stat(*folder.path); err != nil {
			return usageError{fmt.Errorf("%s %s: %w", folder.from, *folder.path, bare(err))}
		} else if !info.IsDir() {
			return usageError{fmt.Errorf("%s %s is not a folder", folder.from, *folder.path)}
		}
	}
	return nil
}
