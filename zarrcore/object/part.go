package object

import (
	"context"
	"errors"

	"github.com/zarrfs/zarrfs/compress"
	"github.com/zarrfs/zarrfs/zarrcore/codec"
	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// This file says which bytes of an object come with it from a remote store, so that a chunk takes
// one request.

// A Part is what is to be decoded of an object: bytes of a chunk.
type Part struct {
	Inner  int64 // the chunk's number in the object
	Off, N int64 // its bytes; N of 0: all
}

// Whole is all chunks of an object.
var Whole = Part{Inner: -1}

// Larger chunks are not fetched whole where a part of them is wanted and can be decoded.
const mostWhole = 1 << 20

// Want returns which bytes of the object of a key come with it. If the shard is known to lack the
// chunk, the error is codec.ErrEmpty. If the shard is known to be missing, it is ErrMissing.
func (o Opener) Want(number int64, key string, p Part) (store.Want, error) {
	all := store.Want{N: store.All}
	if o.Chains == nil || p.Inner < 0 && !o.isSharded() {
		return all, nil
	}
	length, shown := o.Lengths.Of(o.Keys, number)
	chain, err := o.Chains.Of(o.Keys, number, length)
	switch {
	case err != nil:
		return all, err
	case chain.IsSharded():
		return o.wantOfShard(chain, key, p)
	case shown != length || p.N == 0:
		return all, nil
	case chain.IsPlain():
		return store.Want{Off: p.Off, N: p.N}, nil
	case chain.CanDecodePart() && chain.ChunkBytes() > mostWhole:
		return o.wantOfBlocks(key, p, chain.ChunkBytes()), nil
	}
	return all, nil
}

func (o Opener) isSharded() bool {
	off, n := o.Chains.largest.IndexRange()
	return off != 0 || n > 0
}

// wantOfShard returns the bytes of a chunk, if the shard's index is at hand, otherwise the index.
func (o Opener) wantOfShard(chain *codec.Chain, key string, p Part) (store.Want, error) {
	off, n := chain.IndexRange()
	index := store.Want{Off: off, N: n}
	known, ok := o.Shared.indexes.shard(shardID{o.Array, key})
	switch {
	case ok && known.missing && known.epoch >= o.Epoch:
		return index, ErrMissing
	case !ok || known.missing || p.Inner < 0:
		return index, nil
	}
	src := locating{Unread: codec.Unread(known.size), of: o, key: key, version: known.version}
	at, length, err := chain.Locate(src, p.Inner)
	switch {
	case errors.Is(err, codec.ErrEmpty) && known.epoch >= o.Epoch:
		return index, codec.ErrEmpty
	case err != nil:
		return index, nil
	case chain.IsPlain() && p.N > 0:
		at, length = at+p.Off, min(p.N, length-p.Off)
	}
	return store.Want{Off: at, N: length, Version: known.version}, nil
}

// locating is a Source with the shard indexes that are at hand.
type locating struct {
	codec.Unread
	of      Opener
	key     string
	version string
}

// ShardIndex implements codec.IndexCache.
func (l locating) ShardIndex(off, n int64, load func() (*codec.Index, error)) (*codec.Index,
	error) {
	id := IndexID{Array: l.of.Array, Key: l.key, Version: l.version, Off: off, N: n}
	if x := l.of.Shared.indexes.find(id); x != nil {
		return x, nil
	}
	return load()
}

// Hint returns what fetches the part of an object ahead. It reports false where the index of a
// shard must be loaded before. It is an error where nothing is stored.
func (o Opener) Hint(number int64, key string, p Part) (h store.Hint, ok bool, err error) {
	w, err := o.Want(number, key, p)
	return store.Hint{Key: key, Want: w}, w.Version != "" || !o.isSharded(), err
}

// LoadIndex loads the index of a shard, so that its chunks can be located. What cannot be loaded
// shows when the shard is opened for a chunk.
func (o Opener) LoadIndex(ctx context.Context, st *store.Store, number int64, key string) {
	r, err := o.OpenPart(ctx, st, number, key, Whole)
	if err != nil {
		return
	}
	defer r.Close()
	_ = compress.Guard(func() error {
		_, _, err := r.chain.Locate(r, 0)
		return err
	})
}
