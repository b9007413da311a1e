package fs

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/zarrfs/zarrfs/fs/names"
	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/pyjson"
)

// A File is a view of a node, read without a mount. It is not safe for concurrent use.
type File struct {
	ctx     context.Context
	content content
	off     int64
}

// OpenView opens the view of that name of the node at path.
func OpenView(ctx context.Context, h *zarrcore.Hierarchy, path, name string) (*File, error) {
	v := viewNamed(name)
	if v == nil {
		_, err := ParseViews(name)
		return nil, err
	}
	c, err := v.open(ctx, h, path)
	if err != nil {
		return nil, err
	}
	if u, ok := c.(uncounted); ok {
		if err := u.count(ctx); err != nil {
			c.close()
			return nil, err
		}
	}
	return &File{ctx: ctx, content: c}, nil
}

// Size returns the file's size in bytes.
func (f *File) Size() int64 { return f.content.size() }

// Close ends the reading.
func (f *File) Close() error {
	f.content.close()
	return nil
}

// Read reads the next bytes, as io.Reader does.
func (f *File) Read(p []byte) (int, error) {
	n := min(int64(len(p)), f.content.size()-f.off)
	if n <= 0 {
		return 0, io.EOF
	}
	r, err := f.content.read(f.ctx, f.off, n)
	if err != nil {
		return 0, err
	}
	defer r.Done()
	b, _ := r.Bytes(p[:0])
	f.off += int64(len(b))
	return len(b), nil
}

// WriteTo writes all that is left to w, without a copy in between.
func (f *File) WriteTo(w io.Writer) (written int64, err error) {
	for f.off < f.content.size() && err == nil {
		var n int64
		n, err = f.writeSome(w)
		written += n
	}
	return written, err
}

func (f *File) writeSome(w io.Writer) (written int64, err error) {
	want := min(maxRequest, f.content.size()-f.off)
	r, err := f.content.read(f.ctx, f.off, want)
	if err != nil {
		return 0, err
	}
	defer r.Done()
	for _, s := range r.slices {
		n, err := w.Write(s)
		written += int64(n)
		f.off += int64(n)
		if err != nil {
			return written, err
		}
	}
	if written < want {
		return written, fmt.Errorf("expected %d bytes, found %d: %w", want, written, io.ErrUnexpectedEOF)
	}
	return written, nil
}

// ShowName returns the name under which a node's name is shown in a directory.
func ShowName(name string) string { return names.Show(name) }

// ShowLink returns the text of a link with each name as it is shown.
func ShowLink(text string) string { return names.ShowLink(text) }

// TypeName spells an array's data type as NumPy does, and one whose elements have no fixed size as Zarr v3; "" if it is unknown.
func TypeName(n *zarrcore.Node) string {
	t := n.Meta.Type
	switch {
	case zarrcore.IsVlen(n.Meta) && n.Format == 3:
		return t.Name
	case t.Size > 0 || zarrcore.IsVlen(n.Meta):
		return t.NumPy()
	}
	return ""
}

// Chunk returns the shape of an array's smallest separately decodable block, nil if it is unknown or not the same everywhere.
func Chunk(n *zarrcore.Node) []int64 { return innerChunk(n) }

// Shard returns the shape of an array's shards, nil if it has none or they differ.
func Shard(n *zarrcore.Node) []int64 {
	if innerShape(n) == nil {
		return nil
	}
	return objectShape(n)
}

// CodecsJSON spells an array's codec chain as a Zarr v3 document does, whatever its own version; nil if it is unknown.
func CodecsJSON(n *zarrcore.Node) json.RawMessage {
	if n.Meta.Codecs == nil {
		return nil
	}
	return codecsJSON(n)
}

// FillJSON returns an array's fill value as JSON, nil if the document names none.
func FillJSON(n *zarrcore.Node) json.RawMessage {
	doc, err := pyjson.Parse(n.Document)
	if err != nil {
		return nil
	}
	if v := doc.Get("fill_value"); v.Exists() {
		return v.Standard()
	}
	return nil
}
