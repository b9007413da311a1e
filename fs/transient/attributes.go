package transient

import (
	"fmt"
	"sync"

	"github.com/zarrfs/zarrfs/fs/errno"
)

// Programs that copy files set extended attributes before the file is an array: rsync on a file of
// another name, and tar on an empty one. They are kept until the array is there.

// Attributes are the extended attributes that a program has copied to a file.
type Attributes struct {
	mu     sync.Mutex // innermost
	values map[string][]byte
}

// maxAttributes is how many bytes of them a file may have, with their names.
const maxAttributes = 1 << 20

// Keep keeps an attribute.
func (c *Attributes) Keep(attr string, value []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	size := len(attr) + len(value)
	for name, v := range c.values {
		size += len(name) + len(v)
	}
	if size > maxAttributes {
		return fmt.Errorf("%s: more than %d bytes of extended attributes: %w", attr,
			maxAttributes, errno.ErrTooBig)
	}
	if c.values == nil {
		c.values = make(map[string][]byte)
	}
	c.values[attr] = append([]byte{}, value...)
	return nil
}

// Take returns the attributes, which the file has no longer.
func (c *Attributes) Take() map[string][]byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	values := c.values
	c.values = nil
	return values
}
