package zarrcore

import (
	"context"
	"errors"
	iofs "io/fs"

	"github.com/zarrfs/zarrfs/compress"
	"github.com/zarrfs/zarrfs/layout"
	"github.com/zarrfs/zarrfs/zarrcore/chunk"
	"github.com/zarrfs/zarrfs/zarrcore/codec"
	"github.com/zarrfs/zarrfs/zarrcore/object"
	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// This file is the way from a chunk's number to its bytes: key, object,
// decoded chunk. Here, and nowhere else, a chunk that is not stored becomes
// the fill value; an object that is there but short or corrupt is an error.

// partialShare: a random read that needs at most this share of a chunk is
// decoded in part where the codecs can.
const partialShare = 4

// partGrain is the grain of the first part decoded of a chunk, in bytes.
const partGrain = 4 << 10

// Load implements chunk.Backing.
func (a *Array) Load(ctx context.Context, id chunk.ID, need chunk.Need) (chunk.Loaded, error) {
	got := chunk.Loaded{Version: absent}
	cut := a.cutIn(id.Chunk)
	if cut == 0 && need.Size > 0 {
		got.Fill = true
		return got, nil
	}
	var part []byte // decoded
	var at int64    // where it begins in the chunk
	lend := need.Buffer
	need.Buffer = func(lo, hi int64) (_ []byte, err error) {
		part, err = lend(lo, hi)
		at = lo
		return part, err
	}
	err := a.withObject(ctx, id.Chunk, func(src *source, inner int64) error {
		got.Version = src.Info().Version
		if need.Version != "" && got.Version != need.Version {
			return nil
		}
		return a.decode(src, inner, need)
	})
	if errors.Is(err, object.ErrMissing) {
		got.Fill, err = true, nil
	}
	if lo := max(0, cut-at); lo < int64(len(part)) {
		layout.Repeat(part[lo:], a.meta.Fill)
	}
	return got, err
}

// decode decodes what is needed of a chunk, or the whole chunk where that is
// not much more. Fresh memory costs more to touch than a chunk to decode, so a
// first part is small; who comes back gets twice as much each time.
func (a *Array) decode(src *source, inner int64, need chunk.Need) error {
	buffer := func(lo, hi int64) ([]byte, error) {
		a.h.count.chunks.Add(1)
		a.h.count.bytes.Add(hi - lo)
		return need.Buffer(lo, hi)
	}
	grain := int64(partGrain) << min(need.Parts, 20)
	off := need.Off / grain * grain
	n := min((need.Off+need.N+grain-1)/grain*grain, need.Size) - off
	if src.chain.Partial() && src.shown == src.length && n <= need.Size/partialShare && src.chain.ChunkBytes() == need.Size {
		lent := false
		err := src.chain.DecodePart(src, inner, off, n, func(lo, hi int64) ([]byte, error) {
			lent = true
			return buffer(lo, hi)
		})
		if lent {
			return err
		}
		if again, err := src.measured(err); !again {
			return err
		}
	}
	dst, err := buffer(0, need.Size)
	if err != nil {
		return err
	}
	return src.decode(dst, inner)
}

// Current implements chunk.Backing.
func (a *Array) Current(ctx context.Context, id chunk.ID, version string) bool {
	_, key, _ := a.objects.Find(id.Chunk)
	info, err := a.h.store.Stat(ctx, key)
	if errors.Is(err, iofs.ErrNotExist) {
		return version == absent
	}
	return err == nil && info.Version != "" && info.Version == version
}

// absent is the version of an object that does not exist. Stores that know no
// versions say "", which is not enough to believe that nothing has changed.
const absent = "\x00absent"

// DecodeChunk implements band.Decoder.
func (a *Array) DecodeChunk(ctx context.Context, n int64, dst []byte) (fill bool, err error) {
	err = a.withObject(ctx, n, func(src *source, inner int64) error {
		return src.decode(dst, inner)
	})
	if errors.Is(err, object.ErrMissing) {
		return true, nil
	}
	return false, err
}

// errMoved says that the array is at another path by now.
var errMoved = errors.New("the array was moved")

// withObject calls decode with the object that holds chunk n and the chunk's
// number in it. A missing object is object.ErrMissing, and so is a chunk
// that a shard does not hold; other errors get the array's path and the key.
func (a *Array) withObject(ctx context.Context, n int64, decode func(src *source, inner int64) error) error {
	obj, key, inner := a.objects.Find(n)
	src, err := a.openObject(ctx, obj, key)
	if errors.Is(err, object.ErrMissing) {
		a.draft.away.RLock() // an object may be missing because it is on its way to the array's new path
		moved := a.draft.moved.Load()
		a.draft.away.RUnlock()
		if moved != nil {
			return errMoved
		}
		return object.ErrMissing
	}
	if err == nil {
		defer src.Close()
		err = compress.Guard(func() error { return decode(src, inner) })
	}
	if object.IsMissing(err) {
		return object.ErrMissing
	}
	if err != nil {
		return &Error{Op: "read", Path: a.path, Key: key, Err: err}
	}
	return nil
}

// openObject opens a stored object.
func (a *Array) openObject(ctx context.Context, obj int64, key string) (*source, error) {
	return a.openObjectIn(ctx, a.h.store, obj, key)
}

// openObjectIn is openObject in a directory that is held open.
func (a *Array) openObjectIn(ctx context.Context, st *store.Store, obj int64, key string) (*source, error) {
	src := &source{a: a, number: obj, key: key}
	err := a.draft.lengths.Open(a.objects.Keys, func() error { return src.open(ctx, st) })
	if err != nil {
		return nil, err
	}
	return src, nil
}

// A source is an object as codec reads it, with its shard indexes cached.
type source struct {
	store.Object
	a      *Array
	number int64
	key    string
	chain  *codec.Chain // by which it was stored
	length int64        // that it has along axis 0
	shown  int64        // rows that count; the others, which a killed process has left, are fill value
}

// open opens the object with the length that it has.
func (s *source) open(ctx context.Context, st *store.Store) (err error) {
	s.length, s.shown = s.a.draft.lengths.Of(s.a.objects.Keys, s.number)
	if s.a.chains != nil { // elements of a fixed size
		if s.chain, err = s.chainOf(s.length); err != nil {
			return err
		}
	}
	if s.Object, err = object.Open(ctx, st, s.key); err == nil {
		s.fit()
	}
	return err
}

// decode decodes a chunk. Where the object had another length when it was stored,
// the rows that it lacks are fill value.
func (s *source) decode(dst []byte, inner int64) error {
	again, err := s.measured(s.decodeLength(dst, inner))
	if again {
		err = s.decodeLength(dst, inner)
	}
	return err
}

// decodeLength is decode of an object of the length that it should have.
func (s *source) decodeLength(dst []byte, inner int64) error {
	if s.chain.Sharded() {
		chunks := s.chain.PerObject()
		if inner >= chunks || s.shown < s.length && inner*s.length >= chunks*s.shown {
			return codec.ErrEmpty // of rows that do not count; shown is a whole number of chunks
		}
		return s.chain.Decode(dst, s, inner)
	}
	size := s.chain.ChunkBytes()
	if size == int64(len(dst)) && s.shown == s.length {
		return s.chain.Decode(dst, s, inner)
	}
	stored, release := buffer(size)
	defer release()
	if err := s.chain.Decode(stored, s, inner); err != nil {
		return err
	}
	n := copy(dst, stored[:size/max(1, s.length)*min(s.shown, s.length)])
	layout.Repeat(dst[n:], s.a.meta.Fill)
	return nil
}

// ShardIndex implements codec.IndexCache.
func (s *source) ShardIndex(off, n int64, load func() (*codec.Index, error)) (*codec.Index, error) {
	id := object.IndexID{Array: s.a.id, Key: s.key, Version: s.Info().Version, Off: off, N: n}
	return s.a.h.indexes.Get(id, load)
}
