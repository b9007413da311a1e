package catalog

import (
	"bytes"
	"context"
	"errors"

	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// This file stores documents of nodes that exist.

// maxConflicts is how often a document is read again because other writers have replaced it.
const maxConflicts = 100

// Put replaces a document, durably, and removes the consolidated metadata above it, for they
// may no longer be true.
func (cat *Catalog) Put(ctx context.Context, key string, doc []byte, cond store.If) error {
	if err := cat.replace(ctx, key, doc, cond); err != nil {
		return err
	}
	return cat.DropConsolidated(ctx, store.Parent(key))
}

// replace replaces a document of a node that is there: the node's directory is never made.
func (cat *Catalog) replace(ctx context.Context, key string, doc []byte, cond store.If) error {
	in, err := cat.store.Hold(ctx, store.Parent(key), store.Parent(key))
	if err != nil {
		return err
	}
	defer in.Close()
	_, err = ReplaceIn(ctx, in, key, doc, cond)
	return err
}

// ReplaceIn replaces a document, durably, in a directory that is held open.
func ReplaceIn(ctx context.Context, in *store.Store, key string, doc []byte, cond store.If) (
	store.Info, error) {
	st, err := StageDurably(ctx, in, key, doc)
	if err != nil {
		return store.Info{}, err
	}
	defer st.Discard()
	return st.Commit(ctx, cond)
}

// StageDurably stages a document that survives a power cut once it is in its
// place.
func StageDurably(ctx context.Context, in *store.Store, key string, doc []byte) (
	*store.Staged, error) {
	st, err := in.Stage(ctx, key, doc)
	if err != nil {
		return nil, err
	}
	if err := in.SyncStaged(ctx, []*store.Staged{st}); err != nil {
		st.Discard()
		return nil, err
	}
	return st, nil
}

// Edit changes a document, if there is one. Where another writer is faster, the
// change is made to what that one has written.
func (cat *Catalog) Edit(
	ctx context.Context, key string, change func(doc []byte) ([]byte, error),
) error {
	for tries := 0; ; tries++ {
		doc, info, err := cat.store.ReadAll(ctx, key, DocumentLimit)
		cond := store.If{Version: info.Version}
		if IsMissing(err) {
			doc, cond = nil, store.If{Version: store.Absent}
		} else if err != nil {
			return err
		}
		fresh, err := change(doc)
		if err != nil || bytes.Equal(doc, fresh) {
			return err
		}
		if err := cat.replace(ctx, key, fresh, cond); !errors.Is(err, store.ErrConflict) ||
			tries == maxConflicts {
			return err
		}
	}
}
