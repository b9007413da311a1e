// Package alias remembers which program created, renamed or removed an array, and by which of its
// names. What the array's other names show to a program depends on that.
package alias

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/zarrfs/zarrfs/fs/pathstate"
	"github.com/zarrfs/zarrfs/fs/program"
	"github.com/zarrfs/zarrfs/fs/view"
	"github.com/zarrfs/zarrfs/fs/wire"
	"github.com/zarrfs/zarrfs/zarrcore"
)

// An array has several names, and programs that copy or move trees take each of them for a file of
// its own. `cp -r` creates a.json, and with it the array, and is then surprised by an a.npy; `mv
// a.* sub/` renames a.json, and with it the array, and then wants to rename a.npy. So a Trace
// remembers which process made or renamed an array, and by which views. To that process the other
// views are not there yet, or still there.

// Trace is what a process did to an array, or to a group. The one view of a group is its document.
type Trace struct {
	By     program.Process
	At     time.Time // when
	Thread int       // of a group that it made: its thread that did
	Group  string    // of a group that it made: the version of its documents
	Own    view.Set  // of what it made: views through which it did
	hidden view.Set  // of what it made: views that it is not to meet

	described bool // of what it made: it has a document in Own, and what that says was taken

	moved string // where it renamed the array to, which is not here any more; "": it did not
	// of what it renamed: views that it may still rename; of what it removed: those that it may
	// remove; or that it was told of
	left view.Set
	// of left, where it renamed: views that it had written itself, and so will rename
	wrote view.Set

	// the array that was here and that it removed through its only listed view; nil: it did not
	replaced *zarrcore.Node

	// of what it made: lookups of other views before; never changed in place
	awaited []absence
	joined  []program.Process // those of them that have made theirs since
}

// absence notes that a thread got the answer that a view does not exist.
type absence struct {
	thread int
	view   view.Set
	at     time.Time
}

// absentFor is how long that counts: programs that copy look for a file right before they create
// it.
const absentFor = 10 * time.Second

// Traces are the traces of a mount, by path.
type Traces struct {
	*pathstate.Bounded[Trace]
	absences
}

// absences are those of a mount, by the paths of arrays that were not there. They belong to the
// name: a program that looked for it awaits what is made there, or is renamed to it. So they are
// not part of a state.
type absences struct {
	mu     sync.Mutex // innermost
	absent map[string][]absence
}

// maxTraces is how many are kept. They are needed for moments; a process that makes more arrays is
// not a mover.
const maxTraces = 1 << 14

// NewTraces returns the traces that the parts of a mount's states are.
func NewTraces(parts pathstate.Parts[pathstate.Bound[Trace]]) *Traces {
	return &Traces{Bounded: pathstate.NewBounded(parts, maxTraces)}
}

// NoteMiss notes that the sender of a request got the answer that there is no view v of an array at
// path.
func (t *absences) NoteMiss(ctx context.Context, path string, v view.View) {
	thread := wire.Thread(ctx)
	if thread == 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.absent == nil || len(t.absent) >= maxTraces {
		t.absent = make(map[string][]absence)
	}
	now := absence{thread, view.SetOf(v), time.Now()}
	others := slices.DeleteFunc(t.absent[path], func(a absence) bool {
		return a.thread == now.thread && a.view == now.view || now.at.Sub(a.at) > absentFor
	})
	if len(others) >= maxAbsent {
		others = others[1:]
	}
	t.absent[path] = append(others, now)
}

// maxAbsent is how many are remembered to have looked for the views of an array.
const maxAbsent = 64

// NoteCreate notes that the caller created a view file whose array does not exist yet. Other
// processes that looked it up now find it. The caller does not if another view makes the array
// before the file is open.
func (t *absences) NoteCreate(ctx context.Context, path string, v view.View) {
	thread := wire.Thread(ctx)
	t.mu.Lock()
	defer t.mu.Unlock()
	left := slices.DeleteFunc(t.absent[path], func(a absence) bool {
		return a.view == view.SetOf(v) && a.thread != thread
	})
	if len(left) > 0 {
		t.absent[path] = left
	} else {
		delete(t.absent, path)
	}
}

// without returns all but those that looked for v.
func without(all []absence, v view.View) (others []absence) {
	for _, a := range all {
		if a.view != view.SetOf(v) {
			others = append(others, a)
		}
	}
	return others
}

// since returns those who looked for views of the array at path a moment ago.
func (t *absences) since(path string, now time.Time) []absence {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := t.absent[path]
	delete(t.absent, path)
	return slices.DeleteFunc(all, func(a absence) bool { return now.Sub(a.at) > absentFor })
}

// NoteMade notes that a process has made the node at path, or a view of it, through v.
func (t *Traces) NoteMade(path string, v view.View, by program.Process) {
	t.Opened(path, v, by)
	if v == view.Document {
		t.Described(path)
	}
}

// MadeGroup notes that a thread of a process has made the group at path. The group's documents have
// the given version. What this process did there before was done to another node.
func (t *Traces) MadeGroup(path, version string, thread int, by program.Process) {
	t.Drop(path)
	t.NoteMade(path, nil, by)
	t.Change(path, func(x *Trace) *Trace {
		x.Thread, x.Group = thread, version
		return x
	})
}

// Described notes that what a document says was taken for the array at path.
func (t *Traces) Described(path string) {
	t.Change(path, func(x *Trace) *Trace {
		x.described = x.Own&view.SetOf(view.Document) != 0
		return x
	})
}

// Opened notes that a process has created the file v of the node at path, and is about to write it.
// It reports whether the process joined another, which has made the node through another view since
// this one looked.
func (t *Traces) Opened(path string, v view.View, by program.Process) (joined bool) {
	if by.PID == 0 {
		return false
	}
	t.Edit(path, func(x *Trace) *Trace {
		if x.isAwaitedBy(by.PID, v) && by.Mover && x.By != by {
			x.joined = append(x.joined, by)
			x.awaited = without(x.awaited, v)
			joined = true
			return x
		}
		if x.IsGone() || x.By != by {
			x = &Trace{By: by, At: time.Now()}
			if by.Mover {
				x.hidden = view.FullSet()
			}
			x.awaited = t.since(path, x.At)
		}
		x.Own |= view.SetOf(v)
		x.hidden &^= view.SetOf(v)
		x.awaited = without(x.awaited, v)
		return x
	})
	return joined
}

// IsGone reports whether a trace says nothing about an existing array.
func (x *Trace) IsGone() bool { return x == nil || x.moved != "" || x.replaced != nil }

// IsJoined reports whether another process has made what is there, too, a moment ago.
func (x *Trace) IsJoined() bool {
	return !x.IsGone() && len(x.joined) > 0 && time.Since(x.At) < absentFor
}

// isAwaitedBy reports whether a thread looked for a view before the array was made through another
// one.
func (x *Trace) isAwaitedBy(thread int, v view.View) bool {
	return !x.IsGone() && slices.ContainsFunc(x.awaited, func(a absence) bool {
		return a.thread == thread && a.view == view.SetOf(v)
	})
}

// Renamed notes that a mover has renamed the array at path by the name of v. It may rename the
// names of listed to the same place: to it they are still there, and not there yet. It had written
// those of wrote.
func (t *Traces) Renamed(path, to string, v view.View, listed, wrote view.Set, by program.Process) {
	if !by.Mover {
		return
	}
	t.NoteMade(to, v, by)
	if left := listed &^ view.SetOf(v); left != 0 {
		t.Put(path, &Trace{By: by, At: time.Now(), moved: to, left: left, wrote: wrote})
	}
}

// Unlinked notes that a process has removed the link at path by the name of v, when the array that
// it led to was gone. It had other names, for instance when the process listed its group, and the
// process may remove those.
func (t *Traces) Unlinked(path string, v view.View, by program.Process) {
	if by.PID == 0 {
		return
	}
	t.Put(path, &Trace{By: by, At: time.Now(), moved: nowhere,
		left: view.FullSet() &^ view.SetOf(v)})
}

// Refused notes that a process was told that there is a file v of the array at path, although v was
// removed. To that process it is there from now on. mv looks for the file then, and mv 9.1 fails if
// it does not find it.
func (t *Traces) Refused(path string, v view.View, by program.Process) {
	if by.PID == 0 {
		return
	}
	t.Edit(path, func(x *Trace) *Trace {
		if x == nil || x.By != by {
			x = &Trace{By: by, At: time.Now(), moved: nowhere}
		}
		x.left |= view.SetOf(v)
		return x
	})
}

// nowhere stands for a path to which nothing can be renamed.
const nowhere = "\x00"

// Removed notes that a process has removed the array or group at path. If replaced is not nil, it
// is the removed array, and only one listed view kept it. The process may also remove the names of
// left, which its listing of the group had.
func (t *Traces) Removed(path string, replaced *zarrcore.Node, left view.Set, by program.Process) {
	if by.PID == 0 || replaced == nil && left == 0 {
		return
	}
	t.Put(path, &Trace{By: by, At: time.Now(), moved: nowhere, replaced: replaced, left: left})
}

// Replacing returns the array that the process by has just removed, and so replaces by what it
// makes there. It returns nil if the process has not removed one.
func (x *Trace) Replacing(by program.Process) *zarrcore.Node {
	if x == nil || x.By != by || time.Since(x.At) > replacedFor {
		return nil
	}
	return x.replaced
}

// replacedFor is how long a program has for that.
const replacedFor = 10 * time.Second

// Put enters a trace.
func (t *Traces) Put(path string, x *Trace) {
	t.Edit(path, func(*Trace) *Trace { return x })
}

// IsMade reports whether somebody has made what is there through this mount.
func (x *Trace) IsMade() bool { return !x.IsGone() && x.Own != 0 }

// IsMadeUndescribed reports whether one process has made the array that is there, through v and
// maybe others of its views, but not its document.
func (x *Trace) IsMadeUndescribed(v view.View) bool {
	has := func(v view.View) bool { return x.Own&view.SetOf(v) != 0 }
	return x.IsMade() && has(v) && !has(view.Document) && len(x.joined) == 0
}

// WrittenBy returns the views of what is there that the process by has created, and not removed or
// renamed since.
func (x *Trace) WrittenBy(by program.Process) view.Set {
	if !x.IsMade() || x.By != by {
		return 0
	}
	return x.Own &^ x.hidden
}

// Awaits reports whether the process by has yet to rename a file that it wrote below the group at
// dir: the group's document, or a view of an array that it has renamed by another one.
func (t *Traces) Awaits(dir string, by program.Process) bool {
	return t.HasAny(dir, func(path string, x *Trace) bool {
		return x.By == by && x.left&x.wrote != 0 ||
			path == dir && x.WrittenBy(by)&view.SetOf(view.Document) != 0
	})
}

// Hides reports whether a view that exists must stay invisible to the caller. It must if the caller
// has made the array itself. It must also if the caller is a mover that looked for the view just
// before another process made the array: then it is about to make the view.
func (x *Trace) Hides(ctx context.Context, v view.View) bool {
	if x.IsGone() {
		return false
	}
	if x.isAwaitedBy(wire.Thread(ctx), v) && wire.Caller(ctx).Mover {
		return true
	}
	return x.hidden&view.SetOf(v) != 0 && x.By == wire.Caller(ctx)
}

// HidesFrom is hides for a caller that is known.
func (x *Trace) HidesFrom(by program.Process, v view.View) bool {
	return !x.IsGone() && x.hidden&view.SetOf(v) != 0 && x.By == by
}

// Replaces reports whether the process by has removed the file v of a node that is there still. It
// has made no file of the node since.
func (x *Trace) Replaces(by program.Process, v view.View) bool {
	return x.HidesFrom(by, v) && !x.IsMade()
}

// Lacks reports whether nobody has made the node through v, or the node is hidden from the process.
func (x *Trace) Lacks(by program.Process, v view.View) bool {
	return x.HidesFrom(by, v) || x.IsMade() && x.Own&view.SetOf(v) == 0
}

// Leaves reports whether the caller may still rename a view of an array that it has renamed. It
// also reports whether it may still remove a name of a link or array that it has removed.
func (x *Trace) Leaves(ctx context.Context, v view.View) bool {
	return x != nil && x.left&view.SetOf(v) != 0 && x.By == wire.Caller(ctx)
}

// Follows reports whether the process by renames v of an array to where it has renamed the array.
func (x *Trace) Follows(by program.Process, to string, v view.View) bool {
	return x != nil && x.left&view.SetOf(v) != 0 && x.By == by && x.moved == to
}

// IsUnfinished reports whether the creator may still replace the document. Either by made the array
// through other views just now. Or it is a mover that writes the document just after other
// processes made the array of its .npy. These may have created the document's file, too, as long as
// nothing of it was taken.
func (x *Trace) IsUnfinished(by program.Process) bool {
	if !x.IsMade() {
		return false
	}
	others := by.Mover && !x.described && time.Since(x.At) < absentFor
	return x.By == by || slices.Contains(x.joined, by) || others
}

// Hide notes that a process has removed a file of a node that is there still: the document of a
// group, or a derived view.
func (t *Traces) Hide(path string, v view.View, by program.Process) {
	t.Edit(path, func(x *Trace) *Trace {
		if x.IsGone() || x.By != by {
			x = &Trace{By: by}
		}
		x.hidden |= view.SetOf(v)
		return x
	})
}

// Leave notes that the process that renamed the array has renamed another name of it, or does not
// mean to.
func (t *Traces) Leave(path string, v view.View) {
	t.Change(path, func(x *Trace) *Trace {
		if x.left &^= view.SetOf(v); x.left == 0 && x.replaced == nil {
			return nil
		}
		return x
	})
}
