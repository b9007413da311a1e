package fs

import (
	"context"
	"errors"
	iofs "io/fs"
	"iter"
	"strings"
	"syscall"
	"time"

	gofuse "github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/zarrfs/zarrfs/fs/identity"
	"github.com/zarrfs/zarrfs/fs/names"
	"github.com/zarrfs/zarrfs/fs/pagecache"
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
	// knownMost is how many children an open directory remembers.
	knownMost = 1 << 20
)

// dirHandle is an open directory: a stream of entries made from the stream of the group's children.
// No inode is made for an entry. A program may go back to an entry by its number, and not every
// store lists in the same order twice. So the children stay known while the directory is open.
// go-fuse calls it from one goroutine at a time.
type dirHandle struct {
	group *groupNode
	ctx   context.Context // ends with Releasedir
	stop  context.CancelFunc

	next     func() ([]zarrcore.Child, error, bool)
	close    func()
	known    []zarrcore.Child    // read from next
	shown    int                 // how many of them were shown
	lost     bool                // known does not begin with the first child
	document bool                // the group's own document is listed
	bare     bool                // the program that lists must not meet the document: it has made the group just now
	others   []*transient.File   // listed before the children
	names    map[string]struct{} // of the others
	groups   map[string]struct{} // names of groups that look like files of a view

	buf     [8]listed
	entries []listed // of the child that is being shown; in buf
	pos     uint64   // entries returned so far
	first   bool     // the reply under way begins the listing
	plus    bool     // it has attributes (READDIRPLUS)
	looked  int64    // entries whose attributes were asked for with them
	last    listed   // the last of them
	out     fuse.DirEntry
	err     syscall.Errno
	loose   bool // a child has no metadata, or is a link: it may become another thing without a change of this group
}

// listed is an entry and what it stands for.
type listed struct {
	name string
	path string
	kind zarrcore.NodeKind
	view view.View // nil: a directory, a transient, or a link to what is not an array
	self bool      // "." or ".."

	transient *transient.File
}

var (
	_ = (gofuse.FileReaddirenter)((*dirHandle)(nil))
	_ = (gofuse.FileSeekdirer)((*dirHandle)(nil))
	_ = (gofuse.FileLookuper)((*dirHandle)(nil))
	_ = (gofuse.FileReleasedirer)((*dirHandle)(nil))
)

func newDirHandle(g *groupNode) *dirHandle {
	d := &dirHandle{group: g}
	d.ctx, d.stop = context.WithCancel(g.fs.ctx)
	return d
}

// Readdirent returns the next entry, nil at the end, of the listing or of the reply.
func (d *dirHandle) Readdirent(ctx context.Context) (*fuse.DirEntry, syscall.Errno) {
	if d.next == nil {
		d.begin()
	}
	if d.first && d.plus && d.pos >= pagecache.Briefly {
		d.first = false
		return nil, 0 // the end of this reply, not of the listing
	}
	for len(d.entries) == 0 {
		if d.shown == len(d.known) {
			d.look(1)
		}
		if d.shown == len(d.known) {
			if d.err == 0 {
				d.group.listing.Ended(int64(d.pos), d.looked, !d.loose)
			}
			return nil, d.err
		}
		d.show(d.known[d.shown])
		d.shown++
	}
	d.last, d.entries = d.entries[0], d.entries[1:]
	d.pos++
	d.out = d.dirent(d.last)
	return &d.out, 0
}

func (d *dirHandle) dirent(e listed) fuse.DirEntry {
	mode, key := uint32(syscall.S_IFREG), identity.Key{}
	switch {
	case e.transient != nil:
		key = e.transient.Key()
		if e.transient.Link != "" {
			mode = syscall.S_IFLNK
		}
	case e.kind == zarrcore.LinkNode:
		mode, key = syscall.S_IFLNK, identity.OfLink(e.path, e.view)
	case e.view == nil:
		mode, key = syscall.S_IFDIR, identity.Of(e.path, "")
	default:
		key = identity.Of(e.path, e.view.Name())
	}
	return fuse.DirEntry{Name: e.name, Mode: mode, Ino: d.group.fs.ids.Number(key), Off: d.pos}
}

// begin starts the listing from the first entry.
func (d *dirHandle) begin() {
	d.next, d.close = iter.Pull2(d.children)
	d.groups = make(map[string]struct{})
	d.known, d.lost, d.err, d.loose = nil, false, 0, false
	d.look(lookAhead)
	_, taken := d.groups[groupFile]
	d.document = !taken && !d.bare && !d.group.fs.names.IsAlone() && d.err == 0
	d.others = d.group.fs.transients.In(d.group.path())
	d.names = make(map[string]struct{}, len(d.others))
	for _, x := range d.others {
		d.names[x.At().Name] = struct{}{}
	}
	d.rewind()
}

// rewind goes to the first entry of what is known.
func (d *dirHandle) rewind() {
	d.shown, d.pos = 0, 0
	d.first, d.plus = true, false
	parent := d.group.path()[:max(0, strings.LastIndexByte(d.group.path(), '/'))]
	d.entries = append(d.buf[:0], listed{name: ".", path: d.group.path(), self: true}, listed{name: "..", path: parent, self: true})
	if d.document {
		d.entries = append(d.entries, listed{name: groupFile, path: d.group.path(), kind: zarrcore.GroupNode, view: view.Document})
	}
	if d.document && d.group.path() == "" {
		d.showGroup(d.group.fs.names.RootName(), "")
	}
	for _, x := range d.others {
		d.entries = append(d.entries, listed{name: x.At().Name, path: d.group.path(), transient: x})
	}
}

// showGroup makes the entries of the files that show the group at path, where they are listed. A
// child that has such a name hides it.
func (d *dirHandle) showGroup(name, path string) {
	f := d.group.fs
	for _, v := range f.names.Views() {
		if _, ofGroups := v.(view.GroupView); !ofGroups {
			continue
		}
		file := names.File(name, v.Name())
		if _, isListed := d.names[file]; isListed { // a program has copied it before the group
			continue
		}
		t, err := f.names.Resolve(d.ctx, d.group.path(), file)
		if err == nil && t.View == v && t.Node.Path == path {
			e := listed{name: file, path: path, kind: zarrcore.GroupNode, view: v}
			d.entries = append(d.entries, e)
		}
	}
}

// children yields the group's children; an error is the last that it yields.
func (d *dirHandle) children(yield func([]zarrcore.Child, error) bool) {
	f := d.group.fs
	if root, ok := f.names.Alone(); ok {
		yield([]zarrcore.Child{root}, nil)
		return
	}
	enough := errors.New("enough")
	err := func() (err error) {
		defer f.Errors.RecoverTo("list", d.group.path(), &err)
		return f.h.ChildBatches(d.ctx, d.group.path(), func(some []zarrcore.Child) error {
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

// look reads n children ahead, or more.
func (d *dirHandle) look(n int) {
	deadline := time.Now().Add(lookAheadFor)
	if d.shown >= knownMost {
		d.known, d.shown, d.lost = nil, 0, true
	}
	for n > 0 && d.err == 0 {
		some, err, more := d.next()
		if err != nil {
			d.err = d.group.fs.Errors.Errno("list", d.group.path(), err)
		}
		if err != nil || !more {
			return
		}
		d.know(some)
		n -= len(some)
		if len(some) > 0 && time.Now().After(deadline) {
			return
		}
	}
}

// know adds children to those that are known.
func (d *dirHandle) know(some []zarrcore.Child) {
	d.known = append(d.known, some...)
	for _, c := range some {
		d.loose = d.loose || c.Kind == zarrcore.DirectoryNode || c.Kind == zarrcore.LinkNode
		if c.Kind != zarrcore.ArrayNode && !c.Link.ToArray() && strings.IndexByte(c.Name, '.') >= 0 {
			d.groups[names.Show(c.Name)] = struct{}{}
		}
	}
}

// show makes the entries of a child.
func (d *dirHandle) show(c zarrcore.Child) {
	name, path := names.Show(c.Name), names.Join(d.group.path(), c.Name)
	if d.group.fs.names.IsAlone() {
		path = ""
	}
	d.entries = d.buf[:0]
	array := view.Seen(d.ctx, d.group.fs.h, c.Elements, path)
	switch {
	case c.Link.ToArray():
		array = view.Seen(d.ctx, d.group.fs.h, c.Link.Elements, c.Link.Target)
	case c.Kind != zarrcore.ArrayNode:
		d.entries = append(d.entries, listed{name: name, path: path, kind: c.Kind})
		if c.Kind == zarrcore.GroupNode {
			d.showGroup(name, path)
		}
		return
	}
	for _, v := range d.group.fs.names.ViewsOf(array) {
		if d.group.fs.unlinked.Has(path, v) {
			continue
		}
		entry := listed{name: d.viewName(name, v), path: path, kind: c.Kind, view: v}
		if _, found := view.Split(entry.name); view.IsDerived(v) && found != v {
			continue // it is a longer view's name: an array "a.ome" has no file "a.ome.tif"
		}
		if _, isListed := d.names[entry.name]; !isListed { // otherwise a file waits for this array
			d.entries = append(d.entries, entry)
		}
	}
}

// viewName returns the first name of an array's view that no group of this directory has.
func (d *dirHandle) viewName(name string, v view.View) string {
	first := names.File(name, v.Name())
	if len(d.groups) == 0 && first != groupFile {
		return first
	}
	_, taken := d.groups[first]
	if taken || first == groupFile && !d.group.fs.names.IsAlone() {
		return names.Second(name, v.Name())
	}
	return first
}

// Seekdir goes to an entry by its number; 0 lists again.
func (d *dirHandle) Seekdir(ctx context.Context, off uint64) syscall.Errno {
	d.plus = false // so that no reply ends while entries are passed over
	switch {
	case d.next == nil || off >= d.pos:
	case off == 0 || d.lost:
		d.end()
	default:
		d.rewind()
	}
	for d.next == nil || d.pos < off {
		if off == 0 {
			return 0
		}
		if e, errno := d.Readdirent(ctx); errno != 0 || e == nil {
			return errno
		}
	}
	d.first = false
	return 0
}

// Lookup finds the entry that was returned last, for a listing with attributes (READDIRPLUS).
func (d *dirHandle) Lookup(ctx context.Context, name string, out *fuse.EntryOut) (*gofuse.Inode, syscall.Errno) {
	f := d.group.fs
	req := f.request(ctx)
	defer req.End()
	if name != d.last.name || d.last.self {
		return d.group.Lookup(ctx, name, out)
	}
	d.looked++
	d.plus = true
	if d.last.transient != nil {
		return d.group.lookupTransient(ctx, d.last.transient, out)
	}
	n, err := f.stat.Node(req, d.last.path)
	if err == nil && (!d.shows(req, d.last, n) || d.last.view != nil && f.unlinked.Has(n.Path, d.last.view)) {
		err = iofs.ErrNotExist
	}
	if err != nil {
		return nil, f.Errors.Errno("lookup", d.last.path, err)
	}
	t := resolve.Target{Node: n, View: d.last.view}
	if err := f.entry(req, t, true, out); err != nil {
		return nil, syscall.ENOENT
	}
	return d.group.inodeFor(ctx, t), 0
}

// shows reports whether an entry still stands for the node at its path.
func (d *dirHandle) shows(ctx context.Context, e listed, n *zarrcore.Node) bool {
	switch {
	case (n.Kind == zarrcore.LinkNode) != (e.kind == zarrcore.LinkNode):
		return false
	case n.Kind == zarrcore.LinkNode && e.view != nil:
		return d.group.fs.names.Shows(ctx, n, e.view)
	case n.Kind == zarrcore.LinkNode:
		return !n.Link.ToArray()
	}
	return (n.Kind == zarrcore.ArrayNode) == (e.kind == zarrcore.ArrayNode)
}

// Releasedir ends the listing.
func (d *dirHandle) Releasedir(context.Context, uint32) {
	d.stop()
	d.end()
}

func (d *dirHandle) end() {
	if d.close != nil {
		d.close()
	}
	d.next, d.close = nil, nil
}
