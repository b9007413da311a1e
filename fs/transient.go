package fs

import (
	"fmt"
	iofs "io/fs"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/zarrfs/zarrfs/fs/names"
)

// A transient is a file of the mount that the store does not have, because its name is no view (".a.npy.Xy7", "a.json~"),
// or is the view of an array that is not there yet. It lives in the scratch folder, without a name, until it is renamed
// onto a view, becomes an array, or is removed. What is left of it when the mount ends is kept in a folder (keep.go).
type transient struct {
	id    uint64
	file  *scratchFile // nil: the file of a view that is about to be written, and empty until it is; or a link
	link  string       // the text of a symbolic link; "": it is not a link
	where atomic.Pointer[spot]

	held int  // by how many programs that have it open to make it an array; guarded by transients.mu
	over bool // one of them was refused; guarded by transients.mu

	writers int         // handles by which it can be written; guarded by transients.mu
	late    atomic.Bool // a .raw file whose array a document made while it was open for that
	whole   atomic.Bool // it was closed since it was written
	stored  atomic.Bool // of one that is late: all that was written is in the array
	said    atomic.Bool // the log says that it is no view, or will soon

	refused atomic.Pointer[error] // why it could not become a view when that was last tried; nil: it was not
}

// spot is where a transient is: the path of its group, and its name there as it is shown.
type spot struct{ dir, name string }

// key names the transient's node, wherever it is. No path in a store contains NUL.
func (x *transient) key() fileKey {
	return fileKey{"\x00" + strconv.FormatUint(x.id, 10), transientView}
}

// path tells people where the transient is.
func (x *transient) path() string {
	at := x.where.Load()
	return names.Join(at.dir, at.name)
}

// transientView is the view of transients among the identities of nodes.
const transientView = "transient"

// transients are all transients of a mount, by group. The lock is innermost.
type transients struct {
	scratch string // folder
	space   transientSpace
	files   scratchFiles

	mu   sync.Mutex
	last uint64 // id
	dirs map[string]map[string]*transient
}

// find returns the transient of that name, nil if there is none.
func (t *transients) find(dir, name string) *transient {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.dirs[dir][name]
}

// in returns the transients in a group, by name.
func (t *transients) in(dir string) []*transient {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := slices.Collect(maps.Values(t.dirs[dir]))
	slices.SortFunc(all, func(a, b *transient) int { return strings.Compare(a.where.Load().name, b.where.Load().name) })
	return all
}

// make creates an empty transient with a file of its own.
func (t *transients) make(dir, name string) (*transient, error) {
	file, err := t.files.make()
	if err != nil {
		return nil, fmt.Errorf("scratch folder: %w", err)
	}
	t.space.addScratch(file)
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.add(file, dir, name), nil
}

// makeLink makes a transient that is a symbolic link. What is there already is fs.ErrExist.
func (t *transients) makeLink(dir, name, text string) (*transient, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.dirs[dir][name] != nil {
		return nil, iofs.ErrExist
	}
	x := t.add(nil, dir, name)
	x.link = text
	return x, nil
}

// announce makes sure that there is a transient for the name of a view that is about to be written.
func (t *transients) announce(dir, name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.dirs[dir][name] == nil {
		t.add(nil, dir, name)
	}
}

// hold counts a program that has an announced view open, and reports whether that is there still.
func (t *transients) hold(x *transient) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.has(x) {
		return false
	}
	x.held++
	return true
}

// letGo ends such a count. If that was the last one, it takes off the list what any of them was refused, and reports whether it did.
func (t *transients) letGo(x *transient, refused bool) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	x.held--
	x.over = x.over || refused
	if !x.over || x.held > 0 || !t.has(x) {
		return false
	}
	t.remove(*x.where.Load())
	return true
}

// opened counts a handle by which a transient can be written.
func (t *transients) opened(x *transient) {
	t.mu.Lock()
	defer t.mu.Unlock()
	x.writers++
}

// closed ends such a count, and reports whether that was the last one.
func (t *transients) closed(x *transient) (last bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	x.writers--
	return x.writers == 0
}

// noteLate notes that a transient is late for the array that is made now, if it can still be written, and reports whether it can.
func (t *transients) noteLate(x *transient) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if x.writers > 0 {
		x.late.Store(true)
	}
	return x.writers > 0
}

// has reports whether a transient is on the list. The caller holds mu.
func (t *transients) has(x *transient) bool {
	at := x.where.Load()
	return t.dirs[at.dir][at.name] == x
}

// add enters a new transient. The caller holds mu.
func (t *transients) add(file *scratchFile, dir, name string) *transient {
	t.last++
	x := &transient{id: t.last, file: file}
	t.enter(x, spot{dir, name})
	return x
}

// enter puts a transient in its place. The caller holds mu.
func (t *transients) enter(x *transient, at spot) {
	if t.dirs == nil {
		t.dirs = make(map[string]map[string]*transient)
	}
	if t.dirs[at.dir] == nil {
		t.dirs[at.dir] = make(map[string]*transient)
	}
	x.where.Store(&at)
	t.dirs[at.dir][at.name] = x
}

// drop takes a transient off the list, and reports whether it was there. Its bytes stay with who has it open.
func (t *transients) drop(x *transient) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.has(x) {
		return false
	}
	t.remove(*x.where.Load())
	return true
}

// remove ends a name. The caller holds mu.
func (t *transients) remove(at spot) {
	delete(t.dirs[at.dir], at.name)
	if len(t.dirs[at.dir]) == 0 {
		delete(t.dirs, at.dir)
	}
}

// rename gives a transient another name, and returns the one that had it.
func (t *transients) rename(x *transient, to spot) (replaced *transient) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.has(x) {
		t.remove(*x.where.Load())
	}
	replaced = t.dirs[to.dir][to.name]
	t.enter(x, to)
	return replaced
}

// move follows a group from one path to another.
func (t *transients) move(from, to string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, dir := range slices.Collect(maps.Keys(t.dirs)) {
		if !names.IsUnder(dir, from) {
			continue
		}
		all := t.dirs[dir]
		delete(t.dirs, dir)
		for name, x := range all {
			t.enter(x, spot{names.Moved(dir, from, to), name})
		}
	}
}

// maxTransients is how many transients are named where all are spoken of.
const maxTransients = 20

// here reports whether a transient is there still, under whatever name.
func (t *transients) here(x *transient) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.has(x)
}

// busy reports whether a transient is open for writing.
func (t *transients) busy(x *transient) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return x.writers > 0
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
