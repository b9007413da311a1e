package fs

import (
	"errors"
	iofs "io/fs"

	"github.com/zarrfs/zarrfs/fs/document"
	"github.com/zarrfs/zarrfs/fs/resolve"
	"github.com/zarrfs/zarrfs/fs/rights"
	"github.com/zarrfs/zarrfs/fs/view"
	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/meta"
	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// A program that replaces a file by a new one writes a.tmp and renames it to a.json. If it calls the
// new one b.json, the mount has made an array of it, with no bytes. Renaming that array to a would
// replace the bytes of a by fill value. So its document is taken for that of a, as with a.tmp.

// describes returns the array whose document the rename replaces, if all of the array t is a document
// that was written through this mount. Otherwise it returns nil.
func (r *renaming) describes(t resolve.Target) (old *zarrcore.Node) {
	if !r.replace || t.View != view.Document || r.view != view.Document || t.Node.Kind != zarrcore.ArrayNode {
		return nil
	}
	if x := r.f.traces.Of(t.Node.Path); !x.Made() || x.Own != view.SetOf(view.Document) {
		return nil
	}
	old, err := r.f.h.Node(r.f.ctx, r.path)
	if err != nil || old.Kind != zarrcore.ArrayNode || !r.f.hasNoBytes(t.Node.Path) {
		return nil
	}
	return old
}

// describesGroup reports whether the rename gives the document that the same program has written to
// a group to another group.
func (r *renaming) describesGroup(t resolve.Target) bool {
	written := r.f.traces.Of(t.Node.Path).WrittenBy(r.by) & view.SetOf(view.Document)
	return r.replace && t.Node.Kind == zarrcore.GroupNode && written != 0 &&
		t.View == view.Document && r.to.Name == groupFile
}

// groupDocument makes the document of the group t that of the group to which it is renamed. rsync
// does so if it puts all new files into a folder of their own first. The group t stays, and to the
// program it has no document any more.
func (r *renaming) groupDocument(t resolve.Target) error {
	old, err := r.f.h.Node(r.f.ctx, r.path)
	if err == nil {
		err = r.f.rights.Refuses(r.user, old, rights.ToReplace)
	}
	if err != nil {
		return err
	}
	d := r.f.documents.Written(r.path, t.Node.Document)
	if err := d.ApplyInTurn(r.f.ctx, r.by, document.Opened); err != nil {
		return r.contentError(err)
	}
	r.f.traces.Hide(t.Node.Path, view.Document, r.by)
	r.renewInodes(t)
	return nil
}

// hasNoBytes reports whether nothing but documents is stored of the array at path, or waits to be.
func (f *filesystem) hasNoBytes(path string) bool {
	if f.states.HasData(path) || f.o.Store == nil {
		return false
	}
	err := f.o.Store.List(f.ctx, path, func(e store.Entry) error {
		if e.Dir || !meta.IsDocument(e.Name) {
			return errHasBytes
		}
		return nil
	})
	return err == nil
}

var errHasBytes = errors.New("there is more than documents")

// document makes the document of the array t that of the array old, and removes t.
func (r *renaming) document(t resolve.Target, old *zarrcore.Node) error {
	if err := r.f.rights.Refuses(r.user, old, rights.ToReplace); err != nil {
		return err
	}
	d := r.f.documents.Written(r.path, t.Node.Document)
	if err := d.ApplyInTurn(r.f.ctx, r.by, document.Opened); err != nil {
		return r.contentError(err)
	}
	if err := r.f.h.Remove(r.f.ctx, t.Node.Path); err != nil && !errors.Is(err, iofs.ErrNotExist) {
		return err
	}
	r.f.present.Ended(t.Node.Path)
	go r.dir.NotifyEntry(r.to.Name) // the kernel takes the removed document for the file of that name
	return nil
}
