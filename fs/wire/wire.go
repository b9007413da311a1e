// Package wire sits between go-fuse's server and its node tree. It notes what the node interface
// has no place for, and answers what this file system does not do. It also says how long a request
// goes on, and which size of a file the kernel knows. Its locks are innermost, except that of
// Teller.
package wire

import (
	"context"
	"strings"
	"sync"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fuse"
)

// wire sits between go-fuse's server and its node tree. It sees what the node interface hides, and
// answers what this file system does not do, so that the kernel does not ask again.
type wire struct {
	fuse.RawFileSystem
	notes *Notes
}

// New returns raw with a wire before it, which keeps in notes what else a request says.
func New(raw fuse.RawFileSystem, notes *Notes) fuse.RawFileSystem { return wire{raw, notes} }

// Notes hold what go-fuse's node interface has no place for while a request is handled: how a READ
// or WRITE was sent, for the node, and the number of a backing file, for the answer to an OPEN. The
// channel on which a request is interrupted names it: go-fuse gives it to both sides, and no other
// request has it meanwhile.
type Notes struct {
	byChannel sync.Map // *Note by <-chan struct{}
}

// Note is what is noted about one request.
type Note struct {
	Paged   bool  // the page cache sent it
	AtEnd   bool  // the file is open with O_APPEND
	Synced  bool  // the file is open with O_SYNC or O_DSYNC
	backing int32 // the backing file of a passthrough open; 0: none

	// Owner is a number of the program's table of descriptors, of a WRITE or FLUSH. The threads of
	// a program share it, and a child that inherits the descriptors has another.
	Owner uint64
}

// pagedRequest is the note of all requests of the page cache.
var pagedRequest = &Note{Paged: true}

// begin keeps a note until the caller calls end.
func (n *Notes) begin(cancel <-chan struct{}, note *Note) {
	n.byChannel.Store(cancel, note)
}

func (n *Notes) end(cancel <-chan struct{}) { n.byChannel.Delete(cancel) }

// Of returns the note of the request that ctx belongs to; an empty one if there is none.
func (n *Notes) Of(ctx context.Context) Note {
	if note, ok := n.byChannel.Load(ctx.Done()); ok {
		return *note.(*Note)
	}
	return Note{}
}

// PassTo notes that the OPEN that ctx belongs to is passed through to a backing file.
func (n *Notes) PassTo(ctx context.Context, backing int32) {
	if note, ok := n.byChannel.Load(ctx.Done()); ok {
		note.(*Note).backing = backing
	}
}

// Read distinguishes READs of the page cache (mmap, read-ahead) from those of read(2) on a direct
// open. The latter carry the number of a lock owner.
func (w wire) Read(
	cancel <-chan struct{}, in *fuse.ReadIn, buf []byte,
) (fuse.ReadResult, fuse.Status) {
	if in.ReadFlags&fuse.READ_LOCKOWNER == 0 {
		w.notes.begin(cancel, pagedRequest)
		defer w.notes.end(cancel)
	}
	return w.RawFileSystem.Read(cancel, in, buf)
}

// Write distinguishes WRITEs of the page cache (mmap) and those of files with O_APPEND or O_SYNC
// from others, and notes which program has sent it.
func (w wire) Write(cancel <-chan struct{}, in *fuse.WriteIn, p []byte) (uint32, fuse.Status) {
	w.notes.begin(cancel, noteOf(in))
	defer w.notes.end(cancel)
	return w.RawFileSystem.Write(cancel, in, p)
}

// Writev is Write for a request whose bytes lie in several buffers; go-fuse has no others.
func (w wire) Writev(cancel <-chan struct{}, in *fuse.WriteIn, p [][]byte) (uint32, fuse.Status) {
	return 0, fuse.ENOSYS // Write is then called, with the bytes in one
}

// Flush notes which program closes a descriptor.
func (w wire) Flush(cancel <-chan struct{}, in *fuse.FlushIn) fuse.Status {
	w.notes.begin(cancel, &Note{Owner: in.LockOwner})
	defer w.notes.end(cancel)
	return w.RawFileSystem.Flush(cancel, in)
}

// noteOf returns the note of a WRITE.
func noteOf(in *fuse.WriteIn) *Note {
	if in.WriteFlags&fuse.WRITE_CACHE != 0 {
		return pagedRequest
	}
	return &Note{
		Owner:  in.LockOwner,
		AtEnd:  in.Flags&syscall.O_APPEND != 0,
		Synced: in.Flags&syscall.O_DSYNC != 0, // O_SYNC has this bit too
	}
}

// Open adds the number of a backing file to the answer to a passthrough open. go-fuse's own way of
// passthrough counts every handle of the inode as one of the backing, also those that were opened
// before.
func (w wire) Open(cancel <-chan struct{}, in *fuse.OpenIn, out *fuse.OpenOut) fuse.Status {
	var note Note
	w.notes.begin(cancel, &note)
	defer w.notes.end(cancel)
	status := w.RawFileSystem.Open(cancel, in, out)
	out.BackingID = note.backing
	return status
}

// GetXAttr has user attributes only. For others it says that this file system has none at all, not
// only that this file has none. ls -l asks for a security label and an access list of every file,
// and then stops asking.
func (w wire) GetXAttr(
	cancel <-chan struct{}, header *fuse.InHeader, attr string, dest []byte,
) (uint32, fuse.Status) {
	if !strings.HasPrefix(attr, "user.") {
		return 0, fuse.Status(syscall.EOPNOTSUPP)
	}
	return w.RawFileSystem.GetXAttr(cancel, header, attr, dest)
}

// CopyFileRange is not implemented. The kernel then copies by read and write, and never asks again.
func (w wire) CopyFileRange(<-chan struct{}, *fuse.CopyFileRangeIn) (uint32, fuse.Status) {
	return 0, fuse.ENOSYS
}
