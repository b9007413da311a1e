package dirstore

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// This file is about directories that Clean removes, because the program that made or replaced them
// has died before it was done. Each is noted before, with a name in it that says which directory is
// meant: one that was created at that time, or that has that mark.

var _ store.Noter = (*Driver)(nil)

// NoteUnfinished notes that a directory may be unfinished; see store.Store.
func (d *Driver) NoteUnfinished(
	ctx context.Context, dir string,
) (mark []byte, forget func(), err error) {
	r, err := d.begin(ctx)
	if err != nil {
		return nil, nil, err
	}
	s, err := r.staging()
	if err != nil {
		return nil, nil, err
	}
	id := fmt.Sprintf("%016x", rand.Uint64())
	forgetTree, err := s.noteTree(r.full(dir) + "/" + unfinishedPrefix + id)
	if err != nil {
		r.done(s)
		return nil, nil, err
	}
	u := &unfinished{id: id, forgetTree: forgetTree, done: func() { r.done(s) }, s: s}
	whole := r.whole()
	whole.mu.Lock()
	defer whole.mu.Unlock()
	if whole.unfinished == nil {
		whole.unfinished = map[string]*unfinished{}
	}
	whole.unfinished[r.full(dir)] = u
	return []byte(id), func() { whole.forgetUnfinished(u) }, nil
}

// unfinished is a directory that is noted as unfinished.
type unfinished struct {
	id         string // its mark
	s          *staging
	forgetTree func() // erases the note; guarded by root.mu
	done       func() // ends the use of s
}

// forgetUnfinished forgets that a directory is unfinished, wherever it is now.
func (r *root) forgetUnfinished(u *unfinished) {
	r.mu.Lock()
	known := false
	maps.DeleteFunc(r.unfinished, func(_ string, other *unfinished) bool {
		known = known || other == u
		return other == u
	})
	r.mu.Unlock()
	if known {
		u.forgetTree()
		u.done()
	}
}

// unfinishedAt returns what forgets the directory at key, or nil if it is not noted as unfinished.
func (r *root) unfinishedAt(key string) (forget func()) {
	whole := r.whole()
	whole.mu.Lock()
	defer whole.mu.Unlock()
	u := whole.unfinished[r.full(key)]
	if u == nil {
		return nil
	}
	return func() { whole.forgetUnfinished(u) }
}

// carry notes the unfinished directories below from at their places below to as well, where a
// rename is about to take them. The caller calls arrived with the error of the rename: then one of
// the two notes of each is erased. After a kill in between Clean finds it by either.
func (r *root) carry(from, to string) (arrived func(error), err error) {
	whole := r.whole()
	from, to = r.full(from), r.full(to)
	whole.mu.Lock()
	defer whole.mu.Unlock()
	notes := map[string]func(){} // erase them, by the old paths
	for path, u := range whole.unfinished {
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
		whole.mu.Lock()
		defer whole.mu.Unlock()
		for path, erase := range notes {
			u := whole.unfinished[path]
			if failed != nil || u == nil {
				erase()
				continue
			}
			u.forgetTree()
			u.forgetTree = erase
			delete(whole.unfinished, path)
			whole.unfinished[to+strings.TrimPrefix(path, from)] = u
		}
	}, nil
}

func eraseAll(notes map[string]func()) {
	for _, erase := range notes {
		erase()
	}
}

// finish takes the mark from the directory at key, if it is noted as unfinished, and forgets it.
func (d *Driver) finish(r *root, key string) error {
	forget := r.unfinishedAt(key)
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

// sweepTree removes the directory of a name that was noted, if it is the one that was meant.
// Another one of that path stays. It goes into the folder, which is being removed, if it can be
// moved.
func (r *root) sweepTree(noted string, folder *os.File) error {
	key, name := path.Split(noted)
	born, isReplaced := strings.CutPrefix(name, replacedPrefix)
	mark, isUnfinished := strings.CutPrefix(name, unfinishedPrefix)
	if !isReplaced && !isUnfinished {
		return nil
	}
	p, birth, err := r.directory(path.Clean(key))
	if err != nil {
		return ignoring(err, fs.ErrNotExist, store.ErrThroughLink)
	}
	defer p.close()
	if isReplaced && (born == "" || born != birth) {
		return nil
	}
	if isUnfinished && (mark == "" || mark != r.mark(p)) {
		return nil
	}
	name = fmt.Sprintf("swept-%x", rand.Uint64())
	err = unix.Renameat(p.dir, p.name, int(folder.Fd()), name)
	if staysInPlace(err) {
		return r.removeInPlace(p)
	}
	return err
}

// Abandoned reports whether a directory has a mark that no program notes; see store.Store. The one
// that made it is dead, and another program has moved it since, so that Clean did not find it.
func (d *Driver) Abandoned(ctx context.Context, dir string) bool {
	r, err := d.begin(ctx)
	if err != nil {
		return false
	}
	p, err := r.straightPlace(dir)
	if err != nil {
		return false
	}
	mark := r.mark(p)
	p.close()
	return mark != "" && r.whole().notesNone(unfinishedPrefix+mark)
}

// notesNone reports whether no staging folder notes a directory by this name. One that cannot be
// read may.
func (r *root) notesNone(name string) bool {
	dir, err := r.openDir("")
	if err != nil {
		return false
	}
	defer dir.Close()
	err = eachEntry(dir, func(folder string, _ entryKind) error {
		if !isStaging(folder) {
			return nil
		}
		owner, err := openIn(int(dir.Fd()), folder+"/"+ownerName, unix.O_RDONLY)
		if err != nil {
			return ignoring(err, unix.ENOENT)
		}
		defer owner.Close()
		isIt := func(note string) bool { return path.Base(note) == name }
		if slices.ContainsFunc(notes(owner), isIt) {
			return fs.ErrExist
		}
		return nil
	})
	return err == nil
}

// markMost is more than a mark has, in bytes.
const markMost = 64

// mark returns the mark of the directory at p, to which no link leads. It is "" if the
// directory has no mark.
func (r *root) mark(p place) string {
	m, err := r.straightPlace(p.key + "/" + store.UnfinishedMark)
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
