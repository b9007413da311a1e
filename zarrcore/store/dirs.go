package store

import (
	"context"
	"errors"
	"time"
)

// Dirs are the directories of a store: which one is at a key, and what becomes of one with all that
// is below it. Its errors are as those of Store.
type Dirs struct{ at keyspace }

// Dirs returns the directories of the store.
func (s *Store) Dirs() Dirs { return Dirs{s.keyspace} }

// Identity tells the directory dir from one that is recreated in its place, as Identifier.Identity
// does. In a store that cannot tell them apart it is "".
func (d Dirs) Identity(ctx context.Context, dir string) (identity string, err error) {
	i, ok := d.at.driver.(Identifier)
	if !ok {
		return "", nil
	}
	rel, err := d.at.dir(dir)
	if err == nil {
		identity, err = i.Identity(ctx, rel)
	}
	return identity, annotate("stat", dir, err)
}

// AreDifferent reports whether two identities are certain to be those of different directories.
func AreDifferent(a, b string) bool { return a != "" && b != "" && a != b }

// Refresh makes the backend forget what it remembers of dir and below; see Refresher.
func (d Dirs) Refresh(dir string) {
	if r, ok := d.at.driver.(Refresher); ok && d.at.within == "" {
		r.Refresh(dir)
	}
}

// MayWrite returns nil if objects in dir can be made and replaced, as far as is known, or why not.
func (d Dirs) MayWrite(ctx context.Context, dir string) error {
	p, ok := d.at.driver.(Permitter)
	if !ok {
		return nil
	}
	rel, err := d.at.dir(dir)
	if err == nil {
		err = p.MayWrite(ctx, rel)
	}
	return annotate("write to", dir, err)
}

// Stamp sets the modification time of the directory dir, in a backend that can; see Stamper. The
// zero time is now.
func (d Dirs) Stamp(ctx context.Context, dir string, at time.Time) error {
	rel, err := d.at.dir(dir)
	if s, ok := d.at.driver.(Stamper); ok && err == nil {
		err = s.Stamp(ctx, rel, at)
	}
	return annotate("stamp", dir, err)
}

// Prune removes the directory dir, and all below it, as far as they hold no object. Such
// directories were made for objects that are gone. The directory of a held Store stays. A missing
// dir is not an error.
func (d Dirs) Prune(ctx context.Context, dir string) error {
	rel, err := d.at.dir(dir)
	if p, ok := d.at.driver.(Pruner); ok && err == nil {
		err = p.Prune(ctx, rel)
	}
	return annotate("remove", dir, err)
}

// RemoveAll removes dir and all below it. It vanishes as a whole where the backend can do that: no
// reader, and no crash, finds half of it. An error after that says that some of what it held
// is still stored, though no key leads there. A missing dir is fs.ErrNotExist; so is an object.
func (d Dirs) RemoveAll(ctx context.Context, dir string) error {
	w, rel, err := d.at.writer(dir)
	if err == nil {
		err = w.RemoveAll(ctx, rel)
	}
	return annotate("remove", dir, err)
}

// RemoveAlone removes the directory dir, if it holds only objects of names that isOwn reports.
// Otherwise it is ErrNotEmpty, and nothing is removed. What another program makes in the directory
// meanwhile is not removed either. A missing dir is fs.ErrNotExist; so is an object.
func (d Dirs) RemoveAlone(ctx context.Context, dir string, isOwn func(name string) bool) error {
	w, rel, err := d.at.writer(dir)
	if err == nil {
		err = w.RemoveAlone(ctx, rel, isOwn)
	}
	return annotate("remove", dir, err)
}

// Rename gives the directory at from, or the object, the key to. It is fs.ErrExist where there is
// something already, and fs.ErrNotExist where there is nothing at from, or no directory that is to
// hold it. A directory cannot go below itself: fs.ErrInvalid.
func (d Dirs) Rename(ctx context.Context, from, to string) error {
	w, relFrom, err := d.at.writer(from)
	if err == nil {
		var relTo string
		if relTo, err = d.at.object(to); err == nil {
			err = w.Rename(ctx, relFrom, relTo)
		}
	}
	return annotate("rename", from, err)
}

// Replace gives the directory at from the key to, and removes the directory that is there. At any
// moment, also after a crash, the old one or the new one is at to, whole. After an error nothing
// has changed. What is not a directory is fs.ErrNotExist, and a directory in the other is
// fs.ErrInvalid. Where the backend cannot do it at once, it is errors.ErrUnsupported. Then Rename
// would succeed if nothing were at to.
func (d Dirs) Replace(ctx context.Context, from, to string) error {
	w, relFrom, err := d.at.writer(from)
	r, ok := w.(Replacer)
	if err == nil && !ok {
		err = errors.ErrUnsupported
	}
	if err == nil {
		var relTo string
		if relTo, err = d.at.object(to); err == nil {
			err = r.Replace(ctx, relFrom, relTo)
		}
	}
	return annotate("rename", from, err)
}
