package texts

import (
	"slices"

	"github.com/zarrfs/zarrfs/fs/site"
)

// identityFor returns the identity of the directory in which a text is to be opened. If other texts
// were opened in another one, that may be on its way to another path. So their states are awaited.
func (t *Files) identityFor(where func() string) (identity string) {
	for {
		since := t.Sites.Now()
		path, isOther := where(), false
		identity = t.Sites.Identity(path)
		isElsewhere := func(h *site.Home) bool { return h.IsOther(identity) }
		t.states.Look(path, func(s *Part) {
			isOther = slices.ContainsFunc(s.homes(), isElsewhere)
		})
		if !isOther || !since.HasMoved(where, path) {
			return identity
		}
	}
}

// homes returns those of the texts that are open.
func (s *Part) homes() (all []*site.Home) {
	if !s.Document.IsEmpty() {
		all = append(all, s.Document.It.Home())
	}
	for _, w := range s.files {
		all = append(all, &w.home)
	}
	return all
}

// leaveOthers ends the texts that were opened in another directory than that of the identity.
// Programs that have them open get errors from then on.
func (s *Part) leaveOthers(identity string) {
	if !s.Document.IsEmpty() && s.Document.It.Home().IsOther(identity) {
		s.Document.Ended()
	}
	var others, stay wholeFiles
	for _, w := range s.files {
		if w.home.IsOther(identity) {
			w.vanished.Store(true)
			others = append(others, w)
		} else {
			stay = append(stay, w)
		}
	}
	others.Ended()
	s.files = stay
}

// MoveIn calls do, by which this mount recreates what is at path. Open texts of it become those of
// the new one, unless do fails. also does the same with what else knows a directory.
func (t *Files) MoveIn(path string, do func() error, also func(from, to string)) error {
	old := t.Sites.Identity(path)
	rehome := func(from, to string) {
		t.rehome(path, from, to)
		also(from, to)
	}
	t.recreations.Add(1)
	rehome(old, "") // while it is not known which of the two is there
	err := do()
	now := old
	if err == nil {
		now = t.Sites.Identity(path)
	}
	t.recreations.Add(1)
	rehome("", now)
	rehome(old, now) // opened meanwhile
	return err
}

// InDirectory calls open with what is known of the path that where returns, and the identity of the
// directory there. Texts that were opened in another directory have ended then. If this mount
// recreates the array meanwhile, it asks for the identity again: an open with the former identity
// would end texts in use, or begin a text that has ended. isAgain reports whether it asked again.
func (t *Files) InDirectory(
	where func() string, open func(s *Part, identity string),
) (isAgain bool) {
	for isOpen := false; ; isAgain = true {
		recreations := t.recreations.Load()
		identity := t.identityFor(where)
		t.states.Follow(where, func(s *Part) {
			if isOpen = t.recreations.Load() == recreations; isOpen {
				s.leaveOthers(identity)
				open(s, identity)
			}
		})
		if isOpen {
			return isAgain
		}
	}
}

// rehome notes that the open texts of one directory at path are those of another.
func (t *Files) rehome(path, from, to string) {
	if from == to {
		return
	}
	t.states.Edit(path, func(s *Part) {
		for _, h := range s.homes() {
			if h.Is(from) {
				h.Note(to)
			}
		}
	})
}
