package live

import (
	"context"

	"github.com/zarrfs/zarrfs/zarrcore/scan"
	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// This file deletes the stored objects of rows that were truncated.

// deleteTruncated deletes the stored objects that have only truncated rows. It returns the objects
// that have both truncated and other rows. The objects of dirty are left out, because they are
// about to be stored. Objects that became dirty later are not left out: this flush has to truncate
// them too, because it forgets the truncation. There are stored objects for at most so many rows.
func (s *storer) deleteTruncated(
	ctx context.Context, a *Array, rows int64, dirty []int64,
) (straddling []int64, err error) {
	was, err := a.gen.WithRows(rows, 0, a.gen.ID)
	if err != nil {
		return nil, err
	}
	stays := make(map[int64]bool, len(dirty))
	for _, n := range dirty {
		stays[n] = true
	}
	var gone []int64
	err = scan.Each(ctx, s.home.Store, was.Objects.Keys, func(n int64) {
		first, end, _ := was.Objects.Rows(n)
		low := s.truncatedAt(n)
		switch {
		case end <= low || stays[n]:
		case first >= low:
			gone = append(gone, n)
		default:
			straddling = append(straddling, n)
		}
	})
	if len(gone) > 0 && s.home.HasChanged(ctx) { // some of them may just have been appended
		return nil, errOvertaken
	}
	for _, n := range gone {
		if err := s.h.of.Durable.Delete(
			ctx, s.home.Store, s.path, was.Objects.Key(n), store.If{}); err != nil {
			return nil, err
		}
	}
	return straddling, err
}
