package rights

import (
	"context"

	"github.com/zarrfs/zarrfs/fs/wire"
	"github.com/zarrfs/zarrfs/zarrcore"
)

// UserOf returns the user whose program sent a request.
func UserOf(ctx context.Context) User {
	uid, gid, ok := wire.User(ctx)
	return User{Known: ok, UID: uid, GID: gid, Thread: wire.Thread(ctx)}
}

// RefusesReplacing returns why the store would not let the user of a request replace the objects of
// the array at path, or nil. Nothing is looked at for a user whom the store binds no more than the
// daemon.
func (r *Rights) RefusesReplacing(ctx context.Context, h *zarrcore.Hierarchy, path string) error {
	user := UserOf(ctx)
	if !r.Binds(user) {
		return nil
	}
	req := wire.NewRequest(r.ctx, ctx)
	defer req.End()
	n, err := h.Node(req, path)
	if err != nil {
		return err
	}
	return r.RefusesObjects(req, user, h, n, ToReplace)
}

// RefusesStoring returns why what the user of a request writes to the node at path could not be
// stored, or nil.
func (r *Rights) RefusesStoring(ctx context.Context, h *zarrcore.Hierarchy, path string) error {
	if err := r.MayStore(path); err != nil {
		return err
	}
	return r.RefusesReplacing(ctx, h, path)
}
