package fs

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

func (jsonlView) name() string { return "jsonl" }

func (jsonlView) has(a subject) bool { return a.vlen() }

func (jsonlView) lists(subject) bool { return true }

func (jsonlView) describes(*meta.Array) bool { return false }

func (jsonlView) writable() bool { return true }

func (jsonlView) keeps() bool { return true }

func (jsonlView) accepts(vlen.Kind) bool { return true }

func (jsonlView) counted(_ *zarrcore.VlenArray, found zarrcore.Count) (int64, error) {
	return found.Lines, nil
}

func (jsonlView) appends() bool { return true }

func (jsonlView) take(ctx context.Context, h *zarrcore.Hierarchy, path string, text written, all, durable bool) error {
	if all {
		return h.WriteLines(ctx, path, text, text.size, durable)
	}
	return h.AppendLines(ctx, path, text, text.size, durable)
}

func (jsonlView) size(n *zarrcore.Node) (int64, error) {
	if n.Err != nil {
		return 0, n.Err
	}
	return 0, errUncounted
}

func (jsonlView) open(ctx context.Context, h *zarrcore.Hierarchy, path string) (content, error) {
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

func (c *lines) array() *zarrcore.Array { return nil }
func (c *lines) close()                 { c.arr.Close() }

func (c *lines) size() int64 {
	if found, all := c.arr.Counted(); all {
		return found.Lines
	}
	return math.MaxInt64
}

func (c *lines) count(ctx context.Context) error {
	_, err := c.arr.Count(ctx)
	return err
}

func (c *lines) read(ctx context.Context, off, n int64) (*found, error) {
	return readSome(n, func(p []byte) (int, error) { return c.reader.ReadAt(ctx, p, off) })
}

func (c *lines) nextData(_ context.Context, off int64) (start, end int64, err error) {
	return off, c.size(), nil
}

// readSome makes a reply of what read puts into n bytes, or fewer at the end. The read that begins
// at an error returns it.
func readSome(n int64, read func(p []byte) (int, error)) (*found, error) {
	p := make([]byte, n)
	k, err := read(p)
	if err != nil && !errors.Is(err, io.EOF) && k == 0 {
		return nil, err
	}
	return &found{slices: [][]byte{p[:k]}, n: k}, nil
}
