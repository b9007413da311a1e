package fs

import (
	"context"

	gofuse "github.com/hanwen/go-fuse/v2/fs"

	"github.com/zarrfs/zarrfs/fs/resolve"
	"github.com/zarrfs/zarrfs/fs/transient"
)

// The file of a view that was created and has no array yet is announced: a transient without a file
// stands for it. It is empty until its content makes the array. Another program may make that array
// in the store first. The mount gets no notice, so it asks the store if it finds such a transient.
// From then on the file is the array's.

// announced returns the transient that stands for the file as long as there is no array, otherwise
// nil. It is nil for a file that is gone: what has its name now is another file.
func (n *fileNode) announced() *transient.File {
	if n.Place().IsGone() {
		return nil
	}
	x := n.fs.transients.FindAt(func() transient.Spot { return transient.SpotOf(n.Place().Key()) })
	if x == nil || x.Bytes != nil {
		return nil
	}
	return x
}

// stays waits until this mount has renamed the group, if it is doing so, and reports whether the
// group was never elsewhere.
func (g *groupNode) stays(unmoved func() bool) bool {
	g.fs.sites.AwaitRename(g.path())
	return unmoved()
}

// inodeToCreate returns the inode of a view that is created, and announces the view if its array is
// missing. A rename of the group then moves both. If it was renamed before that, ok is false.
func (g *groupNode) inodeToCreate(
	ctx context.Context, name string, t resolve.Target, missing bool, unmoved func() bool,
) (inode *gofuse.Inode, ok bool) {
	if !missing {
		return g.inodeFor(ctx, t), true
	}
	ok = g.fs.transients.Announce(g.path, name, func() bool {
		if unmoved() {
			inode = g.inodeFor(ctx, t)
		}
		return inode != nil
	})
	return inode, ok
}
