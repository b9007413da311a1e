package fs

import (
	"fmt"
	iofs "io/fs"

	"github.com/zarrfs/zarrfs/fs/view"
	"github.com/zarrfs/zarrfs/zarrcore"
)

// A program that replaces a file removes it and creates another one, or renames another one onto it.
// Where the file is a view of a link, the new .npy makes an array in the place of the link. What
// the link leads to stays as it is. If no array comes of the file, the link is put back.

// isReplaceable reports whether a new file of view v can take the place of the link n. Only a .npy
// says by itself what the new array is. isFree is whether the program finds no file of that name.
func (f *filesystem) isReplaceable(n *zarrcore.Node, v view.View, isFree bool) bool {
	isLink := n.Kind == zarrcore.LinkNode && n.Link.ToArray()
	return isLink && view.IsHeaded(v) && (isFree || f.unlinked.Has(n.Path, v))
}

// removeLink removes the link at path by all its names. The caller has locked its creation.
func (f *filesystem) removeLink(path string) error {
	if err := f.h.Remove(f.ctx, path); err != nil {
		return err
	}
	f.gone(path)
	return nil
}

// putLinkBack makes the link at path again, of which no array took the place.
func (f *filesystem) putLinkBack(path, text string) {
	defer f.sites.Lock(path)()
	if err := f.h.CreateLink(f.ctx, path, text, false); err != nil {
		f.log.Error("a link was removed for a new file, and cannot be put back", "path", path,
			"to", text, "err", err)
	}
	f.stat.ForgetAll(path)
}

// inPlaceOf lets do put an array in the place of the link n.
func (r *renaming) inPlaceOf(n *zarrcore.Node, do func() error) error {
	end := r.f.sites.Lock(n.Path)
	err := r.f.removeLink(n.Path)
	end()
	if err != nil {
		return err
	}
	if err = do(); err != nil {
		r.f.putLinkBack(n.Path, n.Link.Text)
	}
	return err
}

// linkToReplace returns the link whose place the renamed file takes, nil if there is none. moved is
// the array that is renamed; "": it is a file that becomes one. An array never replaces a link to
// itself.
func (r *renaming) linkToReplace(moved string) *zarrcore.Node {
	n, err := r.f.h.Node(r.f.ctx, r.path)
	if err != nil || !r.isView || !r.f.isReplaceable(n, r.view, r.replace) {
		return nil
	}
	if moved != "" && n.Link.Target == moved {
		return nil
	}
	return n
}

// errIsLink says that a new file of view v cannot take the place of the link n.
func errIsLink(n *zarrcore.Node, v view.View) error {
	if !n.Link.ToArray() {
		return fmt.Errorf("%w: %q is a link, and no array can have its name; remove the link first",
			iofs.ErrExist, n.Path)
	}
	return fmt.Errorf("%w: %s is a name of the link %q to the array %q, and only a new %s takes the "+
		"place of such a link; remove all names of the link first, or write to %s",
		iofs.ErrExist, view.FileOf(n.Path, v), n.Path, n.Link.Target,
		view.FileOf(n.Path, view.Headed()), view.FileOf(n.Link.Target, v))
}
