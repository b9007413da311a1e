package material

import (
	"slices"
	"time"

	"github.com/zarrfs/zarrfs/fs/view"
)

// Part is what is materialised of the array at a path: the part of the path's state.
type Part struct{ of *array }

// array has the materialised files of one array. Files.mu guards it.
type array struct {
	table *Files
	files map[view.View]*File // that may be opened, or could not be written
	// outdated, but still read: changes of the array are written to them
	followed []*File
	renewed  map[view.View]time.Time // when a file got another inode
}

// array returns what the part is about, which it makes if there is nothing yet.
func (p *Part) array(t *Files) *array {
	if p.of == nil {
		p.of = &array{table: t, files: make(map[view.View]*File),
			renewed: make(map[view.View]time.Time)}
	}
	return p.of
}

// at calls see with what is materialised of the array at path, if there is anything.
func (t *Files) at(path string, see func(*array)) {
	defer t.release()
	t.states.Edit(path, func(p *Part) {
		if p.of == nil {
			return
		}
		t.mu.Lock()
		defer t.mu.Unlock()
		see(p.of)
	})
}

// outdate takes all files out of those that may be opened. Those that programs have open are
// followed. The caller holds Files.mu.
func (a *array) outdate() {
	for _, v := range view.All() {
		m := a.files[v]
		if m == nil {
			continue
		}
		a.table.drop(m)
		if m.ready && m.users > 0 {
			a.followed = append(a.followed, m)
		}
	}
}

// Moved implements pathstate.Part. A file that is not read now is materialised again.
func (p *Part) Moved(string) { p.change((*array).outdate) }

// Ended implements pathstate.Part. Readers keep the old bytes: a successor of that name is not
// shown to them.
func (p *Part) Ended() {
	p.change(func(a *array) {
		a.outdate()
		a.followed = nil
	})
	p.of = nil
}

// change changes what the part is about, if it is about anything, while the states are locked.
func (p *Part) change(do func(*array)) {
	if p.of == nil {
		return
	}
	t := p.of.table
	t.mu.Lock()
	defer t.mu.Unlock()
	do(p.of)
	if len(t.freed) > 0 {
		go t.release()
	}
}

// IsEmpty implements pathstate.Part.
func (p *Part) IsEmpty() bool {
	if p.of == nil {
		return true
	}
	p.of.table.mu.Lock()
	defer p.of.table.mu.Unlock()
	return len(p.of.files) == 0 && len(p.of.followed) == 0 && p.of.isCalm()
}

// isCalm reports whether no file got another inode within calmFor. The caller holds Files.mu.
func (a *array) isCalm() bool {
	for _, at := range a.renewed {
		if time.Since(at) < calmFor {
			return false
		}
	}
	return true
}

// followers returns the files that programs still read, each with one user more. The caller holds
// Files.mu.
func (a *array) followers() []*File {
	for _, m := range a.followed {
		m.users++
	}
	return slices.Clone(a.followed)
}
