package zarrcore

import (
	"context"
	"errors"
	"fmt"
	iofs "io/fs"

	"github.com/zarrfs/zarrfs/compress"
	"github.com/zarrfs/zarrfs/zarrcore/chunk"
	"github.com/zarrfs/zarrfs/zarrcore/codec"
	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// This file is the way from a chunk's number to its bytes: key, object,
// decoded chunk. Here, and nowhere else, a chunk that is not stored becomes
// the fill value; an object that is there but short or corrupt is an error.

// partialShare: a random read that needs less than this share of a chunk is
// decoded in part where the codecs can.
const partialShare = 8

// Load implements chunk.Backing.
func (a *Array) Load(ctx context.Context, id chunk.ID, need chunk.Need) (chunk.Loaded, error) {
	got := chunk.Loaded{Version: absent}
	err := a.withObject(ctx, id.Chunk, func(src *source, inner int64) error {
		got.Version = src.Info().Version
		if !need.Fresh && got.Version != need.Version {
			return nil
		}
		dst, err := need.Buffer()
		if err == nil {
			got.Lo, got.Hi, err = a.decode(dst, src, inner, need)
		}
		return err
	})
	if errors.Is(err, errFill) {
		got.Fill, err = true, nil
	} else if err == nil && got.Hi > got.Lo {
		a.h.count.chunks.Add(1)
		a.h.count.bytes.Add(got.Hi - got.Lo)
	}
	return got, err
}

// decode decodes what is needed of a chunk into dst and returns the span. Where
// dst holds bytes already, which others may be reading, it does so in parts
// that are small enough for DecodePart not to decode the whole chunk.
func (a *Array) decode(dst []byte, src *source, inner int64, need chunk.Need) (lo, hi int64, err error) {
	size := int64(len(dst))
	if need.Fresh && (!a.chain.Partial() || need.N > size/partialShare) {
		return 0, size, a.chain.Decode(dst, src, inner)
	}
	part := need.N
	if !need.Fresh {
		part = max(size/2, 1)
	}
	lo = size
	for off, end := need.Off, need.Off+need.N; off < end; off += part {
		l, h, err := a.chain.DecodePart(dst, src, inner, off, min(part, end-off))
		if err != nil {
			return 0, 0, err
		}
		lo, hi = min(lo, l), max(hi, h)
	}
	return lo, hi, nil
}

// Current implements chunk.Backing.
func (a *Array) Current(ctx context.Context, id chunk.ID, version string) bool {
	key, _ := a.objectOf(id.Chunk)
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
		return a.chain.Decode(dst, src, inner)
	})
	if errors.Is(err, errFill) {
		return true, nil
	}
	return false, err
}

// errFill says that a chunk is not stored.
var errFill = errors.New("chunk is not stored")

// withObject calls decode with the object that holds chunk n and the chunk's
// number in it. A missing object is errFill, and so is a chunk that a shard
// does not hold; other errors get the array's path and the key.
func (a *Array) withObject(ctx context.Context, n int64, decode func(src *source, inner int64) error) error {
	key, inner := a.objectOf(n)
	obj, err := a.h.store.Open(ctx, key)
	if errors.Is(err, iofs.ErrNotExist) {
		return errFill
	}
	if err != nil {
		return &Error{Op: "read", Path: a.path, Key: key, Err: err}
	}
	defer obj.Close()
	src := &source{Object: obj, indexes: a.h.indexes, id: indexID{a.id, key, obj.Info().Version, 0}}
	err = guard(func() error { return decode(src, inner) })
	if errors.Is(err, codec.ErrEmpty) {
		return errFill
	}
	if err != nil {
		return &Error{Op: "read", Path: a.path, Key: key, Err: err}
	}
	return nil
}

// guard turns a panic of a decoder, which would be a bug but may be reached by
// a hostile chunk, into an error of that chunk.
func guard(decode func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%w: decoder failed: %v", compress.ErrCorrupt, r)
		}
	}()
	return decode()
}

// objectOf returns the key of the object that holds chunk n, and the chunk's
// C-order number within it.
func (a *Array) objectOf(n int64) (key string, inner int64) {
	coords := a.grid.Coords(n, nil)
	for i := range coords {
		per := a.perObject[i]
		inner = inner*per + coords[i]%per
		coords[i] /= per
	}
	return a.prefix + string(a.meta.Keys.Append(nil, coords)), inner
}

// A source is an object as codec reads it, with its shard indexes cached.
type source struct {
	store.Object
	indexes *indexCache
	id      indexID
}

// ShardIndex implements codec.IndexCache.
func (s *source) ShardIndex(off int64, load func() (*codec.Index, error)) (*codec.Index, error) {
	id := s.id
	id.off = off
	return s.indexes.get(id, load)
}
