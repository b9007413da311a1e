package migrate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	iofs "io/fs"

	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// Apply carries the plan out: the journal first, then the new documents, children before their
// groups' old documents go. If it is interrupted, planning the same migration again and applying
// that completes it, and Undo takes it back.
func (p *Plan) Apply(ctx context.Context, st *store.Store) error {
	j := p.journal
	resumed := j.unfinished() != nil
	if err := compare(ctx, st, p.Changes, resumed); err != nil {
		return err
	}
	if !resumed {
		j.Steps = append(j.Steps, step{From: p.From, To: p.To, Arrays: p.Arrays, Groups: p.Groups,
			Kept: p.kept, Changes: p.Changes})
	}
	if err := j.write(ctx, st); err != nil {
		return err
	}
	if err := carryOut(ctx, st, p.Changes); err != nil {
		return err
	}
	j.last().Complete = true
	return j.write(ctx, st)
}

// walk calls visit for the node at path and all below it.
func walk(
	ctx context.Context, h *zarrcore.Hierarchy, path string, visit func(*zarrcore.Node) error,
) error {
	n, err := h.Node(ctx, path)
	if err != nil {
		return err
	}
	if n.Kind == zarrcore.LinkNode {
		return nil
	}
	if err := visit(n); err != nil || n.Kind == zarrcore.ArrayNode {
		return err
	}
	return h.Children(ctx, path, func(c zarrcore.Child) error {
		return walk(ctx, h, below(path, c.Name), visit)
	})
}

// compare refuses a change if the stored document is neither the old text nor, if partly is set,
// the new text.
func compare(ctx context.Context, st *store.Store, changes []Change, partly bool) error {
	for _, c := range changes {
		doc, err := read(ctx, st, c.Key)
		if err != nil {
			return err
		}
		if !same(doc, c.Old) && !(same(doc, c.New) && partly) {
			return fmt.Errorf("%s: %w", c.Key, ErrChanged)
		}
	}
	return nil
}

func same(a, b []byte) bool { return (a == nil) == (b == nil) && bytes.Equal(a, b) }

// carryOut makes the changes: what is written before what is removed, so that at no time a node has
// no document.
func carryOut(ctx context.Context, st *store.Store, changes []Change) error {
	for _, c := range changes {
		if c.New == nil {
			continue
		}
		if err := st.Put(ctx, c.Key, c.New); err != nil {
			return err
		}
	}
	if err := syncDirs(ctx, st, changes, false); err != nil {
		return err
	}
	for _, c := range changes {
		if c.New != nil {
			continue
		}
		if err := remove(ctx, st, c.Key); err != nil {
			return err
		}
	}
	return syncDirs(ctx, st, changes, true)
}

// syncDirs makes durable that documents are there, or are not.
func syncDirs(ctx context.Context, st *store.Store, changes []Change, removed bool) error {
	var keys []string
	for _, c := range changes {
		if (c.New == nil) == removed {
			keys = append(keys, c.Key)
		}
	}
	return st.SyncDirs(ctx, keys)
}

// read returns a document, nil if there is none.
func read(ctx context.Context, st *store.Store, key string) ([]byte, error) {
	doc, _, err := st.ReadAll(ctx, key, documentLimit)
	if errors.Is(err, iofs.ErrNotExist) {
		return nil, nil
	}
	return doc, err
}

// put stores an object for good.
func put(ctx context.Context, st *store.Store, key string, data []byte) error {
	if err := st.Put(ctx, key, data); err != nil {
		return err
	}
	return st.SyncDirs(ctx, []string{key})
}

// remove removes an object for good; it may be missing.
func remove(ctx context.Context, st *store.Store, key string) error {
	err := st.Delete(ctx, key, store.If{})
	if errors.Is(err, iofs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return st.SyncDirs(ctx, []string{key})
}

// below joins a node's path and a name to a key.
func below(path, name string) string {
	if path == "" {
		return name
	}
	return path + "/" + name
}
