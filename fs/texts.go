package fs

import (
	"slices"

	"github.com/zarrfs/zarrfs/fs/pathstate"
	"github.com/zarrfs/zarrfs/fs/site"
)

// openText is a text that a program has open, of the array or group at a path.
type openText interface {
	Moved(to string)
	Ended()
	Home() *site.Home // the directory in which it was opened
}

// textPart is what programs have open of the array or group at a path, and what is taken as a whole.
type textPart struct {
	document pathstate.Carried[openText] // its document
	wholes   wholeFiles                  // its other files
}

// Moved implements pathstate.Part.
func (s *textPart) Moved(to string) {
	s.document.Moved(to)
	s.wholes.Moved(to)
}

// Ended implements pathstate.Part.
func (s *textPart) Ended() {
	s.document.Ended()
	s.wholes.Ended()
}

// IsEmpty implements pathstate.Part.
func (s *textPart) IsEmpty() bool { return s.document.IsEmpty() && s.wholes.IsEmpty() }

// identityFor returns the identity of the directory in which a text is to be opened. If other texts
// were opened in another one, that may be on its way to another path. So their states are awaited.
func (t *wholes) identityFor(where func() string) (identity string) {
	for {
		path, isOther := where(), false
		identity = t.Sites.Identity(path)
		isElsewhere := func(h *site.Home) bool { return h.IsOther(identity) }
		t.states.Look(path, func(s *textPart) {
			isOther = slices.ContainsFunc(s.homes(), isElsewhere)
		})
		if !isOther || !t.Sites.HasMoved(where, path) {
			return identity
		}
	}
}

// homes returns those of the texts that are open.
func (s *textPart) homes() (all []*site.Home) {
	if !s.document.IsEmpty() {
		all = append(all, s.document.It.Home())
	}
	for _, w := range s.wholes {
		all = append(all, &w.home)
	}
	return all
}

// leaveOthers ends the texts that were opened in another directory than that of the identity.
// Programs that have them open get errors from then on.
func (s *textPart) leaveOthers(identity string) {
	if !s.document.IsEmpty() && s.document.It.Home().IsOther(identity) {
		s.document.Ended()
	}
	var others, stay wholeFiles
	for _, w := range s.wholes {
		if w.home.IsOther(identity) {
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
// the new one, unless do fails. also does the same with what else knows a directory.
func (t *wholes) moveIn(path string, do func() error, also func(from, to string)) error {
	old := t.Sites.Identity(path)
	rehome := func(from, to string) {
		t.rehome(path, from, to)
		also(from, to)
	}
	rehome(old, "") // while it is not known which of the two is there
	err := do()
	now := old
	if err == nil {
		now = t.Sites.Identity(path)
	}
	rehome("", now)
	return err
}

// rehome notes that the open texts of one directory at path are those of another.
func (t *wholes) rehome(path, from, to string) {
	t.states.Edit(path, func(s *textPart) {
		for _, h := range s.homes() {
			if h.Is(from) {
				h.Note(to)
			}
		}
	})
}

// hasWholes reports whether programs write to files that are taken as a whole.
func (s *textPart) hasWholes() bool { return !s.wholes.IsEmpty() }
