package catalog

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// ErrNotArray says that a node is a group.
var ErrNotArray = errors.New("not an array")

// Array returns the node at path, which must be an array that can be read.
func (cat *Catalog) Array(ctx context.Context, path string) (*Node, error) {
	cat.store.Refresh(path)
	if link, _, err := cat.linkAt(ctx, path); err != nil {
		return nil, err
	} else if link != nil {
		return nil, notArray(link)
	}
	return cat.ArrayIn(ctx, cat.store, path)
}

// ArrayIn is Array in a directory that is held open.
func (cat *Catalog) ArrayIn(ctx context.Context, st *store.Store, path string) (*Node, error) {
	n, err := cat.NodeIn(ctx, st, path)
	if err != nil {
		return nil, err
	}
	if n.Kind != ArrayNode {
		return nil, notArray(n)
	}
	if n.Err != nil {
		return nil, n.Err
	}
	cat.ProbeSeparator(ctx, n)
	return n, nil
}

// notArray returns the error of a node that is not an array.
func notArray(n *Node) error {
	return &Error{Op: "open", Path: n.Path, Err: fmt.Errorf("%w: it is a %s", ErrNotArray, n.Kind)}
}

// ProbeSeparator finds out the chunk key separator of a v2 array that does not
// name it: stores written before the member existed have nested keys ("0/0")
// all the same. The first object or directory named like an index tells. The
// answer becomes part of the node's version, for the first chunk may be written
// after the array was opened.
func (cat *Catalog) ProbeSeparator(ctx context.Context, n *Node) {
	if n.Meta.SeparatorKnown || len(n.Meta.Shape) < 2 {
		return
	}
	err := n.in.List(ctx, n.Path, func(e store.Entry) error {
		first, _, dotted := strings.Cut(e.Name, ".")
		if _, err := strconv.ParseUint(first, 10, 63); err != nil || dotted == e.Dir {
			return nil
		}
		if e.Dir {
			n.Meta.Keys.Separator = '/'
		}
		return errEnough
	})
	if cat.unlistable && cat.nestedKeys(ctx, n) {
		n.Meta.Keys.Separator = '/'
	}
	if err != nil && err != errEnough && !cat.unlistable {
		cat.log.Warn("chunk key separator not found out", "array", n.Path, "err", err)
	}
	n.Version += "separator" + string(n.Meta.Keys.Separator)
}

// nestedKeys tells, of a store that cannot list, whether the first object of a
// v2 array has a nested key.
func (cat *Catalog) nestedKeys(ctx context.Context, n *Node) bool {
	nested := n.Meta.Keys
	nested.Separator = '/'
	return cat.Exists(ctx, store.Join(n.Path, nested.Key(make([]int64, len(n.Meta.Shape)))))
}
