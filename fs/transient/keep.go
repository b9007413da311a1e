package transient

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/zarrfs/zarrfs/fs/names"
	"github.com/zarrfs/zarrfs/fs/scratch"
	"github.com/zarrfs/zarrfs/zarrcore"
)

// What programs wrote to files that are not views, and that did not become arrays, is in the
// scratch folder. What they have closed or synced has a name there, so that a kill leaves it. When
// the mount ends it is kept in a folder of the mount's own.

// mostNamed is how many transients a message about all of them names.
const mostNamed = 20

// keptFolder is the folder, in KeepDir or in the scratch folder, that has the folders of mounts.
const keptFolder = "zarrfs-other-files"

// keeping says where the transients of a mount are kept when it ends.
type keeping struct {
	folder    string // of this mount alone; it is made when it is needed
	otherwise string // the one in the scratch folder, for what cannot be kept in the first

	once sync.Once
	err  error
}

// Kept says where the files of a mount that are not views are kept when it ends.
type Kept struct {
	Folder string `json:"folder"`
	// their paths in the mount, and in the folder; at most mostNamed
	Files     []string `json:"files"`
	Count     int      `json:"count"`
	Bytes     int64    `json:"bytes"`
	Problem   string   `json:"problem,omitempty"` // why they could not be kept in Folder now
	Otherwise string   `json:"otherwise"`         // the folder for what cannot be kept in Folder
}

// keepingFor returns where files of a mount are kept: in a folder with the name of the store and
// the time.
func keepingFor(o *Options) keeping {
	store := strings.ReplaceAll(names.Show(o.Of.Name), " ", "_")
	store = store[:min(len(store), names.MaxShown)]
	name := fmt.Sprintf("%s-%s-%d", store, o.Of.Since.Format("2006-01-02T15.04.05"), os.Getpid())
	otherwise := filepath.Join(o.Scratch, keptFolder, name)
	if o.KeepDir == "" {
		return keeping{folder: otherwise, otherwise: otherwise}
	}
	return keeping{folder: filepath.Join(o.KeepDir, name), otherwise: otherwise}
}

// ToKeep returns what there is to keep, nil if there is nothing.
func (t *Files) ToKeep() *Kept {
	left := t.Left()
	if len(left) == 0 {
		return nil
	}
	o := &Kept{Folder: t.keep.folder, Otherwise: t.keep.otherwise, Count: len(left)}
	for _, x := range left {
		o.Bytes += x.Size()
		if len(o.Files) < mostNamed {
			o.Files = append(o.Files, x.Shown())
		}
	}
	if err := scratch.RoomFor(filesOf(left), t.keep.folder); err != nil {
		o.Problem = err.Error()
	}
	return o
}

// filesOf returns the files of transients.
func filesOf(all []*File) (files []*scratch.File) {
	for _, x := range all {
		if x.Bytes != nil { // otherwise it is a link, which takes no space
			files = append(files, x.Bytes)
		}
	}
	return files
}

// Keep keeps the files that are not views, in the folder named by ToKeep. If that fails it keeps
// them in the scratch folder and returns an error. It does so once: what is written later is not in
// the folder, unless a file was only given a name there.
func (t *Files) Keep() error {
	k := &t.keep
	k.once.Do(func() {
		if k.err = k.all(&t.o, t.Left()); k.err == nil {
			k.err = t.scratch.End()
		}
	})
	return k.err
}

// all keeps the files that are left.
func (k *keeping) all(o *Options, left []*File) error {
	if len(left) == 0 {
		return nil
	}
	o.Log.Warn("files that are not arrays are not in the store; they are kept in a folder",
		"folder", k.folder, "files", len(left))
	failed, err := o.keepIn(k.folder, left)
	if err == nil {
		return nil
	}
	o.Log.Error("files that are not arrays cannot all be kept in that folder; the others go to "+
		"the scratch folder",
		"folder", k.folder, "files", len(failed), "scratch", k.otherwise, "err", err)
	why := fmt.Errorf("%d files that are not arrays cannot be kept in %s: %w", len(failed),
		k.folder, err)
	lost, err := o.keepIn(k.otherwise, failed)
	if err == nil {
		return fmt.Errorf("%w; they are kept in %s", why, k.otherwise)
	}
	for _, x := range lost {
		o.Log.Error("a file that is not an array is lost", "file", x.Shown(), "bytes", x.Size(),
			"err", err)
	}
	return fmt.Errorf("%w; %d of them are lost: %w", why, len(lost), err)
}

// keepIn keeps files in a folder, under their paths in the mount. It returns those that it cannot
// keep, and why.
func (o *Options) keepIn(folder string, all []*File) (failed []*File, err error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return all, err
	}
	if err := o.writeNote(folder, all); err != nil {
		return all, err
	}
	var errs []error
	for i, x := range all {
		path := freeName(filepath.Join(folder, x.Shown()))
		if err := x.keepAs(path); err != nil {
			errs, failed = append(errs, err), append(failed, x)
			continue
		}
		if i < mostNamed {
			o.Log.Warn("kept a file that is not an array", "file", x.Shown(), "bytes", x.Size(),
				"as", path)
		}
	}
	if len(failed) == len(all) {
		os.RemoveAll(folder) // it has nothing but the note
	}
	return failed, errors.Join(errs[:min(len(errs), 3)]...)
}

// freeName returns a path that no kept file has: that of a file which was set aside may be the one
// of another file.
func freeName(path string) string {
	for {
		if _, err := os.Lstat(path); err != nil {
			return path
		}
		path += "~"
	}
}

// keepAs keeps the file, or the link, under a path.
func (x *File) keepAs(path string) error {
	if x.Link == "" {
		return x.Bytes.KeepAs(path)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return os.Symlink(x.Link, path)
}

// note says which store, mount and time the files of a folder are from.
type note struct {
	About   string     `json:"about"`
	Store   string     `json:"store"`
	Mount   string     `json:"mount"`
	Mounted time.Time  `json:"mounted"`
	Ended   time.Time  `json:"ended,omitzero"` // zero: while it was mounted
	Files   []keptFile `json:"files,omitempty"`
}

type keptFile struct {
	Path  string `json:"path"`
	Bytes int64  `json:"bytes"`
}

// noteText returns the note of a folder.
func (o *Options) noteText(all []*File, ended time.Time) []byte {
	n := note{"files that programs wrote in a mount of zarrfs and that are not arrays",
		o.Of.Store, o.Of.Mount, o.Of.Since, ended, nil}
	for _, x := range all {
		n.Files = append(n.Files, keptFile{x.Shown(), x.Size()})
	}
	text, err := json.MarshalIndent(n, "", "  ")
	if err != nil {
		panic(err) // it has only texts, times and numbers
	}
	return append(text, '\n')
}

// writeNote writes the note of a folder into it.
func (o *Options) writeNote(folder string, all []*File) error {
	name := scratch.NoteName
	for slices.ContainsFunc(all, func(x *File) bool { return x.Shown() == name }) {
		name = "_" + name
	}
	return os.WriteFile(filepath.Join(folder, name), o.noteText(all, time.Now()), 0o600)
}

// Left are files that a killed mount has left in the scratch folder: those that are not arrays,
// and what programs wrote to files of arrays and is not stored.
type Left struct {
	Store, Mount string
	Folder       string
	Files        []string
	Unstored     []string
	Bytes        int64
}

// LeftIn returns what killed mounts of this user have left in a scratch folder.
func LeftIn(dir string) (all []Left) {
	if dir == "" {
		dir = zarrcore.DefaultScratchDir()
	}
	for _, left := range scratch.LeftIn(dir) {
		var n note
		json.Unmarshal(left.Note, &n) // of a note that is not whole, what there is
		all = append(all, Left{
			n.Store, n.Mount, left.Folder, left.Files, left.Unstored, left.Bytes})
	}
	return all
}

// Left returns the transients with content that is nowhere else, in the order of their paths.
func (t *Files) Left() (left []*File) {
	t.states.Files.Each("", func(_ string, s *Named) {
		for _, x := range *s {
			if x.Link != "" || x.Bytes != nil && !(x.late.Load() && x.stored.Load()) {
				left = append(left, x)
			}
		}
	})
	t.states.Texts.Each("", func(_ string, s *Named) {
		left = slices.AppendSeq(left, maps.Values(*s))
	})
	slices.SortFunc(left, func(a, b *File) int { return cmp.Compare(a.Shown(), b.Shown()) })
	return left
}
