package object

import (
	"context"
	"errors"

	"github.com/zarrfs/zarrfs/layout"
	"github.com/zarrfs/zarrfs/zarrcore/chunk"
	"github.com/zarrfs/zarrfs/zarrcore/codec"
	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// Shared is what the arrays of a hierarchy share to read their objects.
type Shared struct {
	indexes   *Indexes
	blocks    blocks
	mem       *chunk.Memory
	measuring *chunk.Semaphore // of 1: taken while a large object is measured
	rights    rights
}

// NewShared returns what arrays share. Memory to measure objects is taken from mem.
func NewShared(mem *chunk.Memory) *Shared {
	return &Shared{indexes: NewIndexes(IndexBudget), mem: mem, measuring: chunk.NewSemaphore(1)}
}

// An Opener opens the stored objects of one generation of an array.
type Opener struct {
	Array   uint64 // the generation, for its shard indexes
	Keys    *Keys
	Chains  *Chains[*codec.Chain] // nil where elements have no fixed size
	Lengths *Lengths
	Fill    []byte // one element
	Shared  *Shared
	Epoch   uint64 // in which a shard must have been opened for what it lacks to be known
	Carries int64  // bytes that a request brings in a round trip; 0: unknown
}

// Open opens an object, with the length that it has. A missing object is ErrMissing.
func (o Opener) Open(
	ctx context.Context, st *store.Store, number int64, key string) (*Reader, error) {
	return o.OpenPart(ctx, st, number, key, Whole)
}

// OpenPart is Open for a part of the object.
func (o Opener) OpenPart(
	ctx context.Context, st *store.Store, number int64, key string, part Part,
) (*Reader, error) {
	r := &Reader{ctx: ctx, from: o, number: number, key: key, part: part}
	err := o.Lengths.Open(o.Keys, func() error { return r.open(ctx, st) })
	if err != nil {
		return nil, err
	}
	return r, nil
}

// Wrap returns a reader of an open object whose chunks the caller decodes.
func (o Opener) Wrap(open store.Object, key string) *Reader {
	return &Reader{Object: open, ctx: context.Background(), from: o, key: key}
}

// A Reader is an open object as codec reads it, with its shard indexes cached.
type Reader struct {
	store.Object
	ctx    context.Context // of the request that opened the Reader: it bounds all reads
	from   Opener
	number int64
	key    string
	part   Part
	chain  *codec.Chain // by which it was stored
	length int64        // that it has along axis 0
	shown  int64        // rows that count; the others were left by a killed process

	isRemote bool
}

// Fits reports whether the object has the length that k gives it, and all its rows count.
func (r *Reader) Fits(k *Keys) bool {
	return r.length == k.Length(r.number) && r.shown == r.length
}

// open opens the object with the length that it has.
func (r *Reader) open(ctx context.Context, st *store.Store) (err error) {
	r.length, r.shown = r.from.Lengths.Of(r.from.Keys, r.number)
	if r.from.Chains != nil { // elements of a fixed size
		if r.chain, err = r.chainOf(r.length); err != nil {
			return err
		}
	}
	rights := &r.from.Shared.rights
	if err = rights.noteWay(ctx, st, r.from.Array, r.from.Keys.Prefix(), r.key); err != nil {
		return err
	}
	if r.Object, err = r.openStored(ctx, st); err == nil {
		rights.note(r.from.Array, r.Object)
		r.fit()
	}
	return err
}

// openStored opens the object as it is stored: in a remote store with the bytes that are wanted.
func (r *Reader) openStored(ctx context.Context, st *store.Store) (store.Object, error) {
	if !st.Traits().Remote {
		return Open(ctx, st, r.key, store.Want{})
	}
	r.isRemote = true
	id := shardID{r.from.Array, r.key}
	for {
		want, err := r.from.Want(r.number, r.key, r.part)
		if err != nil {
			return nil, err
		}
		o, err := Open(ctx, st, r.key, want)
		if errors.Is(err, store.ErrChanged) && want.Version != "" {
			r.from.Shared.indexes.forget(id) // its chunks are elsewhere by now
			r.from.Shared.blocks.forget(id)
			continue
		}
		if r.chain != nil && r.chain.IsSharded() {
			r.from.Shared.indexes.opened(id, r.from.Epoch, o, err)
		}
		return o, err
	}
}

// DecodePart decodes n bytes of a chunk of size bytes, from byte off on, into what buffer returns.
// It does nothing, and done is false, where the chunk can only be decoded as a whole.
func (r *Reader) DecodePart(inner, off, n, size int64,
	buffer func(lo, hi int64) ([]byte, error)) (done bool, err error) {
	if !r.chain.CanDecodePart() || r.shown != r.length || r.chain.ChunkBytes() != size {
		return false, nil
	}
	lent := false
	err = r.chain.DecodePart(r, inner, off, n, func(lo, hi int64) ([]byte, error) {
		lent = true
		return buffer(lo, hi)
	})
	if lent {
		return true, err
	}
	if again, err := r.measured(err); !again {
		return true, err
	}
	return false, nil
}

// Decode decodes a chunk. Where the object had another length when it was stored,
// the rows that it lacks are fill value.
func (r *Reader) Decode(dst []byte, inner int64) error {
	again, err := r.measured(r.decodeLength(dst, inner))
	if again {
		err = r.decodeLength(dst, inner)
	}
	return err
}

// decodeLength is Decode of an object of the length that it should have.
func (r *Reader) decodeLength(dst []byte, inner int64) error {
	if r.shown == 0 && r.length > 0 {
		return codec.ErrEmpty
	}
	if r.chain.IsSharded() {
		chunks := r.chain.PerObject()
		if inner >= chunks || r.shown < r.length && inner*r.length >= chunks*r.shown {
			return codec.ErrEmpty // of rows that do not count; shown is a whole number of chunks
		}
		return r.chain.Decode(dst, r, inner)
	}
	size := r.chain.ChunkBytes()
	if size == int64(len(dst)) && r.shown == r.length {
		return r.chain.Decode(dst, r, inner)
	}
	stored, release := chunk.Buffer(size)
	defer release()
	if err := r.chain.Decode(stored, r, inner); err != nil {
		return err
	}
	n := copy(dst, stored[:size/max(1, r.length)*min(r.shown, r.length)])
	layout.Repeat(dst[n:], r.from.Fill)
	return nil
}

// ShardIndex implements codec.IndexCache.
func (r *Reader) ShardIndex(off, n int64, load func() (*codec.Index, error)) (*codec.Index, error) {
	id := IndexID{Array: r.from.Array, Key: r.key, Version: r.Info().Version, Off: off, N: n}
	return r.from.Shared.indexes.Get(id, load)
}
