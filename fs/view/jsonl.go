package view

import (
	"context"
	"errors"
	"io"
	"math"
	"sync"

	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/meta"
	"github.com/zarrfs/zarrfs/zarrcore/store"
	"github.com/zarrfs/zarrfs/zarrcore/vlen"
)

// jsonlView shows an array whose elements have no fixed size as lines of JSON, one for each element
// in C order.
type jsonlView struct{}

func (jsonlView) Name() string { return "jsonl" }

func (jsonlView) Has(a Subject) bool { return a.isVlen() }

func (jsonlView) HasBy() Criterion { return ByElements }

func (jsonlView) IsListed(Subject) bool { return true }

func (jsonlView) IsDescription(*meta.Array) bool { return false }

func (jsonlView) IsWritable() bool { return true }

func (jsonlView) IsKeeper() bool { return true }

func (jsonlView) Accepts(vlen.Kind) bool { return true }

func (jsonlView) Counted(_ *zarrcore.VlenArray, found zarrcore.Count) (int64, error) {
	return found.Lines, nil
}

func (jsonlView) Appends() bool { return true }

func (jsonlView) Take(
	ctx context.Context, h *zarrcore.Hierarchy, path string, text Written, all, durable bool,
) error {
	if all {
		return h.WriteLines(ctx, path, text, text.Size, durable)
	}
	return h.AppendLines(ctx, path, text, text.Size, durable)
}

func (jsonlView) Size(n *zarrcore.Node) (int64, error) {
	if n.Err != nil {
		return 0, n.Err
	}
	return 0, errUncounted
}

func (jsonlView) Open(ctx context.Context, h *zarrcore.Hierarchy, path string) (Content, error) {
	arr, err := h.OpenVlen(ctx, path)
	if err != nil {
		return nil, err
	}
	arr.Open()
	return &lines{arr: arr, reader: arr.Lines()}, nil
}

// lines is the content of a .jsonl file. Until the array is counted, the end of the file is where a
// read finds nothing more.
type lines struct {
	mu     sync.Mutex // guards what follows
	arr    *zarrcore.VlenArray
	reader *zarrcore.LineReader
	given  bool // lines of it; it stays from then on
}

func (c *lines) Array() *zarrcore.Array { return nil }
func (c *lines) Rights() store.Rights   { return c.array().ObjectRights() }
func (c *lines) Close()                 { c.array().Close() }

func (c *lines) Size() int64 {
	if found, all := c.array().Counted(); all {
		return found.Lines
	}
	return math.MaxInt64
}

func (c *lines) count(ctx context.Context) error {
	_, err := c.array().Count(ctx)
	return err
}

// array returns the array as it was when it was last opened.
func (c *lines) array() *zarrcore.VlenArray {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.arr
}

// reopenTries is how often a read opens an array that changes again and again.
const reopenTries = 10

// Read reads lines. If the array has changed before any of them was read, it is opened again: its
// program may as well have opened it later.
func (c *lines) Read(ctx context.Context, off, n int64) (*Found, error) {
	for tries := 0; ; tries++ {
		c.mu.Lock()
		arr, reader := c.arr, c.reader
		c.mu.Unlock()
		var why error // also if there are lines before those that it is about
		found, err := readSome(n, func(p []byte) (k int, err error) {
			k, why = reader.ReadAt(ctx, p, off)
			return k, why
		})
		isChanged := errors.Is(why, zarrcore.ErrChanged) && tries < reopenTries
		if isChanged && c.reopen(ctx, arr) {
			continue
		}
		if c.give(reader, found) {
			return found, err
		}
	}
}

// give notes that lines of a reader were read. It reports false if there is another reader by now.
func (c *lines) give(reader *zarrcore.LineReader, found *Found) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if found == nil || found.N == 0 {
		return true
	}
	c.given = c.given || reader == c.reader
	return reader == c.reader
}

// reopen opens the array again unless lines were read, or another read has done so since it was
// arr. It reports whether a read can be tried again.
func (c *lines) reopen(ctx context.Context, arr *zarrcore.VlenArray) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.given || c.arr != arr {
		return !c.given
	}
	now, err := arr.Reopen(ctx)
	if err != nil {
		return false
	}
	now.Open()
	arr.Close()
	c.arr, c.reader = now, now.Lines()
	return true
}

func (c *lines) NextData(_ context.Context, off int64) (start, end int64, err error) {
	return off, c.Size(), nil
}

// readSome makes a reply of what read puts into n bytes, or fewer at the end. The read that begins
// at an error returns it.
func readSome(n int64, read func(p []byte) (int, error)) (*Found, error) {
	p := make([]byte, n)
	k, err := read(p)
	if err != nil && !errors.Is(err, io.EOF) && k == 0 {
		return nil, err
	}
	return &Found{Slices: [][]byte{p[:k]}, N: k}, nil
}
