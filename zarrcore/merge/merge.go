// Package merge makes the object that takes the place of a stored one: dirty chunks over those that
// are stored.
package merge

import (
	"slices"

	"github.com/zarrfs/zarrfs/compress"
	"github.com/zarrfs/zarrfs/layout"
	"github.com/zarrfs/zarrfs/zarrcore/chunk"
	"github.com/zarrfs/zarrfs/zarrcore/codec"
	"github.com/zarrfs/zarrfs/zarrcore/dirty"
	"github.com/zarrfs/zarrfs/zarrcore/object"
	"github.com/zarrfs/zarrfs/zarrcore/parallel"
)

// An Array is what the objects of an array have in common.
type Array struct {
	Objects  *object.Layout
	Grid     *layout.Grid // of its chunks
	Element  []byte       // one element of fill value
	Fill     *object.Fill
	Plain    bool          // an object is a chunk's bytes as they are
	KeepFill bool          // store chunks that hold nothing but fill value, too
	Memory   *chunk.Memory // in which chunks are completed and encoded
	Count    *object.Counters
}

// An Object is one object that is being made.
type Object struct {
	Array
	Number  int64
	Chain   *codec.Chain
	Frozen  []*dirty.Frozen         // its dirty chunks, in order
	CutIn   func(chunk int64) int64 // from which byte of a chunk on stored ones do not count
	Workers int                     // that encode its chunks
}

// Fit lets the object be written within size bytes of memory, if fewer workers make that possible.
// It returns how many bytes that takes.
func (o *Object) Fit(size int64) (bytes int64) {
	each := max(1, o.pieceBytes())
	o.Workers = int(min(int64(o.Workers), max(1, size/each-1)))
	return each * min(o.Chain.PerObject(), int64(o.ahead()+1))
}

// pieceBytes is how many bytes of memory it takes to complete and encode one chunk.
func (o *Object) pieceBytes() int64 {
	bytes := o.Chain.EncodedBytes()
	if !o.Covers(true) {
		bytes += o.Chain.ChunkBytes()
	}
	return bytes
}

// ahead is how many chunks are encoded, or wait, while another one is written.
func (o *Object) ahead() int {
	if o.Workers <= 1 {
		return 0 // others are busy with other objects
	}
	return o.Workers
}

// Covers reports whether all of the object that lies in the array is dirty. If grown is set, that
// goes for the array with whole objects along its rows, so that what is stored does not matter.
// Otherwise rows behind the array's end may be stored, which another program has appended.
func (o *Object) Covers(grown bool) bool {
	if int64(len(o.Frozen)) != o.Objects.ChunksIn(o.Number, grown) {
		return false
	}
	inside := o.Grid.Inside
	if grown {
		inside = o.Objects.BytesGrown
	}
	return !slices.ContainsFunc(o.Frozen, func(f *dirty.Frozen) bool {
		return f.Covered() < inside(f.Number)
	})
}

// isRelaid reports whether the stored object has another length than the new one, or rows
// that do not count. Then no chunk of it stays as it is.
func (o *Object) isRelaid(old *object.Reader) bool { return !old.Fits(o.Objects.Keys) }

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

	freeChunk, freeData func() // give back memory; nil: nothing to give back
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
