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

// documentReads are the shapes that programs found in an array's document, one of each program, the
// newest last. It is never changed in place.
type documentReads struct{ all []documentRead }

// documentRead is the shape that a process found last, or that it wrote itself.
type documentRead struct {
	by    program.Process
	shape string
}

const (
	// maxReads is how many processes are remembered that know an array's document. Those that have
	// ended make room first, so an editor is only forgotten if so many programs have read the
	// document and still run. Each takes about 100 bytes.
	maxReads     = 64
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

// note remembers that a process knows the document of the array at path.
func (t *reads) note(path string, by program.Process, document []byte) {
	now := documentRead{by, shapeIn(document)}
	if now.shape == "" {
		return
	}
	leaving := t.Of(path).leaving()
	t.Edit(path, func(known *documentReads) *documentReads {
		if known == nil {
			return &documentReads{[]documentRead{now}}
		}
		all := slices.DeleteFunc(slices.Clone(known.all), now.isBySame)
		if len(all) == maxReads {
			i := max(0, slices.IndexFunc(all, leaving.isBySame))
			all = slices.Delete(all, i, i+1)
		}
		return &documentReads{append(all, now)}
	})
}

// leaving returns which read makes room for another one, if there are as many as there may be: the
// oldest of a process that has ended.
func (known *documentReads) leaving() documentRead {
	if known == nil || len(known.all) < maxReads {
		return documentRead{}
	}
	hasEnded := func(r documentRead) bool { return r.by.HasEnded() }
	return known.all[max(0, slices.IndexFunc(known.all, hasEnded))]
}

func (r documentRead) isBySame(other documentRead) bool { return r.by.Is(other.by) }

// isOld reports whether the process by, which writes a document with that shape, has the shape from
// the document as it was before. The array has another shape now, the current one.
func (t *reads) isOld(path string, by program.Process, shape, current string) bool {
	known := t.Of(path)
	if known == nil || shape == current {
		return false
	}
	isWriters := documentRead{by: by}.isBySame
	if i := slices.IndexFunc(known.all, isWriters); i >= 0 {
		return known.all[i].shape == shape
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
	h.node.fs.reads.note(h.node.path(), wire.Caller(ctx), h.doc.text)
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
