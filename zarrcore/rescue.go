package zarrcore

import (
	"errors"
	"fmt"
	"io"
	iofs "io/fs"
	"net/url"
	"os"
	"path/filepath"
)

// Rescue writes what is not stored to files in the folder dir, for a program that must end: one for
// each array, named after it, as long as the array and with holes where nothing is to be stored.
// Beside each is a note that says which bytes count. Where nothing of an array can be kept, there is
// no file. It returns the names of the files.
func (h *Hierarchy) Rescue(dir string) (files []string, err error) {
	var all []error
	for _, d := range h.drafts() {
		name, noted, err := d.rescue(dir)
		switch {
		case noted:
			files = append(files, name)
		case name != "":
			err = errors.Join(err, removeRescued(name))
		}
		if err != nil {
			all = append(all, d.fail("rescue", err))
		}
	}
	return files, errors.Join(all...)
}

// rescue writes what is dirty to a file, also while a flush hangs. It reports whether the note of
// the file is whole. If there is also an error, the file has only a part.
func (d *draft) rescue(dir string) (name string, noted bool, err error) {
	p, err := rescueFiles(dir, d.path)
	if err != nil {
		return "", false, err
	}
	noted, err = d.rescueTo(p)
	return p.data.Name(), noted, errors.Join(err, p.data.Close(), p.note.Close())
}

// rescuePair is a file for rescued bytes, and its note.
type rescuePair struct{ data, note *os.File }

// removeRescued removes a file and its note.
func removeRescued(name string) error {
	return errors.Join(os.Remove(name), os.Remove(rescueNoteName(name)))
}

// RescuePrefix returns what the names of the files begin with in which a process has kept what was
// not stored.
func RescuePrefix(pid int) string { return fmt.Sprintf("zarrfs-unsaved-%d-", pid) }

// rescueName is how many bytes of an array's path are in a file's name.
const rescueName = 200

// rescueFiles creates a file for the bytes of the array at path, and its note. There may be one
// already: of an array that was there before, or of the other way to see it.
func rescueFiles(dir, path string) (p rescuePair, err error) {
	err = createRescued(dir, path, func(name string) (err error) {
		p, err = createPair(name + ".unsaved")
		return err
	})
	return p, err
}

// RescueText keeps a text of the array at path which is not stored. The name of the file ends as
// end says. Until it has all of the text its name ends in .part besides: nothing else would tell a
// part of a text from all of it, if the process is killed meanwhile.
func RescueText(dir, path, end string, text io.Reader) (name string, err error) {
	var part *os.File
	err = createRescued(dir, path, func(free string) (err error) {
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

// createRescued calls create with names for files of the array at path, until one is free.
func createRescued(dir, path string, create func(name string) error) error {
	text := url.PathEscape(path)
	text = text[max(0, len(text)-rescueName):]
	name := filepath.Join(dir, RescuePrefix(os.Getpid())+text)
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
func createPair(name string) (p rescuePair, err error) {
	const flags = os.O_RDWR | os.O_CREATE | os.O_EXCL
	if p.note, err = os.OpenFile(rescueNoteName(name), flags, 0o600); err != nil {
		return p, err
	}
	if p.data, err = os.OpenFile(name, flags, 0o600); err != nil {
		p.note.Close()
		os.Remove(p.note.Name())
	}
	return p, err
}

// rescueTo writes what is dirty to its place in p. It reports whether there is a note of what was
// written, also after an error.
func (d *draft) rescueTo(p rescuePair) (noted bool, err error) {
	a := d.live.Load()
	note := rescueNote{
		About: "what zarrfs could not store; `zarrfs restore` with the file beside this one puts it back",
		Store: name(d.h.Name()), Array: name(d.path), Type: a.meta.Type.Descr(), Shape: a.meta.Shape,
		Fortran: a.source != nil, Size: a.Size(),
	}
	if err := p.data.Truncate(note.Size); err != nil {
		return false, err
	}
	if _, err := p.note.Write(make([]byte, noteRoom)); err != nil {
		return false, err
	}
	err = d.rescueChunks(a, p.data, &note)
	if err != nil {
		if len(note.Stretches) == 0 {
			return false, err
		}
		note.Incomplete = err.Error()
	}
	note.merge()
	var noteErr error
	if note.CRC32, noteErr = note.sum(p.data); noteErr == nil {
		noteErr = p.writeNote(&note)
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
func (p rescuePair) writeNote(note *rescueNote) error {
	if _, err := p.note.Seek(0, io.SeekStart); err != nil {
		return err
	}
	if err := note.write(p.note); err != nil {
		return err
	}
	end, err := p.note.Seek(0, io.SeekCurrent)
	if err != nil {
		return err
	}
	return p.note.Truncate(end)
}

// rescueChunks writes the dirty bytes of all chunks.
func (d *draft) rescueChunks(a *Array, f *os.File, note *rescueNote) error {
	for _, n := range d.set.Numbers() {
		if err := a.rescueChunk(f, n, note); err != nil {
			return err
		}
	}
	return nil
}

// rescueChunk writes the dirty bytes of a chunk to their places in the flat
// array.
func (a *Array) rescueChunk(f *os.File, n int64, note *rescueNote) error {
	box := a.grid.Box(n)
	buf := make([]byte, box.RunLen)
	type gap struct{ lo, hi int64 }
	var gaps []gap
	for flat, off := range box.Runs() {
		gaps = gaps[:0]
		if err := a.draft.set.Read(n, off, buf, func(lo, hi int64) { gaps = append(gaps, gap{lo - off, hi - off}) }); err != nil {
			return err
		}
		from := int64(0)
		for _, g := range append(gaps, gap{box.RunLen, box.RunLen}) {
			if g.lo > from {
				if _, err := f.WriteAt(buf[from:g.lo], flat+from); err != nil {
					return err
				}
				note.add(flat+from, g.lo-from)
			}
			from = g.hi
		}
	}
	return nil
}
