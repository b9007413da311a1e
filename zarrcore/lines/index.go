package lines

import (
	"context"
	"runtime"
	"slices"
	"sort"
	"sync"
	"time"

	"github.com/zarrfs/zarrfs/compress"
)

// This file knows where the lines of an array are. The length of a line is known only once its
// element is decoded. So chunks are counted, in C order and each once: how many bytes their
// elements add to which stretch of lines. What a whole slab has been counted of is known; the rest
// is counted on demand.

// Count is what counting an array has found.
type Count struct {
	Lines int64 // bytes of all lines
	Width int64 // characters or bytes of the widest element; -1 if one is not a string
}

// Index knows how many bytes the lines of an array take, stretch by stretch.
type Index struct {
	src Source
	per int64 // elements of a stretch

	turn   chan struct{} // held by the goroutine that counts
	recall Recaller      // see Recall; nil: not, or not any more. Guarded by turn
	counts Source        // what is counted; see Recall
	began  time.Time

	mu     sync.Mutex
	latest time.Time // when something was last counted
	// of the lines of each stretch; of those that are whole, of them and all before
	bytes   []int64
	whole   int64 // stretches that are counted
	chunks  int64 // chunks that are counted
	width   int64 // of the widest element in them
	unsized bool  // one of them has an element that is not a string
}

// The stretches of an index: as few elements as will make it worth while, and
// so many that the index takes 128 KiB.
const (
	leastStretch  = 256
	mostStretches = 16 << 10
)

// NewIndex returns an index of which nothing has been counted.
func NewIndex(src Source) *Index {
	n := src.Grid().Size()
	per := max(leastStretch, (n+mostStretches-1)/mostStretches)
	now := time.Now()
	return &Index{
		src: src, counts: src, per: per, turn: make(chan struct{}, 1),
		bytes: make([]int64, (n+per-1)/per), began: now, latest: now,
	}
}

// A Recaller returns another index of the same array whose counts still hold; nil if there is none.
// It fails only if ctx ends.
type Recaller func(ctx context.Context) (*Index, error)

// Recall makes the index ask for another one before it counts the first chunk, and then count what
// later yields. That must be no older than what the recaller looked at: otherwise counts of before
// a change would be taken for those of after it. Recall is called before the index is used.
func (x *Index) Recall(recall Recaller, later Source) { x.recall, x.counts = recall, later }

// Progress returns when something was last counted, and how long it had taken until then.
func (x *Index) Progress() (latest time.Time, took time.Duration) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.latest, x.latest.Sub(x.began)
}

// takeOver takes over what another index of the same array has counted.
func (x *Index) takeOver(old *Index) {
	if old == nil || old == x {
		return
	}
	old.mu.Lock()
	counted := slices.Clone(old.bytes)
	whole, chunks, width, unsized := old.whole, old.chunks, old.width, old.unsized
	old.mu.Unlock()
	x.mu.Lock()
	defer x.mu.Unlock()
	copy(x.bytes, counted) // of the same length, which Memory reads without the lock
	x.whole, x.chunks, x.width, x.unsized = whole, chunks, width, unsized
	x.latest = time.Now()
}

// Memory returns the bytes that the index takes.
func (x *Index) Memory() int64 {
	if x == nil {
		return 0
	}
	return 8 * int64(len(x.bytes))
}

// A tally is what one chunk adds to the index.
type tally struct {
	first   int64   // stretch
	bytes   []int64 // for it and those after it
	width   int64
	unsized bool
	err     error
}

// Counted returns what has been counted until now, and whether that is the whole array.
func (x *Index) Counted() (Count, bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	c := Count{Width: x.width}
	if x.unsized {
		c.Width = -1
	}
	if x.whole > 0 {
		c.Lines = x.bytes[x.whole-1]
	}
	return c, x.chunks == x.src.Grid().Chunks()
}

// find returns the stretch that holds byte off of the lines, and where it begins. Where that is not
// known yet, known is false, and at is the end of the last known stretch. The same holds where off
// is beyond the end.
func (x *Index) find(off int64) (stretch, at int64, known bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	i := int64(sort.Search(int(x.whole), func(i int) bool { return x.bytes[i] > off }))
	if i > 0 {
		at = x.bytes[i-1]
	}
	return i, at, i < x.whole
}

// end returns where a stretch ends, if that is known.
func (x *Index) end(stretch int64) (int64, bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if stretch >= x.whole {
		return 0, false
	}
	return x.bytes[stretch], true
}

// Count returns how long the lines of the array are and how wide its elements. It decodes every
// chunk that has not been counted yet.
func (x *Index) Count(ctx context.Context) (Count, error) {
	for {
		c, all := x.Counted()
		if all {
			return c, nil
		}
		if err := x.CountSome(ctx); err != nil {
			return c, err
		}
	}
}

// CountSome counts some chunks more, unless all are counted. What was counted
// before ctx ended, or a chunk turned out to be unreadable, is kept.
func (x *Index) CountSome(ctx context.Context) error {
	select {
	case x.turn <- struct{}{}:
		defer func() { <-x.turn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if x.recall != nil {
		old, err := x.recall(ctx)
		if err != nil {
			return err
		}
		x.recall = nil
		x.takeOver(old)
		return nil
	}
	x.mu.Lock()
	first := x.chunks
	x.mu.Unlock()
	tallies := make([]tally, min(int64(2*runtime.NumCPU()), x.src.Grid().Chunks()-first))
	var wg sync.WaitGroup
	for i := range tallies {
		if i%2 == 0 { // two chunks each: as many at once as there are CPUs
			wg.Go(func() {
				for k := i; k < min(i+2, len(tallies)); k++ {
					tallies[k] = x.tally(ctx, first+int64(k))
				}
			})
		}
	}
	wg.Wait()
	return x.add(tallies)
}

// tally counts one chunk.
func (x *Index) tally(ctx context.Context, n int64) (t tally) {
	t.err = compress.Guard(func() error { return x.tallyInto(&t, ctx, n) })
	return t
}

func (x *Index) tallyInto(t *tally, ctx context.Context, n int64) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	e, err := x.counts.Elements(ctx, n)
	if err != nil {
		return err
	}
	fill := x.src.Fill()
	fillLen, fillWidth := fill.LineLen(0), fill.Width(0)
	note := func(width int64) {
		t.width = max(t.width, width)
		t.unsized = t.unsized || width < 0
	}
	if e == nil {
		note(fillWidth)
	}
	box := x.src.Grid().Box(n)
	t.first = box.Off / x.per
	for off, in := range box.Runs() {
		for i := int64(0); i < box.RunLen; {
			stretch := (off + i) / x.per
			end := min(box.RunLen, (stretch+1)*x.per-off)
			bytes := (end - i) * fillLen
			if e != nil {
				bytes = 0
				for k := i; k < end; k++ {
					bytes += e.LineLen(in + k)
					note(e.Width(in + k))
				}
			}
			for int64(len(t.bytes)) <= stretch-t.first {
				t.bytes = append(t.bytes, 0)
			}
			t.bytes[stretch-t.first] += bytes
			i = end
		}
	}
	return nil
}

// add adds the tallies of the chunks that come next, up to the first error.
func (x *Index) add(tallies []tally) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, t := range tallies {
		if t.err != nil {
			x.sumUp()
			return t.err
		}
		for i, n := range t.bytes {
			x.bytes[t.first+int64(i)] += n
		}
		x.width = max(x.width, t.width)
		x.unsized = x.unsized || t.unsized
		x.chunks++
	}
	x.sumUp()
	return nil
}

// sumUp sums up the stretches whose chunks are all counted. The caller
// holds mu.
func (x *Index) sumUp() {
	x.latest = time.Now()
	grid := x.src.Grid()
	whole := int64(len(x.bytes))
	if x.chunks < grid.Chunks() {
		whole = grid.Slab(grid.SlabOfChunk(x.chunks)).Off / x.per
	}
	for ; x.whole < whole; x.whole++ {
		if x.whole > 0 {
			x.bytes[x.whole] += x.bytes[x.whole-1]
		}
	}
}
