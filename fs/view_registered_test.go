package fs

import (
	"fmt"
	"slices"
	"syscall"
	"testing"

	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/zarrfs/zarrfs/fs/identity"
	"github.com/zarrfs/zarrfs/fs/pagecache"
	"github.com/zarrfs/zarrfs/fs/view"
	"github.com/zarrfs/zarrfs/zarrcore"
)

// register adds views for one test, which must not run in parallel with others.
func register(t *testing.T, more ...view.View) {
	t.Helper()
	t.Cleanup(view.Register(more...))
}

// named is the raw view under another name.
type named struct {
	view.ArrayView
	suffix string
}

func (v named) Name() string { return v.suffix }

// picky is a view of the arrays of one rank and data type.
type picky struct {
	named
	rank int
	kind string
}

func (picky) HasBy() view.Criterion { return view.ByDocument }

func (v picky) Has(a view.Subject) bool {
	m := a.Meta()
	return m != nil && len(m.Shape) == v.rank && m.Type.NumPy() == v.kind
}

// TestLongestSuffix: of two suffixes that fit a file's name, the longer one counts.
func TestLongestSuffix(t *testing.T) {
	register(t, named{rawView, "tif"}, named{rawView, "ome.tif"}, named{rawView, "zip"},
		named{rawView, "ome.zip"})
	for name, want := range map[string][2]string{
		"a.ome.tif": {"a", "ome.tif"}, "a.tif": {"a", "tif"}, "a.ome.zip": {"a", "ome.zip"},
		"a.b.zip": {"a.b", "zip"},
		"ome.tif": {"ome", "tif"}, ".ome.tif": {"", "ome.tif"}, "atif": {"atif", ""},
		"a.npy": {"a", "npy"}, "a.b": {"a.b", ""},
	} {
		base, v := view.Split(name)
		found := ""
		if v != nil {
			found = v.Name()
		}
		if base != want[0] || found != want[1] {
			t.Errorf("%q is %q and %q, expected %q", name, base, found, want)
		}
	}
}

// TestViewOfSomeArrays: a view decides by rank and data type for which arrays it exists.
func TestViewOfSomeArrays(t *testing.T) {
	register(t, picky{named{rawView, "flat"}, 2, "<i2"}, picky{named{rawView, "deep"}, 3, "<i2"},
		picky{named{rawView, "real"}, 2, "<f4"})
	f := testFilesystem(t, testObjects())
	names := list(t, f, "")
	for name, exists := range map[string]bool{"a.flat": true, "a.deep": false, "a.real": false} {
		if slices.Contains(names, name) != exists {
			t.Errorf("%s is listed: %t, expected %t", name, !exists, exists)
		}
		target, err := f.names.Resolve(t.Context(), "", name)
		if (err == nil) != exists || exists && target.View.Name() != "flat" {
			t.Errorf("%s: %v, expected that it exists: %t", name, err, exists)
		}
	}
	n := &zarrcore.Node{Path: "b", Kind: zarrcore.ArrayNode}
	keepers := view.SetOf(view.Named("json")) | view.SetOf(view.Named("npy")) |
		view.SetOf(view.Named("raw"))
	if all, err := f.names.Listed(n); err != nil || all != keepers {
		t.Errorf("an array that cannot be read is listed by the views %b, %v", all, err)
	}
}

// TestManyViews: each of many views has a bit and an inode number of its own.
func TestManyViews(t *testing.T) {
	for i := range 30 {
		register(t, named{rawView, fmt.Sprint("v", i)})
	}
	all := view.SetOf(view.Index)
	numbers := map[uint64]bool{identity.Of("a", "").Number(): true}
	for _, v := range view.All() {
		if bit := view.SetOf(v); bit == 0 || all&bit != 0 {
			t.Errorf("%s has the bits %b", v.Name(), bit)
		}
		all |= view.SetOf(v)
		numbers[identity.Of("a", v.Name()).Number()] = true
	}
	if all != view.FullSet() || len(numbers) != len(view.All())+1 {
		t.Errorf("%d views have %d numbers and the bits %b", len(view.All()), len(numbers), all)
	}
}

// recoded is a derived view of the bytes of an array that does not show them as they are.
type recoded struct{ view.View }

func (recoded) Name() string   { return "hex" }
func (recoded) IsKeeper() bool { return false }

// TestPagesOfRecodedBytes: the kernel keeps no pages of a view that is not an ArrayView, whatever
// its content says. They would not be dropped when the array changes.
func TestPagesOfRecodedBytes(t *testing.T) {
	register(t, recoded{rawView})
	f := testFilesystem(t, testObjects())
	f.o.IO = pagecache.IOCached
	l := looker{t, mountless(f)}
	for name, kept := range map[string]bool{"a.raw": true, "a.hex": false} {
		node := l.look(name).Operations().(*fileNode)
		h, flags, errno := node.Open(t.Context(), syscall.O_RDONLY)
		if errno != 0 {
			t.Fatalf("%s: %v", name, errno)
		}
		h.(*handle).Release(t.Context())
		if found := flags&fuse.FOPEN_DIRECT_IO == 0; found != kept {
			t.Errorf("%s: pages are kept: %v, expected %v", name, found, kept)
		}
	}
}
