package composite

import (
	"context"
	"sync"

	"github.com/zarrfs/zarrfs/fs/netcdf"
	"github.com/zarrfs/zarrfs/fs/view"
	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/keyed"
)

// Sizes are the sizes of files that show many arrays. To find one the file is laid out, which takes
// long where there are thousands of arrays. It is kept for the state of the arrays.
type Sizes struct {
	layout netcdf.Layout
	turns  keyed.Mutex // by file: many stats at once lay it out once
	mu     sync.Mutex  // innermost
	all    map[string]fileSize
}

// fileSize is the size of a file, or why it has none.
type fileSize struct {
	mark string // of what it was made of
	size int64
	err  error
}

// mostSizes is how many are kept.
const mostSizes = 256

// Of returns the size of the file that shows what is at path.
func (s *Sizes) Of(
	ctx context.Context,
	h *zarrcore.Hierarchy,
	v view.CompositeView,
	path string,
) (int64, error) {
	name := path + "." + v.Name()
	defer s.turns.Lock(name)()
	mark, err := v.Mark(ctx, h, path)
	if err != nil {
		return 0, err
	}
	s.mu.Lock()
	found := s.all[name]
	s.mu.Unlock()
	if found.mark == mark {
		return found.size, found.err
	}
	found = fileSize{mark: mark}
	c, err := v.OpenMany(ctx, h, path, s.layout)
	if found.err = err; err == nil {
		found.size = c.Size()
		c.Close()
	}
	if ctx.Err() != nil {
		return 0, ctx.Err()
	}
	s.keep(name, found)
	return found.size, found.err
}

func (s *Sizes) keep(name string, now fileSize) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil || len(s.all) >= mostSizes {
		s.all = make(map[string]fileSize)
	}
	s.all[name] = now
}
