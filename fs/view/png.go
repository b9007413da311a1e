package view

import (
	"context"
	"fmt"
	"path"
	"strings"

	"github.com/zarrfs/zarrfs/fs/names"
	"github.com/zarrfs/zarrfs/fs/picture"
	"github.com/zarrfs/zarrfs/fs/slice"
	"github.com/zarrfs/zarrfs/layout"
	"github.com/zarrfs/zarrfs/layout/volume"
	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/meta"
	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// draws bounds how many pictures are drawn at once. It is not held while a store is read.
var draws = make(chan struct{}, 2)

// pngView shows a plane of an array as an image. It is made when the file is opened.
type pngView struct{}

func (pngView) Name() string { return "png" }

func (pngView) Has(a Subject) bool { return isDrawable(a.Meta()) }

// isDrawable reports whether the elements are real numbers.
func isDrawable(m *meta.Array) bool {
	if m == nil {
		return false
	}
	_, err := m.Type.Floats()
	return err == nil
}

func (pngView) HasBy() Criterion { return ByDocument }

func (pngView) IsListed(Subject) bool { return true }

func (pngView) IsDescription(*meta.Array) bool { return false }

func (pngView) IsWritable() bool { return false }

func (pngView) IsKeeper() bool { return false }

func (pngView) Size(n *zarrcore.Node) (int64, error) {
	if n.Meta == nil {
		return 0, n.Err
	}
	return planOf(n.Meta).Size(), nil
}

func planOf(m *meta.Array) picture.Plan { return picture.NewPlan(m.Shape, m.DimensionNames) }

// Open draws the picture as the array is now.
func (pngView) Open(ctx context.Context, h *zarrcore.Hierarchy, at string) (Content, error) {
	return openPicture(ctx, h, at, func(arr *zarrcore.Array) (d drawing, err error) {
		m := arr.Meta()
		if !isDrawable(m) {
			return d, fmt.Errorf(".png of %s: %w", at, volume.ErrNot)
		}
		d.plan, d.title = planOf(m), titleOf(at, "", m)
		d.instead = "more than 64 MiB to decode: see a coarser level"
		if d.from = drawnLevel(ctx, h, arr, d.plan); d.from == nil {
			return d, nil
		}
		d.along = d.plan.Along(d.from.Meta().Shape)
		d.shown = d.along
		d.values, err = valuesOf(d.from.Meta())
		return d, err
	})
}

// A drawing is what a picture shows.
type drawing struct {
	plan    picture.Plan
	title   string
	from    *zarrcore.Array               // has the elements; nil: too many chunks to decode
	instead string                        // what the picture says then
	along   []layout.Indexes              // of from
	shown   []layout.Indexes              // those of the axes that the plan has
	values  func(stored []byte) []float64 // of stored elements
}

// openPicture draws what of says of the array at a path, as it is now.
func openPicture(
	ctx context.Context, h *zarrcore.Hierarchy, at string,
	of func(arr *zarrcore.Array) (drawing, error),
) (Content, error) {
	arr, err := h.OpenArray(ctx, at)
	if err != nil {
		return nil, err
	}
	arr = arr.Live()
	d, err := of(arr)
	if err != nil {
		return nil, err
	}
	if d.from == nil {
		text, err := d.plan.Draw(nil, 0, 0, d.title, d.instead)
		return snapshot(text), err
	}
	stored, err := elementsOf(ctx, d.from, d.along)
	if err != nil {
		return nil, err
	}
	text, err := d.draw(stored)
	return rendered{text, readersOf(ctx, h, arr, d.from)}, err
}

// draw draws the elements, as they are stored.
func (d drawing) draw(stored []byte) ([]byte, error) {
	draws <- struct{}{}
	defer func() { <-draws }()
	var values []float64
	if len(stored) > 0 {
		values = d.values(stored)
	}
	rows, cols := d.plan.Samples(d.shown)
	return d.plan.Draw(values, rows, cols, d.title, whereOf(d.from.Meta(), d.along))
}

// titleOf names what is drawn: an array at a path, or a part of it such as "@{t=3}", which m
// describes.
func titleOf(at, part string, m *meta.Array) string {
	name := strings.TrimPrefix(path.Base(at), ".") + part
	return fmt.Sprintf("%s %v %s", name, m.Shape, m.Type.Descr())
}

// rendered is what was made when the file was opened, for those who may read what it was made of.
type rendered struct {
	snapshot
	readers store.Rights
}

// Rights implements Content.
func (r rendered) Rights() store.Rights { return r.readers }

// readersOf returns the rights to what was read of an array: arr, whose file the picture is, or
// another resolution of it. Of that one, nobody has asked yet for the rights to its document.
func readersOf(ctx context.Context, h *zarrcore.Hierarchy, arr, from *zarrcore.Array) store.Rights {
	to := from.ObjectRights()
	if from.Path() == arr.Path() {
		return to
	}
	n, err := h.Node(ctx, from.Path())
	if err != nil {
		return store.Rights{Known: true} // of nobody
	}
	to = andDocuments(to, n)
	for dir := n.Path; dir != ""; {
		dir, _ = names.Split(dir)
		group, err := h.Node(ctx, dir)
		if err != nil {
			return store.Rights{Known: true}
		}
		to = to.And(group.Folder.Inside())
	}
	return to
}

// andDocuments returns the rights of a user that also needs what the documents of a node say.
func andDocuments(to store.Rights, n *zarrcore.Node) store.Rights {
	return to.And(n.Documents).And(n.Folder.Inside())
}

// valuesOf returns what makes values of stored elements. What the attributes say of them counts if
// it can be understood.
func valuesOf(m *meta.Array) (func(stored []byte) []float64, error) {
	if values, err := slice.Values(m); err == nil {
		return values, nil
	}
	floats, err := m.Type.Floats()
	return func(stored []byte) []float64 { return floats(nil, stored) }, err
}

// elementsOf reads elements of an array.
func elementsOf(
	ctx context.Context, a *zarrcore.Array, along []layout.Indexes,
) (stored []byte, err error) {
	m := a.Meta()
	part := a.Slice(zarrcore.Slice{Meta: m, Along: along,
		Bytes: layout.NewSelection(m.Shape, m.Type.Size, along, false)})
	if stored = make([]byte, part.Size()); len(stored) > 0 {
		_, err = part.ReadAt(ctx, stored, 0)
	}
	return stored, err
}

// whereOf says which part of an array is drawn: "t=3, y=::4, x=::4". A part that does not reach
// from one end to the other has both ends.
func whereOf(m *meta.Array, along []layout.Indexes) string {
	var parts []string
	for i, x := range along {
		name := fmt.Sprint("axis ", i)
		if i < len(m.DimensionNames) && m.DimensionNames[i] != "" {
			name = m.DimensionNames[i]
		}
		switch {
		case x.Count == 1:
			parts = append(parts, fmt.Sprintf("%s=%d", name, x.Start))
		case x.Start != 0 || x.Step < 0 || x.Count*x.Step < m.Shape[i]:
			parts = append(parts, fmt.Sprintf("%s=%s", name, endsOf(x)))
		case x.Step > 1:
			parts = append(parts, fmt.Sprintf("%s=::%d", name, x.Step))
		default:
			parts = append(parts, name)
		}
	}
	return strings.Join(parts, ", ")
}

// endsOf returns indexes as Python has them: the first, the one behind the last, and the step.
func endsOf(x layout.Indexes) string {
	last := x.Start + (x.Count-1)*x.Step
	switch {
	case x.Step == 1:
		return fmt.Sprintf("%d:%d", x.Start, last+1)
	case x.Step < 0 && last == 0:
		return fmt.Sprintf("%d::%d", x.Start, x.Step)
	case x.Step < 0:
		return fmt.Sprintf("%d:%d:%d", x.Start, last-1, x.Step)
	}
	return fmt.Sprintf("%d:%d:%d", x.Start, last+1, x.Step)
}
