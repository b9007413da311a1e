package view

import (
	"context"
	"errors"
	"fmt"

	"github.com/zarrfs/zarrfs/fs/errno"
	"github.com/zarrfs/zarrfs/fs/names"
	"github.com/zarrfs/zarrfs/fs/slice"
	"github.com/zarrfs/zarrfs/layout"
	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/meta"
)

// pngPart shows a picture of a part of an array, such as "a@{t=3}.png". Two of one text are equal.
type pngPart struct {
	pngView
	expression
}

// ofPart implements partedView.
func (v pngView) ofPart(e expression, m *meta.Array) (View, error) {
	p := pngPart{v, e}
	_, err := p.part(m)
	return p, err
}

// part returns the part of the array that m describes, unless it has no picture.
func (p pngPart) part(m *meta.Array) (part zarrcore.Slice, err error) {
	if part, err = slice.Of(p.numbered, m); err != nil {
		return part, err
	}
	switch {
	case part.Reverse != nil:
		return part, errNoOrder(p.pngView)
	case part.Values == nil && part.Meta.Type.Descr() != m.Type.Descr():
		return part, errors.New("a .png file shows no other type; use .npy or .raw")
	case !isDrawable(m):
		return part, fmt.Errorf("an array of type %s has no .png file", m.Type.Descr())
	}
	return part, nil
}

func (p pngPart) Name() string { return names.SuffixOfPart(p.text, p.pngView.Name()) }

func (p pngPart) identity() string { return names.SuffixOfPart(p.numbered, p.pngView.Name()) }

func (p pngPart) Has(a Subject) bool {
	if a.Meta() == nil {
		return false
	}
	_, err := p.part(a.Meta())
	return err == nil
}

func (pngPart) IsListed(Subject) bool { return false }

func (p pngPart) Size(n *zarrcore.Node) (int64, error) {
	if n.Meta == nil {
		return 0, n.Err
	}
	part, err := p.part(n.Meta)
	if err != nil {
		return 0, err
	}
	return planOf(part.Meta).Size(), nil
}

// Open draws the picture as the array is now. Other resolutions have other indexes, so that none of
// them is drawn.
func (p pngPart) Open(ctx context.Context, h *zarrcore.Hierarchy, at string) (Content, error) {
	return openPicture(ctx, h, at, func(arr *zarrcore.Array) (d drawing, err error) {
		part, err := p.part(arr.Meta())
		if err != nil {
			return d, &errno.NoPart{Text: p.text, Why: err}
		}
		d.plan, d.title = planOf(part.Meta), titleOf(at, "@{"+p.text+"}", part.Meta)
		d.instead = "more than 64 MiB to decode: see a smaller part"
		d.shown = d.plan.Along(part.Meta.Shape)
		d.along = within(part, d.shown)
		if decodes(arr, d.along) > drawnMost {
			return d, nil
		}
		d.from = arr
		d.values, err = valuesOfPart(arr.Meta(), part)
		return d, err
	})
}

// valuesOfPart is valuesOf for a part, which may show other values.
func valuesOfPart(
	m *meta.Array, part zarrcore.Slice,
) (func(stored []byte) []float64, error) {
	if part.Values == nil {
		return valuesOf(m)
	}
	floats, err := part.Meta.Type.Floats()
	return func(stored []byte) []float64 { return floats(nil, part.Values(nil, stored)) }, err
}

// within returns the indexes of the whole array that have these indexes in a part of it.
func within(part zarrcore.Slice, shown []layout.Indexes) (along []layout.Indexes) {
	for i, x := range part.Along {
		if !part.Dropped[i] {
			y := shown[0]
			shown = shown[1:]
			x = layout.Indexes{Start: x.Start + x.Step*y.Start, Step: x.Step * y.Step,
				Count: y.Count}
		}
		along = append(along, x)
	}
	return along
}
