// Package compare compares what a program copies of an array by several of its views. The first
// one is written, and the others must say the same.
package compare

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"syscall"
	"time"

	"github.com/zarrfs/zarrfs/fs/alias"
	"github.com/zarrfs/zarrfs/fs/pathstate"
	"github.com/zarrfs/zarrfs/fs/program"
	"github.com/zarrfs/zarrfs/fs/view"
	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/dtype"
	"github.com/zarrfs/zarrfs/zarrcore/meta"
)

// A program that copies a tree writes the same array several times, by each of its views. If one of
// them was edited in the tree, the others are older, and one that comes later would undo the edit.
// So after the first view has changed the array, what the program writes by another one is compared
// with the array. It is not written, and a difference is an error of the program. A view that
// cannot show all of the elements is compared with what it shows of them.

// Copied is what one program has copied of an array.
type Copied struct {
	by      program.Process
	beside  program.Process // another one that wrote the array right before by began
	at      time.Time       // when it began with the last view
	first   view.View       // the one that the others are compared with; nil: none was written yet
	seen    view.Set        // views that it has written, or that were compared
	changed bool            // the first one has changed the array, as far as is known
	arrives bool            // the first one is a file whose header has not come
	before  uint64          // the checksum of the array before that; used if changed is not set
}

// maxCopiedViews is how many arrays are remembered.
const maxCopiedViews = 1 << 14

// summedMost is how many bytes of an array are read to find out whether a copy has changed it. A
// copy of more bytes counts as a change.
const summedMost = 256 << 20

// Files are the files of a mount that programs copy, by several views of one array.
type Files struct {
	ctx    context.Context // ends with the mount
	h      *zarrcore.Hierarchy
	traces *alias.Traces
	views  *pathstate.Bounded[Copied]
}

// New returns the files of a mount, which ends with ctx. No program has copied any yet.
func New(
	ctx context.Context, h *zarrcore.Hierarchy, traces *alias.Traces,
	parts pathstate.Parts[pathstate.Bound[Copied]],
) *Files {
	return &Files{ctx, h, traces, pathstate.NewBounded(parts, maxCopiedViews)}
}

// Made notes that a program has made the array at path by view v.
func (f *Files) Made(path string, v view.View, by program.Process) {
	if !by.Mover {
		return
	}
	x := &Copied{by: by, changed: true, at: time.Now()}
	if old := f.views.Of(path); old.isBeside(by) {
		x.beside = old.by
	}
	if v != view.Document {
		x.first, x.seen = v, view.SetOf(v)
	}
	f.views.Edit(path, func(*Copied) *Copied { return x })
}

// Begins notes that a program is about to write all of view v of the array at path. It returns
// the view that v must be compared with; nil: v is to be written.
func (f *Files) Begins(path string, v view.View, by program.Process) (with view.View) {
	return f.begins(path, v, by, false)
}

// begins is Begins. If arrives is set, Arrives is called before the array is changed.
func (f *Files) begins(
	path string, v view.View, by program.Process, arrives bool,
) (with view.View) {
	if !by.Mover || v == view.Document {
		return nil
	}
	x := f.views.Of(path)
	switch {
	case x.isBeside(by):
		x = &Copied{by: by, beside: x.by}
	case x == nil || !x.by.Is(by):
		x = &Copied{by: by, arrives: arrives, changed: true}
		if !arrives {
			sum, ok := f.sum(path)
			x.before, x.changed = sum, !ok
		}
	case x.beside.PID != 0 || f.traces.Of(path).IsJoined():
		// Two unpack one archive: each changes what the other would compare.
	case x.seen&view.SetOf(v) != 0: // it copies another version, as tar does of an updated archive
		x.seen = 0
	case x.seen != 0 && f.hasChanged(path, x):
		x.changed, with = true, x.first
	}
	if with == nil {
		x.first = v
	}
	x.seen |= view.SetOf(v)
	x.at = time.Now()
	f.views.Edit(path, func(*Copied) *Copied { return x })
	return with
}

// Arrives notes that a program copies a file of view v onto the array at path. text is how the file
// begins, and the array is changed next. Most copies differ from the array there already. The whole
// array is read only for one that does not.
func (f *Files) Arrives(path string, v view.View, text []byte) {
	x := f.views.Of(path)
	if x == nil || !x.arrives {
		return
	}
	var sum uint64
	same := f.isBeginning(text, path, v)
	if same {
		sum, same = f.sum(path)
	}
	f.views.Change(path, func(now *Copied) *Copied {
		if now.arrives && now.by.Is(x.by) {
			now.arrives, now.changed, now.before = false, !same, sum
		}
		return now
	})
}

// isBeginning reports whether the file of view v of the array at path begins with text, or with
// another header that says the same.
func (f *Files) isBeginning(text []byte, path string, v view.View) bool {
	c, err := f.compare(path, v, v)
	if err != nil {
		return false
	}
	defer c.content.Close()
	return c.Write(f.ctx, text, 0) == nil
}

// isBeside reports whether another program than by copies to the same array, or did until a moment
// ago.
func (x *Copied) isBeside(by program.Process) bool {
	return x != nil && !x.by.Is(by) && (!x.by.HasEnded() || time.Since(x.at) < besideFor)
}

// isShared reports whether another program than by writes to the array at path, too.
func (f *Files) isShared(path string, by program.Process) bool {
	x := f.views.Of(path)
	return x != nil && (!x.by.Is(by) || x.beside.PID != 0) || f.traces.Of(path).IsJoined()
}

// besideFor is for how long what a program has written may still arrive after its end.
const besideFor = time.Second

// hasChanged reports whether the array at path is another one than before the copy.
func (f *Files) hasChanged(path string, x *Copied) bool {
	if x.changed {
		return true
	}
	sum, ok := f.sum(path)
	return !ok || sum != x.before
}

// sumSeed is the same for all checksums that are compared.
var sumSeed = maphash.MakeSeed()

// sum returns a checksum of the elements of the array at path, if they can be read and are not too
// many.
func (f *Files) sum(path string) (sum uint64, ok bool) {
	var h maphash.Hash
	h.SetSeed(sumSeed)
	content, about, err := f.elements(path)
	if err != nil {
		return 0, false
	}
	defer content.Close()
	if content.Size() > summedMost {
		return 0, false
	}
	fmt.Fprint(&h, about)
	_, err = io.Copy(&h, content)
	return h.Sum64(), err == nil
}

// elements opens all elements of the array at path by the view that shows them as they are. It also
// returns what that view does not say of them.
func (f *Files) elements(path string) (content *view.File, about string, err error) {
	arr, err := f.h.OpenArray(f.ctx, path)
	if errors.Is(err, zarrcore.ErrVlen) {
		return f.elementsOfNoSize(path)
	}
	if err != nil {
		return nil, "", err
	}
	m := arr.Live().Meta()
	content, err = f.elementsOf(path, m)
	return content, fmt.Sprint(m.Type.Descr(), m.Shape), err
}

// elementsOfNoSize is elements for an array whose elements have no fixed size.
func (f *Files) elementsOfNoSize(path string) (*view.File, string, error) {
	arr, err := f.h.OpenVlen(f.ctx, path)
	if err != nil {
		return nil, "", err
	}
	content, err := f.elementsOf(path, arr.Meta())
	return content, fmt.Sprint(arr.Meta().Shape), err
}

// elementsOf opens the view that shows only the elements of the array at path. m describes the
// array.
func (f *Files) elementsOf(path string, m *meta.Array) (*view.File, error) {
	v := view.PlainOf(view.Described(m))
	if v == nil {
		return nil, fmt.Errorf("%w: no file shows all elements of %q", errors.ErrUnsupported, path)
	}
	return view.Open(f.ctx, f.h, path, v.Name())
}

// File compares a file that a program is about to rename onto view v of the array at path,
// if it must be. It reports whether the array has all of it already. If another program begins to
// write to the array meanwhile, this one writes, too: neither can be compared with the other.
func (f *Files) File(
	file io.ReaderAt, size int64, path string, v view.View, by program.Process,
) (has bool, err error) {
	with := f.Begins(path, v, by)
	if with == nil {
		return false, nil
	}
	has, err = f.Text(file, size, path, v, with)
	if err != nil && f.isShared(path, by) {
		return false, nil
	}
	return has, err
}

// Text compares all of a file with view v of the array at path. It reports whether the array
// has all of it. A difference is an error, unless it is only that the text has more than a .npy can
// show.
func (f *Files) Text(
	file io.ReaderAt, size int64, path string, v, with view.View,
) (has bool, err error) {
	err = f.compareAll(file, size, path, v, with)
	if errors.Is(err, syscall.EBUSY) && view.IsHeaded(with) &&
		f.differsOnlyInZeros(io.NewSectionReader(file, 0, size), path) {
		return false, nil
	}
	return err == nil, err
}

// differsOnlyInZeros reports whether the lines of a text are the elements of the array at path,
// except for zeros at the ends of elements. A .npy leaves these out.
func (f *Files) differsOnlyInZeros(text io.Reader, path string) bool {
	arr, err := f.h.OpenVlen(f.ctx, path)
	if err != nil {
		return false
	}
	content, _, err := f.elementsOfNoSize(path)
	if err != nil {
		return false
	}
	defer content.Close()
	theirs, ours := bufio.NewScanner(text), bufio.NewScanner(content)
	theirs.Buffer(nil, comparedLine)
	ours.Buffer(nil, comparedLine)
	element := func(of *bufio.Scanner) ([]byte, error) {
		x, err := arr.Kind().AppendElement(nil, of.Bytes(), dtype.Type{})
		return bytes.TrimRight(x, "\x00"), err
	}
	for {
		if a, b := theirs.Scan(), ours.Scan(); !a || !b {
			return a == b && theirs.Err() == nil && ours.Err() == nil
		}
		x, err := element(theirs)
		y, failed := element(ours)
		if err != nil || failed != nil || !bytes.Equal(x, y) {
			return false
		}
	}
}

// comparedLine is how long a line may be that is compared, in bytes.
const comparedLine = 1 << 20

// compareAll is Text for which each difference is an error.
func (f *Files) compareAll(
	file io.ReaderAt, size int64, path string, v, with view.View,
) error {
	c, err := f.compare(path, v, with)
	if err != nil {
		return err
	}
	defer c.content.Close()
	whole := io.NewSectionReader(file, 0, size)
	buf := make([]byte, min(comparedAtOnce, max(size, 1)))
	for at := int64(0); at < size; {
		n, err := io.ReadFull(whole, buf[:min(int64(len(buf)), size-at)])
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return err
		}
		if err := c.Write(f.ctx, buf[:n], at); err != nil {
			return err
		}
		at += int64(n)
	}
	return c.Close(f.ctx)
}
