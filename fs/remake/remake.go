// Package remake makes an array again: with the same bytes beside the one that it is to replace,
// and with what another array says of itself. Then it puts the new one in the place of the old one.
// It has no locks.
package remake

import (
	"context"
	"errors"
	"fmt"
	"io"
	iofs "io/fs"

	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/meta"
	"github.com/zarrfs/zarrfs/zarrcore/pyjson"
)

// atOnce is how many bytes are copied at once.
const atOnce = 1 << 20

// Beside makes an array beside the one at path, as a document says, with the bytes of that. They
// are durable.
func Beside(
	ctx context.Context, h *zarrcore.Hierarchy, path string, doc []byte,
) (beside *zarrcore.Beside, err error) {
	old, err := h.OpenArray(ctx, path)
	if err != nil {
		return nil, err
	}
	return h.CreateBeside(ctx, path, doc, func(beside string) error {
		err := copyArray(ctx, h, beside, old.Live())
		if errors.Is(err, zarrcore.ErrVlen) {
			err = copyStrings(ctx, h, beside, old.Live())
		}
		return err
	})
}

// WithAttributes returns a document with the attributes of the array n.
func WithAttributes(doc []byte, n *zarrcore.Node) []byte {
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
func copyStrings(
	ctx context.Context, h *zarrcore.Hierarchy, path string, from *zarrcore.Array,
) error {
	m := from.Meta()
	data := io.NewSectionReader(bytesOf{ctx, from}, 0, from.Size())
	return h.WriteFixed(ctx, path, data, m.Type, m.Shape, true)
}

// bytesOf reads an array as an io.ReaderAt.
type bytesOf struct {
	ctx context.Context
	arr *zarrcore.Array
}

func (b bytesOf) ReadAt(p []byte, off int64) (int, error) { return b.arr.ReadAt(b.ctx, p, off) }

// copyArray stores the bytes of an array in the one at path, which must have the same type and
// shape.
func copyArray(
	ctx context.Context, h *zarrcore.Hierarchy, path string, from *zarrcore.Array,
) error {
	to, err := h.OpenArray(ctx, path)
	if err != nil {
		return err
	}
	if a, b := to.Meta(), from.Meta(); !a.Type.CanBeSavedAs(b.Type) ||
		fmt.Sprint(a.Shape) != fmt.Sprint(b.Shape) {
		return fmt.Errorf("%w: expected %s of shape %v, found %s of shape %v",
			iofs.ErrInvalid, b.Type.Descr(), b.Shape, a.Type.Descr(), a.Shape)
	}
	buf := make([]byte, min(atOnce, from.Size()))
	for off := int64(0); off < from.Size(); {
		n, err := from.ReadAt(ctx, buf, off)
		if n == 0 && err != nil {
			if err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return err
		}
		if _, err := to.WriteAt(ctx, buf[:n], off); err != nil && err != io.EOF {
			return err
		}
		off += int64(n)
	}
	return to.Flush(ctx, true)
}

// IsDescribed reports whether an array has attributes or names of dimensions.
func IsDescribed(n *zarrcore.Node) bool {
	return n.Meta != nil && n.Meta.DimensionNames != nil || n.Attributes.Len() > 0
}

// Describe gives the array n the attributes of the array old, and its names of dimensions if both
// have as many.
func Describe(ctx context.Context, h *zarrcore.Hierarchy, n, old *zarrcore.Node) error {
	shown, err := pyjson.Parse(meta.WithNumbers(old.Document))
	if err != nil {
		return err
	}
	doc := pyjson.Empty
	members := []string{"attributes", "dimension_names"}
	if len(n.Meta.Shape) != len(old.Meta.Shape) {
		members = members[:1]
	}
	for _, member := range members {
		if value := shown.Get(member); value.Exists() {
			doc = doc.With(member, value)
		}
	}
	return h.SetDocument(ctx, n.Path, doc.Raw())
}
