package view

import (
	"context"
	"errors"
	"fmt"

	"github.com/zarrfs/zarrfs/fs/errno"
	"github.com/zarrfs/zarrfs/fs/names"
	"github.com/zarrfs/zarrfs/fs/slice"
	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/meta"
	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// sliced shows a part of an array as another view shows an array. It is derived, never listed, and
// not among the views: the name of each file says which part it is. Two of one text are equal.
type sliced struct {
	ArrayView
	expression
}

// expression names a part of an array.
type expression struct {
	text     string // as in the name of the file
	numbered string // with the numbers of the axes that had these names when it was looked up
}

// expressionOf returns the expression that text is for this array.
func expressionOf(text string, array Subject) (e expression, err error) {
	e = expression{text, text}
	names := array.axes
	if m := array.Meta(); m != nil && len(m.DimensionNames) > 0 {
		names = m.DimensionNames
	}
	if len(names) > 0 {
		e.numbered, err = slice.Numbered(text, names)
	}
	return e, err
}

// hasNames implements partView.
func (e expression) hasNames() bool { return e.numbered != e.text }

// A partView shows a part of an array.
type partView interface {
	View
	// hasNames reports whether its expression names axes, which may get other names.
	hasNames() bool
	// identity returns its name with the numbers of the axes.
	identity() string
}

// IsPart reports whether v shows a part of an array.
func IsPart(v View) bool {
	_, ok := v.(partView)
	return ok
}

// DependsOnNames reports whether a name of the file of a view may mean another part later.
func DependsOnNames(v View) bool {
	part, ok := v.(partView)
	return ok && part.hasNames()
}

// Identity returns what tells the files of an array apart, each of which has one inode. It is the
// view's name, and of a part the name with the numbers of axes.
func Identity(v View) string {
	if part, ok := v.(partView); ok {
		return part.identity()
	}
	return v.Name()
}

// A partedView shows parts of arrays, although it is not an ArrayView.
type partedView interface {
	View
	// ofPart returns the view of a part of the array that m describes.
	ofPart(e expression, m *meta.Array) (View, error)
}

// Sliced returns the view of a part of an array. If text names no part of this array, or a part
// that the view v cannot show, the error is an errno.NoPart.
func Sliced(v View, text string, array Subject) (View, error) {
	of, ok := v.(ArrayView)
	parted, isParted := v.(partedView)
	m := array.Meta()
	e, err := expressionOf(text, array)
	switch {
	case err != nil:
		return nil, &errno.NoPart{Text: text, Why: err}
	case isParted && m != nil && !zarrcore.IsVlen(m):
		part, err := parted.ofPart(e, m)
		if err != nil {
			return nil, &errno.NoPart{Text: text, Why: err}
		}
		return part, nil
	case !ok:
		return nil, &errno.NoPart{Text: text,
			Why: fmt.Errorf("a .%s file does not show the bytes of an array", v.Name())}
	case m == nil:
		return nil, &errno.NoPart{Text: text, Why: errors.New("the array cannot be understood")}
	case zarrcore.IsVlen(m):
		return nil, &errno.NoPart{Text: text,
			Why: errors.New("elements of no fixed size have no slices")}
	}
	s := sliced{of, e}
	part, err := s.part(m)
	if err != nil {
		return nil, &errno.NoPart{Text: text, Why: err}
	}
	if !of.Has(Described(part.Meta)) {
		return nil, &errno.NoPart{Text: text,
			Why: fmt.Errorf("an array of shape %v and type %s has no .%s file",
				part.Meta.Shape, part.Meta.Type.Descr(), of.Name())}
	}
	return s, nil
}

// part returns the part of the array that m describes, unless the view cannot show it.
func (s sliced) part(m *meta.Array) (part zarrcore.Slice, err error) {
	if part, err = slice.Of(s.numbered, m); err != nil {
		return part, err
	}
	if _, npy := s.ArrayView.(HeaderView); part.Reverse != nil && !npy &&
		s.ArrayView != View(rawView{}) {
		return part, errNoOrder(s.ArrayView)
	}
	return part, nil
}

// errNoOrder says that files of a view cannot have Fortran order.
func errNoOrder(v View) error {
	return fmt.Errorf("a .%s file has no Fortran order; use .npy or .raw", v.Name())
}

func (s sliced) Name() string { return names.SuffixOfPart(s.text, s.ArrayView.Name()) }

func (s sliced) identity() string { return names.SuffixOfPart(s.numbered, s.ArrayView.Name()) }

func (s sliced) Has(a Subject) bool {
	_, err := Sliced(s.ArrayView, s.numbered, a)
	return err == nil
}

func (sliced) HasBy() Criterion { return ByDocument }

func (sliced) IsListed(Subject) bool { return false }

func (sliced) IsDescription(*meta.Array) bool { return false }

func (sliced) IsKeeper() bool { return false }

func (s sliced) Size(n *zarrcore.Node) (int64, error) {
	if _, err := ArraySize(n); err != nil || n.Meta == nil {
		return 0, err
	}
	part, err := s.part(n.Meta)
	if err != nil {
		return 0, err
	}
	shown := *n
	shown.Meta = part.Meta
	return s.ArrayView.Size(&shown)
}

func (s sliced) Open(ctx context.Context, h *zarrcore.Hierarchy, path string) (Content, error) {
	return OpenFlat(ctx, h, path, s)
}

// Header returns the header that the view makes of the part.
func (s sliced) Header(
	ctx context.Context, a *zarrcore.Array,
) (text []byte, to store.Rights, err error) {
	shown, err := s.shown(a)
	if err != nil {
		return nil, to, err
	}
	return s.ArrayView.Header(ctx, shown)
}

// shown returns the part of an array that the view shows.
func (s sliced) shown(a *zarrcore.Array) (*zarrcore.Array, error) {
	part, err := s.part(a.Meta())
	if err != nil {
		return nil, &errno.NoPart{Text: s.text, Why: err}
	}
	return a.Slice(part), nil
}

// Parts returns the length of that header, and the bytes of the part.
func (s sliced) Parts(a *zarrcore.Array) (head int64, data *zarrcore.Array, err error) {
	shown, err := s.shown(a)
	if err != nil {
		return 0, nil, err
	}
	head, data, err = s.ArrayView.Parts(shown)
	if reversed, ok := shown.Transposed(); ok && data == shown { // .raw knows no order
		data = reversed
	}
	return head, data, err
}
