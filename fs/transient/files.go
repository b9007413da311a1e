package transient

import (
	"context"
	"fmt"
	iofs "io/fs"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/zarrfs/zarrfs/fs/identity"
	"github.com/zarrfs/zarrfs/fs/pathstate"
	"github.com/zarrfs/zarrfs/fs/scratch"
	"github.com/zarrfs/zarrfs/zarrcore"
)

// Options say what a mount does with its transients.
type Options struct {
	Scratch   string // the scratch folder; "": the usual one
	SpaceSize int64  // how many bytes they may take in it
	// they are kept in a folder in it when the mount ends; "": in the scratch folder
	KeepDir string
	Refuse  bool // take no files that are not views, except temporary ones
	Of      Origin
	Log     *slog.Logger
	Ended   func(identity.Key) // forgets the inode of a transient that has ended
}

// Origin is the mount that the transients are from.
type Origin struct {
	Name  string // the store's base name
	Store string // the store as messages name it
	Mount string // the mountpoint
	Since time.Time
}

// States are where the table of states has the transients.
type States struct {
	Files pathstate.Parts[Named]

	// No program sees these: texts that did not become a document, and files set aside.
	Texts pathstate.Parts[Named]
}

// Files are all transients of a mount.
type Files struct {
	Space scratch.Space

	ctx     context.Context // ends with the mount
	o       Options
	states  States
	scratch *scratch.Files
	keep    keeping
	ids     ids
}

// New returns the transients of a mount, which ends with ctx. There are none yet.
func New(ctx context.Context, o Options, states States) *Files {
	if o.Scratch == "" {
		o.Scratch = zarrcore.DefaultScratchDir()
	}
	t := &Files{ctx: ctx, o: o, states: states, keep: keepingFor(&o)}
	t.scratch = scratch.NewFiles(o.Scratch, func() []byte { return t.o.noteText(nil, time.Time{}) })
	t.Space.Limit = max(scratch.Least, o.SpaceSize)
	return t
}

// Find returns the transient of that name, or nil.
func (t *Files) Find(dir, name string) (x *File) {
	t.states.Files.Look(dir, func(s *Named) { x = (*s)[name] })
	return x
}

// FindAt is Find for the place that where returns. No rename comes between that and the look.
func (t *Files) FindAt(where func() Spot) (x *File) {
	dir := func() string { return where().Dir }
	t.states.Files.Seek(dir, func(s *Named) { x = (*s)[where().Name] })
	return x
}

// In returns the transients in a group, by name.
func (t *Files) In(dir string) (all []*File) {
	t.states.Files.Look(dir, func(s *Named) { all = slices.Collect(maps.Values(*s)) })
	slices.SortFunc(all, func(a, b *File) int { return strings.Compare(a.At().Name, b.At().Name) })
	return all
}

// Make creates an empty transient with a file of its own, in the group whose path where returns.
func (t *Files) Make(where func() string, name string) (*File, error) {
	file, err := t.MakeFile()
	if err != nil {
		return nil, err
	}
	x := t.ids.file()
	x.Bytes = file
	x.where.Store(&Spot{where(), name})
	if err := file.Renamed(x.Shown()); err != nil {
		file.Close()
		return nil, err
	}
	t.states.Files.Follow(where, func(s *Named) { s.enter(x, Spot{where(), name}) })
	return x, nil
}

// MakeFile creates an empty file of the scratch folder, and counts it.
func (t *Files) MakeFile() (*scratch.File, error) {
	file, err := t.scratch.Make()
	if err != nil {
		return nil, fmt.Errorf("scratch folder: %w", err)
	}
	t.Space.Add(file)
	return file, nil
}

// MakeLink makes a transient that is a symbolic link. What is there already is fs.ErrExist.
func (t *Files) MakeLink(dir, name, text string) (*File, error) {
	x := t.ids.file()
	x.Link = text
	if !t.enterNew(x, dir, name) {
		return nil, iofs.ErrExist
	}
	return x, nil
}

// Announce makes sure that there is a transient for the name of a view that is about to be written.
// It is in the group whose path where returns. No rename comes between that and prepare. If prepare
// returns false it does nothing, and neither does Announce.
func (t *Files) Announce(
	where func() string, name string, prepare func() bool,
) (announced bool) {
	x := t.ids.file()
	t.states.Files.Follow(where, func(s *Named) {
		if announced = prepare(); announced && (*s)[name] == nil {
			s.enter(x, Spot{where(), name})
		}
	})
	return announced
}

// new returns a transient that has no place yet.
// ids gives each file of a mount a number of its own.
type ids struct{ last atomic.Uint64 }

// file returns a new file.
func (i *ids) file() *File { return &File{id: i.last.Add(1)} }

// enterNew puts a transient in its place, and reports whether none is there.
func (t *Files) enterNew(x *File, dir, name string) (entered bool) {
	t.states.Files.Make(dir, func(s *Named) {
		if entered = (*s)[name] == nil; entered {
			s.enter(x, Spot{dir, name})
		}
	})
	return entered
}

// Hold counts a program that has an announced view open, and reports whether the view is there
// still.
func (t *Files) Hold(x *File) (has bool) {
	t.states.Files.Follow(x.dir, func(s *Named) {
		if has = s.has(x); has {
			x.held++
		}
	})
	return has
}

// LetGo ends such a count. With the last count it takes the transient off the list, if any of its
// programs was refused, and reports whether it did.
func (t *Files) LetGo(x *File, refused bool) (removed bool) {
	t.states.Files.Follow(x.dir, func(s *Named) {
		x.held--
		x.over = x.over || refused
		removed = x.over && x.held == 0 && s.remove(x)
	})
	return removed
}

// Opened counts a handle by which a transient can be written.
func (t *Files) Opened(x *File) {
	t.states.Files.Follow(x.dir, func(*Named) { x.writers++ })
}

// Closed ends such a count, and reports whether that was the last one.
func (t *Files) Closed(x *File) (last bool) {
	t.states.Files.Follow(x.dir, func(*Named) {
		x.writers--
		last = x.writers == 0
	})
	return last
}

// NoteLate notes that a transient is late for the array that is made now, if it can still be
// written, and reports whether it can.
func (t *Files) NoteLate(x *File) (late bool) {
	t.states.Files.Follow(x.dir, func(*Named) {
		if late = x.writers > 0; late {
			x.late.Store(true)
		}
	})
	return late
}

// Drop takes a transient off the list, and reports whether it was there. Its bytes stay with the
// programs that have it open.
func (t *Files) Drop(x *File) (dropped bool) {
	t.states.Files.Follow(x.dir, func(s *Named) { dropped = s.remove(x) })
	return dropped
}

// End takes a transient out of the mount, because it has become something else, or was removed.
func (t *Files) End(x *File) {
	t.Drop(x)
	t.o.Ended(x.Key())
	if x.Bytes != nil {
		x.Bytes.Drop()
	}
}

// DropUnused is Drop of a file that no program has open for writing, and that was last changed at
// that time. The file may be set aside.
func (t *Files) DropUnused(x *File, changed time.Time) (dropped bool) {
	all := t.states.Files
	if x.IsAside() {
		all = t.states.Texts
	}
	all.Follow(x.dir, func(s *Named) {
		dropped = x.writers == 0 && x.Changed().Equal(changed) && s.remove(x)
	})
	return dropped
}

// Rename gives a transient another name. The one that had it ends. It calls also in the same step.
func (t *Files) Rename(x *File, to Spot, also func()) {
	var replaced *File
	t.states.Files.Both(func() (string, string) { return x.dir(), to.Dir }, func(from, s *Named) {
		from.remove(x)
		replaced = (*s)[to.Name]
		s.enter(x, to)
		also()
	})
	t.renameKept(x)
	if replaced != nil {
		t.End(replaced)
	}
}

// Has reports whether a transient is there still, under whatever name.
func (t *Files) Has(x *File) (here bool) {
	t.states.Files.Follow(x.dir, func(s *Named) { here = s.has(x) })
	return here
}

// isBeingWritten reports whether a transient is open for writing.
func (t *Files) isBeingWritten(x *File) (busy bool) {
	t.states.Files.Follow(x.dir, func(*Named) { busy = x.writers > 0 })
	return busy
}

// KeepText keeps a text in the scratch folder, in the place of one that was refused under the same
// name before. It survives a kill of the process.
func (t *Files) KeepText(at Spot, text []byte) error {
	if err := t.Space.Take(int64(len(text))); err != nil {
		return err
	}
	file, err := t.MakeFile()
	if err != nil {
		return err
	}
	x := t.ids.file()
	x.Bytes = file
	x.where.Store(&at)
	if _, err = file.WriteAt(text, 0); err == nil {
		err = file.Keep(x.Shown())
	}
	if err != nil {
		file.Close()
		return err
	}
	var old *File
	t.states.Texts.Make(at.Dir, func(s *Named) {
		old = s.discard(at.Name)
		s.enter(x, at)
	})
	forget(old)
	return nil
}

// ForgetText ends a text that was refused under that name. If the process is killed after that,
// nothing of the text is left.
func (t *Files) ForgetText(at Spot) {
	var old *File
	t.states.Texts.Edit(at.Dir, func(s *Named) { old = s.discard(at.Name) })
	forget(old)
}
