package fs

import (
	"log/slog"
	"os/exec"

	"github.com/zarrfs/zarrfs/fs/netcdf"
	"github.com/zarrfs/zarrfs/fs/pagecache"
	"github.com/zarrfs/zarrfs/fs/resolve"
	"github.com/zarrfs/zarrfs/fs/rights"
	"github.com/zarrfs/zarrfs/zarrcore/store"
)

const (
	// statusFile is the one file of names.ControlDir.
	statusFile = "status.json"
	// groupFile shows the metadata and attributes of its group.
	groupFile = resolve.GroupFile
)

// Options says how a hierarchy is shown.
type Options struct {
	Views  []string     // the views that are listed; nil: all
	IO     pagecache.IO // page-cache policy; "" is pagecache.IOAuto
	Rights rights.Options
	Name   string // the store's base name: what a root that is an array is called
	Source string // the store as df and /proc/mounts show it
	// a local folder of the store, whose free space statfs shows; "": it has none
	Folder string
	Store  *store.Store // for the bytes that arrays take and for changes of folders; nil: unknown

	Version string       // the program's version, for status.json
	Log     *slog.Logger // nil: discard
	LogName string       // where the log is, for status.json
	Debug   bool         // log every request

	HDF5Layout netcdf.Layout // of the files that show a group
	Scratch    Scratch

	// Teller returns a process that calls wire.ServeTeller on its standard input and output. nil: a
	// byte that a program stores in a mapping may be lost while another one makes the file longer.
	Teller func() *exec.Cmd
}

// Scratch says what is kept outside of the store.
type Scratch struct {
	Dir string // the scratch folder

	// Files up to Materialize bytes that are read again and again are kept decoded in Dir. All of
	// them take half of Size at most. 0: none. Files that are not arrays take as much as Size, or
	// 64 MiB.
	Materialize, Size int64

	RefuseOthers bool // make no files that are not views, except temporary ones
	// files that are not views are kept in a folder in it at the end; "": in Dir
	KeepDir string
}
