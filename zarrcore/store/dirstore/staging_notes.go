package dirstore

import (
	"slices"

	"golang.org/x/sys/unix"
)

// note keeps in mind, beyond the death of the program, that there may be a temporary file at path,
// until forget. Before it may be the beginning of an older note, where another thread is to write
// and is killed before it does: so it begins with a NUL byte, too.
func (s *staging) note(path string) error {
	_, err := s.writeNote(path)
	return err
}

// noteTree is note for a directory that is to go with all below it. Another one may have its path
// later, and so forget erases what is written: nothing may be removed by a note that is not true
// any more.
func (s *staging) noteTree(path string) (forget func(), err error) {
	at, err := s.writeNote(path)
	if err != nil {
		return nil, err
	}
	return func() {
		writeFull(int(s.owner.Fd()), make([]byte, len(path)), at+1) // behind its NUL byte
		s.forget()
	}, nil
}

// writeNote does what note does, and returns where it begins.
func (s *staging) writeNote(path string) (at int64, err error) {
	b := append(append([]byte{0}, path...), 0)
	at = s.reserve(len(b))
	if err = writeFull(int(s.owner.Fd()), b, at); err != nil {
		s.forget()
	}
	return at, err
}

// reserve returns where a note of n bytes is to be written.
func (s *staging) reserve(n int) (at int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.noted == 0 {
		s.end = 0 // what is left of older notes is not true any more, and harmless: see sweepFile
	}
	at = s.end
	s.noted++
	s.end += int64(n)
	return at
}

func (s *staging) forget() {
	s.mu.Lock()
	s.noted--
	s.mu.Unlock()
}

// noteLeaving notes that directories of these births are to go if they are at a path. If there is
// no room for a note, it writes nothing: the replacement may make room.
func (a *area) noteLeaving(path string, births []string) (forget func(), err error) {
	var ends []func()
	forget = func() {
		for _, end := range slices.Backward(ends) {
			end()
		}
	}
	s, err := a.staging()
	if err != nil {
		return forget, ignoring(err, unix.ENOSPC, unix.EDQUOT)
	}
	ends = append(ends, func() { a.done(s) })
	for _, birth := range births {
		if birth == "" { // the file system does not report it
			continue
		}
		end, err := s.noteTree(path + "/" + replacedPrefix + birth)
		if err == nil {
			ends = append(ends, end)
		} else if !isFull(err) {
			forget()
			return nil, err
		}
	}
	return forget, nil
}
