package fs

import (
	"math/bits"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	gofuse "github.com/hanwen/go-fuse/v2/fs"

	"github.com/zarrfs/zarrfs/fs/names"
	"github.com/zarrfs/zarrfs/fs/view"
)

// fileKey names what a node of the mount shows: a view of the array or group at path, or the folder
// there if view is "".
type fileKey struct{ path, view string }

// place is where a node is. A rename changes it while requests are under way, so it is read once in
// each.
type place struct {
	key  atomic.Pointer[fileKey]
	gone atomic.Bool  // what it showed was removed: the node ends with its last handle
	old  atomic.Bool  // another node has taken its place
	open atomic.Int64 // handles
}

func at(path, view string) *place {
	p := new(place)
	p.key.Store(&fileKey{path, view})
	return p
}

func (p *place) is() fileKey {
	if p == nil {
		return fileKey{}
	}
	return *p.key.Load()
}

// identities knows the node of each file and folder that the kernel knows. So a file is one inode
// however it was found, also after it was renamed. Its lock is innermost.
//
// A file's inode number is a hash of its path and view: the same in every mount of the store. A
// file that was renamed keeps its number as long as the kernel knows it, and what takes its place
// gets another. The generation tells apart all that ever had the same number, also in a store built
// to collide.
type identities struct {
	mu      sync.Mutex
	gen     uint64 // the last one given
	nodes   map[fileKey]*base
	numbers map[uint64]*base // the node that has an inode number: among nodes, or gone and still open
	renewed []*base          // nodes whose place another has taken, and that are still open
}

// node returns the inode of the file or folder key. If there is none yet, create makes it.
func (ids *identities) node(key fileKey, create func(gofuse.StableAttr) *base) *gofuse.Inode {
	ids.mu.Lock()
	defer ids.mu.Unlock()
	if b := ids.nodes[key]; b != nil {
		return b.EmbeddedInode()
	}
	if ids.nodes == nil {
		ids.nodes, ids.numbers = make(map[fileKey]*base), make(map[uint64]*base)
	}
	number := ids.freeNumber(key)
	b := create(ids.next(number))
	ids.nodes[key], ids.numbers[number] = b, b
	return b.EmbeddedInode()
}

// fresh returns an identity for a node that has no place among the nodes.
func (ids *identities) fresh(key fileKey) gofuse.StableAttr {
	ids.mu.Lock()
	defer ids.mu.Unlock()
	return ids.next(inode(key.path, key.view))
}

func (ids *identities) next(number uint64) gofuse.StableAttr {
	ids.gen++
	return gofuse.StableAttr{Ino: number, Gen: ids.gen}
}

// number returns the inode number of a file or folder, known to the kernel or not.
func (ids *identities) number(key fileKey) uint64 {
	ids.mu.Lock()
	defer ids.mu.Unlock()
	if len(ids.numbers) == 0 {
		return inode(key.path, key.view)
	}
	if b := ids.nodes[key]; b != nil {
		return b.StableAttr().Ino
	}
	return ids.freeNumber(key)
}

// freeNumber returns the number that a new node of key would have. The caller holds mu.
func (ids *identities) freeNumber(key fileKey) uint64 {
	number := inode(key.path, key.view)
	for {
		b := ids.numbers[number]
		if b == nil || b.place.is() == key && !b.place.gone.Load() {
			return number
		}
		number = spread(number + 1)
	}
}

// known returns the nodes of the array or group at path that the kernel knows: its files, or its
// folder.
func (ids *identities) known(path string) []*base {
	ids.mu.Lock()
	defer ids.mu.Unlock()
	return ids.at(path)
}

// showing returns the nodes at path of which programs may see anything: the known ones, and those
// that another node has replaced.
func (ids *identities) showing(path string) []*base {
	ids.mu.Lock()
	defer ids.mu.Unlock()
	nodes := ids.at(path)
	for _, b := range ids.renewed {
		if b.place.is().path == path {
			nodes = append(nodes, b)
		}
	}
	return nodes
}

func (ids *identities) at(path string) (known []*base) {
	if b := ids.nodes[fileKey{path, ""}]; b != nil {
		known = append(known, b)
	}
	for _, v := range view.All() {
		if b := ids.nodes[fileKey{path, v.Name()}]; b != nil {
			known = append(known, b)
		}
	}
	return append(known, ids.linksAt(path)...)
}

// linksAt returns the nodes of the link at path that the kernel knows.
func (ids *identities) linksAt(path string) (known []*base) {
	for _, v := range append([]view.View{nil}, view.All()...) {
		if b := ids.nodes[linkKey(path, v)]; b != nil {
			known = append(known, b)
		}
	}
	return known
}

// renew makes the next look at a file find another inode than b, under the same number.
func (ids *identities) renew(b *base) {
	ids.mu.Lock()
	defer ids.mu.Unlock()
	if !b.place.old.Swap(true) {
		ids.renewed = append(ids.renewed, b)
	}
	if key := b.place.is(); ids.nodes[key] == b {
		delete(ids.nodes, key)
	}
}

// remove takes the nodes of what was at path out of their places, and returns them. Programs that
// have them open keep them.
func (ids *identities) remove(path string) []*base {
	ids.mu.Lock()
	defer ids.mu.Unlock()
	removed := ids.at(path)
	for _, b := range removed {
		delete(ids.nodes, b.place.is())
		b.place.gone.Store(true)
	}
	return removed
}

// move gives the nodes at the path from, and below it, their new place, which must be free. The
// kernel itself moves the renamed node. It knows the others at from by names that they do not have
// any more: these nodes are returned. Those that nobody has open end, so that no program can come
// to them by such a name.
func (ids *identities) move(from, to string, renamed fileKey) (others []*base) {
	ids.mu.Lock()
	defer ids.mu.Unlock()
	for _, b := range ids.at(from) {
		if b.place.is() == renamed {
			continue
		}
		others = append(others, b)
		if b.place.open.Load() == 0 {
			delete(ids.nodes, b.place.is())
			b.place.gone.Store(true)
		}
	}
	for _, b := range ids.renewed {
		if key := b.place.is(); names.IsUnder(key.path, from) {
			b.place.key.Store(&fileKey{names.Moved(key.path, from, to), key.view})
		}
	}
	moved := make(map[fileKey]*base)
	for key, b := range ids.nodes {
		if names.IsUnder(key.path, from) {
			delete(ids.nodes, key)
			moved[fileKey{names.Moved(key.path, from, to), key.view}] = b
		}
	}
	for key, b := range moved {
		b.place.key.Store(&key)
		ids.nodes[key] = b
	}
	return others
}

// removeKey takes the node of key out of its place, if there is one.
func (ids *identities) removeKey(key fileKey) {
	ids.mu.Lock()
	defer ids.mu.Unlock()
	if b := ids.nodes[key]; b != nil {
		delete(ids.nodes, key)
		b.place.gone.Store(true)
	}
}

// rename gives one node another place.
func (ids *identities) rename(from, to fileKey) {
	ids.mu.Lock()
	defer ids.mu.Unlock()
	if b := ids.nodes[from]; b != nil {
		delete(ids.nodes, from)
		b.place.key.Store(&to)
		ids.nodes[to] = b
	}
}

// keep puts a node in its place if none is there: the kernel may have begun to forget it when it
// was looked up again.
func (ids *identities) keep(b *base) {
	ids.mu.Lock()
	defer ids.mu.Unlock()
	key := b.place.is()
	if ids.nodes != nil && ids.nodes[key] == nil && !b.place.gone.Load() && !b.place.old.Load() {
		ids.nodes[key], ids.numbers[b.StableAttr().Ino] = b, b
	}
}

// forget ends a node that the kernel has forgotten. One that is in its place and open stays there.
func (ids *identities) forget(b *base) {
	ids.mu.Lock()
	defer ids.mu.Unlock()
	if p := b.place; p != nil && p.open.Load() > 0 && !p.gone.Load() && !p.old.Load() {
		return
	}
	if key := b.place.is(); ids.nodes[key] == b {
		delete(ids.nodes, key)
	}
	if number := b.StableAttr().Ino; ids.numbers[number] == b {
		delete(ids.numbers, number)
	}
	if i := slices.Index(ids.renewed, b); i >= 0 {
		ids.renewed = slices.Delete(ids.renewed, i, i+1)
	}
}

// inode returns the number that readdir and stat show: FNV-1a of the path, spread, and kept off the
// reserved numbers. Its lowest bits are the view's, in the order in which views are listed:
// programs that copy trees in the order of inode numbers, as cp does, must come to an array's
// document first.
func inode(path, name string) uint64 {
	sum := uint64(14695981039346656037)
	for i := 0; i < len(path); i++ {
		sum = (sum ^ uint64(path[i])) * 1099511628211
	}
	name, link := strings.CutPrefix(name, linkView)
	if link { // another number than that of what else may be there
		sum = (sum ^ '@') * 1099511628211
	}
	last := uint64(len(view.All())) // what is not a view of an array
	for i, v := range view.All() {
		if v.Name() == name {
			last = uint64(i)
		}
	}
	return spread(sum)&^(1<<bits.Len(uint(len(view.All())))-1) | last
}

func spread(sum uint64) uint64 {
	sum ^= sum >> 32
	sum *= 0x9E3779B97F4A7C15
	return sum&^(3<<62) | 1<<60
}
