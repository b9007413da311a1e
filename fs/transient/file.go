// Package transient has the files of a mount that the store does not have. Their names are not
// those of views (".a.npy.Xy7", "a.json~"), or they are views of arrays that do not exist yet. They
// live in the scratch folder until they are renamed onto a view, become an array, or are removed.
// What is left of them when the mount ends is kept in a folder.
//
// The table of path states holds them, in the group where they are shown, so that a rename of a
// group moves them along. Its lock guards what is in their group and how many programs have one
// open. That of the copied attributes is innermost. Nothing is locked while scratch files are
// written.
package transient

import (
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/zarrfs/zarrfs/fs/identity"
	"github.com/zarrfs/zarrfs/fs/names"
	"github.com/zarrfs/zarrfs/fs/scratch"
)

// File is a transient file.
type File struct {
	// Bytes are its content. nil: it is the file of a view that is about to be written, and empty
	// until it is; or it is a link.
	Bytes  *scratch.File
	Link   string     // the text of a symbolic link; "": it is not a link
	Copied Attributes // that wait for an array

	id    uint64
	where atomic.Pointer[Spot]

	// The lock of the states guards these.
	held    int  // by how many programs that have it open to make it an array
	over    bool // one of them was refused
	writers int  // handles by which it can be written

	late   atomic.Bool // a .raw file, open for writing when a document made its array
	whole  atomic.Bool // it was closed since it was written
	stored atomic.Bool // of one that is late: all that was written is in the array
	said   atomic.Bool // the log says that it is not a view, or will soon

	refused atomic.Pointer[error] // see Refused
}

// Spot is where a transient is: the path of its group, and its name there as it is shown.
type Spot struct{ Dir, Name string }

// SpotOf returns where the file with that key is shown under its first name.
func SpotOf(key identity.Key) Spot {
	dir, name := names.Split(key.Path)
	return Spot{Dir: dir, Name: names.File(names.Show(name), key.View)}
}

// shownView is the view of transients among the identities of nodes.
const shownView = "transient"

// Key names the file's node, wherever it is. No path in a store contains NUL.
func (x *File) Key() identity.Key {
	return identity.Of("\x00"+strconv.FormatUint(x.id, 10), shownView)
}

// At returns where the file is.
func (x *File) At() Spot { return *x.where.Load() }

// dir returns the path of the file's group.
func (x *File) dir() string { return x.At().Dir }

// Path is where the file is, for messages.
func (x *File) Path() string {
	at := x.At()
	return names.Join(at.Dir, at.Name)
}

// Shown returns the file's path in the mount.
func (x *File) Shown() string { return x.At().shown() }

// shown returns the path in the mount.
func (at Spot) shown() string {
	if at.Dir == "" {
		return at.Name
	}
	parts := strings.Split(at.Dir, "/")
	for i, name := range parts {
		parts[i] = names.Show(name)
	}
	return filepath.Join(append(parts, at.Name)...)
}

// Size returns how many bytes the file has.
func (x *File) Size() int64 {
	if x.Bytes == nil {
		return 0
	}
	info, err := x.Bytes.Stat()
	if err != nil {
		return 0
	}
	return info.Size()
}

// pieceSize is how many bytes of a file are in memory at once while they are copied.
const pieceSize = 1 << 20

// EachPiece calls do with all the bytes of the file from off on, in order, and where they are.
func (x *File) EachPiece(off int64, do func(p []byte, at int64) error) error {
	size := x.Size()
	buf := make([]byte, min(pieceSize, size-off))
	for at := off; at < size; {
		n, err := x.Bytes.ReadAt(buf[:min(int64(len(buf)), size-at)], at)
		if n == 0 && err != nil {
			return fmt.Errorf("scratch file of %s: %w", x.Path(), orUnexpected(err))
		}
		if err := do(buf[:n], at); err != nil {
			return err
		}
		at += int64(n)
	}
	return nil
}

// orUnexpected replaces io.EOF by io.ErrUnexpectedEOF, for a file that should go on.
func orUnexpected(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// Changed returns when the file's bytes were last changed.
func (x *File) Changed() time.Time {
	info, err := x.Bytes.Stat()
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

// Wrote notes that a program is about to write to the file.
func (x *File) Wrote() {
	x.whole.Store(false)
	x.stored.Store(false)
}

// NoteWhole notes that a program which has written the file has closed it.
func (x *File) NoteWhole() { x.whole.Store(true) }

// IsAnnounced reports whether the file is that of a view which is about to be written.
func (x *File) IsAnnounced() bool { return x.Bytes == nil && x.Link == "" }

// IsLate reports whether a document made the array of this file while the file was open.
func (x *File) IsLate() bool { return x.late.Load() }

// Waits notes that the array for which the file was late is gone again.
func (x *File) Waits() { x.late.Store(false) }

// IsToBeStored reports whether the bytes of a file that is late are not in the array yet, and no
// more may come. More may come if it is empty, or was not closed since it was written.
func (x *File) IsToBeStored() bool { return x.Size() > 0 && x.whole.Load() && !x.stored.Load() }

// NoteStored notes whether all that was written is in the array.
func (x *File) NoteStored(stored bool) { x.stored.Store(stored) }

// Refuse notes why the file could not become a view.
func (x *File) Refuse(why error) { x.refused.Store(&why) }

// Refused returns why the file could not become a view when that was last tried; nil: it was not.
func (x *File) Refused() error {
	if why := x.refused.Load(); why != nil {
		return *why
	}
	return nil
}
