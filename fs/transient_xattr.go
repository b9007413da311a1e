package fs

import (
	"errors"
	"fmt"
	"sync"

	"github.com/zarrfs/zarrfs/fs/errno"
	"github.com/zarrfs/zarrfs/fs/program"
	"github.com/zarrfs/zarrfs/fs/view"
	"github.com/zarrfs/zarrfs/fs/xattr"
)

// Programs that copy files set extended attributes before the file is an array: rsync on a file of
// another name, and tar on an empty one. They are kept until the array is there.

// copiedAttributes are the extended attributes that a program has copied to a transient.
type copiedAttributes struct {
	mu     sync.Mutex // innermost
	values map[string][]byte
}

// maxCopiedAttributes is how many bytes of them a transient may have, with their names.
const maxCopiedAttributes = 1 << 20

// keep keeps an attribute.
func (c *copiedAttributes) keep(attr string, value []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	size := len(attr) + len(value)
	for name, v := range c.values {
		size += len(name) + len(v)
	}
	if size > maxCopiedAttributes {
		return fmt.Errorf("%s: more than %d bytes of extended attributes: %w", attr,
			maxCopiedAttributes, errno.ErrTooBig)
	}
	if c.values == nil {
		c.values = make(map[string][]byte)
	}
	c.values[attr] = append([]byte{}, value...)
	return nil
}

// take returns the attributes, which the transient has no longer.
func (c *copiedAttributes) take() map[string][]byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	values := c.values
	c.values = nil
	return values
}

// takeAttributes gives the array at path the attributes that were copied to the transient, which
// has become its view v. A document has its own.
func (f *filesystem) takeAttributes(
	path string, v view.View, x *transient, by program.Process,
) error {
	values := x.copied.take()
	if v == view.Document || len(values) == 0 {
		return nil
	}
	n, err := f.h.Node(f.ctx, path)
	if err != nil {
		return err
	}
	defer f.stat.Forget(path)
	for attr, value := range values {
		if f.isFromDocument(path, attr, by) {
			continue
		}
		if failed := xattr.Set(f.ctx, f.h, n, attr, value); failed != nil {
			err = errors.Join(err, refused(failed))
		}
	}
	return err
}
