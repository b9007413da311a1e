package dirty

import (
	"errors"
	"fmt"
	"os"
)

// A Scratch is where dirty bytes go that memory has no room for.
type Scratch interface {
	// Reserve takes n bytes of its limit, or reports that they are not there;
	// Release gives them back.
	Reserve(n int64) bool
	Release(n int64)
	// Create creates a file without a name: nothing is left of it once it is
	// closed, whatever ends the program.
	Create() (*os.File, error)
}

// errNoScratch says that there is no room in scratch.
var errNoScratch = errors.New("no room in scratch for what is written and not stored")

// A spillFile holds dirty chunks of one set, raw, each in a slot of the chunk's
// size. A slot is given by the byte where it begins. The pool's lock guards it.
type spillFile struct {
	f     *os.File          // nil until needed
	next  int64             // the first byte that was never used
	spare map[int64][]int64 // slots to use again, by size
}

// take returns a slot of size bytes.
func (s *spillFile) take(scratch Scratch, size int64) (slot int64, err error) {
	if scratch == nil || !scratch.Reserve(size) {
		return noSlot, errNoScratch
	}
	if s.f == nil {
		if s.f, err = scratch.Create(); err != nil {
			scratch.Release(size)
			s.f = nil
			return noSlot, err
		}
		s.next, s.spare = 0, map[int64][]int64{}
	}
	if spare := s.spare[size]; len(spare) > 0 {
		s.spare[size] = spare[:len(spare)-1]
		return spare[len(spare)-1], nil
	}
	s.next += size
	return s.next - size, nil
}

// free gives back a slot of size bytes, to be used for another chunk of that
// size.
func (s *spillFile) free(scratch Scratch, slot, size int64) {
	if slot != noSlot {
		s.spare[size] = append(s.spare[size], slot)
		scratch.Release(size)
	}
}

func (s *spillFile) close() {
	if s.f != nil {
		s.f.Close() // its content is not needed any more
		s.f = nil
	}
}

func (s *spillFile) read(p []byte, slot, off int64) error {
	if _, err := s.f.ReadAt(p, slot+off); err != nil {
		return fmt.Errorf("read back from scratch: %w", err)
	}
	return nil
}

func (s *spillFile) write(p []byte, slot, off int64) error {
	_, err := s.f.WriteAt(p, slot+off)
	return err
}

// evict moves dirty bytes to scratch until a buffer of n bytes more fits the
// limit, those least recently written first. Where scratch cannot take them they
// stay, and the limit is exceeded.
func (p *Pool) evict(n int64) {
	for el := p.recent.Back(); el != nil; {
		if now, _ := p.mem.Used(); now+n <= p.mem.Budget() {
			return
		}
		pc := el.Value.(*piece)
		el = el.Prev()
		if err := pc.spill(); err != nil {
			p.failed = err
			return
		}
		p.failed = nil
	}
}

// fragments is how many stretches are written to scratch one by one. A chunk
// that has more is completed from scratch and written as a whole.
const fragments = 256

// spill writes to scratch what only memory has of the piece, and frees its
// buffer.
func (pc *piece) spill() (err error) {
	s := pc.set
	if pc.slot == noSlot {
		if pc.slot, err = s.file.take(s.pool.scratch, pc.size); err != nil {
			return err
		}
	}
	if pc.here.stretches(pc.size, fragments) == fragments {
		err = pc.spillWhole()
	} else {
		pc.here.walk(0, pc.size, func(lo, hi int64) {
			if e := s.file.write(pc.mem[lo:hi], pc.slot, lo); e != nil && err == nil {
				err = e
			}
			s.pool.spilled += hi - lo
		}, nil)
	}
	if err == nil {
		pc.letGo()
		pc.countNotes(pieceBytes + pc.all.memory())
	}
	return err
}

// spillWhole writes the whole chunk: a million writes of 4 bytes each would take
// a thousand times longer than to read what is there and write all at once.
func (pc *piece) spillWhole() error {
	if err := pc.restore(); err != nil {
		return err
	}
	pc.set.pool.spilled += int64(len(pc.mem))
	return pc.set.file.write(pc.mem, pc.slot, 0)
}
