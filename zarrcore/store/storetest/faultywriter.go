package storetest

import (
	"context"
	"errors"
	"io/fs"

	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// faultyWriter adds writing to a faulty driver.
type faultyWriter struct {
	*faulty
	writer store.Writer
}

// fails waits and fails as the injector wants an operation on key.
func (f *faultyWriter) fails(ctx context.Context, kind OpKind, key string) error {
	_, err := f.inject(ctx, Op{Kind: kind, Key: key})
	return err
}

// IsWritable is the driver's.
func (f *faultyWriter) IsWritable() bool { return f.writer.IsWritable() }

// Stage is the driver's, or a fault once all is written.
func (f *faultyWriter) Stage(
	ctx context.Context, key string, write func(store.Parts) error,
) (store.StagedObject, error) {
	o, err := f.writer.Stage(ctx, key, func(dst store.Parts) error {
		if err := write(dst); err != nil {
			return err
		}
		return f.fails(ctx, OpStage, key)
	})
	if err != nil {
		return nil, err
	}
	return &faultyStaged{object: o, faulty: f, key: key}, nil
}

// Make is the driver's, where it has one, or a fault of staging, syncing or committing any of the
// objects.
func (f *faultyWriter) Make(
	ctx context.Context, dir, like string, objects map[string][]byte,
) error {
	m, ok := f.writer.(store.Maker)
	if !ok {
		return errors.ErrUnsupported
	}
	for _, kind := range []OpKind{OpStage, OpSync, OpCommit} {
		for name := range objects {
			if err := f.fails(ctx, kind, dir+"/"+name); err != nil {
				return err
			}
		}
	}
	return m.Make(ctx, dir, like, objects)
}

// SyncStaged is the driver's, or a fault for any of the objects.
func (f *faultyWriter) SyncStaged(ctx context.Context, staged []store.StagedObject) error {
	objects := make([]store.StagedObject, len(staged))
	for i, o := range staged {
		o := o.(*faultyStaged)
		if err := f.fails(ctx, OpSync, o.key); err != nil {
			return &fs.PathError{Op: "sync", Path: o.key, Err: err}
		}
		objects[i] = o.object
	}
	return f.writer.SyncStaged(ctx, objects)
}

// SyncDirs is the driver's, or a fault for any of the keys.
func (f *faultyWriter) SyncDirs(ctx context.Context, keys []string) error {
	for _, key := range keys {
		if err := f.fails(ctx, OpSyncDir, key); err != nil {
			return &fs.PathError{Op: "sync", Path: key, Err: err}
		}
	}
	return f.writer.SyncDirs(ctx, keys)
}

// Delete is the driver's, or a fault.
func (f *faultyWriter) Delete(ctx context.Context, key string, cond store.If) error {
	if err := f.fails(ctx, OpDelete, key); err != nil {
		return err
	}
	return f.writer.Delete(ctx, key, cond)
}

// RemoveAll is the driver's, or a fault.
func (f *faultyWriter) RemoveAll(ctx context.Context, dir string) error {
	if err := f.fails(ctx, OpRemoveAll, dir); err != nil {
		return err
	}
	return f.writer.RemoveAll(ctx, dir)
}

// RemoveAlone is the driver's, or a fault.
func (f *faultyWriter) RemoveAlone(
	ctx context.Context, dir string, isOwn func(name string) bool,
) error {
	if err := f.fails(ctx, OpRemoveAll, dir); err != nil {
		return err
	}
	return f.writer.RemoveAlone(ctx, dir, isOwn)
}

// Rename is the driver's, or a fault.
func (f *faultyWriter) Rename(ctx context.Context, from, to string) error {
	if err := f.fails(ctx, OpRename, from); err != nil {
		return err
	}
	return f.writer.Rename(ctx, from, to)
}

// Replace is the driver's, where it has one, or a fault of the rename.
func (f *faultyWriter) Replace(ctx context.Context, from, to string) error {
	r, ok := f.writer.(store.Replacer)
	if !ok {
		return errors.ErrUnsupported
	}
	if err := f.fails(ctx, OpRename, from); err != nil {
		return err
	}
	return r.Replace(ctx, from, to)
}

// NoteUnfinished is the driver's, where it has one.
func (f *faultyWriter) NoteUnfinished(
	ctx context.Context, dir string,
) (mark []byte, forget func(), err error) {
	if n, ok := f.writer.(store.Noter); ok {
		return n.NoteUnfinished(ctx, dir)
	}
	return nil, func() {}, nil
}

// IsAbandoned is the driver's, where it has one.
func (f *faultyWriter) IsAbandoned(ctx context.Context, dir string) bool {
	n, ok := f.writer.(store.Noter)
	return ok && n.IsAbandoned(ctx, dir)
}

// Lock is the driver's, where it has one, or a fault.
func (f *faultyWriter) Lock(ctx context.Context, key string) (unlock func(), err error) {
	if err := f.fails(ctx, OpLock, key); err != nil {
		return nil, err
	}
	if l, ok := f.writer.(store.Locker); ok {
		return l.Lock(ctx, key)
	}
	return func() {}, nil
}

// Clean is the driver's, where it has one, or a fault.
func (f *faultyWriter) Clean(ctx context.Context) error {
	if err := f.fails(ctx, OpClean, ""); err != nil {
		return err
	}
	if c, ok := f.writer.(store.Cleaner); ok {
		return c.Clean(ctx)
	}
	return nil
}

// faultyStaged is a staged object whose Commit can fail.
type faultyStaged struct {
	object store.StagedObject
	faulty *faultyWriter
	key    string
}

// Commit is the object's, or a fault; then nothing has changed.
func (o *faultyStaged) Commit(ctx context.Context, cond store.If) (store.Info, error) {
	if err := o.faulty.fails(ctx, OpCommit, o.key); err != nil {
		o.object.Discard()
		return store.Info{}, err
	}
	return o.object.Commit(ctx, cond)
}

// Discard is the object's.
func (o *faultyStaged) Discard() { o.object.Discard() }
