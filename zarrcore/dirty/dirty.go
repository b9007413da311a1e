// Package dirty holds what programs have written to chunks and what is not
// stored yet. It knows bytes and chunk numbers, nothing of arrays or stores.
//
// A [Set] has the dirty chunks of one array. With the first byte that is written to it, a chunk
// gets a buffer of its whole size. A coverage says which bytes were: nothing is loaded to write. A
// [Pool] bounds the buffers of all sets. Beyond the bound those least recently written go to
// scratch as they are, raw: only their dirty bytes are written there, and read back once, when the
// chunk is stored. So a program may write in any order over an array of any size.
//
// To store a chunk its bytes are frozen: what is written meanwhile goes to a new
// buffer over it, and a reader sees both. Then they are either stored and
// forgotten, or thawed: then the two become one again. Nothing else forgets.
//
// # Locks
//
// One lock, the Pool's, guards all. It is held while bytes are copied, and while
// they go to scratch.
package dirty

import (
	"container/list"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/zarrfs/zarrfs/zarrcore/chunk"
)

// A Pool bounds the memory of dirty chunks.
type Pool struct {
	mem     *chunk.Memory
	scratch Scratch // nil: none

	mu      sync.Mutex
	recent  *list.List // of *piece with a buffer and not in use, most recently written in front
	dirty   int64      // dirty bytes, wherever they are
	notes   int64      // bytes that pieces take beside their buffers
	spilled int64      // bytes written to scratch since the start
	failed  error      // why the last attempt to use scratch failed
}

// NewPool returns a pool whose buffers take at most limit bytes, as far as
// scratch has room for what is beyond.
func NewPool(limit int64, scratch Scratch) *Pool {
	return &Pool{mem: chunk.NewMemory(limit), scratch: scratch, recent: list.New()}
}

// Limit returns the bound in bytes.
func (p *Pool) Limit() int64 { return p.mem.Budget() }

// OnHeap returns how many bytes of the Go heap the pool may take, with buffers that are to be used
// again.
func (p *Pool) OnHeap() int64 {
	now, _ := p.mem.OnHeap()
	return now
}

// Close gives back the buffers that are kept to be used again.
func (p *Pool) Close() { p.mem.Close() }

// Usage is what a pool holds, in bytes.
type Usage struct {
	Dirty   int64 // written and not stored
	Memory  int64 // buffers, and what says which bytes are dirty
	Peak    int64 // the most that Memory ever was
	Spilled int64 // written to scratch since the start
	Scratch error // why scratch could not be used the last time
}

// Usage returns what the pool holds.
func (p *Pool) Usage() Usage {
	p.mu.Lock()
	defer p.mu.Unlock()
	now, peak := p.mem.Used()
	return Usage{Dirty: p.dirty, Memory: now, Peak: peak, Spilled: p.spilled, Scratch: p.failed}
}

// leastNotes is how many bytes of notes, those of some thousand chunks, are not
// worth storing anything, however low the limit is: what is stored is encoded once
// more when a program that writes at random comes back to it.
const leastNotes = 4 << 20

// Over returns the bytes by which the limit is exceeded. If there are any, something has to be
// stored. Buffers can exceed it only if scratch has no room for them. The notes of which bytes are
// dirty exceed it if they take more than half of it. One chunk may always be in memory, even if it
// is larger than the limit.
func (p *Pool) Over() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.over()
}

// over is Over. The caller holds mu.
func (p *Pool) over() int64 {
	now, _ := p.mem.Used()
	limit := p.mem.Budget()
	most := limit
	if front := p.recent.Front(); front != nil {
		most = max(most, front.Value.(*piece).size)
	}
	return max(0, now-p.notes-most) + max(0, p.notes-p.notesMost())
}

// notesMost is how many bytes the notes may take. The caller holds mu.
func (p *Pool) notesMost() int64 { return max(p.mem.Budget()/2, leastNotes) }

// IsCrowded reports whether the notes take far more than they may. Then not even a write that has
// begun should go on before something is stored.
func (p *Pool) IsCrowded() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.notes > 2*p.notesMost()
}

// A Set is the dirty chunks of one array, which may differ in size.
type Set struct {
	pool *Pool
	file spillFile

	active map[int64]*piece
	frozen map[int64]*piece
	any    atomic.Bool // a chunk is dirty
}

// NewSet returns an empty set.
func (p *Pool) NewSet() *Set {
	return &Set{pool: p, active: map[int64]*piece{}, frozen: map[int64]*piece{}}
}

// A piece is the dirty bytes of one chunk.
type piece struct {
	set   *Set
	size  int64    // of the chunk, in bytes
	all   coverage // all dirty bytes
	mem   []byte   // of the chunk's size; nil if all is in scratch
	here  coverage // those of all whose newest value is in mem; the others are in scratch
	slot  int64    // where it has its bytes in the set's spill file; noSlot
	notes int64    // bytes counted for all but the buffer
	busy  bool     // being encoded: its buffer stays
	stuck bool     // frozen, because it could not be thawed
	elem  *list.Element
}

// noSlot is the slot of a piece that has nothing in scratch.
const noSlot = -1

// IsEmpty reports that no chunk is dirty.
func (s *Set) IsEmpty() bool { return !s.any.Load() }

// Numbers returns the dirty chunks, those being stored included, in order.
func (s *Set) Numbers() []int64 {
	s.pool.mu.Lock()
	defer s.pool.mu.Unlock()
	numbers := slices.Collect(maps.Keys(s.active))
	for n := range s.frozen {
		if s.active[n] == nil {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	return numbers
}

// Bytes returns how many bytes are dirty.
func (s *Set) Bytes() int64 {
	s.pool.mu.Lock()
	defer s.pool.mu.Unlock()
	var n int64
	for _, pc := range s.active {
		n += pc.all.count
	}
	for _, pc := range s.frozen {
		n += pc.all.count
	}
	return n
}

// Write copies p to byte off of a chunk, which has size bytes now. It returns how many bytes of the
// chunk are dirty then, not counting those being stored.
func (s *Set) Write(chunk, size, off int64, p []byte) (covered int64, err error) {
	s.pool.mu.Lock()
	defer s.pool.mu.Unlock()
	pc := s.active[chunk]
	if pc == nil {
		pc = &piece{set: s, slot: noSlot, size: size}
	}
	if err := pc.holdAll(size); err != nil {
		return 0, err
	}
	s.active[chunk] = pc
	s.any.Store(true)
	copyNear(pc.mem[off:], p)
	before := pc.all.count
	end := off + int64(len(p))
	pc.here.add(off, end, pc.size)
	pc.all.add(off, end, pc.size)
	s.pool.dirty += pc.all.count - before
	pc.countNotes(pieceBytes + pc.all.memory() + pc.here.memory())
	return pc.all.count, nil
}

// WriteUnder is Write for bytes older than the dirty ones: those stay. Nobody else may write to the
// chunk meanwhile.
func (s *Set) WriteUnder(chunk, size, off int64, p []byte) error {
	var gaps []span
	err := s.Read(chunk, off, slices.Clone(p), func(lo, hi int64) {
		gaps = append(gaps, span{lo, hi})
	})
	for _, g := range gaps {
		if err == nil {
			_, err = s.Write(chunk, size, g.lo, p[g.lo-off:g.hi-off])
		}
	}
	return err
}

// copyNear is copy, but leaves the bytes in the processor's caches for the encoder: from 1 MiB
// on Go's copy writes past the caches, which made copying a large file in 3 to 6 % slower.
func copyNear(dst, src []byte) {
	const near = 256 << 10
	for len(src) > 0 {
		n := copy(dst, src[:min(len(src), near)])
		dst, src = dst[n:], src[n:]
	}
}

// pieceBytes is about what a piece takes without its buffer and coverages.
const pieceBytes = 320

// countNotes counts what the piece takes beside its buffer.
func (pc *piece) countNotes(now int64) {
	p := pc.set.pool
	switch more := now - pc.notes; {
	case more > 0:
		p.mem.Reserve(more)
	case more < 0:
		p.mem.Unreserve(-more)
	}
	p.notes += now - pc.notes
	pc.notes = now
}

// hold gives the piece a buffer and makes it the one most recently used.
func (pc *piece) hold() error {
	p := pc.set.pool
	if pc.mem == nil {
		p.evict(pc.size)
		mem, err := p.mem.GetChunk(pc.size)
		if err != nil {
			return err
		}
		pc.mem = mem
	}
	if pc.elem != nil {
		p.recent.MoveToFront(pc.elem)
	} else if !pc.busy {
		pc.elem = p.recent.PushFront(pc)
	}
	return nil
}

// holdAll is hold for a chunk that has size bytes by now. It never shrinks.
func (pc *piece) holdAll(size int64) error {
	if pc.size >= size {
		return pc.hold()
	}
	small := pc.size
	if pc.slot != noSlot {
		if err := pc.leaveScratch(); err != nil {
			return err
		}
	}
	mem := pc.mem
	pc.mem, pc.size = nil, size
	if mem == nil {
		return pc.hold()
	}
	pc.unlink()
	if err := pc.hold(); err != nil {
		pc.mem, pc.size = mem, small
		return err
	}
	copy(pc.mem, mem)
	pc.set.pool.mem.Put(mem)
	pc.all.grow(size)
	pc.here.grow(size)
	return nil
}

// leaveScratch reads back what the piece has in scratch, for good.
func (pc *piece) leaveScratch() error {
	if err := pc.hold(); err != nil {
		return err
	}
	if err := pc.restore(); err != nil {
		return err
	}
	pc.set.file.free(pc.set.pool.scratch, pc.slot, pc.size)
	pc.slot = noSlot
	return nil
}

// letGo frees the piece's buffer.
func (pc *piece) letGo() {
	pc.unlink()
	if pc.mem != nil {
		pc.set.pool.mem.Put(pc.mem)
	}
	pc.mem, pc.here = nil, coverage{}
}

func (pc *piece) unlink() {
	if pc.elem != nil {
		pc.set.pool.recent.Remove(pc.elem)
		pc.elem = nil
	}
}

// Read copies what is dirty of bytes [off, off+len(dst)) of a chunk to dst. For the other stretches
// it calls gap, under the lock, with offsets from the chunk's start.
func (s *Set) Read(chunk, off int64, dst []byte, gap func(lo, hi int64)) error {
	s.pool.mu.Lock()
	defer s.pool.mu.Unlock()
	return s.overlay([]*piece{s.active[chunk], s.frozen[chunk]}, off, dst, off, off+int64(len(dst)),
		gap)
}

// overlay copies bytes [lo, hi) to dst, from the first of the layers that has them. dst begins at
// byte off.
func (s *Set) overlay(
	layers []*piece, off int64, dst []byte, lo, hi int64, gap func(lo, hi int64),
) (err error) {
	for len(layers) > 0 && layers[0] == nil {
		layers = layers[1:]
	}
	if len(layers) == 0 {
		gap(lo, hi)
		return nil
	}
	note := func(e error) {
		if err == nil {
			err = e
		}
	}
	layers[0].all.walk(lo, hi,
		func(lo, hi int64) { note(layers[0].copy(dst[lo-off:hi-off], lo)) },
		func(lo, hi int64) { note(s.overlay(layers[1:], off, dst, lo, hi, gap)) })
	return err
}

// copy copies dirty bytes from byte lo on to dst.
func (pc *piece) copy(dst []byte, lo int64) (err error) {
	pc.here.walk(lo, lo+int64(len(dst)),
		func(from, to int64) { copy(dst[from-lo:to-lo], pc.mem[from:to]) },
		func(from, to int64) {
			if e := pc.set.file.read(dst[from-lo:to-lo], pc.slot, from); e != nil && err == nil {
				err = e
			}
		})
	return err
}

// Truncate forgets what is dirty of a chunk from byte off on. No chunk may be frozen.
func (s *Set) Truncate(chunk, off int64) {
	s.pool.mu.Lock()
	defer s.pool.mu.Unlock()
	for _, layer := range []map[int64]*piece{s.active, s.frozen} { // what is stuck is still frozen
		pc := layer[chunk]
		if pc == nil {
			continue
		}
		s.pool.dirty -= pc.all.count
		pc.all.truncate(off)
		pc.here.truncate(off)
		s.pool.dirty += pc.all.count
		if pc.all.count == 0 {
			s.forget(layer, chunk)
		}
	}
}

// Drop forgets everything that is dirty. No chunk may be frozen.
func (s *Set) Drop() {
	s.pool.mu.Lock()
	defer s.pool.mu.Unlock()
	for _, layer := range []map[int64]*piece{s.active, s.frozen} {
		for n := range layer {
			s.forget(layer, n)
		}
	}
}

// forget takes a piece out of the set.
func (s *Set) forget(from map[int64]*piece, chunk int64) {
	pc := from[chunk]
	delete(from, chunk)
	s.pool.dirty -= pc.all.count
	pc.letGo()
	pc.countNotes(0)
	s.file.free(s.pool.scratch, pc.slot, pc.size)
	if len(s.active)+len(s.frozen) == 0 {
		s.any.Store(false)
		s.file.close()
	}
}
