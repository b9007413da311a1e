package replacing

import (
	"errors"
	iofs "io/fs"

	"github.com/zarrfs/zarrfs/fs/document"
	"github.com/zarrfs/zarrfs/fs/program"
	"github.com/zarrfs/zarrfs/fs/resolve"
	"github.com/zarrfs/zarrfs/fs/view"
	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/meta"
	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// A program that replaces a file by a new one writes a.tmp and renames it to a.json. If it calls
// the new one b.json, the mount has made an array of it, with no bytes. Renaming that array to a
// would replace the bytes of a by fill value. So its document is taken for that of a, as with
// a.tmp.

// ByDocument returns the array at path if its document is replaced by a rename of the array t
// there. That is so if all of t is a document that was written through this mount. Otherwise it
// returns nil.
func (a *Arrays) ByDocument(t resolve.Target, path string) (old *zarrcore.Node) {
	if t.View != view.Document || t.Node.Kind != zarrcore.ArrayNode {
		return nil
	}
	if x := a.Traces.Of(t.Node.Path); !x.IsMade() || x.Own != view.SetOf(view.Document) {
		return nil
	}
	old, err := a.H.Node(a.Ctx, path)
	if err != nil || old.Kind != zarrcore.ArrayNode || !a.hasNoBytes(t.Node.Path) {
		return nil
	}
	return old
}

// hasNoBytes reports whether nothing but documents is stored of the array at path, or waits to be.
func (a *Arrays) hasNoBytes(path string) bool {
	if a.States.HasData(path) || a.Store == nil {
		return false
	}
	err := a.Store.List(a.Ctx, path, func(e store.Entry) error {
		if e.Dir || !meta.IsDocument(e.Name) {
			return errHasBytes
		}
		return nil
	})
	return err == nil
}

var errHasBytes = errors.New("there is more than documents")

// Document makes the document of the array t that of the array old, and removes t.
func (a *Arrays) Document(t resolve.Target, old *zarrcore.Node, by program.Process) error {
	if err := a.apply(old.Path, t, by); err != nil {
		return err
	}
	if err := a.H.Remove(a.Ctx, t.Node.Path); err != nil && !errors.Is(err, iofs.ErrNotExist) {
		return err
	}
	a.Present.Ended(t.Node.Path)
	return nil
}

// IsOfGroup reports whether the document of the group t was written by the same program, which now
// renames it to the document of another group.
func (a *Arrays) IsOfGroup(t resolve.Target, name string, by program.Process) bool {
	written := a.Traces.Of(t.Node.Path).WrittenBy(by) & view.SetOf(view.Document)
	return t.Node.Kind == zarrcore.GroupNode && written != 0 && t.View == view.Document &&
		name == resolve.GroupFile
}

// GroupDocument makes the document of the group t that of the group at path. rsync renames it so if
// it puts all new files into a folder of their own first. The group t stays, and to the program it
// has no document any more.
func (a *Arrays) GroupDocument(t resolve.Target, path string, by program.Process) error {
	if err := a.apply(path, t, by); err != nil {
		return err
	}
	a.Traces.Hide(t.Node.Path, view.Document, by)
	return nil
}

// apply makes the document of t that of the array or group at path.
func (a *Arrays) apply(path string, t resolve.Target, by program.Process) error {
	return a.Documents.Written(path, t.Node.Document).ApplyInTurn(a.Ctx, by, document.Opened)
}
