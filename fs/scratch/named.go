package scratch

import (
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// Files that programs have closed or synced have names, so that they survive a kill of the process.
// They are in a folder of the process with a note, which is locked as long as it runs.

// NoteName is the file that says where the others of its folder come from.
const NoteName = "zarrfs-note.json"

// namedFolder begins the name of the folder of files that have names.
const namedFolder = "zarrfs-other-files-"

// nameMost is how many bytes of a file's path in the mount are in its name.
const nameMost = 200

// The names of files in the folder are a number, and what is in them behind that. A number alone is
// the name of a file that is of no use after its process.
const (
	labelOther    = "-"            // a file that is not an array
	labelUnstored = ".not-stored-" // a text that a program wrote to a file of an array
)

// label returns what is behind the number in the name of a file that is called shown in the mount.
func label(kind, shown string) string {
	text := url.PathEscape(shown)
	return kind + text[max(0, len(text)-nameMost):]
}

// newName returns a path for the file. The caller holds mu and all.mu.
func (s *File) newName() (path string, err error) {
	if err := s.all.makeFolder(); err != nil {
		return "", err
	}
	if s.number == 0 {
		s.all.last++
		s.number = s.all.last
	}
	return filepath.Join(s.all.dir, strconv.Itoa(s.number)+s.label), nil
}

// makeFolder makes the folder, with its note, unless it is there. The caller holds mu.
func (a *Files) makeFolder() error {
	if a.dir != "" {
		return nil
	}
	dir, err := os.MkdirTemp(a.folder, namedFolder+"*")
	if err != nil {
		return err
	}
	lock, err := os.OpenFile(filepath.Join(dir, NoteName), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		err = unix.Flock(int(lock.Fd()), unix.LOCK_EX)
	}
	if err == nil {
		_, err = lock.Write(a.note())
	}
	if err != nil {
		os.RemoveAll(dir)
		return errors.Join(err, lock.Close())
	}
	a.dir, a.lock = dir, lock
	return nil
}

// End removes the folder. Its files are of no use then.
func (a *Files) End() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.dir == "" {
		return nil
	}
	return errors.Join(os.RemoveAll(a.dir), a.lock.Close())
}

// Keep gives the file a name that survives a kill of the process. In the mount the file is called
// shown.
func (s *File) Keep(shown string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dropped || s.closed {
		return nil
	}
	s.label = label(labelOther, shown)
	return s.rename(func(name string) error { return linkUnnamed(s.file, name) })
}

// rename gives the file the name that its label asks for. If it has none, link gives it one. The
// caller holds mu.
func (s *File) rename(link func(name string) error) error {
	s.all.mu.Lock()
	name, err := s.newName()
	s.all.mu.Unlock()
	switch {
	case err != nil || name == s.name:
		return err
	case s.name != "":
		err = os.Rename(s.name, name)
	default:
		err = link(name)
	}
	if err == nil {
		s.name = name
	}
	return err
}

// Renamed notes what a file that is not an array is called in the mount from now on.
func (s *File) Renamed(shown string) error { return s.relabel(label(labelOther, shown)) }

// Unstored notes that the file has what a program wrote to the file shown of an array, and what is
// not stored yet. If it has a name when the process is killed, that says so.
func (s *File) Unstored(shown string) error { return s.relabel(label(labelUnstored, shown)) }

// Stored notes that the file has nothing that is not stored.
func (s *File) Stored() error { return s.relabel("") }

// relabel renames a file that has a name. Otherwise the label counts when it gets one.
func (s *File) relabel(label string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.label = label
	if s.name == "" || s.dropped || s.closed {
		return nil
	}
	return s.rename(nil)
}

// Sync is Keep, and makes the file survive a power cut.
func (s *File) Sync(shown string) error {
	if err := errors.Join(s.Keep(shown), s.Use((*os.File).Sync)); err != nil {
		return err
	}
	s.all.mu.Lock()
	dir := s.all.dir
	s.all.mu.Unlock()
	if dir == "" { // of a file that was dropped
		return nil
	}
	return errors.Join(syncDir(dir), syncDir(s.all.folder))
}

func syncDir(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	defer dir.Close()
	return dir.Sync()
}

// Drop takes the file's name away, because it is no longer in the mount. Programs that have it open
// can go on. One that rests keeps its name until it is closed.
func (s *File) Drop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dropped = true
	if s.file != nil && s.name != "" {
		os.Remove(s.name)
		s.name = ""
	}
}
