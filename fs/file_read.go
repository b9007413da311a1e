package fs

import (
	"context"
	"fmt"
	"syscall"
	"time"

	gofuse "github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"github.com/zarrfs/zarrfs/fs/material"
	"github.com/zarrfs/zarrfs/fs/rights"
	"github.com/zarrfs/zarrfs/fs/view"
	"github.com/zarrfs/zarrfs/fs/wire"
	"github.com/zarrfs/zarrfs/fs/writing"
	"github.com/zarrfs/zarrfs/zarrcore"
)

// handle is an open file.
type handle struct {
	node    *fileNode
	where   func() string // node.path, made once: each READ asks for it
	content view.Content
	isArray bool           // the view is a view.ArrayView
	writes  bool           // programs write by it
	direct  bool           // its reads pass the page cache by; those of a mapping do not
	backing *material.File // nil: it is not a passthrough handle
	// the fingerprint at an open at which the kernel drops the pages; "" if it keeps them
	drops string
}

var (
	_ = (gofuse.FileReader)((*handle)(nil))
	_ = (gofuse.FileReleaser)((*handle)(nil))
	_ = (gofuse.FileLseeker)((*handle)(nil))
)

func newHandle(n *fileNode, c view.Content) *handle {
	n.opened()
	_, isArray := n.view.(view.ArrayView)
	return &handle{node: n, where: n.path, content: c, isArray: isArray}
}

// Read answers one READ from pinned memory. Reads beyond the end are shortened, as by read(2).
func (h *handle) Read(
	ctx context.Context, dest []byte, off int64,
) (fuse.ReadResult, syscall.Errno) {
	f := h.node.fs
	now, paged := h.look(), f.notes.Of(ctx).Paged
	h.note(now.w, off, int64(len(dest)), paged)
	req := f.request(ctx)
	defer req.End()
	r, err := h.readFor(req, now, off, int64(len(dest)), paged)
	if err == nil {
		if err = h.refuses(ctx); err != nil {
			r.Done()
		}
	}
	if err != nil {
		return nil, f.AnswerRead("read", h.node.path(), err)
	}
	if len(r.Slices) > maxPieces {
		f.count.Gathered.Add(1)
	}
	return answerOf(r, dest), 0
}

// refuses returns why a user may not have what was read, or nil.
func (h *handle) refuses(ctx context.Context) error {
	if !h.node.fs.o.Rights.AllowOther {
		return nil
	}
	return h.node.fs.rights.RefusesBytes(rights.UserOf(ctx), h.node.path(), h.content.Rights())
}

// look is how a request finds the file's array.
type look struct {
	arr       *zarrcore.Array // what array has returned
	remakes   int64           // of the mount that had begun
	running   bool            // not all of them had ended
	w         *writing.Array  // what changing has returned, after all that
	rewritten bool            // isRewritten
}

// look looks at the file's array.
func (h *handle) look() (now look) {
	now.arr = h.array()
	now.remakes, now.running = h.node.fs.writings.Remakes()
	now.w = h.changing()
	now.rewritten = h.isRewritten(now.w)
	return now
}

// isRemadeSince reports whether the file may have become another array since that look. Bytes that
// were read meanwhile may be of neither.
func (h *handle) isRemadeSince(l look) bool {
	if begun, _ := h.node.fs.writings.Remakes(); begun == l.remakes && !l.running {
		return false
	}
	return h.array() != l.arr // each change of its length makes another value
}

// readFor reads at most n bytes at off, for the page cache if paged is set. now is a look at the
// array.
func (h *handle) readFor(
	req *wire.Request, now look, off, n int64, paged bool,
) (*view.Found, error) {
	if paged {
		return h.readPages(req, now, off, n)
	}
	return h.read(req, now, off, n)
}

// lookTries is how often a request is begun again because the array became another one meanwhile.
const lookTries = 10

// errRewritten says that a request has found no state of the array that lasts.
var errRewritten = fmt.Errorf("%w: the array is being rewritten, read it later", syscall.ESTALE)

// read reads at most n bytes at off, after that look.
func (h *handle) read(
	req *wire.Request, now look, off, n int64,
) (r *view.Found, err error) {
	for range lookTries {
		r, err = h.readOf(req, now.w, off, n)
		if err != nil || req.Err() != nil || !h.isRemadeSince(now) {
			return r, err
		}
		r.Done()
		now = h.look()
	}
	return nil, errRewritten
}

// changing returns the file's array while programs write to it, otherwise nil.
func (h *handle) changing() *writing.Array { return h.node.fs.writings.FindAt(h.where) }

// readOf reads at most n bytes at off of a file. w is its array while programs write to that,
// otherwise nil.
func (h *handle) readOf(req *wire.Request, w *writing.Array, off, n int64) (*view.Found, error) {
	if w != nil {
		if in := w.Awaiting(h.node.view); in != nil {
			if p, ok := in.Read(off, n); ok {
				return &view.Found{Slices: [][]byte{p}, N: len(p)}, nil
			}
		}
	}
	n = min(n, h.sizeOf(w)-off)
	if n <= 0 || off < 0 || h.node.isEmpty() {
		return &view.Found{}, nil
	}
	return h.content.Read(req, off, n)
}

// array returns the array whose bytes the file shows as they are, behind a header; nil for other
// files. The kernel may keep pages of it alone: those of other views are not dropped when programs
// write to the array (coherence).
func (h *handle) array() *zarrcore.Array {
	if !h.isArray {
		return nil
	}
	return h.content.Array()
}

// size returns how many bytes readers see.
func (h *handle) size() int64 { return h.sizeOf(h.changing()) }

// sizeOf is size where w is what changing returns.
func (h *handle) sizeOf(w *writing.Array) int64 {
	size := h.content.Size()
	if w == nil {
		return size
	}
	if arr := h.array(); arr == nil || !w.IsArriving() || w.IsOfOther(arr) {
		return size
	}
	now, ok := w.Size(h.node.view)
	if !ok {
		return size
	}
	return min(size, now)
}

// isRewritten reports whether a .npy rewrites the file, and not all of it has come. w is what
// changing has returned. The kernel would fill what has not come of a page with zeros. A program
// that has taken the page by then sees them once the file has grown. A program that is alone to
// write the .npy may map what it has written.
func (h *handle) isRewritten(w *writing.Array) bool {
	v := h.node.view
	if w == nil || !h.isArray || h.writes && view.IsHeaded(v) && w.OpensOf(v) == 1 {
		return false
	}
	return w.IsArriving() || w.Awaiting(v) != nil
}

// readPages is read for the page cache. It reads again where it finds less than the kernel asks
// for. The rest may have come meanwhile, or the kernel has to note the size of the file.
func (h *handle) readPages(
	req *wire.Request, now look, off, n int64,
) (*view.Found, error) {
	var end time.Time // of the wait for the kernel
	for {
		was := now
		r, err := h.read(req, now, off, n)
		if err != nil || int64(r.N) == n {
			return r, err
		}
		if end.IsZero() {
			end = time.Now().Add(wire.SizeWait)
		}
		now = h.look()
		isLate, hasChanged := !time.Now().Before(end), was.rewritten || h.isRemadeSince(was)
		switch {
		case !isLate && hasChanged && !now.rewritten: // all of it has come
		case !isLate && h.node.isOverrated(off+int64(r.N)):
			time.Sleep(wire.SizeAsked)
		case now.rewritten || h.node.isShortened(off+int64(r.N), off+n):
			r.Done()
			return nil, errRewritten
		default:
			return r, nil
		}
		r.Done()
	}
}

// isOverrated reports whether the kernel still believes that the file has a byte at off, though it
// was truncated.
func (n *fileNode) isOverrated(off int64) bool {
	return n.use().sizing.Overrates(off, n.Number(), n.inMount)
}

// isShortened reports whether the kernel still believes that the file has a byte at off, though it
// got another size a moment ago. The kernel has asked for bytes up to end.
func (n *fileNode) isShortened(off, end int64) bool {
	since := time.Since(time.Unix(0, n.use().sized.Load()))
	return since < wire.SizeWait && wire.Shows(n.inMount(), n.Number(), off, end)
}

// note counts a READ of at most n bytes that finds something, and adds it to the file's habit,
// before the bytes are read. w is what changing has returned. paged: it came from the page cache.
func (h *handle) note(w *writing.Array, off, n int64, paged bool) {
	size := h.sizeOf(w)
	if n = min(n, size-off); n <= 0 || off < 0 {
		return
	}
	if w != nil { // of what has not come yet, too
		size = max(size, h.content.Size())
	}
	c := &h.node.fs.count
	c.Reads.Add(1)
	c.ReadBytes.Add(n)
	if paged {
		c.PagedReads.Add(1)
		h.node.use().paged.Store(true)
	}
	if h.array() != nil {
		h.node.use().habit.Note(off, n, size, paged, time.Now())
		if paged && h.direct {
			h.node.use().habit.NoteMapping()
		}
		if h.drops != "" {
			h.node.use().habit.NoteDropped(h.drops)
		}
	}
}

// Lseek answers SEEK_DATA and SEEK_HOLE. Holes are chunks that were never written and read as zero,
// so that cp and tar can skip them. They take what follows the last data for a hole. So it is
// ESTALE where only the rest of a .npy has not come yet.
func (h *handle) Lseek(ctx context.Context, off uint64, whence uint32) (uint64, syscall.Errno) {
	req := h.node.fs.request(ctx)
	defer req.End()
	for range lookTries {
		now := h.look()
		at, err := h.seek(req, h.sizeOf(now.w), off, whence)
		switch {
		case h.isRemadeSince(now):
			continue
		case err == view.ErrNoData && (now.rewritten || h.look().rewritten):
			return 0, h.node.fs.AnswerRead("seek", h.node.path(), errRewritten)
		case err == view.ErrNoData:
			return 0, syscall.ENXIO
		case err != nil:
			return 0, h.node.fs.Errors.Errno("seek", h.node.path(), err)
		}
		return uint64(at), 0
	}
	return 0, h.node.fs.AnswerRead("seek", h.node.path(), errRewritten)
}

// seek is Lseek in a file of that size.
func (h *handle) seek(
	req *wire.Request, size int64, off uint64, whence uint32,
) (at int64, err error) {
	if off >= uint64(size) {
		return 0, view.ErrNoData
	}
	at, err = view.Seek(req, h.content, int64(off), whence)
	if err == nil && whence == unix.SEEK_DATA && at >= size {
		err = view.ErrNoData
	}
	return min(at, size), err
}

// Release forgets the open file.
func (h *handle) Release(context.Context) syscall.Errno {
	if h.array() != nil {
		h.node.use().habit.Released(h.backing != nil)
	}
	if h.backing != nil {
		h.backing.Leave()
	}
	h.node.use().readers.Remove(h)
	h.end()
	return 0
}

// end frees what the handle holds.
func (h *handle) end() {
	h.node.closed()
	h.content.Close()
}
