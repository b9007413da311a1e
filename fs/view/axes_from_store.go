package view

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	iofs "io/fs"
	"math"
	"strings"

	"github.com/zarrfs/zarrfs/fs/names"
	"github.com/zarrfs/zarrfs/fs/view/axes"
	"github.com/zarrfs/zarrfs/layout/volume"
	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/dtype"
	"github.com/zarrfs/zarrfs/zarrcore/pyjson"
	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// coordinatesMost is how many elements a coordinate variable may have that is read.
const coordinatesMost = 1 << 16

// description is an array as the headers of other formats describe it.
type description struct {
	volume  volume.Volume
	readers store.Rights // to what says it, besides the array's own document
}

// described returns an array as its groups describe it now.
func described(ctx context.Context, a *zarrcore.Array) (d description, err error) {
	part, whole := a.Part()
	if whole == nil {
		d.volume, err = describe(ctx, a, &d.readers)
		return d, err
	}
	d.volume, err = describe(ctx, whole, &d.readers)
	if errors.Is(err, volume.ErrNot) { // but perhaps as another type
		d.volume, err = volume.Volume{Axes: make([]volume.Axis, len(part.Along))}, nil
	}
	if err == nil {
		d.volume, err = describePart(d.volume, part)
	}
	return d, err
}

// describe asks the store what it has about an array. Readers becomes those who may read all of it.
func describe(
	ctx context.Context, a *zarrcore.Array, readers *store.Rights,
) (volume.Volume, error) {
	h := source{a.Arrays(), readers}
	dir, name := names.Split(a.Path())
	above, group := names.Split(dir)
	facts := axes.Known{Path: names.Join(group, name), Array: a.Meta()}
	if a.Path() != "" {
		var err error
		if facts.Group, err = h.attributes(ctx, dir); err == nil && dir != "" {
			facts.Above, err = h.attributes(ctx, above)
		}
		if err != nil {
			return volume.Volume{}, fmt.Errorf("the groups of %s: %w", a.Path(), err)
		}
		facts.Coordinate = func(dim string, length int64) (axes.Coordinate, bool) {
			if strings.Contains(dim, "/") { // of another group, which not everybody may enter
				return axes.Coordinate{}, false
			}
			return h.coordinate(ctx, names.Join(dir, dim), length)
		}
	}
	facts.Mapping = func(name string) pyjson.Value {
		n, err := h.Node(ctx, names.Join(dir, name))
		if err != nil || strings.Contains(name, "/") {
			return pyjson.Value{}
		}
		h.note(n)
		return n.Attributes
	}
	v, ok := axes.Of(facts)
	if err := ctx.Err(); err != nil {
		return volume.Volume{}, err // it may lack what could not be read any more
	}
	if !ok {
		return v, volume.ErrNot
	}
	return v, nil
}

// source is where descriptions come from. It notes the rights to what says something.
type source struct {
	*zarrcore.Arrays
	readers *store.Rights
}

func (h source) note(n *zarrcore.Node) {
	*h.readers = andDocuments(*h.readers, n)
}

// attributes returns those of a group. They are absent if there is no such group.
func (h source) attributes(ctx context.Context, path string) (pyjson.Value, error) {
	group, err := h.Node(ctx, path)
	if errors.Is(err, iofs.ErrNotExist) {
		return pyjson.Value{}, nil
	}
	if err != nil {
		return pyjson.Value{}, err
	}
	if group.Attributes.Len() > 0 {
		h.note(group)
	}
	return group.Attributes, nil
}

// coordinate reads the coordinate variable at path, if there is one of that length. A name that no
// array can have is that of none.
func (h source) coordinate(ctx context.Context, path string,
	length int64) (c axes.Coordinate, ok bool) {
	n, err := h.Node(ctx, path)
	if err != nil || n.Meta == nil || len(n.Meta.Shape) != 1 || n.Meta.Shape[0] != length ||
		length > coordinatesMost {
		return c, false
	}
	h.note(n)
	c.Attributes = n.Attributes
	if n.Meta.Attributes.Exists() {
		c.Attributes = n.Meta.Attributes
	}
	arr, err := h.Open(ctx, path)
	if err != nil {
		return c, true
	}
	text := make([]byte, arr.Size())
	if _, err := arr.ReadAt(ctx, text, 0); err == nil {
		*h.readers = h.readers.And(arr.ObjectRights())
		c.Values = numbersOf(arr.Meta().Type, text, packing(c.Attributes))
	}
	return c, true
}

// packing returns how the values of a variable are packed, by the CF conventions.
func packing(attributes pyjson.Value) (unpack func(float64) float64) {
	slope, ok := attributes.Get("scale_factor").Float64()
	if !ok {
		slope = 1
	}
	offset, _ := attributes.Get("add_offset").Float64()
	return func(f float64) float64 { return f*slope + offset }
}

// numbersOf returns the elements of a coordinate variable, nil if they are not numbers.
func numbersOf(t dtype.Type, text []byte, unpack func(float64) float64) (all []float64) {
	order := binary.ByteOrder(binary.LittleEndian)
	if t.Order == dtype.Big {
		order = binary.BigEndian
	}
	for at := int64(0); at+t.Size <= int64(len(text)); at += t.Size {
		f, ok := number(t, order, text[at:at+t.Size])
		if !ok {
			return nil
		}
		all = append(all, unpack(f))
	}
	return all
}

// number returns one element.
func number(t dtype.Type, order binary.ByteOrder, p []byte) (float64, bool) {
	bits := [9]func() uint64{1: func() uint64 { return uint64(p[0]) },
		2: func() uint64 { return uint64(order.Uint16(p)) },
		4: func() uint64 { return uint64(order.Uint32(p)) },
		8: func() uint64 { return order.Uint64(p) }}
	if t.Size > 8 || bits[t.Size] == nil {
		return 0, false
	}
	u := bits[t.Size]()
	switch {
	case t.Kind == dtype.Float && t.Size == 4:
		return float64(math.Float32frombits(uint32(u))), true
	case t.Kind == dtype.Float && t.Size == 8:
		return math.Float64frombits(u), true
	case t.Kind == dtype.Uint:
		return float64(u), true
	case t.Kind == dtype.Int:
		unused := 64 - 8*t.Size
		return float64(int64(u<<unused) >> unused), true
	}
	return 0, false
}
