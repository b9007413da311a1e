package catalog

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// ProbeSeparator finds out the chunk key separator of a v2 array that does not
// name it: stores written before the member existed have nested keys ("0/0")
// all the same. The first object or directory named like an index says it. The
// answer becomes part of the node's version, for the first chunk may be written
// after the array was opened. An error is one of a remote store, where a wrong
// answer would show an array of fill value.
func (cat *reader) ProbeSeparator(ctx context.Context, n *Node) error {
	if n.Meta.SeparatorKnown || len(n.Meta.Shape) < 2 {
		return nil
	}
	isNested := cat.isNested
	if cat.shelf != nil {
		isNested = cat.probeRemote
	}
	nested, err := isNested(ctx, n)
	switch {
	case err != nil && cat.shelf != nil:
		return err
	case err != nil:
		cat.log.Warn(`cannot find out whether chunk keys use "." or "/"; "." is assumed`,
			"array", n.Path, "err", err)
	case nested:
		n.Meta.Keys.Separator = '/'
	}
	n.Version += "separator" + string(n.Meta.Keys.Separator)
	return nil
}

// isNested reports whether the first object or directory of a v2 array that is named like an index
// is that of a nested key.
func (cat *reader) isNested(ctx context.Context, n *Node) (nested bool, err error) {
	if cat.unlistable {
		return cat.nestedKeys(ctx, n)
	}
	err = n.in.List(ctx, n.Path, func(e store.Entry) error {
		first, _, dotted := strings.Cut(e.Name, ".")
		if _, err := strconv.ParseUint(first, 10, 63); err != nil || dotted == e.Dir {
			return nil
		}
		nested = e.Dir
		return errEnough
	})
	switch {
	case errors.Is(err, store.ErrCannotList):
		return cat.nestedKeys(ctx, n)
	case err == errEnough:
		err = nil
	}
	return nested, err
}

// probeRemote finds out whether the keys of an array are nested, unless that was found out a moment
// ago.
func (cat *reader) probeRemote(ctx context.Context, n *Node) (nested bool, err error) {
	key := n.Path + "/ separator"
	a, err := cat.shelf.get(ctx, key, cat.shelf.fresh.Found(), func(*answer) (*answer, error) {
		nested, err := cat.isNested(ctx, n)
		return &answer{info: store.Info{Dir: nested}}, err
	})
	if err != nil || a.missing != nil {
		return false, err
	}
	return a.info.Dir, nil
}

// nestedKeys reports whether the first object of a v2 array has a nested key. It is for a store
// that cannot list.
func (cat *reader) nestedKeys(ctx context.Context, n *Node) (bool, error) {
	nested := n.Meta.Keys
	nested.Separator = '/'
	key := store.Join(n.Path, nested.Key(make([]int64, len(n.Meta.Shape))))
	info, err := cat.store.Stat(ctx, key)
	if IsMissing(err) {
		return false, nil
	}
	return err == nil && !info.Dir, err
}
