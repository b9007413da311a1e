package dirstore

import (
	"context"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// This file is about directories that Clean removes, because the program that made or replaced them
// has died before it was done. Each is noted before, with a name in it that says why.

var _ store.Noter = (*Driver)(nil)

// NoteUnfinished notes that a directory may be unfinished; see store.Store.
func (d *Driver) NoteUnfinished(ctx context.Context, dir string) (forget func(), err error) {
	r, err := d.begin(ctx)
	if err != nil {
		return nil, err
	}
	s, err := r.staging()
	if err != nil {
		return nil, err
	}
	forgetTree, err := s.noteTree(r.full(dir) + "/" + store.UnfinishedMark)
	if err != nil {
		r.done(s)
		return nil, err
	}
	return func() {
		forgetTree()
		r.done(s)
	}, nil
}

// sweepTree removes the directory of a name that was noted, if it is the one that was meant: one
// that was replaced, or is marked as unfinished. Another one of that path stays. It goes into
// the folder, which is being removed.
func (r *root) sweepTree(noted string, folder *os.File) error {
	name := path.Base(noted)
	born, isReplaced := strings.CutPrefix(name, replacedPrefix)
	if !isReplaced && name != store.UnfinishedMark {
		return nil
	}
	p, birth, err := r.directory(path.Dir(noted))
	if err != nil {
		return ignoring(err, fs.ErrNotExist, store.ErrThroughLink)
	}
	defer p.close()
	if isReplaced && (birth == "" || birth != born) || !isReplaced && !r.holds(noted) {
		return nil
	}
	return unix.Renameat(p.dir, p.name, int(folder.Fd()), fmt.Sprintf("swept-%x", rand.Uint64()))
}

// holds reports whether there is a file of that key, to which no link leads.
func (r *root) holds(key string) bool {
	p, err := r.straightPlace(key)
	if err != nil {
		return false
	}
	defer p.close()
	st, err := p.lstat()
	return err == nil && kindOf(&st) == unix.S_IFREG
}
