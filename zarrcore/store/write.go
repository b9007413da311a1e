package store

import (
	"context"
	"errors"
	"io/fs"
)

// If is the condition of replacing or deleting an object. The zero If is always met.
type If struct {
	// Version is the Info.Version that the object must have, or Absent; "" is any, or none.
	Version string
}

// Absent, as If.Version, demands that there is no object. No Info has it.
const Absent = "absent\x00"

// Conflict returns ErrConflict where an object does not meet the condition: exists reports whether
// it is there, version is its Info.Version. It is for drivers.
func (c If) Conflict(exists bool, version string) error {
	switch {
	case c.Version == "" || c.Version == Absent && !exists || exists && c.Version == version:
		return nil
	}
	return ErrConflict
}

// Staged is an object that is written and not yet visible. Commit or Discard ends it. One goroutine
// uses it at a time.
type Staged struct {
	key    string
	object StagedObject // nil once ended
	size   int64
}

// Size is how many bytes the object has.
func (st *Staged) Size() int64 { return st.size }

// IsWritable reports whether the store can be changed: whether the backend can write at all, and
// may as things are.
func (s *Store) IsWritable() bool {
	w, ok := s.driver.(Writer)
	return ok && w.IsWritable()
}

// Stage writes data for key, not yet visible and not yet durable. data is the caller's again when
// Stage has returned.
func (s *Store) Stage(ctx context.Context, key string, data []byte) (*Staged, error) {
	return s.StageParts(ctx, key, func(dst Parts) error {
		_, err := dst.Write(data)
		return err
	})
}

// StageParts is Stage for what write writes, part by part: where the backend can, no more of an
// object is in memory than one part. An error of write comes back as it is, and nothing is staged
// then. write is called once more if another program has meanwhile removed what was written.
func (s *Store) StageParts(
	ctx context.Context, key string, write func(dst Parts) error,
) (*Staged, error) {
	w, rel, err := s.writer(key)
	if err != nil {
		return nil, annotate("write", key, err)
	}
	var failed error
	var size int64
	o, err := w.Stage(ctx, rel, func(dst Parts) error {
		named := namedParts{dst, key, 0}
		failed, size = write(&named), named.size
		return failed
	})
	switch {
	case err == nil:
		return &Staged{key: key, object: o, size: size}, nil
	case failed != nil:
		return nil, failed
	}
	return nil, annotate("write", key, err)
}

// namedParts is Parts whose errors name the key. It counts the bytes.
type namedParts struct {
	Parts
	key  string
	size int64
}

// Write is that of Parts.
func (p *namedParts) Write(b []byte) (int, error) {
	n, err := p.Parts.Write(b)
	p.size += int64(n)
	return n, annotate("write", p.key, err)
}

// WriteAt is that of Parts.
func (p *namedParts) WriteAt(b []byte, off int64) (int, error) {
	n, err := p.Parts.WriteAt(b, off)
	return n, annotate("write", p.key, err)
}

// SyncStaged makes staged objects durable, all at once: none of them can come out of a power cut
// empty or in part once it is committed. After an error none of them can be trusted: discard them
// and stage again.
func (s *Store) SyncStaged(ctx context.Context, staged []*Staged) error {
	w, ok := s.driver.(Writer)
	if !ok {
		return annotate("sync", s.name, ErrReadOnly)
	}
	objects := make([]StagedObject, 0, len(staged))
	for _, st := range staged {
		if st.object != nil {
			objects = append(objects, st.object)
		}
	}
	return w.SyncStaged(ctx, objects)
}

// Commit puts the object in the place of the one at its key, atomically, if that one meets cond;
// otherwise it is ErrConflict. It returns what Stat would say of the new object. After an error
// nothing has changed and the object is discarded.
func (st *Staged) Commit(ctx context.Context, cond If) (Info, error) {
	o := st.object
	if o == nil {
		return Info{}, annotate("write", st.key, errors.New("committed or discarded before"))
	}
	st.object = nil
	info, err := o.Commit(ctx, cond)
	return info, annotate("write", st.key, err)
}

// Discard forgets the object. After Commit it does nothing.
func (st *Staged) Discard() {
	if o := st.object; o != nil {
		st.object = nil
		o.Discard()
	}
}

// Put stores data at key: staged, durable, committed without a condition.
func (s *Store) Put(ctx context.Context, key string, data []byte) error {
	return s.putIf(ctx, key, data, If{})
}

// PutNew is Put where there is no object; otherwise it is fs.ErrExist.
func (s *Store) PutNew(ctx context.Context, key string, data []byte) error {
	err := s.putIf(ctx, key, data, If{Version: Absent})
	if errors.Is(err, ErrConflict) {
		err = annotate("write", key, fs.ErrExist)
	}
	return err
}

func (s *Store) putIf(ctx context.Context, key string, data []byte, cond If) error {
	st, err := s.Stage(ctx, key, data)
	if err != nil {
		return err
	}
	defer st.Discard()
	if err := s.SyncStaged(ctx, []*Staged{st}); err != nil {
		return err
	}
	_, err = st.Commit(ctx, cond)
	return err
}

// SyncDirs makes durable which objects and directories are at keys: that those committed or made
// are there, and those deleted, removed or renamed away are not.
func (s *Store) SyncDirs(ctx context.Context, keys []string) error {
	w, ok := s.driver.(Writer)
	if !ok {
		return annotate("sync", s.name, ErrReadOnly)
	}
	rel := make([]string, len(keys))
	for i, key := range keys {
		var err error
		if rel[i], err = s.object(key); err != nil {
			return annotate("sync", key, err)
		}
	}
	return w.SyncDirs(ctx, rel)
}

// Delete removes the object at key if it meets cond, otherwise it is ErrConflict. It removes no
// directory that is empty afterwards. A missing key is fs.ErrNotExist, unless cond names a version:
// that is a conflict.
func (s *Store) Delete(ctx context.Context, key string, cond If) error {
	w, rel, err := s.writer(key)
	if err == nil {
		err = w.Delete(ctx, rel, cond)
	}
	return annotate("delete", key, err)
}

// Lock holds, until unlock is called, the lock by which other programs exclude each other from
// reading, changing and replacing the object at key. Where there is no such custom it does nothing.
// Take it before the object is read; Commit does not take it. It is not reentrant.
func (s *Store) Lock(ctx context.Context, key string) (unlock func(), err error) {
	rel, err := s.object(key)
	if err != nil {
		return nil, annotate("lock", key, err)
	}
	l, ok := s.driver.(Locker)
	if !ok {
		return func() {}, nil
	}
	unlock, err = l.Lock(ctx, rel)
	return unlock, annotate("lock", key, err)
}
