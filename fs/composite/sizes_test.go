package composite

import (
	"context"
	"errors"
	"testing"

	"github.com/zarrfs/zarrfs/fs/errno"
	"github.com/zarrfs/zarrfs/fs/netcdf"
	"github.com/zarrfs/zarrfs/fs/view"
	"github.com/zarrfs/zarrfs/zarrcore"
)

// laidOut is a view that counts how often a file is laid out.
type laidOut struct {
	view.CompositeView
	mark  string
	times int
}

func (*laidOut) Name() string { return "h5" }

func (v *laidOut) Mark(context.Context, *zarrcore.Hierarchy, string) (string, error) {
	return v.mark, nil
}

func (v *laidOut) OpenMany(
	context.Context, *zarrcore.Hierarchy, string, netcdf.Layout,
) (*view.Composite, error) {
	v.times++
	return nil, errno.ErrTooBig
}

// TestSizes: a file is laid out again only where what it is made of has changed.
func TestSizes(t *testing.T) {
	var s Sizes
	v := &laidOut{}
	for i, mark := range []string{"a", "a", "a", "b", "b"} {
		v.mark = mark
		if _, err := s.Of(t.Context(), nil, v, "g"); !errors.Is(err, errno.ErrTooBig) {
			t.Errorf("%d: %v", i, err)
		}
	}
	if v.times != 2 {
		t.Errorf("laid out %d times, expected 2", v.times)
	}
}
