package slice

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/zarrfs/zarrfs/layout"
	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/dtype"
	"github.com/zarrfs/zarrfs/zarrcore/meta"
)

// Of returns the part of the array m that an expression names, or why there is no such part.
func Of(text string, m *meta.Array) (s zarrcore.Slice, err error) {
	if m.Type.Size == 0 {
		return s, errors.New("the type of the array is unknown")
	}
	e, err := parse(text)
	if errors.Is(err, errNoAxis) {
		return s, fmt.Errorf("%w; the array has %s", err, axesOf(m))
	}
	if err != nil {
		return s, err
	}
	along, dropped, err := e.indexes(m)
	if err != nil {
		return s, err
	}
	shape, names := shown(m, along, dropped)
	t := m.Type
	switch {
	case e.scale && e.dtype != "":
		return s, errors.New("scale and dtype exclude each other")
	case e.scale:
		t = dtype.Type{Kind: dtype.Float, Size: 8, Order: dtype.Little}
		s.Values, err = scaling(m)
	case e.dtype != "":
		t, err = e.retype(m, shape, along, dropped)
	}
	if err != nil {
		return s, err
	}
	if count, ok := elements(shape); !ok || count > math.MaxInt64/t.Size {
		return s, fmt.Errorf("%v elements of %d bytes are too many for a file", shape, t.Size)
	}
	s.Along, s.Dropped = along, dropped
	s.Bytes = layout.NewSelection(m.Shape, m.Type.Size, along, false)
	if e.fortran {
		s.Reverse = layout.NewSelection(m.Shape, m.Type.Size, along, true)
	}
	s.Meta = m.Part(shape, names, t, e.fortran, e.scale)
	return s, nil
}

// elements returns how many elements an array of that shape has. It reports false if these cannot
// be counted.
func elements(shape []int64) (n int64, ok bool) {
	if slices.Contains(shape, 0) {
		return 0, true
	}
	n = 1
	for _, length := range shape {
		if n > math.MaxInt64/length {
			return 0, false
		}
		n *= length
	}
	return n, true
}

// indexes returns the indexes along all axes of the array, and which axes are not shown, because
// one index of them was asked for.
func (e expression) indexes(m *meta.Array) (along []layout.Indexes, dropped []bool, err error) {
	along, dropped = make([]layout.Indexes, len(m.Shape)), make([]bool, len(m.Shape))
	for i, n := range m.Shape {
		along[i] = layout.All(n)
	}
	taken := make([]bool, len(m.Shape))
	for _, x := range e.items {
		axis, err := axisOf(len(m.Shape), m.DimensionNames, x.axis)
		if err != nil {
			return nil, nil, err
		}
		if taken[axis] {
			return nil, nil, fmt.Errorf("axis %d is there twice", axis)
		}
		taken[axis], dropped[axis] = true, !x.isRange
		if along[axis], err = x.along(m.Shape[axis]); err != nil {
			return nil, nil, fmt.Errorf("axis %s: %w", x.axis, err)
		}
	}
	return along, dropped, nil
}

// axesOf says which axes an array has, and how long they are.
func axesOf(m *meta.Array) string {
	if len(m.Shape) == 0 {
		return "no axes"
	}
	var axes []string
	for i, n := range m.Shape {
		axis := fmt.Sprintf("axis %d of length %d", i, n)
		if i < len(m.DimensionNames) && m.DimensionNames[i] != "" {
			axis = fmt.Sprintf("axis %d (%s) of length %d", i, m.DimensionNames[i], n)
		}
		axes = append(axes, axis)
	}
	return strings.Join(axes, ", ")
}

// axisOf returns the axis of a number or name, of so many axes with these names. A number counts as
// a number, also where a dimension has it as its name.
func axisOf(rank int, names []string, key string) (int, error) {
	if isNumber(key) {
		n, err := strconv.Atoi(key)
		if err != nil || n >= rank {
			return 0, fmt.Errorf("no axis %s: the array has %d", key, rank)
		}
		return n, nil
	}
	at := slices.Index(names, key)
	switch {
	case at < 0 && len(names) == 0:
		return 0, fmt.Errorf("no dimension %q: the axes have no names, only numbers up to %d",
			key, rank-1)
	case at < 0 || at >= rank:
		return 0, fmt.Errorf("no dimension %q: the array has %s", key, strings.Join(names, ", "))
	case slices.Contains(names[at+1:], key):
		return 0, fmt.Errorf("two dimensions are named %q: say the number of the axis", key)
	}
	return at, nil
}

// isNumber reports whether an axis is said by its number.
func isNumber(key string) bool { return strings.Trim(key, "0123456789") == "" }

// Numbered returns an expression with the number of each axis in place of its name.
func Numbered(text string, names []string) (string, error) {
	if _, err := parse(text); err != nil && !errors.Is(err, errNoAxis) {
		return "", err
	}
	items := strings.Split(text, ",")
	for i, item := range items {
		key, value, ok := cutName(item)
		if !ok {
			continue
		}
		axis, err := axisOf(len(names), names, key)
		if err != nil {
			return "", err
		}
		items[i] = fmt.Sprintf("%d=%s", axis, value)
	}
	return strings.Join(items, ","), nil
}

// HasNames reports whether an expression has names of axes.
func HasNames(text string) bool {
	return slices.ContainsFunc(strings.Split(text, ","), func(item string) bool {
		_, _, ok := cutName(item)
		return ok
	})
}

// cutName cuts an item at the name of an axis, if it has one.
func cutName(item string) (name, indexes string, ok bool) {
	name, indexes, _ = strings.Cut(item, "=")
	_, err := parseIndexes(indexes)
	return name, indexes, err == nil && !isNumber(name)
}

// along returns the indexes of an axis of length n, as Python's slice and NumPy count them.
func (x item) along(n int64) (layout.Indexes, error) {
	if !x.isRange {
		i := *x.first
		if i < 0 {
			i += n
		}
		if i < 0 || i >= n {
			return layout.Indexes{}, fmt.Errorf("index %d is out of bounds, the axis has %d",
				*x.first, n)
		}
		return layout.Indexes{Start: i, Step: 1, Count: 1}, nil
	}
	step := int64(1)
	if x.step != nil {
		step = max(*x.step, -1<<62) // beyond the longest axis one is as good as another
	}
	lowest, highest := int64(0), n
	if step < 0 {
		lowest, highest = -1, n-1
	}
	first, last := lowest, highest
	if step < 0 {
		first, last = highest, lowest
	}
	if x.first != nil {
		first = clip(*x.first, n, lowest, highest)
	}
	if x.last != nil {
		last = clip(*x.last, n, lowest, highest)
	}
	return layout.Indexes{Start: first, Step: step, Count: count(first, last, step)}, nil
}

// clip returns a bound of a range, of an axis of length n, within these limits.
func clip(i, n, lowest, highest int64) int64 {
	if i < 0 {
		i += n
	}
	return min(max(i, lowest), highest)
}

// count returns how many indexes there are from first on, step apart, before last.
func count(first, last, step int64) int64 {
	switch {
	case step > 0 && last > first:
		return (last-first-1)/step + 1
	case step < 0 && last < first:
		return (first-last-1)/-step + 1
	}
	return 0
}

// shown returns shape and names of what is left of the array's axes.
func shown(m *meta.Array, along []layout.Indexes, dropped []bool) (shape []int64, names []string) {
	shape = []int64{}
	for i, x := range along {
		if dropped[i] {
			continue
		}
		shape = append(shape, x.Count)
		if i < len(m.DimensionNames) {
			names = append(names, m.DimensionNames[i])
		}
	}
	return shape, names
}

// retype returns the type that the bytes are to be seen as, and changes the last length of shape to
// what it makes of it.
func (e expression) retype(m *meta.Array, shape []int64, along []layout.Indexes,
	dropped []bool) (t dtype.Type, err error) {
	if t, err = dtype.ParseDescr("'" + e.dtype + "'"); err != nil {
		return t, err
	}
	if m.Type.Kind == dtype.Object {
		return t, errors.New("elements of no fixed size have no other type")
	}
	if t.Size == m.Type.Size {
		return t, nil
	}
	last := len(along) - 1
	switch {
	case len(shape) == 0 || dropped[last] || along[last].Step != 1:
		return t, fmt.Errorf("%d bytes in place of %d need the last axis, without steps",
			t.Size, m.Type.Size)
	case e.fortran:
		return t, fmt.Errorf("a type of %d bytes in place of %d has no Fortran order", t.Size,
			m.Type.Size)
	}
	bytes := shape[len(shape)-1] * m.Type.Size
	if bytes%t.Size != 0 {
		return t, fmt.Errorf("%d bytes along the last axis cannot be divided into elements of %d",
			bytes, t.Size)
	}
	shape[len(shape)-1] = bytes / t.Size
	return t, nil
}
