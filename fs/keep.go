package fs

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

// keptFolder is the folder, in KeepDir or in the scratch folder, that has the folders of mounts.
const keptFolder = "zarrfs-other-files"

// keeping says where the transients of a mount are kept when it ends.
type keeping struct {
	folder    string // of this mount alone; it is made when it is needed
	otherwise string // the one in the scratch folder, for what cannot be kept in the first
	mount     string // the mountpoint

	once sync.Once
	err  error
}

// OtherFiles says where the files of a mount that are not views are kept when it ends.
type OtherFiles struct {
	Folder    string   `json:"folder"`
	Files     []string `json:"files"` // their paths in the mount, and in the folder; at most maxTransients
	Count     int      `json:"count"`
	Bytes     int64    `json:"bytes"`
	Problem   string   `json:"problem,omitempty"` // why they could not be kept in Folder now
	Otherwise string   `json:"otherwise"`         // the folder for what cannot be kept in Folder
}

// keepingFor returns where files of a mount are kept: in a folder with the name of the store and
// the time.
func (f *filesystem) keepingFor(o *Options) keeping {
	store := strings.ReplaceAll(names.Show(f.o.Name), " ", "_")
	store = store[:min(len(store), names.MaxShown)]
	name := fmt.Sprintf("%s-%s-%d", store, f.started.Format("2006-01-02T15.04.05"), os.Getpid())
	otherwise := filepath.Join(f.transients.scratch, keptFolder, name)
	if o.KeepDir == "" {
		return keeping{folder: otherwise, otherwise: otherwise}
	}
	return keeping{folder: filepath.Join(o.KeepDir, name), otherwise: otherwise}
}

// otherFiles returns what there is to keep, nil if there is nothing.
func (f *filesystem) otherFiles() *OtherFiles {
	left := f.transients.left()
	if len(left) == 0 {
		return nil
	}
	o := &OtherFiles{Folder: f.keep.folder, Otherwise: f.keep.otherwise, Count: len(left)}
	for _, x := range left {
		o.Bytes += x.size()
		if len(o.Files) < maxTransients {
			o.Files = append(o.Files, x.shown())
		}
	}
	if err := scratch.RoomFor(filesOf(left), f.keep.folder); err != nil {
		o.Problem = err.Error()
	}
	return o
}

// filesOf returns the files of transients.
func filesOf(all []*transient) (files []*scratch.File) {
	for _, x := range all {
		files = append(files, x.file)
	}
	return files
}

// KeepFiles keeps the files that are not views in the folder that status.json names. If that fails
// it keeps them in the scratch folder and returns an error. It does so once: what is written later
// is not in the folder, unless a file was only given a name there.
func (m *Mount) KeepFiles() error {
	k := &m.fs.keep
	k.once.Do(func() {
		if k.err = m.fs.keepFiles(); k.err == nil {
			k.err = m.fs.transients.files.End()
		}
	})
	return k.err
}

func (f *filesystem) keepFiles() error {
	left := f.transients.left()
	if len(left) == 0 {
		return nil
	}
	f.log.Warn("files that are not arrays are not in the store; they are kept in a folder", "folder", f.keep.folder, "files", len(left))
	failed, err := f.keepIn(f.keep.folder, left)
	if err == nil {
		return nil
	}
	f.log.Error("files that are not arrays cannot all be kept in that folder; the others go to the scratch folder",
		"folder", f.keep.folder, "files", len(failed), "scratch", f.keep.otherwise, "err", err)
	why := fmt.Errorf("%d files that are not arrays cannot be kept in %s: %w", len(failed), f.keep.folder, err)
	lost, err := f.keepIn(f.keep.otherwise, failed)
	if err == nil {
		return fmt.Errorf("%w; they are kept in %s", why, f.keep.otherwise)
	}
	for _, x := range lost {
		f.log.Error("a file that is not an array is lost", "file", x.shown(), "bytes", x.size(), "err", err)
	}
	return fmt.Errorf("%w; %d of them are lost: %w", why, len(lost), err)
}

// keepIn keeps files in a folder, under their paths in the mount. It returns those that it cannot
// keep, and why.
func (f *filesystem) keepIn(folder string, all []*transient) (failed []*transient, err error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return all, err
	}
	if err := f.writeNote(folder, all); err != nil {
		return all, err
	}
	var errs []error
	for i, x := range all {
		path := filepath.Join(folder, x.shown())
		if err := x.file.KeepAs(path); err != nil {
			errs, failed = append(errs, err), append(failed, x)
			continue
		}
		if i < maxTransients {
			f.log.Warn("kept a file that is not an array", "file", x.shown(), "bytes", x.size(), "as", path)
		}
	}
	if len(failed) == len(all) {
		os.RemoveAll(folder) // it has nothing but the note
	}
	return failed, errors.Join(errs[:min(len(errs), 3)]...)
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
func (f *filesystem) noteText(all []*transient, ended time.Time) []byte {
	n := note{"files that programs wrote in a mount of zarrfs and that are not arrays",
		f.h.Name(), f.keep.mount, f.started, ended, nil}
	for _, x := range all {
		n.Files = append(n.Files, keptFile{x.shown(), x.size()})
	}
	text, err := json.MarshalIndent(n, "", "  ")
	if err != nil {
		panic(err) // it has only texts, times and numbers
	}
	return append(text, '\n')
}

// writeNote writes the note of a folder into it.
func (f *filesystem) writeNote(folder string, all []*transient) error {
	name := scratch.NoteName
	for slices.ContainsFunc(all, func(x *transient) bool { return x.shown() == name }) {
		name = "_" + name
	}
	return os.WriteFile(filepath.Join(folder, name), f.noteText(all, time.Now()), 0o600)
}

// LeftFiles are files that a killed mount has left in the scratch folder: those that are not arrays,
// and what programs wrote to files of arrays and is not stored.
type LeftFiles struct {
	Store, Mount string
	Folder       string
	Files        []string
	Unstored     []string
	Bytes        int64
}

// LeftIn returns what killed mounts of this user have left in a scratch folder.
func LeftIn(dir string) (all []LeftFiles) {
	if dir == "" {
		dir = zarrcore.DefaultScratchDir()
	}
	for _, left := range scratch.LeftIn(dir) {
		var n note
		json.Unmarshal(left.Note, &n) // of a note that is not whole, what there is
		all = append(all, LeftFiles{
			n.Store, n.Mount, left.Folder, left.Files, left.Unstored, left.Bytes})
	}
	return all
}

// left returns the transients with content that is nowhere else, in the order of their paths.
func (t *transients) left() (left []*transient) {
	t.states.Each("", func(_ string, s *state) {
		for _, x := range s.transients {
			if x.file != nil && !(x.late.Load() && x.stored.Load()) {
				left = append(left, x)
			}
		}
		left = slices.AppendSeq(left, maps.Values(s.refused))
	})
	slices.SortFunc(left, func(a, b *transient) int { return cmp.Compare(a.shown(), b.shown()) })
	return left
}

// shown returns the transient's path in the mount.
func (x *transient) shown() string {
	at := x.where.Load()
	if at.dir == "" {
		return at.name
	}
	parts := strings.Split(at.dir, "/")
	for i, name := range parts {
		parts[i] = names.Show(name)
	}
	return filepath.Join(append(parts, at.name)...)
}
