package view

import (
	"context"
	"fmt"
	"slices"
	"syscall"
)

// stackedPart is an array whose chunks the dataset has one behind the other. They must stay those
// that the file says.
type stackedPart struct {
	*flatPart
}

func (p stackedPart) check(ctx context.Context) error {
	if err := p.flatPart.check(ctx); err != nil {
		return err
	}
	if now := p.Array().Chunk(); !slices.Equal(now, p.of.Grid.ChunkShape()) {
		return fmt.Errorf("%w: the file shows %q in chunks of %v, they are of %v now; open the "+
			"file again", syscall.ESTALE, p.of.Path, p.of.Grid.ChunkShape(), now)
	}
	return nil
}

func (p stackedPart) read(ctx context.Context, off, n int64) (*Found, error) {
	if err := p.check(ctx); err != nil {
		return nil, err
	}
	r, err := p.Flat.ReadStacked(ctx, off, n)
	if err != nil {
		return nil, err
	}
	if err := p.check(ctx); err != nil {
		r.Done()
		return nil, err
	}
	return r, nil
}

// nextData implements part. Holes in the array are not looked for.
func (p stackedPart) nextData(_ context.Context, off int64) (start, end int64, err error) {
	size, _ := p.of.Grid.StackedSize()
	return off, size, nil
}
