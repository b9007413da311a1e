package transient

import (
	"path"
	"strings"
)

// A file such as a.raw waits for the array a. If that comes with data of its own, the name is that
// of the array's file. What waited is set aside then: no program sees it, and it is among the files
// that are kept when the mount ends.

// asideFolder is where such a file is, in the folder of its group, when it is kept. With a name
// beside its own, it could be too long.
const asideFolder = "not of arrays"

// SetAside sets a file aside, unless it has left the mount already.
func (t *Files) SetAside(x *File) {
	if !t.Drop(x) {
		return
	}
	x.said.Store(false)
	at := x.At()
	t.states.Texts.Make(at.Dir, func(s *Named) {
		folder := asideFolder
		for (*s)[path.Join(folder, at.Name)] != nil {
			folder += "~"
		}
		s.enter(x, Spot{at.Dir, path.Join(folder, at.Name)})
	})
	t.renameKept(x)
}

// renameKept gives the bytes of a file the file's present name. If the process is killed, the bytes
// are kept by this name.
func (t *Files) renameKept(x *File) {
	if x.Bytes == nil {
		return // it is a link, or only announced
	}
	if err := x.Bytes.Renamed(x.Shown()); err != nil {
		t.o.Log.Warn("a file that is not an array has its old name in the scratch folder",
			"file", x.Shown(), "err", err)
	}
}

// IsAside reports whether a file was set aside. Names of files in the mount have no slash.
func (x *File) IsAside() bool { return strings.Contains(x.At().Name, "/") }

// Was returns where the file was before it was set aside.
func (x *File) Was() Spot {
	at := x.At()
	return Spot{at.Dir, path.Base(at.Name)}
}

// Aside returns the files that had this name and were set aside.
func (t *Files) Aside(was Spot) (all []*File) {
	t.states.Texts.Look(was.Dir, func(s *Named) {
		for _, x := range *s {
			if x.IsAside() && x.Was() == was {
				all = append(all, x)
			}
		}
	})
	return all
}

// SayAside writes to the log, once, that a file was set aside. It does so when no program writes to
// the file any more.
func (t *Files) SayAside(x *File) {
	if t.isBeingWritten(x) || x.said.Swap(true) {
		return
	}
	t.o.Log.Warn("a file had the name of an array's file, and was not of that array: "+
		"it is kept in a folder when the mount ends", "file", x.Was().shown(),
		"bytes", x.Size(), "folder", t.keep.folder, "as", x.Shown())
}
