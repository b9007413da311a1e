package fs

import (
	"context"
	"errors"
	"fmt"
	"io"
	iofs "io/fs"

	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/meta"
	"github.com/zarrfs/zarrfs/zarrcore/pyjson"
	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// remake recreates the array at path as a document says, with the bytes that it has. A program that
// copies a tree may come to an array's .npy first, which becomes an array with default chunks and
// codecs. Then it comes to the array's document, which names others.
//
// It reports whether it has done so. If another program has changed the array meanwhile, or isFree
// reports at the end that it must stay, nothing has been done.
func (f *filesystem) remake(
	ctx context.Context, path string, doc []byte, isFree func() bool,
) (remade bool, err error) {
	if err := f.store(ctx, path, false); err != nil { // later it would look like a change
		return false, err
	}
	copied := f.h.Fingerprint(ctx, path)
	beside, err := f.rebuild(ctx, path, doc)
	if err != nil {
		if !isFree() || f.h.Fingerprint(f.ctx, path) != copied { // which may be why
			return false, nil
		}
		return false, err
	}
	defer f.creations.Lock(path)()
	if !isFree() {
		return false, beside.Remove(f.ctx)
	}
	err = f.supplant(path, beside, copied)
	if errors.Is(err, zarrcore.ErrOutdated) {
		return false, nil
	}
	return err == nil, err
}

// rebuild makes an array beside the one at path, as a document says, with the bytes of that. They
// are durable.
func (f *filesystem) rebuild(
	ctx context.Context, path string, doc []byte) (beside *zarrcore.Beside, err error) {
	old, err := f.h.OpenArray(ctx, path)
	if err != nil {
		return nil, err
	}
	return f.h.CreateBeside(ctx, path, doc, func(beside string) error {
		err := f.copyArray(ctx, beside, old.Live())
		if errors.Is(err, zarrcore.ErrVlen) {
			err = f.copyStrings(ctx, beside, old.Live())
		}
		return err
	})
}

// supplant puts the array that was made beside the one at path in its place, unless that has changed
// since copied was its fingerprint. If the old one is gone when that fails, the new one stays where
// it is: nothing else has the bytes. Where their group was renamed, both are there.
func (f *filesystem) supplant(path string, beside *zarrcore.Beside, copied string) error {
	replace := func() error { return f.h.Supplant(f.ctx, beside.Path(), path, copied) }
	if err := f.moveIn(path, replace); err != nil {
		now := beside.Path()
		stays := store.Parent(now) == store.Parent(path) && !errors.Is(err, zarrcore.ErrOutdated)
		if _, gone := f.h.Node(f.ctx, path); stays && gone != nil {
			return fmt.Errorf("%w; what was to be at %q is at %q", err, path, now)
		}
		return errors.Join(err, beside.Remove(f.ctx))
	}
	f.stat.ForgetAll(path)
	f.changedAt(path)
	return f.adoptTexts(f.ctx, path)
}

// withAttributes returns a document with the attributes of the array n.
func withAttributes(doc []byte, n *zarrcore.Node) []byte {
	if !n.Attributes.Exists() {
		return doc
	}
	text, err := pyjson.Set(meta.WithNumbers(doc), n.Attributes, "attributes")
	if err != nil {
		return doc // of an array that cannot be read
	}
	return text
}

// copyStrings makes strings of fixed width the elements of the array at path, which have no fixed
// size.
func (f *filesystem) copyStrings(ctx context.Context, path string, from *zarrcore.Array) error {
	m := from.Meta()
	data := io.NewSectionReader(bytesOf{ctx, from}, 0, from.Size())
	return f.h.WriteFixed(ctx, path, data, m.Type, m.Shape, true)
}

// bytesOf reads an array as an io.ReaderAt.
type bytesOf struct {
	ctx context.Context
	arr *zarrcore.Array
}

func (b bytesOf) ReadAt(p []byte, off int64) (int, error) { return b.arr.ReadAt(b.ctx, p, off) }

// copyArray stores the bytes of an array in the one at path, which must have the same type and
// shape.
func (f *filesystem) copyArray(ctx context.Context, path string, from *zarrcore.Array) error {
	to, err := f.h.OpenArray(ctx, path)
	if err != nil {
		return err
	}
	if a, b := to.Meta(), from.Meta(); !a.Type.SavedAs(b.Type) || fmt.Sprint(a.Shape) != fmt.Sprint(b.Shape) {
		return fmt.Errorf("%w: expected %s of shape %v, found %s of shape %v", iofs.ErrInvalid, b.Type.Descr(), b.Shape, a.Type.Descr(), a.Shape)
	}
	buf := make([]byte, min(maxRequest, from.Size()))
	for off := int64(0); off < from.Size(); {
		n, err := from.ReadAt(ctx, buf, off)
		if n == 0 && err != nil {
			return orUnexpected(err)
		}
		if _, err := to.WriteAt(ctx, buf[:n], off); err != nil && err != io.EOF {
			return err
		}
		off += int64(n)
	}
	return to.Flush(ctx, true)
}
