package fs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	iofs "io/fs"
	"slices"
	"strings"
	"syscall"
	"unicode/utf8"

	gofuse "github.com/hanwen/go-fuse/v2/fs"
	"golang.org/x/sys/unix"

	"github.com/zarrfs/zarrfs/fs/names"
	"github.com/zarrfs/zarrfs/fs/wire"
	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/pyjson"
	"github.com/zarrfs/zarrfs/zarrcore/recipe"
)

const (
	// xattrCreate begins the names of what a group says of arrays that are created in it: a
	// recipe.Setting each.
	xattrCreate = "user.zarrfs.create."
	// recipeAttribute is the attribute of the group that holds them.
	recipeAttribute = "zarrfs"
)

var (
	_ = (gofuse.NodeSetxattrer)((*groupNode)(nil))
	_ = (gofuse.NodeSetxattrer)((*fileNode)(nil))
	_ = (gofuse.NodeRemovexattrer)((*groupNode)(nil))
	_ = (gofuse.NodeRemovexattrer)((*fileNode)(nil))
)

// Setxattr sets an attribute of the array or group, the names of an array's axes, or how arrays in
// the group are created. All other attributes follow from the metadata. They can only be set to the
// value that they have, as programs do that copy a file with all its attributes.
func (b *base) Setxattr(ctx context.Context, attr string, data []byte, flags uint32) syscall.Errno {
	if strings.HasPrefix(attr, "user.") && !strings.HasPrefix(attr, "user.zarr") {
		return b.refuseForeign(attr)
	}
	if !strings.HasPrefix(attr, "user.zarr") {
		return unix.EOPNOTSUPP
	}
	n, errno := b.xattrNode(ctx)
	if errno == syscall.ENOENT && b.applyDocument(ctx) {
		n, errno = b.xattrNode(ctx)
	}
	if errno == syscall.ENOENT && !b.place.gone.Load() {
		return unix.EOPNOTSUPP // a file that is not an array yet
	}
	if errno != 0 {
		return errno
	}
	old := findXattr(n, attr)
	switch {
	case old != nil && flags&unix.XATTR_CREATE != 0:
		return syscall.EEXIST
	case old == nil && flags&unix.XATTR_REPLACE != 0:
		return unix.ENODATA
	case old != nil && bytes.Equal(old.value(), data):
		return 0
	}
	if isFixed(attr) && b.fs.traces.Of(n.Path).Unfinished(wire.Caller(ctx)) {
		return b.setByDocument(ctx, attr, data)
	}
	return b.changeXattr(n, attr, append([]byte{}, data...))
}

// applyDocument creates the array of a document that a program has written and still has open.
// Programs that extract archives set a file's attributes before they close it. It reports whether
// the document could be applied.
func (b *base) applyDocument(ctx context.Context) bool {
	d := b.fs.documents.find(b.path())
	return d != nil && d.apply(b.fs.ctx, wire.Caller(ctx), missing) == nil
}

// setByDocument answers a program that copies the files of an array and has created it by one of
// them. The program now sets an attribute that follows from the metadata. The array's document sets
// it: the program writes that last, or is writing it now.
func (b *base) setByDocument(ctx context.Context, attr string, data []byte) syscall.Errno {
	b.applyDocument(ctx)
	n, errno := b.xattrNode(ctx)
	if errno != 0 {
		return errno
	}
	if now := findXattr(n, attr); now != nil && bytes.Equal(now.value(), data) {
		return 0
	}
	return unix.EOPNOTSUPP
}

// isFixed reports whether an extended attribute follows from the metadata.
func isFixed(attr string) bool {
	name, ok := strings.CutPrefix(attr, xattrZarr)
	return ok && attr != xattrAxes && slices.Contains(metadataXattrs, name)
}

// refuseForeign refuses an attribute that is not of Zarr. Programs that copy a file with all its
// attributes ignore that. So this reason does not replace that of another refusal.
func (b *base) refuseForeign(attr string) syscall.Errno {
	err := fmt.Errorf("%s: %w; an attribute of the array or group is %s%s", attr, errors.ErrUnsupported, xattrAttr, strings.TrimPrefix(attr, "user."))
	if b.fs.failures.of(b.path()) != nil {
		return b.fs.errors.Errno("setxattr", b.path(), err)
	}
	return b.fs.answer("setxattr", b.path(), err)
}

// Removexattr removes an attribute, the names of the axes, or a setting.
func (b *base) Removexattr(ctx context.Context, attr string) syscall.Errno {
	n, errno := b.xattrNode(ctx)
	if errno != 0 {
		return errno
	}
	if findXattr(n, attr) == nil {
		return unix.ENODATA
	}
	return b.changeXattr(n, attr, nil)
}

func findXattr(n *zarrcore.Node, attr string) *xattr {
	all := xattrs(n)
	if i := slices.IndexFunc(all, func(x xattr) bool { return x.name == attr }); i >= 0 {
		return &all[i]
	}
	return nil
}

// changeXattr sets what attr names, or removes it where value is nil.
func (b *base) changeXattr(n *zarrcore.Node, attr string, value []byte) syscall.Errno {
	f := b.fs
	var err error
	if !utf8.Valid(value) {
		err = fmt.Errorf("%w: %s: expected JSON, or text in UTF-8, found %.40q", iofs.ErrInvalid, attr, value)
	} else if shown, ok := strings.CutPrefix(attr, xattrAttr); ok {
		if name, ok := hideXattr(shown); ok && utf8.ValidString(name) {
			err = f.h.SetAttribute(f.ctx, n.Path, name, value)
		} else {
			err = fmt.Errorf("%w: %q: expected a name in UTF-8, escaped as names of files are", iofs.ErrInvalid, attr)
		}
	} else if name, ok := strings.CutPrefix(attr, xattrCreate); ok && n.Kind == zarrcore.GroupNode {
		err = f.setSetting(n, name, value)
	} else if attr == xattrAxes && n.Kind == zarrcore.ArrayNode {
		err = f.setAxes(n, value)
	} else {
		err = fixedXattr(attr)
	}
	f.recent.forget(n.Path)
	for _, known := range f.ids.known(n.Path) { // the documents have other sizes now
		known.NotifyContent(-1, 0)
	}
	return f.answerChange("setxattr", n.Path, refused(err))
}

// fixedXattr returns why an extended attribute cannot be set.
func fixedXattr(attr string) error {
	name, ok := strings.CutPrefix(attr, xattrZarr)
	switch {
	case !ok:
		return fmt.Errorf("%w: %s is set by zarrfs itself", syscall.EPERM, attr)
	case name == "" || name == "attr":
		return fmt.Errorf("%w: %s: expected a name, such as user.zarr.attr.units", syscall.EPERM, attr)
	case slices.Contains(metadataXattrs, name):
		return fmt.Errorf("%w: %s follows from the metadata: of an array, change it in its .json where it can be changed", syscall.EPERM, attr)
	}
	return fmt.Errorf("%w: no attribute %s; an attribute of the array or group is %s%s", syscall.EPERM, attr, xattrAttr, name)
}

// metadataXattrs are the names of what arrayXattrs and xattrs show of the metadata.
var metadataXattrs = []string{"node", "path", "format", "shape", "dtype", "chunks", "shards", "codecs", "fill_value", "order", "dimension_names"}

// setAxes gives the array's axes the names that a JSON list has, or none.
func (f *filesystem) setAxes(n *zarrcore.Node, value []byte) error {
	names := []byte("null")
	if value != nil {
		if _, err := pyjson.Parse(value); err != nil {
			return fmt.Errorf("%w: dimension_names: %w", iofs.ErrInvalid, err)
		}
		names = value
	}
	return f.h.SetDocument(f.ctx, n.Path, slices.Concat([]byte(`{"dimension_names": `), names, []byte("}")))
}

// setSetting changes one member of the group's attribute "zarrfs".
func (f *filesystem) setSetting(n *zarrcore.Node, name string, value []byte) error {
	if value != nil {
		r, err := (recipe.Recipe{}).Set(name, string(value))
		if err == nil && r.Format != 0 && r.Format != n.Format {
			err = fmt.Errorf("%w: format: the group has format %d, and so have all that are created in it", iofs.ErrInvalid, n.Format)
		}
		if err != nil {
			return err
		}
	}
	all := n.Attributes.Get(recipeAttribute)
	switch all.Kind() {
	case pyjson.Object:
	case pyjson.Invalid:
		all = pyjson.ObjectOf(func(func(string, pyjson.Value) bool) {})
	default:
		return fmt.Errorf("%w: the attribute %q of the group is %s, expected an object", iofs.ErrInvalid, recipeAttribute, all.Kind())
	}
	if value == nil {
		all = all.Without(name)
	} else {
		all = all.With(name, settingValue(name, value))
	}
	if all.Len() == 0 {
		return f.h.SetAttribute(f.ctx, n.Path, recipeAttribute, nil)
	}
	return f.h.SetAttribute(f.ctx, n.Path, recipeAttribute, all.Raw())
}

// settingValue returns the JSON value of a setting's text: a fill value is one, all others are
// strings.
func settingValue(name string, text []byte) pyjson.Value {
	if v, err := pyjson.Parse(text); err == nil && name == "fill_value" {
		return v
	}
	return pyjson.StringOf(string(text))
}

// settingXattrs returns the settings of a group as extended attributes.
func settingXattrs(n *zarrcore.Node) (list []xattr) {
	if n.Kind != zarrcore.GroupNode || n.Attributes.Get(recipeAttribute).Kind() != pyjson.Object {
		return nil
	}
	for name, v := range n.Attributes.Get(recipeAttribute).Entries() {
		if full := xattrCreate + showXattr(name); len(full) <= xattrNameMax {
			list = append(list, xattr{full, func() []byte {
				if v.Kind() == pyjson.String && name != "fill_value" {
					return []byte(v.Text())
				}
				return v.Standard()
			}})
		}
	}
	return list
}

// hideXattr is the reverse of showXattr.
func hideXattr(shown string) (name string, ok bool) {
	parts := strings.Split(shown, "/")
	for i, p := range parts {
		if p == "" {
			continue
		}
		parts[i] = names.Unescape(p)
	}
	name = strings.Join(parts, "/")
	return name, showXattr(name) == shown
}
