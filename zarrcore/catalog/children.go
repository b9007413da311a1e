package catalog

import (
	"bytes"
	"cmp"
	"context"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/zarrfs/zarrfs/zarrcore/dtype"
	"github.com/zarrfs/zarrfs/zarrcore/meta"
	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// A Child is one entry of a group.
type Child struct {
	Name string
	Kind NodeKind
	Elements
	Link *Link // where it leads, if it is a link
}

// ShowsArray reports whether the child is an array, or a link that leads to one.
func (c Child) ShowsArray() bool { return c.Kind == ArrayNode || c.Link.LeadsToArray() }

// Children calls yield for each child of the group at path while they are
// found, nearly in the order of their names. Below an array there are none:
// there everything is chunks. An error of yield ends it and is returned.
func (cat *looks) Children(ctx context.Context, path string, yield func(Child) error) error {
	return cat.ChildBatches(ctx, path, func(some []Child) error {
		for _, c := range some {
			if err := yield(c); err != nil {
				return err
			}
		}
		return nil
	})
}

// ChildBatches is Children for a caller that can take many at once. Yield may keep what it is
// given, but not change it.
func (cat *looks) ChildBatches(ctx context.Context, path string, yield func([]Child) error) error {
	cat.store.Dirs().Refresh(path)
	if link, _, err := cat.linkAt(ctx, path); err != nil {
		return err
	} else if link != nil {
		return &Error{Op: "list", Path: path, Err: errIsLink}
	}
	if cat.Kind(ctx, path) == ArrayNode {
		return nil
	}
	if cat.shelf != nil {
		return cat.remoteChildren(ctx, path, yield)
	}
	if cat.unlistable {
		return cat.consolidatedChildren(ctx, path, yield)
	}
	return cat.listChildren(ctx, path, yield)
}

// listChildren is ChildBatches by a listing of the store.
func (cat *looks) listChildren(
	ctx context.Context, path string, yield func([]Child) error,
) error {
	ctx, stop := context.WithCancel(ctx)
	l := &lister{
		cat: cat, ctx: ctx, path: path, size: listFirst,
		batches: make(chan *batch, listAhead), slots: make(chan struct{}, 2*runtime.NumCPU()),
	}
	if cat.shelf != nil {
		l.slots = make(chan struct{}, cat.remoteLooks(path))
		l.unseen = make(chan *batch, listAhead)
		go l.probeAhead()
	} else {
		l.v2 = cat.Exists(ctx, store.Join(path, ".zgroup"))
	}
	go l.list()
	defer func() {
		stop()
		for range l.batches { // until list has ended
		}
	}()
	for b := range l.batches {
		b.looked.Wait()
		if err := cmp.Or(b.err, ctx.Err()); err != nil { // some kinds were not found out
			return &Error{Op: "list", Path: path, Err: err}
		}
		if err := yield(b.children); err != nil {
			return err
		}
	}
	if l.err != nil {
		return &Error{Op: "list", Path: path, Err: l.err}
	}
	return nil
}

// How far a listing is ahead of its reader.
const (
	// children of the first batch, so that a reader that waits sees something soon; each has twice
	// as many as the one before
	listFirst = 16
	listBatch = 256 // children whose kinds are found out by one goroutine
	listAhead = 64  // batches: enough to look at while the next run is read
)

// A run is the names that are sorted together. A directory gives them in the order of some hash. A
// program that sorts what is listed, as ls does, needs half the time if most of it is in order.
// File systems are faster where neighbours are looked at one after the other. The first run ends
// early, so that there is something to look at. Each may have runGrowth times as many names as the
// one before: while they come, those before are being looked at.
const (
	runFirst  = 4096
	runGrowth = 8
	runMost   = 1 << 18
	runFor    = 10 * time.Millisecond // how long the first may take
	runForAny = 80 * time.Millisecond // how long any other may
)

// A lister lists a group and finds out the kinds of its children, batches of them at once, ahead
// of the reader of the listing. A group of a hundred thousand arrays has as many documents to look
// at.
type lister struct {
	cat     *looks
	ctx     context.Context // done when nobody reads any more
	path    string
	v2      bool                // the group is a v2 group
	size    int                 // of the next batch
	links   map[string]struct{} // names of children that are links; nearly always none
	slots   chan struct{}       // taken by those that find out kinds
	batches chan *batch         // in the order of the listing; closed at its end
	unseen  chan *batch         // the same for lookAhead, in a remote store; otherwise nil
	err     error               // why it ended; to be read then
}

// A batch is some children of a group.
type batch struct {
	children []Child
	looked   sync.WaitGroup // until their kinds are known
	failed   sync.Once      // before err is set
	err      error          // why a kind cannot be found out, in a remote store; to be read then
}

// list sends the children run by run.
func (l *lister) list() {
	defer close(l.batches)
	var run []string
	most, within, began := runFirst, runFor, time.Now()
	l.err = l.cat.store.List(l.ctx, l.path, func(e store.Entry) error {
		switch {
		case e.Link && l.cat.ShowsLink(l.ctx, l.path, e.Name):
			l.noteLink(e.Name)
		case e.Link || !e.Dir || l.cat.isUnfinished(l.ctx, l.path, e.Name):
			return nil
		}
		run = append(run, e.Name)
		if n := len(run); n < most && (n%64 > 0 || time.Since(began) < within) {
			return nil
		}
		err := l.send(run)
		run, most, within, began = run[:0], min(runGrowth*most, runMost), runForAny, time.Now()
		return err
	})
	if err := l.send(run); l.err == nil {
		l.err = err
	}
	if l.unseen != nil {
		close(l.unseen)
	}
}

// send sorts a run and hands it on in batches, whose kinds are being found out.
func (l *lister) send(run []string) error {
	slices.Sort(run)
	for len(run) > 0 {
		n := min(l.size, len(run))
		b := &batch{children: make([]Child, n)}
		for i, name := range run[:n] {
			b.children[i].Name = name
			if _, ok := l.links[name]; ok {
				b.children[i].Kind = LinkNode
			}
		}
		run, l.size = run[n:], min(2*l.size, listBatch)
		if l.unseen != nil {
			b.looked.Add(n)
			l.unseen <- b
		} else {
			b.looked.Go(func() { l.probe(b.children) })
		}
		select {
		case l.batches <- b:
		case <-l.ctx.Done():
			return l.ctx.Err()
		}
	}
	return nil
}

// noteLink notes that a child is a link.
func (l *lister) noteLink(name string) {
	if l.links == nil {
		l.links = make(map[string]struct{})
	}
	l.links[name] = struct{}{}
}

// probeLink finds out where a child leads that was a link when it was listed,
// and reports whether it still is one.
func (l *lister) probeLink(c *Child) bool {
	n, _, err := l.cat.linkAt(l.ctx, store.Join(l.path, c.Name))
	if err != nil {
		n = &Node{Link: &Link{Err: err}}
	}
	if n != nil {
		c.Link = n.Link
	}
	return n != nil
}

// probe finds out the kinds of children.
func (l *lister) probe(children []Child) {
	l.slots <- struct{}{}
	defer func() { <-l.slots }()
	for i := range children {
		if l.ctx.Err() != nil {
			return
		}
		c := &children[i]
		if c.Kind == LinkNode && l.probeLink(c) {
			continue
		}
		seen, _ := l.cat.probe(l.ctx, store.Join(l.path, c.Name), l.v2)
		c.Kind, c.Elements = seen.kind, seen.elements
	}
}

// probeAhead finds out the kinds of children in a remote store, many at once, in the order of the
// listing. Meanwhile the listing asks for its next page.
func (l *lister) probeAhead() {
	for b := range l.unseen {
		for i := range b.children {
			l.slots <- struct{}{}
			go func() {
				defer b.looked.Done()
				defer func() { <-l.slots }()
				l.probeRemote(b, &b.children[i])
			}()
		}
	}
}

// probeRemote finds out the kind of a child of a batch in a remote store.
func (l *lister) probeRemote(b *batch, c *Child) {
	err := l.ctx.Err()
	if err == nil {
		var seen summary
		seen, err = l.cat.probe(l.ctx, store.Join(l.path, c.Name), l.v2)
		c.Kind, c.Elements = seen.kind, seen.elements
	}
	if err != nil {
		b.failed.Do(func() { b.err = err })
	}
}

// Kind finds out what the node at path is with as few and as cheap looks as possible.
// What cannot be found out is a directory.
func (cat *looks) Kind(ctx context.Context, path string) NodeKind {
	seen, _ := cat.probe(ctx, path, false)
	return seen.kind
}

// A summary is what a probe of a node finds: its kind, and what its elements are.
type summary struct {
	kind     NodeKind
	elements Elements
}

// probe finds out what the node at path is. An error is one of a remote store.
func (cat *looks) probe(ctx context.Context, path string, v2 bool) (summary, error) {
	if c := cat.consolidated(ctx, path); c != nil {
		if kind, known := c.kinds[path]; known {
			return summary{kind, c.elements(path)}, nil
		}
	}
	if cat.shelf != nil {
		return cat.probeRemote(ctx, path)
	}
	return cat.probeNear(ctx, path, v2), nil
}

// probeNear is probe by the documents of a store for which looks are cheap.
func (cat *looks) probeNear(ctx context.Context, path string, v2 bool) summary {
	first, second := cat.probeV3, cat.probeV2
	if v2 {
		first, second = second, first
	}
	if seen, found := first(ctx, path); found {
		return seen
	}
	if seen, found := second(ctx, path); found {
		return seen
	}
	if cat.Exists(ctx, store.Join(path, "meta")) && cat.Exists(ctx, store.Join(path, "attrs")) {
		return summary{kind: ArrayNode}
	}
	return summary{kind: DirectoryNode}
}

func (cat *looks) probeV2(ctx context.Context, path string) (seen summary, found bool) {
	key := store.Join(path, ".zarray")
	if cat.probeKey(ctx, key, func(doc []byte) {
		seen.elements = elementsV2(doc)
	}) || cat.Exists(ctx, key) {
		seen.kind = ArrayNode
		return seen, true
	}
	return summary{kind: GroupNode}, cat.Exists(ctx, store.Join(path, ".zgroup"))
}

// Exists reports whether the store has an object of that key.
func (cat *looks) Exists(ctx context.Context, key string) bool {
	info, err := cat.store.Stat(ctx, key)
	return err == nil && !info.Dir
}

func (cat *looks) probeV3(ctx context.Context, path string) (seen summary, found bool) {
	seen.kind = ArrayNode // what is too long to be read is shown as an array that cannot be read
	key := store.Join(path, "zarr.json")
	found = cat.probeKey(ctx, key, func(doc []byte) { seen = summaryV3(doc) })
	return seen, found
}

// headers recycles the buffers of probeKey.
var headers = sync.Pool{New: func() any { return new([documentHead]byte) }}

// documentHead is as much of a document as is looked at first, in bytes.
const documentHead = 4 << 10

// probeKey calls see with the document of that key, unless it is too long to be
// read, and reports whether there is one.
func (cat *looks) probeKey(ctx context.Context, key string, see func(doc []byte)) (found bool) {
	buf := headers.Get().(*[documentHead]byte)
	defer headers.Put(buf)
	n, err := cat.store.Peek(ctx, key, buf[:])
	if err != nil {
		return false
	}
	if n < documentHead {
		see(buf[:n])
		return true
	}
	if doc, _, err := cat.store.ReadAll(ctx, key, DocumentLimit); err == nil {
		see(doc)
	}
	return true
}

// summaryV3 returns what a look at a zarr.json finds. Parsing every document of a large group takes
// long, so it does so only where the text leaves a doubt.
func summaryV3(doc []byte) summary {
	node, data := typeNames(doc)
	switch {
	case string(node) == "group":
		return summary{kind: GroupNode}
	case string(node) == "array" && !maybeVlen(data, doc):
		return summary{kind: ArrayNode}
	}
	a, g, _ := meta.ParseV3(bytes.Clone(doc))
	if g != nil {
		return summary{kind: GroupNode}
	}
	return summary{ArrayNode, ElementsOf(a)}
}

// maybeVlen reports whether an array may have elements without a fixed size. name is that of its
// data type in its document, nil where that is in doubt.
func maybeVlen(name, doc []byte) bool {
	return (name == nil || slices.Contains(dtype.VlenNames, string(name))) && mentionsVlen(doc)
}

// mentionsVlen reports whether the name of a type without a fixed size is anywhere in the document.
// Nearly every array has a codec "bytes", so that alone means nothing.
func mentionsVlen(doc []byte) bool {
	for _, name := range dtype.VlenNames {
		if name != "bytes" && bytes.Contains(doc, []byte(`"`+name+`"`)) {
			return true
		}
	}
	return bytes.Contains(doc, []byte("vlen-bytes"))
}

// typeNames returns the values of node_type and data_type in a zarr.json. Each is nil unless the
// document has just one member of that name, at whatever depth, and its value is a plain string.
func typeNames(doc []byte) (node, data []byte) {
	const end = `_type"`
	var nodes, datas int
	for at := 0; ; {
		i := bytes.Index(doc[at:], []byte(end))
		if i < 0 {
			break
		}
		key := doc[:at+i]
		at += i + len(end)
		switch {
		case bytes.HasSuffix(key, []byte(`"node`)):
			node = plainString(doc[at:])
			nodes++
		case bytes.HasSuffix(key, []byte(`"data`)):
			data = plainString(doc[at:])
			datas++
		}
	}
	if nodes != 1 {
		node = nil
	}
	if datas != 1 {
		data = nil
	}
	return node, data
}

// plainString returns the string that follows a key and its colon, without its
// quotes; nil if something else follows, or it has escapes.
func plainString(after []byte) []byte {
	value := bytes.TrimLeft(after[:min(len(after), 60)], " \t\r\n:")
	if len(value) == 0 || value[0] != '"' {
		return nil
	}
	text, _, closed := bytes.Cut(value[1:], []byte{'"'})
	if !closed || bytes.IndexByte(text, '\\') >= 0 {
		return nil
	}
	return text
}

// elementsV2 returns what kind of elements the array of a .zarray has. It parses only documents
// that have the name of a type without a fixed size.
func elementsV2(doc []byte) Elements {
	if !bytes.Contains(doc, []byte(`O"`)) && !bytes.Contains(doc, []byte(`O8"`)) &&
		!bytes.Contains(doc, []byte(`O4"`)) {
		return Elements{}
	}
	a, _ := meta.ParseV2Array(bytes.Clone(doc), nil)
	return ElementsOf(a)
}
