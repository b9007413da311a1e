package input

import (
	"fmt"
	"slices"

	"github.com/zarrfs/zarrfs/fs/pathstate"
	"github.com/zarrfs/zarrfs/fs/program"
	"github.com/zarrfs/zarrfs/zarrcore/pyjson"
)

// An editor reads a.json, somebody appends rows, and the editor writes its text back. The shape in
// that text is the old one, and would remove the new rows. So the mount remembers which shapes
// programs have found in a document. A shape that was found there before the array got another one
// is not taken for a request to resize it.

// Readers are the shapes that programs found in an array's document, one of each program, the
// newest last. It is never changed in place.
type Readers struct{ all []reader }

// reader is the shape that a process found last, or that it wrote itself.
type reader struct {
	by    program.Process
	shape string
}

const (
	// maxReads is how many processes are remembered as readers of an array's document. Those that
	// have ended make room first, so an editor is only forgotten if so many programs have read the
	// document and still run. Each takes about 100 bytes.
	maxReads     = 64
	maxReadPaths = 1 << 12 // arrays whose documents were read
)

// Reads are those of a mount.
type Reads struct{ of *pathstate.Bounded[Readers] }

// NewReads returns the reads of a mount: there are none yet.
func NewReads(parts pathstate.Parts[pathstate.Bound[Readers]]) *Reads {
	return &Reads{pathstate.NewBounded(parts, maxReadPaths)}
}

// Note remembers that a process knows the document of the array at path.
func (t *Reads) Note(path string, by program.Process, document []byte) {
	now := reader{by, ShapeIn(document)}
	if now.shape == "" {
		return
	}
	leaving := t.of.Of(path).leaving()
	t.of.Edit(path, func(known *Readers) *Readers {
		if known == nil {
			return &Readers{[]reader{now}}
		}
		all := slices.DeleteFunc(slices.Clone(known.all), now.isBySame)
		if len(all) == maxReads {
			i := max(0, slices.IndexFunc(all, leaving.isBySame))
			all = slices.Delete(all, i, i+1)
		}
		return &Readers{append(all, now)}
	})
}

// leaving returns which read makes room for another one, if there are as many as there may be: the
// oldest of a process that has ended.
func (known *Readers) leaving() reader {
	if known == nil || len(known.all) < maxReads {
		return reader{}
	}
	hasEnded := func(r reader) bool { return r.by.HasEnded() }
	return known.all[max(0, slices.IndexFunc(known.all, hasEnded))]
}

func (r reader) isBySame(other reader) bool { return r.by.Is(other.by) }

// IsOld reports whether the process by, which writes a document with that shape, has the shape from
// the document as it was before. The array has another shape now, the current one.
func (t *Reads) IsOld(path string, by program.Process, shape, current string) bool {
	known := t.of.Of(path)
	if known == nil || shape == current {
		return false
	}
	isWriters := reader{by: by}.isBySame
	if i := slices.IndexFunc(known.all, isWriters); i >= 0 {
		return known.all[i].shape == shape
	}
	found := func(shape string) bool {
		return slices.ContainsFunc(known.all, func(r reader) bool { return r.shape == shape })
	}
	return found(shape) && !found(current) // perhaps one program has read it, and another writes it
}

// ShapeIn returns the shape in the document of an array, "" if it has none.
func ShapeIn(document []byte) string {
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

// IsWithoutShape reports whether a text says the same as a document, except its shape.
func IsWithoutShape(document, text []byte) bool {
	document, err := pyjson.Remove(document, "shape")
	if err != nil {
		return false
	}
	one, oneErr := pyjson.Parse(document)
	other, otherErr := pyjson.Parse(text)
	return oneErr == nil && otherErr == nil && pyjson.Equal(one, other)
}
