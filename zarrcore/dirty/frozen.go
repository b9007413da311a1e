package dirty

// A Frozen is the dirty bytes of one chunk while they are being stored. It ends
// with Stored or Thaw.
type Frozen struct {
	Number int64 // of the chunk
	pc     *piece
	stays  bool // all of it was in scratch when it was opened, and stays there
}

// Freeze freezes the dirty bytes of a chunk; nil if there are none. A chunk is
// frozen once at a time. It fails where Thaw has failed before, and would again.
func (s *Set) Freeze(chunk int64) (*Frozen, error) {
	s.pool.mu.Lock()
	defer s.pool.mu.Unlock()
	if old := s.frozen[chunk]; old != nil {
		if !old.stuck {
			return nil, nil
		}
		if err := s.thaw(chunk, old); err != nil {
			return nil, err
		}
	}
	pc := s.active[chunk]
	if pc == nil {
		return nil, nil
	}
	delete(s.active, chunk)
	s.frozen[chunk] = pc
	return &Frozen{Number: chunk, pc: pc}, nil
}

// Covered returns how many bytes of the chunk are dirty.
func (f *Frozen) Covered() int64 { return f.pc.all.count }

// Open returns the memory of the chunk, which has size bytes now, all of them dirty,
// until Close.
func (f *Frozen) Open(size int64) ([]byte, error) {
	p := f.pc.set.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	f.pc.busy = true
	f.pc.unlink()
	if err := f.pc.holdAll(size); err != nil {
		return nil, err
	}
	f.stays = f.pc.here.count == 0
	return f.pc.mem[:size], f.pc.restore()
}

// CopyTo copies what is dirty of the chunk over dst, which is the chunk without it.
func (f *Frozen) CopyTo(dst []byte) (err error) {
	p := f.pc.set.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	f.pc.all.walk(0, int64(len(dst)), func(lo, hi int64) {
		if err == nil {
			err = f.pc.copy(dst[lo:hi], lo)
		}
	}, nil)
	return err
}

// restore reads what is in scratch alone back into memory.
func (pc *piece) restore() (err error) {
	if pc.here.count == pc.all.count {
		return nil
	}
	size := pc.size
	load := func(lo, hi int64) {
		if e := pc.set.file.read(pc.mem[lo:hi], pc.slot, lo); e != nil && err == nil {
			err = e
		}
	}
	pc.all.walk(0, size, func(lo, hi int64) { pc.here.walk(lo, hi, nil, load) }, nil)
	if err == nil {
		pc.all.walk(0, size, func(lo, hi int64) { pc.here.add(lo, hi, size) }, nil)
	}
	return err
}

// Dirty calls visit for each dirty stretch of bytes [lo, hi) of the chunk.
func (f *Frozen) Dirty(lo, hi int64, visit func(lo, hi int64)) { f.pc.all.walk(lo, hi, visit, nil) }

// Close ends the use of the memory that Open returned. The dirty bytes are kept.
func (f *Frozen) Close() {
	p := f.pc.set.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	f.pc.busy = false
	if f.stays {
		f.pc.letGo() // nothing has to be written to scratch again
		return
	}
	if f.pc.mem != nil && f.pc.elem == nil {
		f.pc.elem = p.recent.PushFront(f.pc)
	}
}

// Stored forgets the bytes: they are stored.
func (f *Frozen) Stored() {
	s := f.pc.set
	s.pool.mu.Lock()
	defer s.pool.mu.Unlock()
	s.forget(s.frozen, f.Number)
}

// Thaw makes the bytes, which could not be stored, part of what is dirty again,
// beneath what was written since. If that fails they stay as they are, to be read
// all the same, until the next Freeze tries it again.
func (f *Frozen) Thaw() error {
	s := f.pc.set
	s.pool.mu.Lock()
	defer s.pool.mu.Unlock()
	return s.thaw(f.Number, f.pc)
}

func (s *Set) thaw(chunk int64, pc *piece) error {
	pc.busy, pc.stuck = false, true
	if newer := s.active[chunk]; newer != nil {
		if err := s.merge(pc, newer); err != nil {
			return err
		}
		s.forget(s.active, chunk)
	} else if pc.mem != nil && pc.elem == nil {
		pc.elem = s.pool.recent.PushFront(pc)
	}
	pc.stuck = false
	delete(s.frozen, chunk)
	s.active[chunk] = pc
	return nil
}

// merge copies the dirty bytes of newer over those of pc.
func (s *Set) merge(pc, newer *piece) (err error) {
	if err := pc.holdAll(newer.size); err != nil { // newer may go to scratch for it
		return err
	}
	before := pc.all.count
	newer.all.walk(0, newer.size, func(lo, hi int64) {
		if err == nil {
			err = newer.copy(pc.mem[lo:hi], lo)
		}
		if err == nil {
			pc.here.add(lo, hi, pc.size)
			pc.all.add(lo, hi, pc.size)
		}
	}, nil)
	s.pool.dirty += pc.all.count - before
	pc.countNotes(pieceBytes + pc.all.memory() + pc.here.memory())
	return err
}
