package view

import (
	"context"
	"math/rand"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// stretches is a content of so many bytes that holds data in some stretches [start, end), in order.
type stretches struct {
	bytes int64
	data  [][2]int64
}

func (s stretches) Size() int64            { return s.bytes }
func (s stretches) Array() *zarrcore.Array { return nil }
func (s stretches) Rights() store.Rights   { return store.Rights{} }
func (s stretches) Close()                 {}

func (s stretches) Read(context.Context, int64, int64) (*Found, error) { return nil, nil }

func (s stretches) NextData(_ context.Context, off int64) (start, end int64, err error) {
	for _, d := range s.data {
		if off < d[1] {
			return max(off, d[0]), d[1], nil
		}
	}
	return s.bytes, s.bytes, nil
}

func TestSeek(t *testing.T) {
	ctx := context.Background()
	c := stretches{1 << 20, [][2]int64{{0, 128}, {10000, 20000}, {20000, 24000},
		{1<<20 - 10, 1 << 20}}}
	for _, tc := range []struct {
		whence    uint32
		off, want int64
	}{
		{unix.SEEK_DATA, 0, 0}, {unix.SEEK_DATA, 100, 100}, {unix.SEEK_DATA, 4000, 4000},
		{unix.SEEK_DATA, 4096, 8192},
		{unix.SEEK_DATA, 8191, 8192}, {unix.SEEK_DATA, 9000, 9000},
		{unix.SEEK_DATA, 24576, 1<<20 - 4096},
		{unix.SEEK_HOLE, 0, 4096}, {unix.SEEK_HOLE, 5000, 5000}, {unix.SEEK_HOLE, 8192, 24576},
		{unix.SEEK_HOLE, 1<<20 - 5, 1 << 20},
	} {
		if got, err := Seek(ctx, c, tc.off, tc.whence); got != tc.want || err != nil {
			t.Errorf("whence %d, off %d: %d, %v, want %d", tc.whence, tc.off, got, err, tc.want)
		}
	}
	empty := stretches{1 << 20, nil}
	if _, err := Seek(ctx, empty, 5, unix.SEEK_DATA); err != ErrNoData {
		t.Errorf("SEEK_DATA in a hole to the end: %v", err)
	}
	if got, err := Seek(ctx, empty, 5, unix.SEEK_HOLE); got != 5 || err != nil {
		t.Errorf("SEEK_HOLE in a hole: %d, %v", got, err)
	}
	if _, err := Seek(ctx, empty, 5, 99); err == nil {
		t.Error("an unknown whence is taken")
	}
}

// TestSeekCovers checks that the stretches found by alternating SEEK_DATA and SEEK_HOLE hold all
// data, as cp and tar rely on it.
func TestSeekCovers(t *testing.T) {
	rng := rand.New(rand.NewSource(1))
	for range 300 {
		c := randomStretches(rng)
		found := walkData(t, c)
		for _, d := range c.data {
			covered := false
			for _, f := range found {
				covered = covered || f[0] <= d[0] && d[1] <= f[1]
			}
			if !covered {
				t.Fatalf("data %v of %v is in none of %v", d, c, found)
			}
		}
	}
}

func randomStretches(rng *rand.Rand) stretches {
	c := stretches{bytes: rng.Int63n(1<<18) + 1}
	for off := rng.Int63n(20000); off < c.bytes; {
		end := min(c.bytes, off+1+rng.Int63n(20000))
		c.data = append(c.data, [2]int64{off, end})
		off = end + rng.Int63n(30000)
	}
	return c
}

func walkData(t *testing.T, c stretches) (found [][2]int64) {
	ctx := context.Background()
	for off := int64(0); off < c.Size(); {
		start, err := Seek(ctx, c, off, unix.SEEK_DATA)
		if err == ErrNoData {
			break
		}
		end, err := Seek(ctx, c, start, unix.SEEK_HOLE)
		if err != nil || start < off || end <= start {
			t.Fatalf("from %d: data %d to %d, %v", off, start, end, err)
		}
		found = append(found, [2]int64{start, end})
		off = end
	}
	return found
}
