package store

import (
	"context"
	"errors"
	"io/fs"
	"strings"
)

// List calls yield for each direct child of dir, as Driver.List does. Entries whose names no key
// can have (a hostile server may send "..") are left out. An error of yield comes back as it is.
func (r *Reader) List(ctx context.Context, dir string, yield func(Entry) error) error {
	rel, err := r.dir(dir)
	if err != nil {
		return annotate("list", dir, err)
	}
	var stopped error
	err = r.driver.List(ctx, rel, func(e Entry) error {
		if !isValidElement(e.Name) || strings.IndexByte(e.Name, '/') >= 0 {
			return nil
		}
		stopped = yield(e)
		return stopped
	})
	if stopped != nil {
		return stopped
	}
	return annotate("list", dir, err)
}

// Survey lists a directory of d with what Stat would say of each; see Surveyor.
func Survey(ctx context.Context, d Driver, dir string, yield func(Entry, Info) error) error {
	return (&Reader{keyspace{driver: d}}).Survey(ctx, dir, yield)
}

// Survey calls yield for each direct child of dir, as List does, with what Stat says of it, except
// its rights. Of a directory that may be its name alone. An object that vanishes meanwhile is left
// out.
func (r *Reader) Survey(ctx context.Context, dir string, yield func(Entry, Info) error) error {
	sv, ok := r.driver.(Surveyor)
	if !ok {
		return r.List(ctx, dir, func(e Entry) error { return r.survey(ctx, dir, e, yield) })
	}
	rel, err := r.dir(dir)
	if err != nil {
		return annotate("list", dir, err)
	}
	var stopped error
	err = sv.Survey(ctx, rel, func(e Entry, info Info) error {
		if !isValidElement(e.Name) || strings.IndexByte(e.Name, '/') >= 0 {
			return nil
		}
		stopped = yield(e, info)
		return stopped
	})
	if stopped != nil {
		return stopped
	}
	return annotate("list", dir, err)
}

// survey yields one child, of which only its name is known. A Stat is asked for the rest, and its
// rights are left out, as a Surveyor leaves them out.
func (r *Reader) survey(
	ctx context.Context, dir string, e Entry, yield func(Entry, Info) error,
) error {
	if e.Dir {
		return yield(e, Info{Name: e.Name, Dir: true})
	}
	info, err := r.Stat(ctx, Join(dir, e.Name))
	if err != nil || info.Dir {
		return ctx.Err()
	}
	info.Rights = Rights{}
	return yield(e, info)
}

// Walk lists all objects of d below dir; see Walker.
func Walk(
	ctx context.Context, d Driver, dir string, yield func(key string, info Info) error,
) error {
	return (&Reader{keyspace{driver: d}}).Walk(ctx, dir, yield)
}

// Walk calls yield for each object below dir with what Stat says of it, except its rights; see
// Walker. An error of yield comes back as it is.
func (r *Reader) Walk(
	ctx context.Context, dir string, yield func(key string, info Info) error,
) error {
	w, ok := r.driver.(Walker)
	if !ok {
		return r.walkDirs(ctx, dir, yield)
	}
	rel, err := r.dir(dir)
	if err != nil {
		return annotate("list", dir, err)
	}
	var stopped error
	err = w.Walk(ctx, rel, func(key string, info Info) error {
		if !IsValidKey(key) {
			return nil
		}
		stopped = yield(r.key(key), info)
		return stopped
	})
	if stopped != nil {
		return stopped
	}
	return annotate("list", dir, err)
}

// walkDirs is Walk by a survey of each directory.
func (r *Reader) walkDirs(
	ctx context.Context, dir string, yield func(key string, info Info) error,
) error {
	var dirs []string
	err := r.Survey(ctx, dir, func(e Entry, info Info) error {
		key := Join(dir, e.Name)
		if e.Dir {
			dirs = append(dirs, key)
			return nil
		}
		return yield(key, info)
	})
	for i := 0; err == nil && i < len(dirs); i++ {
		err = r.walkDirs(ctx, dirs[i], yield)
		if at := new(fs.PathError); errors.As(err, &at) && at.Path == dirs[i] && errors.Is(err,
			fs.ErrNotExist) {
			err = nil // removed meanwhile
		}
	}
	return err
}
