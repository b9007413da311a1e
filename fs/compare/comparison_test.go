package compare

import (
	"context"
	"errors"
	"syscall"
	"testing"

	"github.com/zarrfs/zarrfs/fs/view"
)

// endsEarly is the content of an array that another program truncates after its size was asked.
type endsEarly struct{ view.Content }

func (endsEarly) Size() int64 { return 6 }

func (endsEarly) Read(ctx context.Context, off, n int64) (*view.Found, error) {
	return new(view.Found), nil
}

// TestArrayEndsEarly compares with an array that ends before its size. That is a difference.
func TestArrayEndsEarly(t *testing.T) {
	c := &Comparison{path: "a", view: view.Document, with: view.Headed(), content: endsEarly{}}
	if err := c.Write(t.Context(), []byte("abcdef"), 0); !errors.Is(err, syscall.EBUSY) {
		t.Errorf("found %v, expected EBUSY", err)
	}
}
