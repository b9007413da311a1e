package view

import (
	"context"
	"errors"
	"io"
	"math"

	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/meta"
	"github.com/zarrfs/zarrfs/zarrcore/vlen"
)

// jsonlView shows an array whose elements have no fixed size as lines of JSON, one for each element
// in C order.
type jsonlView struct{}

func (jsonlView) Name() string { return "jsonl" }

func (jsonlView) Has(a Subject) bool { return a.vlen() }

func (jsonlView) Lists(Subject) bool { return true }

func (jsonlView) Describes(*meta.Array) bool { return false }

func (jsonlView) Writable() bool { return true }

func (jsonlView) Keeps() bool { return true }

func (jsonlView) Accepts(vlen.Kind) bool { return true }

func (jsonlView) Counted(_ *zarrcore.VlenArray, found zarrcore.Count) (int64, error) {
	return found.Lines, nil
}

func (jsonlView) Appends() bool { return true }

func (jsonlView) Take(ctx context.Context, h *zarrcore.Hierarchy, path string, text Written, all, durable bool) error {
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
	return &lines{arr, arr.Lines()}, nil
}

// lines is the content of a .jsonl file. Until the array is counted, the end of the file is where a
// read finds nothing more.
type lines struct {
	arr    *zarrcore.VlenArray
	reader *zarrcore.LineReader
}

func (c *lines) Array() *zarrcore.Array { return nil }
func (c *lines) Close()                 { c.arr.Close() }

func (c *lines) Size() int64 {
	if found, all := c.arr.Counted(); all {
		return found.Lines
	}
	return math.MaxInt64
}

func (c *lines) count(ctx context.Context) error {
	_, err := c.arr.Count(ctx)
	return err
}

func (c *lines) Read(ctx context.Context, off, n int64) (*Found, error) {
	return readSome(n, func(p []byte) (int, error) { return c.reader.ReadAt(ctx, p, off) })
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
