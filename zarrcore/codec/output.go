package codec

// partBytes is the length of the parts in which an object is written. It is a multiple of the
// blocks of disks, so that each part can go past the page cache.
const partBytes = 4 << 20

// output writes an object from its beginning on, in parts.
type output struct {
	dst     Sink
	mem     *buffer
	part    []byte // is written when it is full
	written int64  // bytes before it
	failed  error  // of dst
}

// newOutput returns an output for an object of up to size bytes.
func newOutput(dst Sink, size int64) *output {
	n := min(size, partBytes)
	mem := getBuffer(n)
	return &output{dst: dst, mem: mem, part: mem.b[:0:max(n, 1)]}
}

func (o *output) release() { o.mem.release() }

// size is how many bytes the object has so far.
func (o *output) size() int64 { return o.written + int64(len(o.part)) }

// write appends bytes to the object.
func (o *output) write(p []byte) error {
	for len(p) > 0 {
		room, err := o.room(int64(len(p)))
		if err != nil {
			return err
		}
		p = p[copy(room, p):]
	}
	return nil
}

// skip appends bytes that are to be written later.
func (o *output) skip(n int64) error {
	for n > 0 {
		room, err := o.room(n)
		if err != nil {
			return err
		}
		clear(room)
		n -= int64(len(room))
	}
	return nil
}

// copy appends a stretch of an object that is stored.
func (o *output) copy(s span) error {
	for s.n > 0 {
		room, err := o.room(s.n)
		if err == nil {
			err = s.read(room, 0)
		}
		if err != nil {
			return err
		}
		n := int64(len(room))
		s = s.part(n, s.n-n)
	}
	return nil
}

// room appends up to n bytes to the part, as many as it has room for. The caller fills them.
func (o *output) room(n int64) ([]byte, error) {
	if len(o.part) == cap(o.part) {
		if err := o.flush(); err != nil {
			return nil, err
		}
	}
	begin := len(o.part)
	o.part = o.part[:min(int64(cap(o.part)), int64(begin)+n)]
	return o.part[begin:], nil
}

// writeAt overwrites bytes of the object.
func (o *output) writeAt(p []byte, off int64) error {
	if n := min(o.written-off, int64(len(p))); n > 0 {
		if _, err := o.dst.WriteAt(p[:n], off); err != nil {
			o.failed = err
			return err
		}
		p, off = p[n:], off+n
	}
	copy(o.part[max(off-o.written, 0):], p)
	return nil
}

// flush writes what is left of the object.
func (o *output) flush() error {
	if len(o.part) == 0 {
		return nil
	}
	_, o.failed = o.dst.Write(o.part)
	o.written += int64(len(o.part))
	o.part = o.part[:0]
	return o.failed
}
