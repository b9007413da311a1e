package catalog

import (
	"context"
	"errors"
	"fmt"

	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// ErrNotArray says that a node is a group.
var ErrNotArray = errors.New("not an array")

// Array returns the node at path, which must be a readable array.
func (cat *reader) Array(ctx context.Context, path string) (*Node, error) {
	cat.store.Dirs().Refresh(path)
	if link, _, err := cat.linkAt(ctx, path); err != nil {
		return nil, err
	} else if link != nil {
		return nil, notArray(link)
	}
	return cat.ArrayIn(ctx, cat.store, path)
}

// ArrayIn is Array in a directory that is held open.
func (cat *reader) ArrayIn(ctx context.Context, st *store.Store, path string) (*Node, error) {
	n, err := cat.nodeFor(ctx, st, path, toOpen)
	if err != nil {
		return nil, err
	}
	if n.Kind != ArrayNode {
		return nil, notArray(n)
	}
	if n.Err != nil {
		return nil, n.Err
	}
	if err := cat.ProbeSeparator(ctx, n); err != nil {
		return nil, &Error{Op: "open", Path: path, Err: fmt.Errorf("chunk key separator: %w", err)}
	}
	return n, nil
}

// notArray returns the error of a node that is not an array.
func notArray(n *Node) error {
	return &Error{Op: "open", Path: n.Path, Err: fmt.Errorf("%w: it is a %s", ErrNotArray, n.Kind)}
}
