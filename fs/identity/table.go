package identity

import (
	"slices"
	"sync"

	"github.com/zarrfs/zarrfs/fs/names"
)

// Identity is what tells a node apart from all others.
type Identity struct{ Number, Generation uint64 }

// Node is what shows a file or folder.
type Node interface {
	comparable
	Place() *Place
	// Number is that of its identity.
	Number() uint64
}

// Table has the nodes of a mount. The zero value is empty.
type Table[N Node] struct {
	mu      sync.Mutex
	gen     uint64         // the last one given
	nodes   map[string][]N // by path: one for each view there that the kernel knows
	numbers map[uint64]N   // the node that has an inode number: among nodes, or gone and still open
	renewed []N            // nodes whose place another has taken, and that are still open
}

// Node returns the node of the file or folder key. If there is none yet, create makes it.
func (t *Table[N]) Node(key Key, create func(Identity) N) N {
	t.mu.Lock()
	defer t.mu.Unlock()
	if b, ok := t.find(key); ok {
		return b
	}
	if t.nodes == nil {
		t.nodes, t.numbers = make(map[string][]N), make(map[uint64]N)
	}
	number := t.freeNumber(key)
	b := create(t.next(number))
	t.put(b)
	t.numbers[number] = b
	return b
}

// find returns the node in the place of that key. The caller holds mu.
func (t *Table[N]) find(key Key) (b N, ok bool) {
	for _, b := range t.nodes[key.Path] {
		if b.Place().Key() == key {
			return b, true
		}
	}
	return b, false
}

// put enters a node at its place, which is free. The caller holds mu.
func (t *Table[N]) put(b N) {
	path := b.Place().Key().Path
	t.nodes[path] = append(t.nodes[path], b)
}

// take takes a node out of its place, if it is there. The caller holds mu.
func (t *Table[N]) take(b N) {
	path := b.Place().Key().Path
	left := slices.DeleteFunc(t.nodes[path], func(other N) bool { return other == b })
	if len(left) == 0 {
		delete(t.nodes, path)
		return
	}
	t.nodes[path] = left
}

// Fresh returns an identity for a node that has no place among the nodes.
func (t *Table[N]) Fresh(key Key) Identity {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.next(key.Number())
}

func (t *Table[N]) next(number uint64) Identity {
	t.gen++
	return Identity{number, t.gen}
}

// Number returns the inode number of a file or folder, known to the kernel or not.
func (t *Table[N]) Number(key Key) uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.numbers) == 0 {
		return key.Number()
	}
	if b, ok := t.find(key); ok {
		return b.Number()
	}
	return t.freeNumber(key)
}

// freeNumber returns the number that a new node of key would have. The caller holds mu.
func (t *Table[N]) freeNumber(key Key) uint64 {
	number := key.Number()
	for {
		b, taken := t.numbers[number]
		if !taken || b.Place().Key() == key && !b.Place().IsGone() {
			return number
		}
		number = spread(number + 1)
	}
}

// Known returns the nodes of the array or group at path that the kernel knows: its files, or its
// folder.
func (t *Table[N]) Known(path string) []N {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.at(path)
}

// Showing returns the nodes at path of which programs may see anything: the known ones, and those
// that another node has replaced.
func (t *Table[N]) Showing(path string) []N {
	t.mu.Lock()
	defer t.mu.Unlock()
	nodes := t.at(path)
	for _, b := range t.renewed {
		if b.Place().Key().Path == path {
			nodes = append(nodes, b)
		}
	}
	return nodes
}

// Open returns the nodes of which programs have handles.
func (t *Table[N]) Open() (nodes []N) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, b := range t.numbers {
		if b.Place().IsOpen() {
			nodes = append(nodes, b)
		}
	}
	for _, b := range t.renewed {
		if b.Place().IsOpen() && t.numbers[b.Number()] != b {
			nodes = append(nodes, b)
		}
	}
	return nodes
}

// at returns a copy of the nodes at path, also those of a link there. The caller holds mu.
func (t *Table[N]) at(path string) []N { return slices.Clone(t.nodes[path]) }

// Renew makes the next look at a file find another inode than b, under the same number.
func (t *Table[N]) Renew(b N) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !b.Place().old.Swap(true) {
		t.renewed = append(t.renewed, b)
	}
	t.take(b)
}

// Remove takes the nodes of what was at path out of their places, and returns them. Programs that
// have them open keep them.
func (t *Table[N]) Remove(path string) []N {
	t.mu.Lock()
	defer t.mu.Unlock()
	removed := t.at(path)
	delete(t.nodes, path)
	for _, b := range removed {
		b.Place().End()
	}
	return removed
}

// Move gives the nodes at the path from, and below it, their new place, which must be free. The
// kernel itself moves the renamed node. It knows the others at from by names that they do not have
// any more: these nodes are returned. Those that nobody has open end, so that no program can come
// to them by such a name.
func (t *Table[N]) Move(from, to string, renamed Key) (others []N) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, b := range t.at(from) {
		if b.Place().Key() == renamed {
			continue
		}
		others = append(others, b)
		if !b.Place().IsOpen() {
			t.take(b)
			b.Place().End()
		}
	}
	for _, b := range t.renewed {
		if key := b.Place().Key(); names.IsUnder(key.Path, from) {
			b.Place().move(Key{names.Moved(key.Path, from, to), key.View})
		}
	}
	for _, b := range t.numbers { // ended ones below it: what they showed may come back
		key := b.Place().Key()
		if b.Place().IsGone() && key.Path != from && names.IsUnder(key.Path, from) {
			b.Place().move(Key{names.Moved(key.Path, from, to), key.View})
		}
	}
	moved := make(map[string][]N)
	for path, nodes := range t.nodes {
		if names.IsUnder(path, from) {
			delete(t.nodes, path)
			moved[names.Moved(path, from, to)] = nodes
		}
	}
	for path, nodes := range moved {
		for _, b := range nodes {
			b.Place().move(Key{path, b.Place().Key().View})
		}
		t.nodes[path] = append(t.nodes[path], nodes...)
	}
	return others
}

// Return puts a node that has ended, and that nobody has open, back in its place: what it shows is
// there again. If another node has taken the place, the next look finds that one. Return reports
// whether the node shows something now.
func (t *Table[N]) Return(b N) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := b.Place()
	if !p.IsGone() {
		return true
	}
	if p.IsOpen() {
		return false
	}
	p.gone.Store(false)
	if _, taken := t.find(p.Key()); taken {
		p.old.Store(true)
		t.renewed = append(t.renewed, b)
		return true
	}
	t.put(b)
	t.numbers[b.Number()] = b
	return true
}

// RemoveKey takes the node of key out of its place, if there is one.
func (t *Table[N]) RemoveKey(key Key) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if b, ok := t.find(key); ok {
		t.take(b)
		b.Place().End()
	}
}

// Rename gives one node another place.
func (t *Table[N]) Rename(from, to Key) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if b, ok := t.find(from); ok {
		t.take(b)
		b.Place().move(to)
		t.put(b)
	}
}

// Keep puts a node in its place if none is there: the kernel may have begun to forget it when it
// was looked up again.
func (t *Table[N]) Keep(b N) {
	t.mu.Lock()
	defer t.mu.Unlock()
	key := b.Place().Key()
	_, taken := t.find(key)
	if t.nodes != nil && !taken && !b.Place().IsGone() && !b.Place().old.Load() {
		t.put(b)
		t.numbers[b.Number()] = b
	}
}

// Forget ends a node that the kernel has forgotten. One that is in its place and open stays there.
func (t *Table[N]) Forget(b N) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if b.Place().stays() {
		return
	}
	t.take(b)
	if number := b.Number(); t.numbers[number] == b {
		delete(t.numbers, number)
	}
	if i := slices.Index(t.renewed, b); i >= 0 {
		t.renewed = slices.Delete(t.renewed, i, i+1)
	}
}
