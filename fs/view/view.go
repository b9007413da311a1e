// Package view has the file formats in which the nodes of a hierarchy are shown: which arrays have
// such a file, how large it is, what a read of it finds, and how programs may write to it. It knows
// neither the kernel nor a mount.
package view

import (
	"context"
	"fmt"
	"io"
	iofs "io/fs"
	"slices"
	"strings"

	"github.com/zarrfs/zarrfs/fs/names"
	"github.com/zarrfs/zarrfs/fs/netcdf"
	"github.com/zarrfs/zarrfs/layout/npy"
	"github.com/zarrfs/zarrfs/layout/volume"
	"github.com/zarrfs/zarrfs/layout/vtkhdf"
	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/meta"
	"github.com/zarrfs/zarrfs/zarrcore/store"
	"github.com/zarrfs/zarrfs/zarrcore/vlen"
)

// A View is a file format in which a node is shown. To add one, write NAME.go, add it to views, and
// describe it in the table of views of docs/FORMATS.md. No other file names a view.
//
// How programs write to it follows from the interfaces that it implements. It may be written as
// bytes of the array (ArrayView), or with a header that says what the array is (HeaderView). Or it
// is a file that is taken as a whole (TextView). The document is written as a document.
type View interface {
	// Name is what --views calls it; a file of this view ends in "." + name. A name may contain
	// dots.
	Name() string
	// Has reports whether an array has such a file. If it has no such file, the name has no special
	// meaning.
	Has(a Subject) bool
	// HasBy says what Has asks of an array. IsListed may ask for its elements, too.
	HasBy() Criterion
	// IsListed reports whether the file of an array that has one is listed. Others can be opened
	// all the same, except those of IsListedOnly. A derived view (IsDerived) is listed only if
	// --views names it.
	IsListed(a Subject) bool
	// IsDescription reports whether a file alone says what such an array is: a new one then makes
	// an array. Other files wait for their array. m is nil where there is no array yet.
	IsDescription(m *meta.Array) bool
	// IsWritable reports whether programs may write to the files of arrays that can be written.
	IsWritable() bool
	// IsKeeper reports whether an array stays as long as its file of this view does. It is removed
	// with the last such file that is listed. One that is not a keeper is derived (IsDerived).
	IsKeeper() bool
	// Size returns the file's size from metadata alone.
	Size(n *zarrcore.Node) (int64, error)
	// Open returns what a handle of the file reads. It revalidates the array against the store.
	Open(ctx context.Context, h *zarrcore.Hierarchy, path string) (Content, error)
}

// views are all the views there are, in the order in which they are listed. The document comes
// first: a program that copies a tree makes each array by it, with its own chunks and codecs,
// before there is data.
var views = slices.Concat(
	[]View{Document, npyView{}, rawView{}, jsonlView{}}, volumeViews, groupViews, lookingViews)

// volumeViews are the derived views of images and volumes.
var volumeViews = []View{
	&volumeView{name: "nrrd", header: func(v volume.Volume) ([]byte, error) {
		return volume.NRRD(v, "")
	}},
	&sidecarView{name: "nhdr", header: volume.NRRD, listedOnly: true},
	&volumeView{name: "nii", header: volume.NIfTI},
	&volumeView{name: "mha", header: func(v volume.Volume) ([]byte, error) {
		return volume.MetaImage(v, "")
	}},
	&sidecarView{name: "mhd", header: volume.MetaImage},
	&volumeView{name: "mrc", header: volume.MRC},
	&volumeView{name: "fits", header: volume.FITS, block: volume.FITSBlock},
	&volumeView{name: "vtkhdf", header: vtkhdf.Header},
	&volumeView{name: "tif", header: volume.TIFF},
	&volumeView{name: "ome.tif", header: volume.OMETIFF},
	&sidecarView{name: "raw.hdr", header: func(v volume.Volume, _ string) ([]byte, error) {
		return volume.ENVI(v)
	}},
}

// groupViews are the derived views that groups have too.
var groupViews = []View{hdf5View{"nc", netcdf.NetCDF4}, hdf5View{"h5", netcdf.HDF5},
	hdf5View{"mat", netcdf.MATLAB}}

// lookingViews are the derived views for people.
var lookingViews = []View{pngView{}, htmlView{}}

// Document is the view that shows the metadata of an array, and the only one of a group.
var Document View = jsonView{}

// An ArrayView shows the bytes of an array behind a header, which may be empty, and perhaps with
// zero bytes behind them. Programs write to the bytes, and cannot change the header.
type ArrayView interface {
	View
	// Parts returns what the file of an array is made of: how many bytes the header has, and the
	// array whose bytes follow. It asks no store.
	Parts(a *zarrcore.Array) (head int64, data *zarrcore.Array, err error)
	// Header returns the header. It may say what other nodes of the store say of the array. to are
	// the rights to read these; not Known if there are none.
	Header(ctx context.Context, a *zarrcore.Array) (text []byte, to store.Rights, err error)
	// Tail returns how many zero bytes follow the bytes of an array, of which there are so many.
	// Programs cannot change them.
	Tail(data int64) int64
}

// A HeaderView is an ArrayView whose header programs write too. That of a new file makes an array,
// and another one resizes it. There is one such view: what its writers have made of the header is
// kept once for each array (npyFile).
type HeaderView interface {
	ArrayView
	// Parse reads the header at the beginning of text. One that is not complete is
	// io.ErrUnexpectedEOF.
	Parse(text []byte) (npy.Info, error)
}

// Headed returns the view of which programs write the header.
func Headed() HeaderView {
	for _, v := range views {
		if h, ok := v.(HeaderView); ok {
			return h
		}
	}
	return nil
}

// IsHeaded reports whether v is that view.
func IsHeaded(v View) bool {
	h, ok := v.(HeaderView)
	return ok && h == Headed()
}

// Lines returns the first view of elements of no fixed size as a text to which lines can be
// appended.
func Lines() TextView {
	for _, v := range views {
		if t, ok := v.(TextView); ok && t.Appends() {
			return t
		}
	}
	return nil
}

// A GroupView is a derived view that groups have too: the group "g" is also the file "g." + name.
type GroupView interface {
	View
	// HasGroup reports whether a group has such a file.
	HasGroup(n *zarrcore.Node) bool
}

// A ListedOnlyView is a derived view whose files may be there only if --views names it.
type ListedOnlyView interface {
	View
	// IsListedOnly reports whether it is so. Programs would look for such a file beside one that
	// they open, and read it in place of that one. Bio-Formats takes "a.nhdr" for the header of
	// "a.tif", and then finds fewer axes.
	IsListedOnly() bool
}

// IsListedOnly reports whether v is such a view.
func IsListedOnly(v View) bool {
	s, ok := v.(ListedOnlyView)
	return ok && s.IsListedOnly()
}

// IsDerived reports whether the files of a view show what an array has in its other files. They are
// for programs that know no other format. They are listed only if --views names the view. Otherwise
// they can still be opened, except those of IsListedOnly. No array is made, removed or renamed by
// them. A name of such a file means a view only where its array, or its group, is there. Otherwise
// it is that of an ordinary file.
func IsDerived(v View) bool { return !v.IsKeeper() }

// IsOf reports whether a node that is not a link can have a file of view v.
func IsOf(v View, n *zarrcore.Node) bool {
	if v == Document || n.Kind == zarrcore.ArrayNode {
		return true
	}
	g, ok := v.(GroupView)
	return ok && n.Kind == zarrcore.GroupNode && g.HasGroup(n)
}

// A TextView shows an array whose elements have no fixed size. Its file is taken as a whole when it
// is flushed.
type TextView interface {
	View
	// Accepts reports whether elements of such a kind can be written.
	Accepts(kind vlen.Kind) bool
	// Counted returns the file's size, from what counting the array has found.
	Counted(arr *zarrcore.VlenArray, found zarrcore.Count) (int64, error)
	// Appends reports whether what is written behind the end can be taken without the rest.
	Appends() bool
	// Take makes the text the elements of the array at path; if all is not set, it goes behind
	// them. durable: it survives a power cut.
	Take(ctx context.Context, h *zarrcore.Hierarchy, path string, text Written, all,
		durable bool) error
}

// Written is a file that a program has written.
type Written struct {
	io.ReaderAt
	Size int64 // bytes
}

// Content is what an open file holds. It is safe for concurrent use.
type Content interface {
	// Size is the file's size as long as it is open.
	Size() int64
	// Read returns the n bytes at off, which lie within size.
	Read(ctx context.Context, off, n int64) (*Found, error)
	// NextData returns the first stretch at or after off that may hold data; start == size() if
	// there is none.
	NextData(ctx context.Context, off int64) (start, end int64, err error)
	// Array returns the array whose bytes are shown, or nil. The kernel keeps pages of the file of
	// an ArrayView if it is not nil.
	Array() *zarrcore.Array
	// Rights are those to all objects that were read; not Known if everybody has them.
	Rights() store.Rights
	Close()
}

// Shows reports whether a view is listed for an array.
func Shows(v View, a Subject) bool { return v.Has(a) && v.IsListed(a) }

// Names returns the names of all views, in the order in which they are listed.
func Names() []string { return namesOf(views) }

// KeeperNames returns the names of the views that are listed where nothing else is said.
func KeeperNames() []string { return namesOf(Keeping()) }

// NamesListedOnly returns the names of the views whose files are there only if they are listed.
func NamesListedOnly() []string {
	return namesOf(slices.DeleteFunc(slices.Clone(views), func(v View) bool {
		return !IsListedOnly(v)
	}))
}

func namesOf(views []View) []string {
	names := make([]string, len(views))
	for i, v := range views {
		names[i] = v.Name()
	}
	return names
}

// HasData reports whether files of a view hold values of arrays and can be written back.
func HasData(v View) bool { return v.IsKeeper() && v != Document }

// HasAllData reports whether a file of a view that an array has holds all its values, each as it
// is. If the elements have no fixed size, an array of NumPy drops NUL bytes at their ends.
func HasAllData(v View, a Subject) bool {
	_, bytes := v.(ArrayView)
	return HasData(v) && bytes != a.isVlen()
}

// DataOf returns the first view that holds the bytes of an array as they are. If the elements have
// no fixed size, it returns the first view that holds the elements. If no view does, it returns
// nil.
func DataOf(a Subject) View { return dataOf(a, false) }

// PlainOf is DataOf for views that show the elements alone, without a header.
func PlainOf(a Subject) View { return dataOf(a, true) }

func dataOf(a Subject, alone bool) View {
	for _, v := range views {
		if v.Has(a) && HasAllData(v, a) && !(alone && IsHeaded(v)) {
			return v
		}
	}
	return nil
}

// Default returns the name of the view that shows most of a node. For a group it is the document,
// and for an array DataOf, if there is one.
func Default(n *zarrcore.Node) string {
	if n.Kind == zarrcore.ArrayNode {
		if v := DataOf(Described(n.Meta)); v != nil {
			return v.Name()
		}
	}
	return Document.Name()
}

// Defaults says in words which view Default returns.
func Defaults() string {
	return fmt.Sprintf("%s; %s for elements of no fixed size, %s for a group", Headed().Name(),
		Lines().Name(), Document.Name())
}

// IsBinary reports whether the files of the view of that name are not text.
func IsBinary(name string) bool {
	v := Named(name)
	_, bytes := v.(ArrayView)
	return bytes || IsDerived(v)
}

// Parse reads a list of view names separated by ',' ':' or '+'.
func Parse(list string) ([]string, error) {
	names := strings.FieldsFunc(list, func(r rune) bool { return strings.ContainsRune(",:+ ", r) })
	for _, name := range names {
		if Named(name) == nil {
			return nil, fmt.Errorf("no view %q: there are %s", name, strings.Join(Names(), ", "))
		}
	}
	return names, nil
}

// Named returns the view of that name, nil if there is none.
func Named(name string) View {
	for _, v := range views {
		if v.Name() == name {
			return v
		}
	}
	return nil
}

// FileOf returns the first name of the file of a view of the node at path.
func FileOf(path string, v View) string {
	_, name := names.Split(path)
	return names.File(names.Show(name), v.Name())
}

// Split removes a view's suffix from a file name. Of two suffixes that fit, the longer one
// counts.
func Split(name string) (base string, v View) {
	base = name
	for _, other := range views {
		rest, fits := strings.CutSuffix(name, other.Name())
		if rest, dot := strings.CutSuffix(rest, "."); fits && dot && len(rest) < len(base) {
			base, v = rest, other
		}
	}
	return base, v
}

// Keeping returns the views that keep an array, in the order of All.
func Keeping() (keeping []View) {
	for _, v := range views {
		if v.IsKeeper() {
			keeping = append(keeping, v)
		}
	}
	return keeping
}

// All returns all views there are, in the order in which they are listed.
func All() []View { return views }

// Register adds views at the end, and returns what removes them. Tests show with it that
// nothing but the view itself knows which views there are.
func Register(more ...View) (remove func()) {
	before := views
	views = append(slices.Clone(views), more...)
	return func() { views = before }
}

// ErrEmpty says that a file of an array cannot be empty.
func ErrEmpty(v View) error {
	return fmt.Errorf("%w: expected the content of a .%s file, found no bytes, and nothing is "+
		"changed; truncate the .%s or .%s file of an array to remove its rows",
		iofs.ErrInvalid, v.Name(), Plain().Name(), Lines().Name())
}
