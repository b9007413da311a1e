package fs

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/zarrfs/zarrfs/fs/alias"
	"github.com/zarrfs/zarrfs/fs/pathstate"
	"github.com/zarrfs/zarrfs/fs/program"
	"github.com/zarrfs/zarrfs/fs/view"
	"github.com/zarrfs/zarrfs/layout/npy"
	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/dtype"
)

// A program that copies a tree writes the same array several times, by each of its views. If one of
// them was edited in the tree, the others are older, and one that comes later would undo the edit.
// So after the first view has changed the array, what the program writes by another one is compared
// with the array. It is not written, and a difference is an error of the program. A view that
// cannot show all of the elements is compared with what it shows of them.

// copiedViews is what one program has copied of an array.
type copiedViews struct {
	by      program.Process
	beside  program.Process // another one that wrote the array right before by began
	at      time.Time       // when it began with the last view
	first   view.View       // the one that the others are compared with; nil: none was written yet
	seen    view.Set        // views that it has written, or that were compared
	changed bool            // the first one has changed the array, as far as is known
	before  uint64          // the checksum of the array before that; used if changed is not set
}

// maxCopiedViews is of how many arrays that is known.
const maxCopiedViews = 1 << 14

// summedMost is how many bytes of an array are read to find out whether a copy has changed it. A
// copy of more bytes counts as a change.
const summedMost = 256 << 20

// comparedFiles are the files of a mount that programs copy, by several views of one array.
type comparedFiles struct {
	ctx    context.Context // ends with the mount
	h      *zarrcore.Hierarchy
	traces *alias.Traces
	views  *pathstate.Bounded[copiedViews]
}

// newComparedFiles returns the files of a mount, which ends with ctx. No program has copied any yet.
func newComparedFiles(
	ctx context.Context, h *zarrcore.Hierarchy, traces *alias.Traces,
	parts pathstate.Parts[pathstate.Bound[copiedViews]],
) *comparedFiles {
	return &comparedFiles{ctx, h, traces, pathstate.NewBounded(parts, maxCopiedViews)}
}

// madeByCopy notes that a program has made the array at path by view v.
func (f *comparedFiles) madeByCopy(path string, v view.View, by program.Process) {
	if !by.Mover {
		return
	}
	x := &copiedViews{by: by, changed: true, at: time.Now()}
	if old := f.views.Of(path); old.isBeside(by) {
		x.beside = old.by
	}
	if v != view.Document {
		x.first, x.seen = v, view.SetOf(v)
	}
	f.views.Edit(path, func(*copiedViews) *copiedViews { return x })
}

// copyBegins notes that a program is about to write all of view v of the array at path. It returns
// the view that v must be compared with; nil: v is to be written.
func (f *comparedFiles) copyBegins(path string, v view.View, by program.Process) (with view.View) {
	if !by.Mover || v == view.Document {
		return nil
	}
	x := f.views.Of(path)
	switch {
	case x.isBeside(by):
		x = &copiedViews{by: by, beside: x.by}
	case x == nil || !x.by.Is(by):
		sum, ok := f.sum(path)
		x = &copiedViews{by: by, before: sum, changed: !ok}
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
	f.views.Edit(path, func(*copiedViews) *copiedViews { return x })
	return with
}

// isBeside reports whether another program than by copies to the same array, or did until a moment
// ago.
func (x *copiedViews) isBeside(by program.Process) bool {
	return x != nil && !x.by.Is(by) && (!x.by.HasEnded() || time.Since(x.at) < besideFor)
}

// isShared reports whether another program than by writes to the array at path, too.
func (f *comparedFiles) isShared(path string, by program.Process) bool {
	x := f.views.Of(path)
	return x != nil && (!x.by.Is(by) || x.beside.PID != 0) || f.traces.Of(path).IsJoined()
}

// besideFor is for how long what a program has written may still arrive after its end.
const besideFor = time.Second

// hasChanged reports whether the array at path is another one than before the copy.
func (f *comparedFiles) hasChanged(path string, x *copiedViews) bool {
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
func (f *comparedFiles) sum(path string) (sum uint64, ok bool) {
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
func (f *comparedFiles) elements(path string) (content *view.File, about string, err error) {
	arr, err := f.h.OpenArray(f.ctx, path)
	if errors.Is(err, zarrcore.ErrVlen) {
		return f.elementsOfNoSize(path)
	}
	if err != nil {
		return nil, "", err
	}
	m := arr.Live().Meta()
	content, err = view.Open(f.ctx, f.h, path, "raw")
	return content, fmt.Sprint(m.Type.Descr(), m.Shape), err
}

// elementsOfNoSize is elements for an array whose elements have no fixed size.
func (f *comparedFiles) elementsOfNoSize(path string) (*view.File, string, error) {
	arr, err := f.h.OpenVlen(f.ctx, path)
	if err != nil {
		return nil, "", err
	}
	content, err := view.Open(f.ctx, f.h, path, "jsonl")
	return content, fmt.Sprint(arr.Meta().Shape), err
}

// comparison is a file that a program believes to write, and that is compared with what the array
// has.
type comparison struct {
	by      program.Process
	path    string
	view    view.View
	with    view.View // by which the program has changed the array
	content view.Content

	mu    sync.Mutex
	shift int64 // how much longer the header of the array's file is than the program's
	reach int64 // up to where the file was compared
	sized int64 // the size that the program has set, which may be more

	shared func() bool // reports whether another program writes to the array; nil: none does
	err    error       // the difference
}

// compare returns a comparison with view v of the array at path, as it is now.
func (f *comparedFiles) compare(path string, v, with view.View) (*comparison, error) {
	content, err := view.OpenCounted(f.ctx, f.h, path, v)
	if errors.Is(err, errors.ErrUnsupported) {
		return nil, errDiffers(path, v, with) // this view cannot show what came by the other one
	}
	if err != nil {
		return nil, err
	}
	return &comparison{path: path, view: v, with: with, content: content}, nil
}

// begin notes that the program begins to write the file.
func (c *comparison) begin() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.shift, c.reach, c.sized, c.err = 0, 0, 0, nil
}

// write compares p, which the program writes at off. What it leaves out before that is zero bytes.
func (c *comparison) write(ctx context.Context, p []byte, off int64) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return c.err
	}
	if head, ok := c.view.(view.HeaderView); ok && off == 0 {
		p, off = c.header(ctx, head, p)
	}
	if c.err == nil {
		c.zeros(ctx, off)
	}
	c.equal(ctx, p, off)
	c.reach = max(c.reach, off+int64(len(p)))
	return c.judge()
}

// judge returns the difference, unless another program has begun to write to the array meanwhile:
// then the array is as that program leaves it. The caller holds mu.
func (c *comparison) judge() error {
	if c.err != nil && c.shared != nil && c.shared() {
		c.err = nil
	}
	return c.err
}

// header compares the header at the beginning of p, which another program may have written, and so
// have another length. It returns what follows, and where that is. The caller holds mu.
func (c *comparison) header(ctx context.Context, v view.HeaderView, p []byte) ([]byte, int64) {
	theirs, err := v.Parse(p)
	if err != nil {
		return p, 0 // not complete: it must be the same
	}
	ours := make([]byte, min(int64(len(p))+headerMore, c.content.Size()))
	if err := c.read(ctx, ours, 0); err != nil {
		c.err = err
		return nil, 0
	}
	is, err := v.Parse(ours)
	if err != nil || !sameArray(is, theirs) {
		c.err = c.differs()
		return nil, 0
	}
	c.shift = is.Len - theirs.Len
	c.reach = theirs.Len
	return p[theirs.Len:], theirs.Len
}

// sameArray reports whether two headers describe the same array.
func sameArray(a, b npy.Info) bool {
	return a.Descr == b.Descr && a.Fortran == b.Fortran && slices.Equal(a.Shape, b.Shape)
}

// headerMore is how many bytes our header may be longer than the first write of another one.
const headerMore = 1 << 16

// comparedAtOnce is how many bytes are compared at once.
const comparedAtOnce = 1 << 20

// noBytes is what a program has left out.
var noBytes [comparedAtOnce]byte

// zeros compares the bytes up to end that the program has left out. The caller holds mu.
func (c *comparison) zeros(ctx context.Context, end int64) {
	for c.err == nil && c.reach < end {
		n := min(end-c.reach, int64(len(noBytes)))
		c.equal(ctx, noBytes[:n], c.reach)
		c.reach += n
	}
}

// equal compares p with the bytes at off. The caller holds mu.
func (c *comparison) equal(ctx context.Context, p []byte, off int64) {
	if c.err != nil || len(p) == 0 {
		return
	}
	if off+c.shift+int64(len(p)) > c.content.Size() {
		c.err = c.differs()
		return
	}
	found := make([]byte, len(p))
	if err := c.read(ctx, found, off+c.shift); err != nil {
		c.err = err
	} else if !bytes.Equal(p, found) {
		c.err = c.differs()
	}
}

// read fills p with the bytes of the array's file at off.
func (c *comparison) read(ctx context.Context, p []byte, off int64) error {
	for len(p) > 0 {
		r, err := c.content.Read(ctx, off, int64(len(p)))
		if err != nil {
			return err
		}
		n := 0
		for _, s := range r.Slices {
			n += copy(p[n:], s)
		}
		r.Done()
		if n == 0 {
			return io.ErrUnexpectedEOF
		}
		p, off = p[n:], off+int64(n)
	}
	return nil
}

// differs says that the file is not what the array has.
func (c *comparison) differs() error { return errDiffers(c.path, c.view, c.with) }

func errDiffers(path string, v, with view.View) error {
	name, other := view.FileOf(path, v), view.FileOf(path, with)
	return fmt.Errorf("%w: %s differs from %s, which this program has just written, and the array "+
		"has what came by %[3]s: copy only the one that you changed", syscall.EBUSY, name, other)
}

// setSize notes the size that the program has set. What it does not write below that is zero bytes.
func (c *comparison) setSize(size int64) error {
	if size == 0 {
		c.begin()
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sized = size
	if c.err == nil && (size+c.shift > c.content.Size() || size < c.reach) {
		c.err = c.differs()
	}
	return c.judge()
}

// close returns an error if the program has written less than the array has. A difference was an
// error already.
func (c *comparison) close(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return nil
	}
	c.zeros(ctx, c.sized)
	if c.err == nil && c.reach+c.shift != c.content.Size() {
		c.err = c.differs()
	}
	return c.judge()
}

// comparisons are those that programs make of the files of one array.
type comparisons struct {
	mu  sync.Mutex // innermost
	all []*comparison
}

// begin makes what a program writes to view v a comparison, if it must be one. Otherwise it returns
// nil. where returns the array's path.
func (r *comparisons) begin(
	f *comparedFiles, where func() string, by program.Process, v view.View,
) (*comparison, error) {
	if c := r.of(by, v); c != nil {
		return c, nil
	}
	path := where()
	with := f.copyBegins(path, v, by)
	if with == nil {
		return nil, nil
	}
	c, err := f.compare(path, v, with)
	if err != nil {
		return nil, err
	}
	c.by = by
	c.shared = func() bool { return f.isShared(where(), by) }
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, c)
	return c, nil
}

// of returns the comparison that a program makes of view v; nil: it writes.
func (r *comparisons) of(by program.Process, v view.View) *comparison {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.all {
		if c.view == v && c.by.Is(by) {
			return c
		}
	}
	return nil
}

// end ends the comparisons of view v, whose last handle is closed.
func (r *comparisons) end(v view.View) {
	r.mu.Lock()
	defer r.mu.Unlock()
	left := r.all[:0]
	for _, c := range r.all {
		if c.view == v {
			c.content.Close()
		} else {
			left = append(left, c)
		}
	}
	r.all = left
}

// compareCopy compares a file that a program is about to rename onto view v of the array at path,
// if it must be. It reports whether the array has all of it already.
func (f *comparedFiles) compareCopy(
	file io.ReaderAt, size int64, path string, v view.View, by program.Process,
) (has bool, err error) {
	with := f.copyBegins(path, v, by)
	if with == nil {
		return false, nil
	}
	return f.compareFile(file, size, path, v, with)
}

// compareFile compares all of a file with view v of the array at path. It reports whether the array
// has all of it. A difference is an error, except that of a text which has more than a .npy can
// show.
func (f *comparedFiles) compareFile(
	file io.ReaderAt, size int64, path string, v, with view.View,
) (has bool, err error) {
	err = f.compareAll(file, size, path, v, with)
	if errors.Is(err, syscall.EBUSY) && view.IsHeaded(with) &&
		f.onlyEndsInZeros(io.NewSectionReader(file, 0, size), path) {
		return false, nil
	}
	return err == nil, err
}

// onlyEndsInZeros reports whether the lines of a text are the elements of the array at path, except
// for zeros at the ends of elements. A .npy leaves these out.
func (f *comparedFiles) onlyEndsInZeros(text io.Reader, path string) bool {
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

// compareAll is compareFile for which each difference is an error.
func (f *comparedFiles) compareAll(
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
		if err := c.write(f.ctx, buf[:n], at); err != nil {
			return err
		}
		at += int64(n)
	}
	return c.close(f.ctx)
}
