package fs

import (
	"fmt"
	iofs "io/fs"
	"slices"
	"sync/atomic"
)

// Another program may remove an array or group, and recreate it under the same name. A text that
// was open before belongs to the old one. So it knows the identity of the directory that it was
// opened in. A text of another directory gets ESTALE, and nothing of the new one changes.

// errRecreated says that the name of an array or group is that of another one by now.
var errRecreated = fmt.Errorf("%w: something else has its name by now", iofs.ErrNotExist)

// home is the directory in which the array or group of an open text is.
type home struct {
	identity atomic.Pointer[string] // nil: not known
}

func (h *home) note(identity string) { h.identity.Store(&identity) }

// isOther reports whether the directory is certain to be another one than that of the identity now.
func (h *home) isOther(now string) bool {
	known := h.identity.Load()
	return known != nil && *known != "" && now != "" && *known != now
}

// identity returns the identity of the directory at path, "" if that is not known.
func (f *filesystem) identity(path string) string {
	identity, err := f.h.Identity(f.ctx, path)
	if err != nil { // what is not there is found out when it is opened
		return ""
	}
	return identity
}

// checkHome returns an error if what is at path is not what was there when a text was opened.
func (f *filesystem) checkHome(path string, h *home) error {
	if h.isOther(f.identity(path)) {
		return errRecreated
	}
	return nil
}

// identityFor returns the identity of the directory in which a text is to be opened. If other texts
// were opened in another one, that may be on its way to another path. So their states are awaited.
func (f *filesystem) identityFor(where func() string) (identity string) {
	for {
		path, isOther := where(), false
		identity = f.identity(path)
		isElsewhere := func(h *home) bool { return h.isOther(identity) }
		f.states.Look(path, func(s *state) {
			isOther = slices.ContainsFunc(s.homes(), isElsewhere)
		})
		if !isOther || !f.hasMoved(where, path) {
			return identity
		}
	}
}

// homes returns those of the texts that are open.
func (s *state) homes() (all []*home) {
	if !s.document.IsEmpty() {
		all = append(all, &s.document.It.home)
	}
	for _, w := range s.wholes {
		all = append(all, &w.home)
	}
	return all
}

// leaveOthers ends the texts that were opened in another directory than that of the identity.
// Programs that have them open get errors from then on.
func (s *state) leaveOthers(identity string) {
	if !s.document.IsEmpty() && s.document.It.home.isOther(identity) {
		s.document.Ended()
	}
	var others, stay wholeFiles
	for _, w := range s.wholes {
		if w.home.isOther(identity) {
			w.vanished.Store(true)
			others = append(others, w)
		} else {
			stay = append(stay, w)
		}
	}
	others.Ended()
	s.wholes = stay
}

// moveIn calls do, by which this mount recreates what is at path. Open texts of it become those of
// the new one, unless do fails.
func (f *filesystem) moveIn(path string, do func() error) error {
	old := f.identity(path)
	f.rehome(path, old, "") // while it is not known which of the two is there
	err := do()
	now := old
	if err == nil {
		now = f.identity(path)
	}
	f.rehome(path, "", now)
	return err
}

// rehome notes that the open texts of one directory at path are those of another.
func (f *filesystem) rehome(path, from, to string) {
	f.states.Edit(path, func(s *state) {
		for _, h := range s.homes() {
			if known := h.identity.Load(); known != nil && *known == from {
				h.note(to)
			}
		}
	})
}
