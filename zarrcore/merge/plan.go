package merge

import (
	"sync"

	"github.com/zarrfs/zarrfs/compress"
	"github.com/zarrfs/zarrfs/layout"
	"github.com/zarrfs/zarrfs/zarrcore/chunk"
	"github.com/zarrfs/zarrfs/zarrcore/codec"
	"github.com/zarrfs/zarrfs/zarrcore/mapped"
	"github.com/zarrfs/zarrfs/zarrcore/object"
	"github.com/zarrfs/zarrfs/zarrcore/parallel"
)

// A Plan says what becomes of an object over the stored one.
type Plan struct {
	of     *Object
	old    *object.Reader // nil: none
	chunks []changed      // as they lie in the object
}

// Same reports whether the stored object stays as it is.
func (p *Plan) Same() bool { return len(p.chunks) == 0 }

// Write writes the object to dst. Chunks are encoded a few at a time, and written as they come. The
// object is empty if it is to be deleted: then nothing was written. Write may be called again.
func (p *Plan) Write(dst codec.Sink) (empty bool, err error) {
	lent := buffers{mem: p.of.Memory, size: p.of.Chain.EncodedBytes(), once: len(p.chunks) == 1}
	defer lent.end()
	line := parallel.NewLine(p.of.ahead(), len(p.chunks), func(i int) *piece {
		return p.encode(p.chunks[i], &lent)
	})
	defer line.End((*piece).release)
	last := new(piece)
	defer func() { last.release() }()
	return p.of.Chain.Assemble(dst, p.source(), p.inner(), func() ([]byte, error) {
		last.release()
		last = line.Next()
		return last.data, last.err
	})
}

// source is the object of which other chunks stay as they are; nil if none do.
func (p *Plan) source() codec.Source {
	if p.old == nil || p.of.isRelaid(p.old) {
		return nil
	}
	return p.old
}

// inner returns the numbers of the chunks within the object.
func (p *Plan) inner() []int64 {
	inner := make([]int64, len(p.chunks))
	for i, c := range p.chunks {
		inner[i] = c.inner
	}
	return inner
}

// A piece is an encoded chunk until it is written.
type piece struct {
	data []byte // nil: it is not stored
	err  error

	freeChunk, freeData func() // give back memory; nil: there is none
}

func (p *piece) release() {
	for _, free := range []*func(){&p.freeChunk, &p.freeData} {
		if *free != nil {
			(*free)()
			*free = nil
		}
	}
}

// encode makes a chunk and encodes it.
func (p *Plan) encode(c changed, lent *buffers) *piece {
	made := new(piece)
	if c.gone {
		return made
	}
	made.err = compress.Guard(func() error {
		chunk, err := p.chunk(made, c)
		if err == nil && p.of.isStored(chunk) {
			err = p.of.encode(made, chunk, lent)
		}
		return err
	})
	return made
}

// chunk returns the bytes of a chunk, in memory that the piece has.
func (p *Plan) chunk(made *piece, c changed) ([]byte, error) {
	size := p.of.Grid.BytesOf(c.number)
	if c.dirty != nil && c.dirty.Covered() >= size {
		made.freeChunk = c.dirty.Close
		return c.dirty.Open(size)
	}
	chunk := p.of.Memory.Get(size)
	made.freeChunk = func() { p.of.Memory.Put(chunk) }
	err := p.base(chunk, c)
	if err == nil && c.dirty != nil {
		err = c.dirty.CopyTo(chunk)
	}
	return chunk, err
}

// base fills dst with a chunk as it is stored. What is truncated of it is fill value.
func (p *Plan) base(dst []byte, c changed) error {
	o := p.of
	cut := o.CutIn(c.number)
	isPadding := c.dirty != nil && c.dirty.Covered() >= o.Objects.BytesGrown(c.number) // all else
	if p.old == nil || cut == 0 || isPadding {
		layout.Repeat(dst, o.Element)
		return nil
	}
	o.Count.Chunks.Add(1)
	o.Count.Bytes.Add(int64(len(dst)))
	err := p.old.Decode(dst, c.inner)
	if object.IsMissing(err) {
		cut, err = 0, nil
	}
	layout.Repeat(dst[cut:], o.Element)
	return err
}

// isStored reports whether a chunk is more than fill value, as which a missing chunk reads.
func (o *Object) isStored(chunk []byte) bool { return o.KeepFill || !o.Fill.Fills(chunk) }

// encode encodes a chunk, and gives its memory back.
func (o *Object) encode(made *piece, chunk []byte, lent *buffers) (err error) {
	o.Count.Encoded.Add(1)
	if o.Plain {
		made.data = chunk // so its memory is still needed
		return nil
	}
	var buf []byte
	buf, made.freeData = lent.get()
	made.data, err = o.Chain.EncodeChunk(buf[:0], chunk)
	made.freeChunk()
	made.freeChunk = nil
	return err
}

// buffers lend memory for encoded chunks while one object is written.
type buffers struct {
	mem  *chunk.Memory
	size int64
	once bool // there is one chunk

	mu   sync.Mutex
	idle [][]byte
}

// get lends memory until free is called. For an object of one small chunk it comes from where this
// processor has had it last, without the locks of the budget.
func (b *buffers) get() (buf []byte, free func()) {
	if b.once && b.size < mapped.Least {
		return chunk.Buffer(b.size)
	}
	buf, ok := b.take()
	if !ok {
		buf = b.mem.Get(b.size)
	}
	return buf, func() { b.put(buf) }
}

func (b *buffers) take() (buf []byte, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	last := len(b.idle) - 1
	if last < 0 {
		return nil, false
	}
	buf, b.idle = b.idle[last], b.idle[:last]
	return buf, true
}

func (b *buffers) put(buf []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.idle = append(b.idle, buf)
}

// end ends the lending. All buffers must be back.
func (b *buffers) end() {
	for _, buf := range b.idle {
		b.mem.Put(buf)
	}
}
