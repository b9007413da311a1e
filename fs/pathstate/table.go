// Package pathstate keeps what a mount knows of the paths of a hierarchy: one state for each path,
// in one tree. A rename moves the state, with all that is known below it. A removal ends it.
package pathstate

import (
	"strings"
	"sync"
	"sync/atomic"

	"github.com/zarrfs/zarrfs/fs/names"
)

// State is what is known of one path. A table calls these methods while it is locked: they are
// short, and they ask neither a store, nor the kernel, nor the table.
type State[S any] interface {
	*S
	// Moved notes that what was at the state's path is at another one now.
	Moved(to string)
	// Ended notes that nothing is at the state's path any more. What belongs to the name alone may
	// stay.
	Ended()
	// Join adds what has stayed at a path to which the state was moved. Moved is called after it.
	Join(stayed *S)
	// IsEmpty reports whether nothing is known of the path, so that the state can be dropped.
	IsEmpty() bool
}

// Table holds the states of all paths of which anything is known. The zero value is an empty table.
// Its methods can be called concurrently, and each of them is one step for all others.
type Table[S any, P State[S]] struct {
	mu      sync.Mutex
	root    node[S, P]
	changes atomic.Int64
}

// node is a path in the tree.
type node[S any, P State[S]] struct {
	state    P // nil: nothing is known of the path itself
	children map[string]*node[S, P]
}

// Look calls see with the state of path, if there is one.
func (t *Table[S, P]) Look(path string, see func(P)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if n := t.root.find(path); n != nil && n.state != nil {
		see(n.state)
	}
}

// Seek is Look for the path that where returns once the table is locked, so that no rename comes
// between.
func (t *Table[S, P]) Seek(where func() string, see func(P)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if n := t.root.find(where()); n != nil && n.state != nil {
		see(n.state)
	}
}

// Edit calls change with the state of path, if there is one, and drops the state if it is empty
// then.
func (t *Table[S, P]) Edit(path string, change func(P)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.root.edit(path, change)
}

// Make is Edit, but makes the state if there is none.
func (t *Table[S, P]) Make(path string, change func(P)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.root.make(path, change)
}

// Follow is Make for the path that where returns once the table is locked, so that no rename comes
// between.
func (t *Table[S, P]) Follow(where func() string, change func(P)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.root.make(where(), change)
}

// Both is Follow for two paths at once. They may be the same.
func (t *Table[S, P]) Both(where func() (one, other string), change func(one, other P)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	one, other := where()
	t.root.make(one, func(s P) {
		t.root.make(other, func(o P) { change(s, o) })
	})
}

// Each is Edit for path and all paths below it.
func (t *Table[S, P]) Each(path string, change func(path string, s P)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.root.each(path, change)
}

// Move moves the states of from, and of all paths below it, to the path to. What was known of to
// ends.
func (t *Table[S, P]) Move(from, to string) { t.MoveWith(from, to, func() {}) }

// MoveWith is Move, and calls also in the same step.
func (t *Table[S, P]) MoveWith(from, to string, also func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	also()
	t.changes.Add(1)
	moved := t.root.take(from)
	t.end(to)
	if moved == nil {
		return
	}
	if stayed := t.root.take(to); stayed != nil {
		moved.join(stayed)
	}
	t.root.put(to, moved)
	t.root.each(to, func(path string, s P) { s.Moved(path) })
}

// End notifies the states of path, and of all paths below it, that nothing is there any more.
func (t *Table[S, P]) End(path string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.changes.Add(1)
	t.end(path)
}

// Changes returns how many moves and ends there were. What was found out about a path before one of
// them may be true of another path.
func (t *Table[S, P]) Changes() int64 { return t.changes.Load() }

// end is End for a caller that holds mu.
func (t *Table[S, P]) end(path string) {
	t.root.each(path, func(_ string, s P) { s.Ended() })
}

// Len returns how many paths have a state.
func (t *Table[S, P]) Len() (n int) {
	t.Each("", func(string, P) { n++ })
	return n
}

// find returns the node at path, seen from n; nil if there is none.
func (n *node[S, P]) find(path string) *node[S, P] {
	for path != "" && n != nil {
		var name string
		name, path, _ = strings.Cut(path, "/")
		n = n.children[name]
	}
	return n
}

// edit changes the state at path, if there is one, and drops what holds nothing then.
func (n *node[S, P]) edit(path string, change func(P)) {
	n.at(path, func(n *node[S, P]) {
		if n.state != nil {
			n.change(change)
		}
	})
}

// make is edit, but makes the state if there is none.
func (n *node[S, P]) make(path string, change func(P)) {
	if path == "" {
		if n.state == nil {
			n.state = new(S)
		}
		n.change(change)
		return
	}
	name, rest, _ := strings.Cut(path, "/")
	n.child(name).make(rest, change)
	n.prune(name)
}

// at calls do with the node at path, if there is one, and drops what holds nothing then.
func (n *node[S, P]) at(path string, do func(*node[S, P])) {
	if path == "" {
		do(n)
		return
	}
	name, rest, _ := strings.Cut(path, "/")
	if c := n.children[name]; c != nil {
		c.at(rest, do)
		n.prune(name)
	}
}

// each changes the states at path and below it.
func (n *node[S, P]) each(path string, change func(path string, s P)) {
	n.at(path, func(n *node[S, P]) { n.all(path, change) })
}

// all changes the states of the node at path, and of the nodes below it.
func (n *node[S, P]) all(path string, change func(path string, s P)) {
	if n.state != nil {
		n.change(func(s P) { change(path, s) })
	}
	for name, c := range n.children {
		c.all(names.Join(path, name), change)
		n.prune(name)
	}
}

// change changes a node's state, and drops it if it is empty then.
func (n *node[S, P]) change(change func(P)) {
	s := n.state // change may drop it, where it changes the same state twice
	change(s)
	if s.IsEmpty() {
		n.state = nil
	}
}

// take takes the node at path out of the tree, and returns it; nil if there is none.
func (n *node[S, P]) take(path string) (taken *node[S, P]) {
	n.at(path, func(n *node[S, P]) {
		taken = &node[S, P]{n.state, n.children}
		*n = node[S, P]{}
	})
	return taken
}

// put makes a node the one at path, where there is none.
func (n *node[S, P]) put(path string, moved *node[S, P]) {
	for path != "" {
		var name string
		name, path, _ = strings.Cut(path, "/")
		n = n.child(name)
	}
	*n = *moved
}

// join adds what has stayed at the path to which n was moved.
func (n *node[S, P]) join(stayed *node[S, P]) {
	switch {
	case n.state == nil:
		n.state = stayed.state
	case stayed.state != nil:
		n.state.Join(stayed.state)
	}
	for name, c := range stayed.children {
		n.child(name).join(c)
	}
}

// child returns the child of that name, which it makes if there is none.
func (n *node[S, P]) child(name string) *node[S, P] {
	c := n.children[name]
	if c == nil {
		if n.children == nil {
			n.children = make(map[string]*node[S, P])
		}
		c = new(node[S, P])
		n.children[name] = c
	}
	return c
}

// prune drops a child that holds nothing.
func (n *node[S, P]) prune(name string) {
	if c := n.children[name]; c == nil || c.state != nil || len(c.children) > 0 {
		return
	}
	delete(n.children, name)
	if len(n.children) == 0 {
		n.children = nil // a map keeps the space that it once took
	}
}
