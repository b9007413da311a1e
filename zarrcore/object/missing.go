package object

import (
	"context"
	"errors"
	iofs "io/fs"

	"github.com/zarrfs/zarrfs/zarrcore/codec"
	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// ErrMissing says that the store has no object of a key. Every chunk of it then is the
// fill value.
var ErrMissing = errors.New("object is not stored")

// Open opens the object of a key. Here, and nowhere else, a missing key is told from an
// object: the error is ErrMissing. An object that is present but short or corrupt opens,
// and reading it is an error, never fill value.
func Open(
	ctx context.Context, st *store.Store, key string, w store.Want,
) (store.Object, error) {
	o, err := st.OpenFor(ctx, key, w)
	if errors.Is(err, iofs.ErrNotExist) {
		return nil, ErrMissing
	}
	return o, err
}

// IsMissing reports whether a chunk is the fill value because nothing of it is stored:
// there is no object for it, or the shard has no such chunk.
func IsMissing(err error) bool {
	return errors.Is(err, ErrMissing) || errors.Is(err, codec.ErrEmpty)
}
