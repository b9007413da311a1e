package store

import (
	"context"
	"errors"
	"maps"
	"slices"
)

// Maker is a Driver that can make a directory with objects in it at once. It is optional.
type Maker interface {
	// Make makes the directory dir with the objects, which are durable then, by their names in it.
	// Nobody ever sees it without one of them, and where it fails nothing has changed. Something at
	// dir is fs.ErrExist, unless it is a directory that holds nothing; a missing directory above is
	// fs.ErrNotExist. Where the backend cannot do it here it is errors.ErrUnsupported.
	//
	// If like is not "", it is a directory whose rights the new one gets, and the objects get those
	// of the objects there. What users may not read there they may not read here at any moment.
	Make(ctx context.Context, dir, like string, objects map[string][]byte) error
}

// Make makes the directory dir with the objects, by their names in it; see Maker. A backend that
// cannot do it at once gets one object after the other, in reverse order of their names, each only
// if missing: so ".zarray" comes after ".zattrs".
func (s *Store) Make(
	ctx context.Context, dir, like string, objects map[string][]byte,
) error {
	w, rel, err := s.writer(dir)
	relLike := ""
	if err == nil && like != "" {
		relLike, err = s.dir(like)
	}
	if err == nil {
		err = errors.ErrUnsupported
		if m, ok := w.(Maker); ok {
			err = m.Make(ctx, rel, relLike, objects)
		}
	}
	if errors.Is(err, errors.ErrUnsupported) && !errors.Is(err, ErrReadOnly) {
		err = s.makeByOne(ctx, dir, objects)
	}
	return annotate("make", dir, err)
}

func (s *Store) makeByOne(ctx context.Context, dir string, objects map[string][]byte) (err error) {
	var made []string
	for _, name := range slices.Backward(slices.Sorted(maps.Keys(objects))) {
		if err = s.PutNew(ctx, dir+"/"+name, objects[name]); err != nil {
			break
		}
		made = append(made, dir+"/"+name)
	}
	if err != nil {
		for _, key := range made {
			s.Delete(ctx, key, If{})
		}
		s.Dirs().Prune(ctx, dir)
	}
	return err
}
