package view

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/zarrfs/zarrfs/fs/errno"
	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/pyjson"
	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// Flat is the content of an array's view. It follows the array. If a program changes the shape
// through the mount, the content shows that at once. A change in the store by others shows at the
// next open.
type Flat struct {
	view ArrayView

	mu  sync.Mutex
	now *generation
}

// generation is a flat content of one generation of its array.
type generation struct {
	view   ArrayView
	arr    *zarrcore.Array
	head   int64 // bytes of the header
	data   *zarrcore.Array
	tail   int64 // zero bytes behind those of data
	reader *zarrcore.Reader
	said   atomic.Pointer[header] // nil: nobody has read the header
	before store.Rights           // those to the header of the generation before
	says   pyjson.Value           // the array's attributes, by which its values may be unpacked
	users  int                    // flat.mu guards it

	// past: another one has taken its place, or the content is closed. The last user ends it.
	past bool
}

// header is the header of a generation.
type header struct {
	text []byte
	to   store.Rights // to what it says of the array, besides the array's own document
}

// OpenFlat opens the array, and reads what the header says of it, as the store has both now.
func OpenFlat(ctx context.Context, h *zarrcore.Hierarchy, path string, v ArrayView) (*Flat, error) {
	arr, err := h.OpenArray(ctx, path)
	if err != nil {
		return nil, tooBig(ctx, h, path, err)
	}
	c, err := NewFlat(v, arr.Live())
	if err != nil {
		return nil, err
	}
	if _, err := c.now.header(ctx); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// NewFlat returns the content of a view of an array that is open. It asks no store.
func NewFlat(v ArrayView, arr *zarrcore.Array) (*Flat, error) {
	now, err := newGeneration(v, arr)
	if err != nil {
		return nil, err
	}
	return &Flat{view: v, now: now}, nil
}

func newGeneration(v ArrayView, arr *zarrcore.Array) (*generation, error) {
	says := arr.Meta().Attributes // before they are used: they may change meanwhile
	head, data, err := v.Parts(arr)
	if err != nil {
		return nil, err
	}
	tail := v.Tail(data.Size())
	if data.Size() > 1<<63-1-head-tail {
		return nil, errno.ErrTooBig
	}
	return &generation{view: v, arr: arr, head: head, data: data, tail: tail,
		reader: data.NewReader(), says: says}, nil
}

// header returns the header. The first one to need it may have to ask the store.
func (g *generation) header(ctx context.Context) (*header, error) {
	if said := g.said.Load(); said != nil || g.head == 0 {
		return said, nil
	}
	text, to, err := g.view.Header(ctx, g.arr)
	if err != nil {
		return nil, err
	}
	if int64(len(text)) != g.head {
		return nil, fmt.Errorf("the header of the .%s file of %s: expected %d bytes, found %d",
			g.view.Name(), g.arr.Path(), g.head, len(text))
	}
	g.said.CompareAndSwap(nil, &header{text, to})
	return g.said.Load(), nil
}

// rights returns those to what the header says. Until somebody has read it, they are those of the
// generation before.
func (g *generation) rights() store.Rights {
	if said := g.said.Load(); said != nil {
		return said.to
	}
	return g.before
}

// tooBig returns errno.ErrTooBig in place of err if the array at path has more bytes than a file
// can have.
func tooBig(ctx context.Context, h *zarrcore.Hierarchy, path string, err error) error {
	n, nodeErr := h.Node(ctx, path)
	if nodeErr != nil {
		return err
	}
	if _, sizeErr := ArraySize(n); errors.Is(sizeErr, errno.ErrTooBig) {
		return sizeErr
	}
	return err
}

// enterArrived is enter for a request that may ask the store where the array is.
func (c *Flat) enterArrived(ctx context.Context) (*generation, error) {
	c.Array().Arrive(ctx)
	return c.enter()
}

// enter returns the generation that counts now, for one use.
func (c *Flat) enter() (*generation, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	g, err := c.current()
	if err == nil {
		g.users++
	}
	return g, err
}

// current returns the generation that counts now. The caller holds mu.
func (c *Flat) current() (*generation, error) {
	if live := c.now.arr.Live(); live != c.now.arr {
		next, err := newGeneration(c.view, live)
		if err != nil {
			return nil, err
		}
		next.before = c.now.rights()
		c.end(c.now)
		c.now = next
	}
	return c.now, nil
}

// leave ends a use.
func (c *Flat) leave(g *generation) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if g.users--; g.users == 0 && g.past {
		g.reader.Close()
	}
}

// end closes a generation once nobody uses it. The caller holds mu.
func (c *Flat) end(g *generation) {
	g.past = true
	if g.users == 0 {
		g.reader.Close()
	}
}

// Again returns the same bytes for another reader.
func (c *Flat) Again() (*Flat, error) { return NewFlat(c.view, c.Array()) }

// IsReordered reports whether the file's bytes lie in another order than the array's.
func (c *Flat) IsReordered() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now.data != c.now.arr
}

// Fingerprint returns what changes whenever the bytes of an open file do. Those of a derived view
// also depend on what the array's document and groups say.
func Fingerprint(v View, c Content) string {
	print := c.Array().Fingerprint()
	if flat, ok := c.(*Flat); ok && IsDerived(v) {
		flat.mu.Lock()
		defer flat.mu.Unlock()
		sum := sha256.New()
		if said := flat.now.said.Load(); said != nil {
			sum.Write(said.text)
		}
		sum.Write(flat.now.says.Raw())
		return fmt.Sprintf("%s %x", print, sum.Sum(nil))
	}
	return print
}

// Writable returns nil, or why the file cannot be written.
func (c *Flat) Writable() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now.data.Writable()
}

// Size implements Content.
func (c *Flat) Size() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	g, err := c.current()
	if err != nil {
		return 0
	}
	return g.Size()
}

// Rights implements Content.
func (c *Flat) Rights() store.Rights {
	c.mu.Lock()
	to := c.now.rights()
	c.mu.Unlock()
	return to.And(c.Array().ObjectRights())
}

// Array implements Content.
func (c *Flat) Array() *zarrcore.Array {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now.arr.Live()
}

// Close implements Content.
func (c *Flat) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.end(c.now)
}

// readTries is how often a READ is begun again because the array got another size meanwhile.
const readTries = 10

// Read reads at most n bytes at off, all of them from one generation. If a generation is truncated
// meanwhile, its lost rows would read as the fill value, which nobody has written.
func (c *Flat) Read(ctx context.Context, off, n int64) (r *Found, err error) {
	return c.steady(ctx, func(g *generation) (*Found, error) {
		return g.Read(ctx, off, min(n, g.Size()-off)) // it may have become smaller just now
	})
}

// ReadStacked reads n bytes at off of the array's chunks one behind the other, all of them from one
// generation.
func (c *Flat) ReadStacked(ctx context.Context, off, n int64) (r *Found, err error) {
	return c.steady(ctx, func(g *generation) (*Found, error) {
		p, err := g.arr.ReadStacked(ctx, off, n)
		if err != nil {
			return nil, err
		}
		return &Found{Slices: p.Bufs, N: int(n), pinned: p}, nil
	})
}

// steady reads from the generation that counts before and after it. After some tries it reads
// without a check of what happens meanwhile.
func (c *Flat) steady(
	ctx context.Context, read func(*generation) (*Found, error),
) (r *Found, err error) {
	for try := 0; ; try++ {
		g, err := c.enterArrived(ctx)
		if err != nil {
			return nil, err
		}
		r, err = read(g)
		same := g.arr.Live() == g.arr
		c.leave(g)
		if err != nil || same || try == readTries {
			return r, err
		}
		r.Done()
	}
}

// NextData implements Content.
func (c *Flat) NextData(ctx context.Context, off int64) (start, end int64, err error) {
	g, err := c.enterArrived(ctx)
	if err != nil {
		return 0, 0, err
	}
	defer c.leave(g)
	if off < g.head {
		return off, g.head, nil // the header is data; what follows is asked for next
	}
	if off < g.end() {
		start, end, err = g.data.NextData(ctx, off-g.head)
		start, end = start+g.head, end+g.head
	}
	if err == nil && (off >= g.end() || start >= g.end()) { // a tail is a hole
		return g.Size(), g.Size(), nil
	}
	return start, end, err
}

// end returns where the bytes of the array end.
func (g *generation) end() int64 { return g.head + g.data.Size() }

func (g *generation) Size() int64 { return g.end() + g.tail }

// Read returns the n bytes at off, which it has.
func (g *generation) Read(ctx context.Context, off, n int64) (*Found, error) {
	shown := min(n, max(0, g.end()-off))
	r, err := g.readShown(ctx, off, shown)
	if err == nil && n > shown {
		r.Slices = append(slices.Clip(r.Slices), make([]byte, n-shown))
		r.N += int(n - shown)
	}
	return r, err
}

// readShown returns the n bytes at off, none of them of the tail.
func (g *generation) readShown(ctx context.Context, off, n int64) (*Found, error) {
	switch {
	case n <= 0:
		return &Found{}, nil
	case off >= g.head:
		return g.readArray(ctx, off-g.head, n, nil)
	}
	said, err := g.header(ctx)
	if err != nil {
		return nil, err
	}
	if off+n <= g.head {
		return &Found{Slices: [][]byte{said.text[off : off+n]}, N: int(n)}, nil
	}
	return g.readArray(ctx, 0, off+n-g.head, said.text[off:])
}

// readArray returns front and then the n bytes of the array at off.
func (g *generation) readArray(ctx context.Context, off, n int64, front []byte) (*Found, error) {
	p, err := g.reader.Read(ctx, off, n)
	if err != nil {
		return nil, err
	}
	r := &Found{Slices: p.Bufs, N: int(n) + len(front), pinned: p}
	if len(front) > 0 {
		r.Slices = append([][]byte{front}, p.Bufs...)
	}
	return r, nil
}
