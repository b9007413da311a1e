package store

import "context"

// Unfinished is what programs leave in a store when they are killed: it is noted before it is made,
// so that it is found after. Its errors are as those of Store.
type Unfinished struct {
	at   keyspace
	name string // of the store
}

// Unfinished returns what is unfinished in the store.
func (s *Store) Unfinished() Unfinished { return Unfinished{s.keyspace, s.name} }

// Note lets Clean remove dir, with all below it, if this program dies while dir is made. Call it
// before. dir must hold an object named UnfinishedMark, whose content is mark: by that Clean knows
// that it is this directory, and not another one of that name. Rename and Replace of dir remove the
// mark, and they and RemoveAll forget the note. If dir is not made, call forget. A backend that has
// no memory for that returns no mark, and dir needs none then.
func (u Unfinished) Note(
	ctx context.Context, dir string,
) (mark []byte, forget func(), err error) {
	w, rel, err := u.at.writer(dir)
	if err != nil {
		return nil, nil, annotate("note", dir, err)
	}
	n, ok := w.(Noter)
	if !ok {
		return nil, func() {}, nil
	}
	mark, forget, err = n.NoteUnfinished(ctx, rel)
	return mark, forget, annotate("note", dir, err)
}

// IsAbandoned reports whether dir is marked as unfinished, and no program notes it any more: nobody
// makes it, and no Clean will find it.
func (u Unfinished) IsAbandoned(ctx context.Context, dir string) bool {
	w, rel, err := u.at.writer(dir)
	n, ok := w.(Noter)
	return err == nil && ok && n.IsAbandoned(ctx, rel)
}

// Clean removes what killed writers of this program left in the store. Call it when a store is
// mounted for writing.
func (u Unfinished) Clean(ctx context.Context) error {
	if c, ok := u.at.driver.(Cleaner); ok {
		return annotate("clean", u.name, c.Clean(ctx))
	}
	return nil
}
