// Package rescue keeps in files what was written to arrays and cannot be stored, and reads such
// files.
package rescue

import (
	"errors"
	"fmt"
	"io"
	iofs "io/fs"
	"net/url"
	"os"
	"path/filepath"

	"github.com/zarrfs/zarrfs/layout"
	"github.com/zarrfs/zarrfs/zarrcore/dirty"
	"github.com/zarrfs/zarrfs/zarrcore/meta"
)

// Unstored is what is dirty of an array.
type Unstored struct {
	Store   string // its name
	Path    string // of the array
	Meta    *meta.Array
	Fortran bool         // the array is seen with its axes reversed
	Size    int64        // of the flat array, in bytes
	Grid    *layout.Grid // of its chunks
	Dirty   *dirty.Set
}

// Write writes what is dirty to a file in the folder dir, also while a flush hangs. The file is as
// long as the array, with holes where nothing is to be stored. Beside it is a note that says which
// bytes count. Write reports whether the note is whole. If there is also an error, the file has
// only a part.
func (u *Unstored) Write(dir string) (name string, noted bool, err error) {
	p, err := newPair(dir, u.Path)
	if err != nil {
		return "", false, err
	}
	noted, err = u.writeTo(p)
	return p.data.Name(), noted, errors.Join(err, p.data.Close(), p.note.Close())
}

// pair is a file for rescued bytes, and its note.
type pair struct{ data, note *os.File }

// Remove removes a file and its note.
func Remove(name string) error {
	return errors.Join(os.Remove(name), os.Remove(noteName(name)))
}

// Prefix returns the beginning of the names of files in which a process has kept what was not
// stored.
func Prefix(pid int) string { return fmt.Sprintf("zarrfs-unsaved-%d-", pid) }

// pathBytes is how many bytes of an array's path are in a file's name.
const pathBytes = 200

// newPair creates a file for the bytes of the array at path, and its note. There may be one
// already: of an array that was there before, or of the other way to see it.
func newPair(dir, path string) (p pair, err error) {
	err = createFree(dir, path, func(name string) (err error) {
		p, err = createPair(name + ".unsaved")
		return err
	})
	return p, err
}

// Text keeps a text of the array at path which is not stored. The name of the file ends as
// end says. Until it has all of the text its name ends in .part besides: nothing else would tell a
// part of a text from all of it, if the process is killed meanwhile.
func Text(dir, path, end string, text io.Reader) (name string, err error) {
	var part *os.File
	err = createFree(dir, path, func(free string) (err error) {
		name = free + end
		part, err = createPart(name)
		return err
	})
	if err != nil {
		return "", err
	}
	_, err = io.Copy(part, text)
	if err = errors.Join(err, part.Sync(), part.Close()); err == nil {
		err = os.Rename(part.Name(), name)
	}
	if err != nil {
		return "", errors.Join(err, os.Remove(part.Name()))
	}
	return name, nil
}

// createPart creates the file that is to have a name once it is whole.
func createPart(name string) (*os.File, error) {
	if _, err := os.Lstat(name); err == nil {
		return nil, iofs.ErrExist
	}
	return os.OpenFile(name+".part", os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
}

// createFree calls create with names for files of the array at path, until one is free.
func createFree(dir, path string, create func(name string) error) error {
	text := url.PathEscape(path)
	text = text[max(0, len(text)-pathBytes):]
	name := filepath.Join(dir, Prefix(os.Getpid())+text)
	more := ""
	for i := 2; ; i++ {
		if err := create(name + more); !errors.Is(err, iofs.ErrExist) {
			return err
		}
		more = fmt.Sprintf("-%d", i)
	}
}

// createPair creates both files. A name is free only if neither is there: an old note would give
// the bytes of a new file another meaning.
func createPair(name string) (p pair, err error) {
	const flags = os.O_RDWR | os.O_CREATE | os.O_EXCL
	if p.note, err = os.OpenFile(noteName(name), flags, 0o600); err != nil {
		return p, err
	}
	if p.data, err = os.OpenFile(name, flags, 0o600); err != nil {
		p.note.Close()
		os.Remove(p.note.Name())
	}
	return p, err
}

// writeTo writes what is dirty to its place in p. It reports whether there is a note of what was
// written, also after an error.
func (u *Unstored) writeTo(p pair) (noted bool, err error) {
	n := note{
		About: "what zarrfs could not store; `zarrfs restore` with the file beside this one puts " +
			"it back",
		Store: name(u.Store), Array: name(u.Path), Type: u.Meta.Type.Descr(), Shape: u.Meta.Shape,
		Fortran: u.Fortran, Size: u.Size,
	}
	if err := p.data.Truncate(n.Size); err != nil {
		return false, err
	}
	if _, err := p.note.Write(make([]byte, noteRoom)); err != nil {
		return false, err
	}
	err = u.writeChunks(p.data, &n)
	if err != nil {
		if len(n.Stretches) == 0 {
			return false, err
		}
		n.Incomplete = err.Error()
	}
	n.merge()
	var noteErr error
	if n.CRC32, noteErr = n.sum(p.data); noteErr == nil {
		noteErr = p.writeNote(&n)
	}
	if noteErr != nil {
		return false, errors.Join(err, noteErr)
	}
	return true, errors.Join(err, p.data.Sync(), p.note.Sync())
}

// noteRoom is how many bytes a note takes before the file may fill the disk: a part of a file is of
// use only with its note.
const noteRoom = 64 << 10

// writeNote writes the note in the room that it has.
func (p pair) writeNote(n *note) error {
	if _, err := p.note.Seek(0, io.SeekStart); err != nil {
		return err
	}
	if err := n.write(p.note); err != nil {
		return err
	}
	end, err := p.note.Seek(0, io.SeekCurrent)
	if err != nil {
		return err
	}
	return p.note.Truncate(end)
}

// writeChunks writes the dirty bytes of all chunks.
func (u *Unstored) writeChunks(f *os.File, n *note) error {
	for _, chunk := range u.Dirty.Numbers() {
		if err := u.writeChunk(f, chunk, n); err != nil {
			return err
		}
	}
	return nil
}

// writeChunk writes the dirty bytes of a chunk to their places in the flat array.
func (u *Unstored) writeChunk(f *os.File, chunk int64, n *note) error {
	box := u.Grid.Box(chunk)
	buf := make([]byte, box.RunLen)
	type gap struct{ lo, hi int64 }
	var gaps []gap
	for flat, off := range box.Runs() {
		gaps = gaps[:0]
		err := u.Dirty.Read(chunk, off, buf, func(lo, hi int64) {
			gaps = append(gaps, gap{lo - off, hi - off})
		})
		if err != nil {
			return err
		}
		from := int64(0)
		for _, g := range append(gaps, gap{box.RunLen, box.RunLen}) {
			if g.lo > from {
				if _, err := f.WriteAt(buf[from:g.lo], flat+from); err != nil {
					return err
				}
				n.add(flat+from, g.lo-from)
			}
			from = g.hi
		}
	}
	return nil
}
