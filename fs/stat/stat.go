// Package stat has what stat answers with, as far as finding that out takes a while. That is the
// metadata of nodes, what arrays take in the store, and the sizes of files that must be counted.
//
// What is kept is true of one path, and so it is a part of the path's state (package pathstate): a
// rename or a removal ends it. No lock of this package is held while a store is asked.
package stat

import (
	"context"
	"sync/atomic"

	"github.com/zarrfs/zarrfs/fs/errno"
	"github.com/zarrfs/zarrfs/fs/pathstate"
	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// Cache keeps what was found out.
type Cache struct {
	ctx    context.Context // background counts end with it
	reader Reader
	store  *store.Store // nil: unknown, so that no array is counted
	log    *errno.Log

	nodes   *pathstate.Bounded[NodePart]
	forgets atomic.Int64 // how many times a node was forgotten
	taken   *pathstate.Bounded[TakenPart]
	running atomic.Int64 // counts in the background
}

// Reader reads the metadata of nodes.
type Reader interface {
	Node(ctx context.Context, path string) (*zarrcore.Node, error)
}

// States are the parts of a mount's states that a cache keeps.
type States struct {
	Nodes pathstate.Parts[pathstate.Bound[NodePart]]
	Taken pathstate.Parts[pathstate.Bound[TakenPart]]
}

// NewCache returns an empty cache of what a reader finds in a store.
func NewCache(ctx context.Context, r Reader, s *store.Store, log *errno.Log, states States) *Cache {
	return &Cache{ctx: ctx, reader: r, store: s, log: log,
		nodes: pathstate.NewBounded(states.Nodes, mostNodes),
		taken: pathstate.NewBounded(states.Taken, mostCounts)}
}

// Forget makes the next look at the metadata of the node at path a fresh one.
func (c *Cache) Forget(path string) {
	c.forgets.Add(1)
	c.nodes.Change(path, forgotten)
}

// ForgetAll makes the next look at anything of the node at path a fresh one.
func (c *Cache) ForgetAll(path string) {
	c.Forget(path)
	c.forgetTaken(path)
}
