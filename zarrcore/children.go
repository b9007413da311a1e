package zarrcore

import (
	"bytes"
	"context"
	"io"
	"runtime"
	"strings"
	"sync"

	"github.com/zarrfs/zarrfs/zarrcore/meta"
	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// A Child is one entry of a group.
type Child struct {
	Name string
	Kind NodeKind
	Vlen bool // an array whose elements have no fixed size, as far as a look at its document tells
}

// Children calls yield for each child of the group at path, in no order, while
// they are found. Below an array there are none: there everything is chunks.
// An error of yield ends it and is returned.
func (h *Hierarchy) Children(ctx context.Context, path string, yield func(Child) error) error {
	h.store.Refresh(path)
	if h.kind(ctx, path, false) == ArrayNode {
		return nil
	}
	if h.unlistable {
		return h.consolidatedChildren(ctx, path, yield)
	}
	ctx, stop := context.WithCancel(ctx)
	l := &lister{h: h, ctx: ctx, path: path, v2: h.exists(ctx, join(path, ".zgroup")), batches: make(chan *batch, listAhead)}
	go l.list()
	defer func() {
		stop()
		for range l.batches { // until list has ended
		}
	}()
	for b := range l.batches {
		b.looked.Wait()
		for i, name := range b.names {
			if err := yield(Child{name, b.seen[i].kind, b.seen[i].vlen}); err != nil {
				return err
			}
		}
	}
	if l.err != nil {
		return &Error{Op: "list", Path: path, Err: l.err}
	}
	return nil
}

// How far a listing is ahead of who reads it.
const (
	listBatch = 256 // children whose kinds are found out by one goroutine
	listAhead = 16  // batches
)

// A lister lists a group and finds out the kinds of its children, batches of
// them at once, ahead of who reads the listing: a group of a hundred thousand
// arrays has as many documents to look at.
type lister struct {
	h       *Hierarchy
	ctx     context.Context // done when nobody reads any more
	path    string
	v2      bool        // the group is a v2 group
	batches chan *batch // in the order of the listing; closed at its end
	err     error       // why it ended; to be read then
}

// A batch is some children of a group.
type batch struct {
	names  []string
	seen   []sight
	looked sync.WaitGroup // until they are seen
}

// list sends the children in batches; the first ones are small, so that who
// waits sees something soon.
func (l *lister) list() {
	defer close(l.batches)
	slots := make(chan struct{}, 2*runtime.NumCPU())
	size := 16
	b := &batch{}
	l.err = l.h.store.List(l.ctx, l.path, func(e store.Entry) error {
		if !e.Dir {
			return nil
		}
		if b.names = append(b.names, e.Name); len(b.names) < size {
			return nil
		}
		full := b
		b, size = &batch{}, min(2*size, listBatch)
		return l.send(full, slots)
	})
	if l.err == nil {
		l.err = l.send(b, slots)
	}
}

// send has the kinds of a batch found out and hands it on.
func (l *lister) send(b *batch, slots chan struct{}) error {
	b.seen = make([]sight, len(b.names))
	b.looked.Go(func() {
		slots <- struct{}{}
		defer func() { <-slots }()
		for i, name := range b.names {
			if l.ctx.Err() != nil {
				return
			}
			b.seen[i] = l.h.look(l.ctx, join(l.path, name), l.v2)
		}
	})
	select {
	case l.batches <- b:
		return nil
	case <-l.ctx.Done():
		return l.ctx.Err()
	}
}

// kind finds out what the node at path is with as few and as cheap looks as
// possible; v2 says that a v2 node is expected. What cannot be found out is a
// directory.
func (h *Hierarchy) kind(ctx context.Context, path string, v2 bool) NodeKind {
	return h.look(ctx, path, v2).kind
}

// A sight is what a look at a node tells.
type sight struct {
	kind NodeKind
	vlen bool
}

func (h *Hierarchy) look(ctx context.Context, path string, v2 bool) sight {
	if c := h.consolidated(ctx, path); c != nil {
		if kind, known := c.kinds[path]; known {
			return sight{kind, c.vlen(path)}
		}
	}
	looks := []func(context.Context, string) (sight, bool){h.lookV3, h.lookV2}
	if v2 {
		looks[0], looks[1] = looks[1], looks[0]
	}
	for _, look := range looks {
		if seen, found := look(ctx, path); found {
			return seen
		}
	}
	if h.exists(ctx, join(path, "meta")) && h.exists(ctx, join(path, "attrs")) {
		return sight{kind: ArrayNode}
	}
	return sight{kind: DirectoryNode}
}

func (h *Hierarchy) lookV2(ctx context.Context, path string) (seen sight, found bool) {
	key := join(path, ".zarray")
	if h.lookAt(ctx, key, func(doc []byte) { seen.vlen = vlenV2(doc) }) || h.exists(ctx, key) {
		seen.kind = ArrayNode
		return seen, true
	}
	return sight{kind: GroupNode}, h.exists(ctx, join(path, ".zgroup"))
}

func (h *Hierarchy) exists(ctx context.Context, key string) bool {
	info, err := h.store.Stat(ctx, key)
	return err == nil && !info.Dir
}

// headers recycles the buffers of lookAt.
var headers = sync.Pool{New: func() any { return new([documentHead]byte) }}

// documentHead is as much of a document as is looked at first, in bytes.
const documentHead = 4 << 10

func (h *Hierarchy) lookV3(ctx context.Context, path string) (seen sight, found bool) {
	seen.kind = ArrayNode // what is too long to be read is shown as an array that cannot be read
	found = h.lookAt(ctx, join(path, "zarr.json"), func(doc []byte) {
		seen.kind = kindV3(doc)
		seen.vlen = seen.kind == ArrayNode && vlenV3(doc)
	})
	return seen, found
}

// lookAt calls see with the document of that key, unless it is too long to be
// read, and reports whether there is one.
func (h *Hierarchy) lookAt(ctx context.Context, key string, see func(doc []byte)) (found bool) {
	obj, err := h.store.Open(ctx, key)
	if err != nil {
		return false
	}
	defer obj.Close()
	if obj.Size() <= documentHead {
		buf := headers.Get().(*[documentHead]byte)
		defer headers.Put(buf)
		doc := buf[:obj.Size()]
		if _, err := obj.ReadAt(doc, 0); err != nil && err != io.EOF {
			return false
		}
		see(doc)
		return true
	}
	if doc, _, err := h.store.ReadAll(ctx, key, documentLimit); err == nil {
		see(doc)
	}
	return true
}

// kindV3 returns the node type in a zarr.json. Parsing every document of a
// large group takes long, so it does so only where the text leaves a doubt.
func kindV3(doc []byte) NodeKind {
	key := []byte(`"node_type"`)
	if i := bytes.Index(doc, key); i >= 0 && bytes.LastIndex(doc, key) == i {
		value := strings.TrimLeft(string(doc[i+len(key):min(len(doc), i+len(key)+40)]), " \t\r\n:")
		if strings.HasPrefix(value, `"group"`) {
			return GroupNode
		}
		if strings.HasPrefix(value, `"array"`) {
			return ArrayNode
		}
	}
	if _, g, _ := meta.ParseV3(doc); g != nil {
		return GroupNode
	}
	return ArrayNode
}

// vlenV3 tells whether the elements of the array that a zarr.json describes have
// no fixed size. It parses only documents that have the name of such a type.
func vlenV3(doc []byte) bool {
	for _, name := range []string{`"string"`, `"bytes"`, `"variable_length_bytes"`, `"binary"`} {
		at := bytes.Index(doc, []byte(name))
		if at < 0 || name == `"bytes"` && !bytes.Contains(doc, []byte("vlen-bytes")) { // nearly every array has the codec of that name
			continue
		}
		a, _, _ := meta.ParseV3(bytes.Clone(doc))
		return IsVlen(a)
	}
	return false
}

// vlenV2 is vlenV3 for a .zarray.
func vlenV2(doc []byte) bool {
	if !bytes.Contains(doc, []byte(`O"`)) && !bytes.Contains(doc, []byte(`O8"`)) && !bytes.Contains(doc, []byte(`O4"`)) {
		return false
	}
	a, _ := meta.ParseV2Array(bytes.Clone(doc), nil)
	return IsVlen(a)
}
