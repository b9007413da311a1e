package catalog

import (
	"context"
	"time"
)

// This file has the time of an array's data. It is the modification time of the array's directory,
// because that needs one look, however many objects and directories there are below. Others move
// it when they put a document in its place, which may have another shape. zarrfs sets it whenever
// it has changed objects, and puts it back where it has changed only attributes.

// clockTick is how far the time of a directory may lag behind that of a file which is put there.
// The kernel's clock for it has ticks of up to 10 ms.
const clockTick = 10 * time.Millisecond

// DataTime returns when the data of the array that the node is last changed, as far as its
// directory says. A document that is newer than any change of the directory was written in place,
// and may have another shape.
func (n *Node) DataTime() time.Time {
	if n.ModTime.After(n.FolderChanged.Add(clockTick)) {
		return n.ModTime
	}
	return n.FolderModTime
}

// KeepTime calls change, which replaces documents of the array at path and nothing else, and leaves
// the array's data as old as they are. If the store refuses that, they seem newer.
func (cat *Catalog) KeepTime(ctx context.Context, path string, change func() error) error {
	defer cat.times.Lock(path)()
	n, err := cat.Node(ctx, path)
	if err != nil {
		return err
	}
	if err := change(); err != nil {
		return err
	}
	if !n.FolderModTime.IsZero() {
		cat.store.Dirs().Stamp(ctx, path, n.DataTime())
	}
	return nil
}

// Touch sets the time of the array's data to now, after objects were changed. Those that were
// replaced or deleted far below do not move the time of the array's directory. If the store refuses
// that, only they have the time.
func (m *Home) Touch(ctx context.Context) {
	defer m.cat.times.Lock(m.path)()
	m.Store.Dirs().Stamp(context.WithoutCancel(ctx), m.path, time.Time{})
}
