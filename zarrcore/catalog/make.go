package catalog

import (
	"context"
	"fmt"
	iofs "io/fs"
	"slices"
	"strings"

	"github.com/zarrfs/zarrfs/zarrcore/meta"
	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// This file makes nodes of their documents.

// Nameable returns nil, or why no node can have this path. A node with the name of a document
// would stand where its group's is expected.
func Nameable(path string) error {
	name := path[strings.LastIndexByte(path, '/')+1:]
	if meta.IsDocument(name) {
		return fmt.Errorf("%w: %s is the name of a Zarr document", iofs.ErrInvalid, name)
	}
	return nil
}

// Make stores the documents of a new node, all of them or none. The directory of the group above
// is held open. If another program renames that meanwhile, the node is created in the renamed
// one. If another program removes it, the node is not created. If like is not "", it is the path of
// a node whose rights the new one gets.
func (cat *Catalog) Make(
	ctx context.Context, path, like string, docs []meta.Document,
) (err error) {
	group := store.Parent(path)
	in, err := cat.store.Hold(ctx, group, group)
	if err != nil {
		return err
	}
	defer in.Close()
	before, err := cat.kindIn(ctx, in, path)
	if err != nil {
		return err
	}
	keys, err := makeNode(ctx, in, path, like, docs)
	if err != nil {
		return err
	}
	if err = cat.DropConsolidated(ctx, group); err == nil {
		if after, _ := cat.kindIn(ctx, in, path); after != before {
			err = fmt.Errorf("%w: the group %q is being removed", iofs.ErrNotExist, group)
		}
	}
	if err == nil {
		return in.SyncDirs(ctx, keys)
	}
	for _, key := range keys {
		in.Delete(ctx, key, store.If{}) // best effort, as what is next
	}
	if path != "" {
		in.Dirs().Prune(ctx, path)
	}
	return err
}

// kindIn returns what kind of node the group above path is; an implicit group if there is none
// above.
func (cat *Catalog) kindIn(ctx context.Context, in *store.Store, path string) (NodeKind, error) {
	if path == "" {
		return DirectoryNode, nil
	}
	n, err := cat.NodeIn(ctx, in, store.Parent(path))
	if err != nil {
		return 0, err
	}
	return n.Kind, nil
}

// makeNode stores the documents of a new node, and returns their keys and its own. The root has
// a directory already: its documents are stored one by one, last the one that makes it a node.
func makeNode(ctx context.Context, in *store.Store, path, like string, docs []meta.Document) (
	keys []string, err error) {
	objects := map[string][]byte{}
	for _, doc := range slices.Backward(docs) {
		keys = append(keys, store.Join(path, doc.Name))
		objects[doc.Name] = doc.Data
		if path == "" && err == nil {
			err = in.PutNew(ctx, doc.Name, doc.Data)
		}
	}
	if path == "" {
		return keys, err
	}
	return append(keys, path), in.Make(ctx, path, like, objects)
}
