package fs

import (
	"context"
	"fmt"
	iofs "io/fs"
	"syscall"

	gofuse "github.com/hanwen/go-fuse/v2/fs"
	"golang.org/x/sys/unix"

	"github.com/zarrfs/zarrfs/fs/names"
	"github.com/zarrfs/zarrfs/fs/renaming"
	"github.com/zarrfs/zarrfs/fs/rights"
	"github.com/zarrfs/zarrfs/fs/transient"
	"github.com/zarrfs/zarrfs/fs/wire"
)

var _ = (gofuse.NodeRenamer)((*groupNode)(nil))

// Rename moves a group, an array or a link to one by any of its views, or a transient. A transient
// that is renamed onto a view becomes it.
func (g *groupNode) Rename(
	ctx context.Context, name string, newParent gofuse.InodeEmbedder, newName string, flags uint32,
) syscall.Errno {
	if flags&^unix.RENAME_NOREPLACE != 0 {
		return g.fs.AnswerAt("rename", g.path(), name,
			fmt.Errorf("%w: two files cannot change places at once", iofs.ErrInvalid))
	}
	to, ok := newParent.(*groupNode)
	if !ok {
		return g.refuse("rename", name, names.OwnFolder)
	}
	from, errno := g.here()
	if errno != 0 {
		return errno
	}
	toDir, errno := to.here()
	if errno != 0 {
		return errno
	}
	if newName == names.ControlDir && to.IsRoot() || name == names.ControlDir && g.IsRoot() {
		return g.refuse("rename", name, names.OwnFolder)
	}
	g.listing.Changed()
	to.listing.Changed()
	req := g.fs.request(ctx)
	defer req.End()
	return g.fs.AnswerAt("rename", from, name, g.fs.renames.Do(renaming.Request{
		Asking: req, By: wire.Caller(ctx), User: rights.UserOf(ctx),
		From: transient.Spot{Dir: from, Name: name}, To: transient.Spot{Dir: toDir, Name: newName},
		Dir: &to.Node, Replace: flags&unix.RENAME_NOREPLACE == 0}))
}
