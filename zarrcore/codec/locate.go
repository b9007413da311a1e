package codec

import "errors"

// This file is for objects of which each read is a round trip: where in an object the bytes of a
// chunk are, before it is opened.

// IndexRange returns where the index of a shard is: n bytes at off, which counts from the end of
// the object where it is below 0. Without sharding n is 0.
func (c *Chain) IndexRange() (off, n int64) {
	if !c.IsSharded() {
		return 0, 0
	}
	n = c.levels[0].index.codecs.encoded.size
	if c.levels[0].index.atStart {
		return 0, n
	}
	return -n, n
}

// Locate returns where the encoded bytes of a chunk are in an object: n bytes at off. A shard's
// index comes from src, which may fail to read it. The error is ErrEmpty for a chunk that the shard
// does not have.
func (c *Chain) Locate(src Source, inner int64) (off, n int64, err error) {
	if err := c.checkInner(inner); err != nil {
		return 0, 0, err
	}
	s, err := c.find(src, inner)
	return s.off, s.n, err
}

// errUnread is the error of a Source without bytes.
var errUnread = errors.New("codec: nothing is read to locate a chunk")

// Unread is a Source of which only the size is known.
type Unread int64

// ReadAt fails.
func (u Unread) ReadAt([]byte, int64) (int, error) { return 0, errUnread }

// Size is the number of bytes.
func (u Unread) Size() int64 { return int64(u) }
