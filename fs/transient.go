package fs

import (
	"fmt"
	iofs "io/fs"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/zarrfs/zarrfs/fs/identity"
	"github.com/zarrfs/zarrfs/fs/names"
	"github.com/zarrfs/zarrfs/fs/scratch"
)

// A transient is a file of the mount that the store does not have. Its name is not a view
// (".a.npy.Xy7", "a.json~"), or it is a view of an array that does not exist yet. It lives in the
// scratch folder, without a name, until it is renamed onto a view, becomes an array, or is removed.
// What is left of it when the mount ends is kept in a folder (keep.go).
type transient struct {
	id    uint64
	file  *scratch.File // nil: the file of a view that is about to be written, and empty until it is; or a link
	link  string        // the text of a symbolic link; "": it is not a link
	where atomic.Pointer[spot]

	held int  // by how many programs that have it open to make it an array; guarded by the lock of the states
	over bool // one of them was refused; guarded by the lock of the states

	writers int         // handles by which it can be written; guarded by the lock of the states
	late    atomic.Bool // a .raw file whose array a document made while it was open for that
	whole   atomic.Bool // it was closed since it was written
	stored  atomic.Bool // of one that is late: all that was written is in the array
	said    atomic.Bool // the log says that it is not a view, or will soon

	copied copiedAttributes // that wait for an array

	refused atomic.Pointer[error] // why it could not become a view when that was last tried; nil: it was not
}

// spot is where a transient is: the path of its group, and its name there as it is shown.
type spot struct{ dir, name string }

// key names the transient's node, wherever it is. No path in a store contains NUL.
func (x *transient) key() identity.Key {
	return identity.Of("\x00"+strconv.FormatUint(x.id, 10), transientView)
}

// path is where the transient is, for messages.
func (x *transient) path() string {
	at := x.where.Load()
	return names.Join(at.dir, at.name)
}

// transientView is the view of transients among the identities of nodes.
const transientView = "transient"

// dir returns the path of the transient's group.
func (x *transient) dir() string { return x.where.Load().dir }

// transientFiles are the transients in a group, by name.
type transientFiles map[string]*transient

func (p *transientFiles) Moved(to string) {
	for name, x := range *p {
		x.where.Store(&spot{to, name})
	}
}

// Ended keeps them: their bytes are nowhere else, and are kept in a folder when the mount ends.
func (p *transientFiles) Ended() {}

func (p *transientFiles) IsEmpty() bool { return len(*p) == 0 }

// join adds those that have stayed in a group in whose place another one was moved.
func (p *transientFiles) join(stayed transientFiles) {
	for name, x := range stayed {
		for (*p)[name] != nil {
			name += "~"
		}
		p.enter(x, spot{x.dir(), name})
	}
}

// has reports whether a transient is there still.
func (p *transientFiles) has(x *transient) bool { return (*p)[x.where.Load().name] == x }

// enter puts a transient in its place, in this group.
func (p *transientFiles) enter(x *transient, at spot) {
	if *p == nil {
		*p = make(transientFiles)
	}
	x.where.Store(&at)
	(*p)[at.name] = x
}

// remove ends a transient's name, if it has it still, and reports whether it had it.
func (p *transientFiles) remove(x *transient) bool {
	had := p.has(x)
	if had {
		delete(*p, x.where.Load().name)
	}
	return had
}

// transients are all transients of a mount.
type transients struct {
	scratch string // folder
	space   scratch.Space
	files   *scratch.Files
	states  *states
	last    atomic.Uint64 // id
}

// find returns the transient of that name, nil if there is none.
func (t *transients) find(dir, name string) (x *transient) {
	t.states.Look(dir, func(s *state) { x = s.transients[name] })
	return x
}

// in returns the transients in a group, by name.
func (t *transients) in(dir string) (all []*transient) {
	t.states.Look(dir, func(s *state) { all = slices.Collect(maps.Values(s.transients)) })
	slices.SortFunc(all, func(a, b *transient) int { return strings.Compare(a.where.Load().name, b.where.Load().name) })
	return all
}

// make creates an empty transient with a file of its own, in the group whose path where returns.
func (t *transients) make(where func() string, name string) (*transient, error) {
	file, err := t.makeFile()
	if err != nil {
		return nil, err
	}
	x := t.new()
	x.file = file
	x.where.Store(&spot{where(), name})
	if err := file.Renamed(x.shown()); err != nil {
		file.Close()
		return nil, err
	}
	t.states.Follow(where, func(s *state) { s.transients.enter(x, spot{where(), name}) })
	return x, nil
}

// makeFile creates an empty file of the scratch folder, and counts it.
func (t *transients) makeFile() (*scratch.File, error) {
	file, err := t.files.Make()
	if err != nil {
		return nil, fmt.Errorf("scratch folder: %w", err)
	}
	t.space.Add(file)
	return file, nil
}

// makeLink makes a transient that is a symbolic link. What is there already is fs.ErrExist.
func (t *transients) makeLink(dir, name, text string) (*transient, error) {
	x := t.new()
	x.link = text
	if !t.enterNew(x, dir, name) {
		return nil, iofs.ErrExist
	}
	return x, nil
}

// announce makes sure that there is a transient for the name of a view that is about to be written,
// in the group whose path where returns. No rename comes between that and prepare. If prepare
// returns false it does nothing, and neither does announce.
func (t *transients) announce(
	where func() string, name string, prepare func() bool,
) (announced bool) {
	x := t.new()
	t.states.Follow(where, func(s *state) {
		if announced = prepare(); announced && s.transients[name] == nil {
			s.transients.enter(x, spot{where(), name})
		}
	})
	return announced
}

// new returns a transient that has no place yet.
func (t *transients) new() *transient { return &transient{id: t.last.Add(1)} }

// enterNew puts a transient in its place, and reports whether none is there.
func (t *transients) enterNew(x *transient, dir, name string) (entered bool) {
	t.states.Make(dir, func(s *state) {
		if entered = s.transients[name] == nil; entered {
			s.transients.enter(x, spot{dir, name})
		}
	})
	return entered
}

// hold counts a program that has an announced view open, and reports whether the view is there
// still.
func (t *transients) hold(x *transient) (has bool) {
	t.states.Follow(x.dir, func(s *state) {
		if has = s.transients.has(x); has {
			x.held++
		}
	})
	return has
}

// letGo ends such a count. With the last count it takes the transient off the list, if any of its
// programs was refused, and reports whether it did.
func (t *transients) letGo(x *transient, refused bool) (removed bool) {
	t.states.Follow(x.dir, func(s *state) {
		x.held--
		x.over = x.over || refused
		removed = x.over && x.held == 0 && s.transients.remove(x)
	})
	return removed
}

// opened counts a handle by which a transient can be written.
func (t *transients) opened(x *transient) {
	t.states.Follow(x.dir, func(*state) { x.writers++ })
}

// closed ends such a count, and reports whether that was the last one.
func (t *transients) closed(x *transient) (last bool) {
	t.states.Follow(x.dir, func(*state) {
		x.writers--
		last = x.writers == 0
	})
	return last
}

// noteLate notes that a transient is late for the array that is made now, if it can still be
// written, and reports whether it can.
func (t *transients) noteLate(x *transient) (late bool) {
	t.states.Follow(x.dir, func(*state) {
		if late = x.writers > 0; late {
			x.late.Store(true)
		}
	})
	return late
}

// drop takes a transient off the list, and reports whether it was there. Its bytes stay with the
// programs that have it open.
func (t *transients) drop(x *transient) (dropped bool) {
	t.states.Follow(x.dir, func(s *state) { dropped = s.transients.remove(x) })
	return dropped
}

// rename gives a transient another name, and returns the one that had it.
func (t *transients) rename(x *transient, to spot) (replaced *transient) {
	t.states.Both(func() (string, string) { return x.dir(), to.dir }, func(from, s *state) {
		from.transients.remove(x)
		replaced = s.transients[to.name]
		s.transients.enter(x, to)
	})
	return replaced
}

// maxTransients is how many transients a message about all of them names.
const maxTransients = 20

// here reports whether a transient is there still, under whatever name.
func (t *transients) here(x *transient) (here bool) {
	t.states.Follow(x.dir, func(s *state) { here = s.transients.has(x) })
	return here
}

// busy reports whether a transient is open for writing.
func (t *transients) busy(x *transient) (busy bool) {
	t.states.Follow(x.dir, func(*state) { busy = x.writers > 0 })
	return busy
}

// size returns how many bytes the transient has.
func (x *transient) size() int64 {
	if x.file == nil {
		return 0
	}
	info, err := x.file.Stat()
	if err != nil {
		return 0
	}
	return info.Size()
}
