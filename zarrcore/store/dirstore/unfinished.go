package dirstore

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// This file is about unfinished directories: the program that made or replaced them has died before
// it was done. Clean removes them. Each is noted before, with a name below its path that says which
// directory is meant. That name has the birth of the directory, or its mark.

var _ store.Noter = (*Driver)(nil)

// NoteUnfinished notes that a directory may be unfinished; see store.Unfinished.
func (d *cleaner) NoteUnfinished(
	ctx context.Context, dir string,
) (mark []byte, forget func(), err error) {
	r, err := d.begin(ctx)
	if err != nil {
		return nil, nil, err
	}
	return r.unfinished.note(r.full(dir))
}

// unfinishedDirs are the directories of a store that are noted as unfinished, because this program
// makes them.
type unfinishedDirs struct {
	area *area
	mu   sync.Mutex
	dirs map[string]*unfinished // by their full paths
}

// unfinished is a directory that is noted as unfinished.
type unfinished struct {
	id         string // its mark
	s          *staging
	forgetTree func() // erases the note; guarded by unfinishedDirs.mu
}

// note notes the directory that is to be made at a path.
func (n *unfinishedDirs) note(path string) (mark []byte, forget func(), err error) {
	s, err := n.area.staging()
	if err != nil {
		return nil, nil, err
	}
	id := fmt.Sprintf("%016x", rand.Uint64())
	forgetTree, err := s.noteTree(path + "/" + unfinishedPrefix + id)
	if err != nil {
		n.area.done(s)
		return nil, nil, err
	}
	u := &unfinished{id: id, forgetTree: forgetTree, s: s}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.dirs == nil {
		n.dirs = map[string]*unfinished{}
	}
	n.dirs[path] = u
	return []byte(id), func() { n.forget(u) }, nil
}

// forget forgets that a directory is unfinished, wherever it is now.
func (n *unfinishedDirs) forget(u *unfinished) {
	n.mu.Lock()
	known := false
	maps.DeleteFunc(n.dirs, func(_ string, other *unfinished) bool {
		known = known || other == u
		return other == u
	})
	n.mu.Unlock()
	if known {
		u.forgetTree()
		n.area.done(u.s)
	}
}

// at returns what forgets the directory at a path, or nil if it is not noted.
func (n *unfinishedDirs) at(path string) (forget func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	u := n.dirs[path]
	if u == nil {
		return nil
	}
	return func() { n.forget(u) }
}

// carry notes the directories below from at their places below to as well, where a rename is about
// to take them. The caller calls arrived with the error of the rename: then one of the two notes of
// each is erased. After a kill in between Clean finds it by either.
func (n *unfinishedDirs) carry(from, to string) (arrived func(error), err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	notes := map[string]func(){} // erase them, by the old paths
	for path, u := range n.dirs {
		below, ok := strings.CutPrefix(path, from+"/")
		if !ok {
			continue
		}
		erase, err := u.s.noteTree(to + "/" + below + "/" + unfinishedPrefix + u.id)
		if err != nil {
			eraseAll(notes)
			return nil, err
		}
		notes[path] = erase
	}
	return func(failed error) {
		n.mu.Lock()
		defer n.mu.Unlock()
		for path, erase := range notes {
			u := n.dirs[path]
			if failed != nil || u == nil {
				erase()
				continue
			}
			u.forgetTree()
			u.forgetTree = erase
			delete(n.dirs, path)
			n.dirs[to+strings.TrimPrefix(path, from)] = u
		}
	}, nil
}

func eraseAll(notes map[string]func()) {
	for _, erase := range notes {
		erase()
	}
}

// finish takes the mark from the directory at key, if it is noted as unfinished, and forgets it.
func (d *dirs) finish(r *root, key string) error {
	forget := r.unfinished.at(r.full(key))
	if forget == nil {
		return nil
	}
	m, err := r.straightPlace(key + "/" + store.UnfinishedMark)
	if err != nil {
		return err
	}
	defer m.close()
	if err := ignoring(m.unlink(0), fs.ErrNotExist); err != nil {
		return err
	}
	if !d.options.NoSync {
		err = r.syncDir(key)
	}
	forget()
	return err
}

// The names begin so under which the owner of a staging folder notes a directory. What tells it
// from others of that path follows: its birth if it is being replaced, otherwise its mark.
const (
	replacedPrefix   = ".zarrfs-replaced-"
	unfinishedPrefix = store.UnfinishedMark + "-"
)

// IsAbandoned reports whether a directory has a mark of which no program has a note; see
// store.Unfinished. The one that made it is dead, and another program has moved it since, so that
// Clean did not find it.
func (d *cleaner) IsAbandoned(ctx context.Context, dir string) bool {
	r, err := d.begin(ctx)
	if err != nil {
		return false
	}
	p, err := r.straightPlace(dir)
	if err != nil {
		return false
	}
	mark := p.mark()
	p.close()
	return mark != "" && r.leftovers.notesNone(unfinishedPrefix+mark)
}

// markMost is more than a mark has, in bytes.
const markMost = 64

// mark returns the mark of the directory at the place, to which no link leads. It is "" if the
// directory has no mark.
func (p place) mark() string {
	m, err := p.r.straightPlace(p.key + "/" + store.UnfinishedMark)
	if err != nil {
		return ""
	}
	defer m.close()
	f, err := openIn(m.dir, m.name, unix.O_RDONLY)
	if err != nil {
		return ""
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, markMost))
	if err != nil {
		return ""
	}
	return string(text)
}
