// Package listing makes the entries of a folder of the mount, one after the other, of the children
// of its group.
package listing

import (
	"context"
	"errors"
	"iter"
	"strings"
	"syscall"
	"time"

	"github.com/zarrfs/zarrfs/fs/alias"
	"github.com/zarrfs/zarrfs/fs/errno"
	"github.com/zarrfs/zarrfs/fs/identity"
	"github.com/zarrfs/zarrfs/fs/names"
	"github.com/zarrfs/zarrfs/fs/resolve"
	"github.com/zarrfs/zarrfs/fs/transient"
	"github.com/zarrfs/zarrfs/fs/view"
	"github.com/zarrfs/zarrfs/zarrcore"
)

const (
	// lookAhead is how many children a listing collects before it shows the first, and lookAheadFor
	// how long it takes for that. Every clash of names among them is found.
	lookAhead    = 4096
	lookAheadFor = 40 * time.Millisecond
	// knownMost is how many children an open folder remembers.
	knownMost = 1 << 20
)

// Mount is the mount whose folders are listed.
type Mount struct {
	Ctx        context.Context // ends with the mount
	H          *zarrcore.Hierarchy
	Names      *resolve.Resolver
	Unlinked   *alias.Unlinked
	Transients *transient.Files
	Errors     *errno.Log
}

// Listing is a stream of entries made from the stream of a group's children. A program may go back
// to an entry by its number, and not every store lists in the same order twice. So the children
// stay known until the listing ends. It is used by one goroutine at a time.
type Listing struct {
	*Mount
	children
	where func() string // the path of the group

	document bool // the group's own document is listed
	bare     bool // it is not: the program that lists has just made the group, and must not meet it

	others []*transient.File   // listed before the children
	names  map[string]struct{} // of the others

	buf     [8]Entry
	entries []Entry // of the child that is being shown; in buf
	pos     uint64  // entries returned so far
}

// children are those of the group, as far as they were read.
type children struct {
	next   func() ([]zarrcore.Child, error, bool)
	close  func()
	stop   context.CancelFunc  // makes next give up
	read   context.Context     // ended by stop
	again  map[string]struct{} // names that next may return although they are known
	known  []zarrcore.Child    // read from next
	shown  int                 // how many of them were shown
	lost   bool                // known does not begin with the first child
	groups map[string]struct{} // names of groups that look like files of a view
	err    syscall.Errno
	loose  bool // one has no metadata, or is a link: it may become another thing by itself
}

// Entry is a name in a folder and what it stands for.
type Entry struct {
	Name string
	Path string
	Kind zarrcore.NodeKind
	View view.View // nil: a directory, a transient, or a link to what is not an array
	Self bool      // "." or ".."

	Transient *transient.File
}

// Inode returns the kind of an entry, as mode bits, and what its inode shows.
func (e *Entry) Inode() (mode uint32, key identity.Key) {
	switch {
	case e.Transient != nil && e.Transient.Link != "":
		return syscall.S_IFLNK, e.Transient.Key()
	case e.Transient != nil:
		return syscall.S_IFREG, e.Transient.Key()
	case e.Kind == zarrcore.LinkNode:
		return syscall.S_IFLNK, identity.OfLink(e.Path, e.View)
	case e.View == nil:
		return syscall.S_IFDIR, identity.Of(e.Path, "")
	}
	return syscall.S_IFREG, identity.Of(e.Path, e.View.Name())
}

// New returns a listing of the group at the path that where returns. If bare is set, it leaves the
// group's document out.
func New(m *Mount, where func() string, bare bool) *Listing {
	return &Listing{Mount: m, where: where, bare: bare}
}

// HasBegun reports whether an entry was asked for since the listing was made or went to its begin.
func (l *Listing) HasBegun() bool { return l.next != nil }

// Pos returns how many entries were returned.
func (l *Listing) Pos() uint64 { return l.pos }

// IsLoose reports whether an entry may come to stand for another thing while the group does not
// change.
func (l *Listing) IsLoose() bool { return l.loose }

// Next returns the next entry. At the end, or after an error, ok is false. If ctx ends, it gives
// up, and another call goes on where it was.
func (l *Listing) Next(ctx context.Context) (e Entry, ok bool, errno syscall.Errno) {
	if l.next == nil {
		l.begin(ctx)
		if l.err != 0 && l.isCut() {
			l.rest()
			return Entry{}, false, l.err
		}
	}
	for len(l.entries) == 0 {
		if l.shown == len(l.known) {
			l.look(ctx, 1)
		}
		if l.shown == len(l.known) {
			return Entry{}, false, l.err
		}
		c := l.known[l.shown]
		if err := l.show(ctx, c); err != nil {
			return Entry{}, false, l.Errors.Errno("list", names.Join(l.where(), c.Name), err)
		}
		l.shown++
	}
	e, l.entries = l.entries[0], l.entries[1:]
	l.pos++
	return e, true, 0
}

// Back goes back so that the entry of a number is still to come; 0 lists again.
func (l *Listing) Back(ctx context.Context, off uint64) {
	switch {
	case l.next == nil || off >= l.pos:
	case off == 0 || l.lost:
		l.rest()
	default:
		l.rewind(ctx)
	}
}

// End ends the listing.
func (l *Listing) End() { l.rest() }

// rest stops the reading of children.
func (l *Listing) rest() {
	if l.close != nil {
		l.stop()
		l.close()
	}
	l.next, l.close, l.again = nil, nil, nil
}

// begin starts the listing from the first entry.
func (l *Listing) begin(ctx context.Context) {
	l.open()
	l.groups = make(map[string]struct{})
	l.known, l.lost, l.err, l.loose = nil, false, 0, false
	l.look(ctx, lookAhead)
	_, taken := l.groups[resolve.GroupFile]
	l.document = !taken && !l.bare && !l.Names.IsAlone() && l.err == 0
	l.others = l.Transients.In(l.where())
	l.names = make(map[string]struct{}, len(l.others))
	for _, x := range l.others {
		l.names[x.At().Name] = struct{}{}
	}
	l.rewind(ctx)
}

// rewind goes to the first entry of what is known.
func (l *Listing) rewind(ctx context.Context) {
	l.shown, l.pos = 0, 0
	parent := l.where()[:max(0, strings.LastIndexByte(l.where(), '/'))]
	l.entries = append(l.buf[:0],
		Entry{Name: ".", Path: l.where(), Self: true}, Entry{Name: "..", Path: parent, Self: true})
	if l.document {
		l.entries = append(l.entries, Entry{Name: resolve.GroupFile, Path: l.where(),
			Kind: zarrcore.GroupNode, View: view.Document})
	}
	if l.document && l.where() == "" {
		l.showGroup(ctx, l.Names.RootName(), "")
	}
	for _, x := range l.others {
		l.entries = append(l.entries, Entry{Name: x.At().Name, Path: l.where(), Transient: x})
	}
}

// look reads n children ahead, or more.
func (l *Listing) look(ctx context.Context, n int) {
	if l.isCut() {
		l.reopen()
	}
	defer context.AfterFunc(ctx, l.stop)()
	deadline := time.Now().Add(lookAheadFor)
	if l.shown >= knownMost {
		l.known, l.shown, l.lost = nil, 0, true
	}
	for n > 0 && l.err == 0 {
		some, err, more := l.next()
		if err != nil {
			l.err = l.Errors.Errno("list", l.where(), err)
		}
		if err != nil || !more {
			return
		}
		found := l.know(some)
		n -= found
		if found > 0 && time.Now().After(deadline) {
			return
		}
	}
}

// open begins to read the children.
func (l *Listing) open() {
	l.read, l.stop = context.WithCancel(l.Ctx)
	l.next, l.close = iter.Pull2(l.yield(l.read))
}

// isCut reports whether next gives up because a request did, and the reading can begin again. That
// request may have found what it needed all the same.
func (l *Listing) isCut() bool { return l.read.Err() != nil && !l.lost }

// reopen begins to read the children again after that was given up, because it cannot go on in the
// middle.
func (l *Listing) reopen() {
	l.close()
	l.open()
	l.err = 0
	l.again = make(map[string]struct{}, len(l.known))
	for _, c := range l.known {
		l.again[c.Name] = struct{}{}
	}
}

// know adds children to those that are known, and returns how many it has added.
func (l *Listing) know(some []zarrcore.Child) (found int) {
	for _, c := range some {
		if _, isKnown := l.again[c.Name]; isKnown {
			continue
		}
		found++
		l.known = append(l.known, c)
		l.loose = l.loose || c.Kind == zarrcore.DirectoryNode || c.Kind == zarrcore.LinkNode
		if !c.ShowsArray() && strings.IndexByte(c.Name, '.') >= 0 {
			l.groups[names.Show(c.Name)] = struct{}{}
		}
	}
	return found
}

// yield returns what yields the group's children; an error is the last that it yields.
func (l *Listing) yield(ctx context.Context) iter.Seq2[[]zarrcore.Child, error] {
	return func(yield func([]zarrcore.Child, error) bool) {
		if root, ok := l.Names.Alone(); ok {
			yield([]zarrcore.Child{root}, nil)
			return
		}
		enough := errors.New("enough")
		err := func() (err error) {
			defer l.Errors.RecoverTo("list", l.where(), &err)
			return l.H.ChildBatches(ctx, l.where(), func(some []zarrcore.Child) error {
				if !yield(some, nil) {
					return enough
				}
				return nil
			})
		}()
		if err != nil && err != enough && !errors.Is(err, enough) {
			yield(nil, err)
		}
	}
}
