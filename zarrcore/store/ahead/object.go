package ahead

import (
	"bytes"
	"context"
	"io/fs"
	"sync/atomic"

	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// object is an object that was fetched ahead. Others may be open of the same fetch.
type object struct {
	store.Object
	driver *Driver
	fetch  *fetch
	ctx    context.Context
	closed atomic.Bool
}

// usable returns why the object can no longer be read.
func (o *object) usable() error {
	if o.closed.Load() {
		return fs.ErrClosed
	}
	return o.ctx.Err()
}

// ReadAt is the object's.
func (o *object) ReadAt(p []byte, off int64) (int, error) {
	if err := o.usable(); err != nil {
		return 0, err
	}
	return o.Object.ReadAt(p, off)
}

// ReadRanges is the object's.
func (o *object) ReadRanges(ctx context.Context, spans []store.Span) error {
	if err := o.usable(); err != nil {
		return err
	}
	return store.ReadRanges(ctx, o.Object, spans)
}

// Rights are the object's, if it has any.
func (o *object) Rights() store.Rights {
	if owned, ok := o.Object.(store.Owned); ok {
		return owned.Rights()
	}
	return store.Rights{}
}

// Close ends the use of the object.
func (o *object) Close() error {
	if o.closed.Swap(true) {
		return fs.ErrClosed
	}
	o.driver.drop(o.fetch)
	return nil
}

// inMemory is an object with all its bytes. It is used by way of object, which knows when it ends.
type inMemory struct {
	store.Object
	data *bytes.Reader
}

// ReadAt copies.
func (o *inMemory) ReadAt(p []byte, off int64) (int, error) { return o.data.ReadAt(p, off) }

// Rights are the object's, if it has any.
func (o *inMemory) Rights() store.Rights {
	if owned, ok := o.Object.(store.Owned); ok {
		return owned.Rights()
	}
	return store.Rights{}
}
