package store

import (
	"context"
	"errors"
	"fmt"
	"io"
)

// Reader reads the objects of a store, and lists its directories. Its errors are *fs.PathError with
// the key as path. It is safe for concurrent use.
type Reader struct{ keyspace }

// Open opens the object at key for reading. The Object's own errors do not name the key.
func (r *Reader) Open(ctx context.Context, key string) (Object, error) {
	rel, err := r.object(key)
	if err != nil {
		return nil, annotate("open", key, err)
	}
	o, err := r.driver.Open(ctx, rel)
	if err != nil {
		return nil, annotate("open", key, err)
	}
	return o, nil
}

// OpenFor opens the object at key, as Open does, for the bytes that are wanted; see Opener.
func (r *Reader) OpenFor(ctx context.Context, key string, w Want) (Object, error) {
	rel, err := r.object(key)
	if err != nil {
		return nil, annotate("open", key, err)
	}
	o, err := OpenFor(ctx, r.driver, rel, w)
	if err != nil {
		return nil, annotate("open", key, err)
	}
	return o, nil
}

// Stat describes one object or directory; key "" is the root.
func (r *Reader) Stat(ctx context.Context, key string) (Info, error) {
	rel, err := r.dir(key)
	if err != nil {
		return Info{}, annotate("stat", key, err)
	}
	info, err := r.driver.Stat(ctx, rel)
	return info, annotate("stat", key, err)
}

// StatAlong says what Stat would of each of names in dir, and in each directory above it, but
// nothing of what is missing. An error is for the caller to ask for each by itself.
func (r *Reader) StatAlong(
	ctx context.Context, dir string, names []string, tell func(dir, name string, info Info),
) error {
	d, ok := r.driver.(PathStater)
	// which a directory that is held is not
	if rel, err := r.dir(dir); ok && err == nil && rel == dir {
		return d.StatAlong(ctx, dir, names, tell)
	}
	return errors.ErrUnsupported
}

// Peek reads the beginning of the object at key into p, for callers that look at a great many small
// objects. It returns how many bytes: all of them if the object has fewer than len(p).
func (r *Reader) Peek(ctx context.Context, key string, p []byte) (n int, err error) {
	if d, ok := r.driver.(Peeker); ok && IsValidKey(key) {
		rel, err := r.object(key)
		if err == nil {
			n, err = d.Peek(ctx, rel, p)
		}
		return n, annotate("read", key, err)
	}
	o, err := r.OpenFor(ctx, key, Want{N: int64(len(p))})
	if err != nil {
		return 0, err
	}
	defer o.Close()
	n, err = o.ReadAt(p[:min(int64(len(p)), o.Size())], 0)
	if err == io.EOF {
		err = nil
	}
	return n, annotate("read", key, err)
}

// ReadAll returns the whole object at key, for small ones such as metadata documents. More than
// limit bytes are ErrTooLarge, and nothing is allocated for them.
func (r *Reader) ReadAll(ctx context.Context, key string, limit int64) ([]byte, Info, error) {
	o, err := r.OpenFor(ctx, key, Want{N: limit})
	if err != nil {
		return nil, Info{}, err
	}
	defer o.Close()
	data, err := readAll(o, limit)
	if err != nil {
		return nil, Info{}, annotate("read", key, err)
	}
	info := o.Info()
	if owned, ok := o.(Owned); ok {
		info.Rights = owned.Rights()
	}
	return data, info, nil
}

// GetIf reads the whole object at key, as ReadAll does, if it has another version than the one
// that is known. Otherwise it is ErrUnchanged. See Getter.
func (r *Reader) GetIf(
	ctx context.Context, key, version string, limit int64,
) ([]byte, Info, error) {
	rel, err := r.object(key)
	if err != nil {
		return nil, Info{}, annotate("read", key, err)
	}
	data, info, err := GetIf(ctx, r.driver, rel, version, limit)
	if err != nil {
		return nil, Info{}, annotate("read", key, err)
	}
	return data, info, nil
}

func readAll(o Object, limit int64) ([]byte, error) {
	size := o.Size()
	if size < 0 || size > limit {
		return nil, fmt.Errorf("%w: at most %d bytes are expected, found %d", ErrTooLarge, limit,
			size)
	}
	data := make([]byte, size)
	n, err := o.ReadAt(data, 0)
	if int64(n) == size {
		return data, nil
	}
	if err == nil || err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return nil, fmt.Errorf("expected %d bytes, found %d: %w", size, n, err)
}
