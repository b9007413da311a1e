package selfcopy

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/zarrfs/zarrfs/fs/names"
	"github.com/zarrfs/zarrfs/fs/program"
	"github.com/zarrfs/zarrfs/fs/view"
)

// One store may be in several mounts. The kernel gives them different devices, so mv and rsync take
// a file in one and the same file in another for two: they copy it onto itself, and remove it. A
// program that copies shows this by what it reads. One that moves shows it by its arguments too: mv
// removes its target before it opens the source, and rsync copies nothing if both look alike.

// Mount is a mount of a store that may be in other mounts, too.
type Mount struct {
	Dir    string // the mountpoint
	Folder string // a local folder of the store; "": it has none
}

// Refuses returns an error if a program copies the array at path onto itself by way of another
// mount. It is about to replace the array by view v, or to remove it by that.
func (m Mount) Refuses(by program.Process, path string, v view.View) error {
	if !by.Copier || m.Folder == "" {
		return nil
	}
	ours, others := program.MountsBeside(m.Dir)
	if len(ours) == 0 || len(others) == 0 {
		return nil
	}
	other := program.Ask(func() string {
		there := m.shownIn(others, path)
		if file := readOf(by, there); file != "" || !by.Mover {
			return file
		}
		return namedOf(by, m.shownIn(ours, path), there, v)
	})
	if other == "" {
		return nil
	}
	return fmt.Errorf("%w: %s, in another mount of this store, is the same array, so the program "+
		"would copy it onto itself", syscall.EBUSY, other)
}

// shownIn returns where mounts show the array at path, without the name of a view. It looks at the
// stores and not into the mounts, which may not answer.
func (m Mount) shownIn(mounts []program.Mount, path string) (shown []string) {
	folder, err := filepath.EvalSymlinks(filepath.Join(m.Folder, path))
	if err != nil {
		return nil
	}
	for _, other := range mounts {
		store, err := os.Stat(other.Source)
		if err != nil || !filepath.IsAbs(other.Source) {
			continue
		}
		if below, ok := belowStore(folder, store); ok {
			if below == "" {
				// The root is an array.
				below = strings.TrimSuffix(filepath.Base(other.Source), ".zarr")
			}
			below, ok = strings.CutPrefix("/"+below, strings.TrimSuffix(other.Root, "/")+"/")
			if ok {
				shown = append(shown, filepath.Join(other.Dir, below))
			}
		}
	}
	return shown
}

// belowStore returns how the path of a folder below a store is shown, and whether it is there.
func belowStore(folder string, store os.FileInfo) (below string, ok bool) {
	for {
		if info, err := os.Stat(folder); err == nil && os.SameFile(info, store) {
			return below, true
		}
		dir := filepath.Dir(folder)
		if dir == folder {
			return "", false
		}
		below = filepath.Join(names.Show(filepath.Base(folder)), below)
		folder = dir
	}
}

// readOf returns the file of an array that a process reads, otherwise "". The array is shown at
// each of there.
func readOf(by program.Process, there []string) string {
	open := by.Reads()
	for _, array := range there {
		for _, v := range view.All() {
			if file := names.File(array, v.Name()); slices.Contains(open, file) {
				return file
			}
		}
	}
	return ""
}

// namedOf returns the file that a process copies to or from view v of an array, as its arguments
// say, otherwise "". This mount shows the array at each of here, another at each of there.
func namedOf(by program.Process, here, there []string, v view.View) string {
	for _, array := range there {
		other := names.File(array, v.Name())
		for _, ours := range here {
			file := names.File(ours, v.Name())
			if by.Copies(other, file) || by.Copies(file, other) {
				return other
			}
		}
	}
	return ""
}
