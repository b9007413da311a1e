package fs

import (
	"context"
	"fmt"
	iofs "io/fs"
	"slices"

	"github.com/zarrfs/zarrfs/fs/pathstate"
	"github.com/zarrfs/zarrfs/fs/program"
	"github.com/zarrfs/zarrfs/fs/wire"
	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/pyjson"
)

// An editor reads a.json, somebody appends rows, and the editor writes its text back. The shape in
// that text is the old one, and would cut the new rows off. So the mount remembers which shapes
// programs have found in a document. A shape that was found there before the array got another one
// is not taken for a request to resize it.

// documentReads are the shapes that programs found in an array's document, the newest last. It is
// never changed in place.
type documentReads struct{ all []documentRead }

// documentRead is a shape that a process found, or that it wrote itself.
type documentRead struct {
	process int // its number
	shape   string
}

const (
	maxReads     = 16      // of an array's document
	maxReadPaths = 1 << 12 // arrays whose documents were read
)

// reads are those of a mount.
type reads struct {
	*pathstate.Bounded[documentReads]
}

func (t *reads) init(states *states) {
	of := func(s *state) *pathstate.Bound[documentReads] { return &s.reads }
	t.Bounded = pathstate.NewBounded(pathstate.PartsOf(states, of), maxReadPaths)
}

// note remembers that a thread, and so its process, knows the document of the array at path.
func (t *reads) note(path string, thread int, document []byte) {
	now := documentRead{program.ProcessOf(thread), shapeIn(document)}
	if now.shape == "" {
		return
	}
	t.Edit(path, func(known *documentReads) *documentReads {
		if known == nil {
			return &documentReads{[]documentRead{now}}
		}
		isSame := func(r documentRead) bool { return r == now }
		all := slices.DeleteFunc(slices.Clone(known.all), isSame)
		if len(all) == maxReads {
			all = all[1:]
		}
		return &documentReads{append(all, now)}
	})
}

// isOld reports whether the process by, which writes a document with that shape, has the shape from
// the document as it was before. The array has another shape now, the current one.
func (t *reads) isOld(path string, by program.Process, shape, current string) bool {
	known := t.Of(path)
	if known == nil || shape == current {
		return false
	}
	writer := program.ProcessOf(by.PID)
	for _, r := range slices.Backward(known.all) {
		if r.process == writer {
			return r.shape == shape
		}
	}
	found := func(shape string) bool {
		return slices.ContainsFunc(known.all, func(r documentRead) bool { return r.shape == shape })
	}
	return found(shape) && !found(current) // perhaps one program has read it, and another writes it
}

// shapeIn returns the shape in the document of an array, "" if it has none.
func shapeIn(document []byte) string {
	root, err := pyjson.Parse(document)
	if err != nil || !root.Get("shape").Exists() {
		return ""
	}
	var shape []string
	for length := range root.Get("shape").Elements() {
		shape = append(shape, string(length.Raw()))
	}
	return fmt.Sprint(shape)
}

// noteRead remembers that the caller knows the document as it is now.
func (h *documentHandle) noteRead(ctx context.Context) {
	h.doc.mu.Lock()
	defer h.doc.mu.Unlock()
	h.node.fs.reads.note(h.node.path(), wire.Thread(ctx), h.doc.text)
}

// withoutOldShape returns the text of a document without its shape, if that is not meant to resize
// the array n. A text that changes nothing but the shape may have been meant to resize it. It is
// refused, so that the program learns that the array keeps its shape.
func (d *document) withoutOldShape(n *zarrcore.Node, by program.Process) ([]byte, error) {
	shape := shapeIn(d.text)
	if n.Kind != zarrcore.ArrayNode || n.Meta == nil || shape == "" || foreign(n, d.text) {
		return d.text, nil
	}
	shown := fmt.Sprint(n.Meta.Shape)
	current, writers := shown, 0
	if w := d.fs.writings.find(n.Path); w != nil && w.array() != nil {
		current = fmt.Sprint(w.array().Meta().Shape) // rows may not be stored yet
		writers = w.writers()
	}
	isOld := shape == shown || d.fs.reads.isOld(n.Path, by, shape, current)
	if shape == current || !isOld {
		return d.text, nil
	}
	text, err := pyjson.Remove(d.text, "shape")
	if err != nil {
		return d.text, nil
	}
	// Programs that are writing the array may be about to give it that shape.
	if shape != shown && writers == 0 && isWithoutShape(n.Document, text) {
		return nil, fmt.Errorf("%w: the document of %q says nothing new but the shape %s, which "+
			"the array had before; it has %s by now, and keeps that. To resize it, read the document "+
			"as it is, and then write the other one again", iofs.ErrInvalid, n.Path, shape, current)
	}
	d.fs.log.Warn("a document had the shape that the array had before; the array keeps its shape",
		"path", n.Path, "document", shape, "array", current)
	return text, nil
}

// isWithoutShape reports whether a text says the same as a document, except its shape.
func isWithoutShape(document, text []byte) bool {
	document, err := pyjson.Remove(document, "shape")
	if err != nil {
		return false
	}
	one, oneErr := pyjson.Parse(document)
	other, otherErr := pyjson.Parse(text)
	return oneErr == nil && otherErr == nil && pyjson.Equal(one, other)
}
