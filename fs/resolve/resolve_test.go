package resolve

import (
	"context"
	"errors"
	iofs "io/fs"
	"strings"
	"testing"

	"github.com/zarrfs/zarrfs/fs/view"
	"github.com/zarrfs/zarrfs/zarrcore/hierarchytest"
	"github.com/zarrfs/zarrfs/zarrcore/store/memstore"
)

// gone are the views that were removed, as "path view".
type gone map[string]bool

// Has implements Removed.
func (g gone) Has(path string, v view.View) bool { return g[path+" "+v.Name()] }

// newResolver returns the resolver of a store whose names clash. The view .raw of "gone" was
// removed.
func newResolver(t *testing.T) *Resolver {
	t.Helper()
	const (
		group = `{"zarr_format": 3, "node_type": "group"}`
		array = `{"zarr_format": 3, "node_type": "array", "shape": [2], "data_type": "uint8",
			"chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2]}},
			"chunk_key_encoding": {"name": "default"}, "fill_value": 0,
			"codecs": [{"name": "bytes"}]}`
	)
	objects := map[string]string{}
	for path, doc := range map[string]string{
		"": group, "ocean": group, "a": array, "gone": array, "ocean/salt": array,
		"line\nbreak": array, "100%": group, "clash": group, "clash/x": array, "clash/x.npy": group,
		"clash/zarr": array, "clash/.zarrfs": group,
	} {
		objects[strings.TrimPrefix(path+"/zarr.json", "/")] = doc
	}
	h, _ := hierarchytest.Open(t, memstore.New(), objects)
	return New(t.Context(), h, Options{Name: "test"}, h, gone{"gone raw": true})
}

func TestResolve(t *testing.T) {
	r := newResolver(t)
	for _, tc := range []struct{ dir, name, want string }{
		{"", "a.npy", "a npy"}, {"", "a.raw", "a raw"}, {"", "a.json", "a json"},
		{"", "a%.npy", ""}, {"", "a.mhd", "a mhd"}, {"", "a.nhdr", ""},
		{"clash", "x%.raw", ""},
		{"", "index.html", " index.html"}, {"ocean", "index.html", "ocean index.html"},
		{"", "ocean.index.html", ""}, {"ocean", "index.npy", ""},
		{"", "zarr.json", " json"}, {"", "ocean", "ocean"}, {"", "100%25", "100%"},
		{"", "line%0Abreak.raw", "line\nbreak raw"},
		{"", "a", ""}, {"", "a.hdf", ""}, {"", "ocean.npy", ""}, {"", "%61.npy", ""},
		{"", "100%", ""}, {"", "", ""}, {"", "..", ""},
		{"", "ocean/salt.npy", ""}, {"", "nothing.npy", ""}, {"", ".zarrfs", ""},
		{"", "zarr.npy", ""},
		{"", "gone.npy", "gone npy"}, {"", "gone.raw", ""},
		{"clash", "x.npy", "clash/x.npy"}, {"clash", "x%.npy", "clash/x npy"},
		{"clash", "x.raw", "clash/x raw"},
		{"clash", "zarr.json", "clash json"}, {"clash", "zarr%.json", "clash/zarr json"},
		{"clash", "%2Ezarrfs", "clash/.zarrfs"},
	} {
		got := ""
		switch target, err := r.Resolve(context.Background(), tc.dir, tc.name); {
		case err == nil && target.View != nil:
			got = target.Node.Path + " " + target.View.Name()
		case err == nil:
			got = target.Node.Path
		case !errors.Is(err, iofs.ErrNotExist):
			t.Errorf("%q in %q: %v", tc.name, tc.dir, err)
		}
		if got != tc.want {
			t.Errorf("%q in %q is %q, want %q", tc.name, tc.dir, got, tc.want)
		}
	}
}

// TestPath: a name has a path and a view also if nothing is there.
func TestPath(t *testing.T) {
	r := newResolver(t)
	for name, want := range map[string]string{"new.npy": "clash/new npy", "x.npy": "clash/x npy",
		"x%.npy":    "clash/x npy",
		"zarr.json": "clash json", "zarr%.json": "clash/zarr json", "new": "", "new.txt": ""} {
		got := ""
		if path, v, ok := r.Path("clash", name); ok {
			got = path + " " + v.Name()
		}
		if got != want {
			t.Errorf("%q is %q, want %q", name, got, want)
		}
	}
}

func TestListedViews(t *testing.T) {
	got := listedViews([]string{"npy", "json"})
	if len(got) != 2 || got[0].Name() != "json" {
		t.Errorf("listed views are not in their order: %v", got)
	}
	n, err := newResolver(t).h.Node(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	r := &Resolver{ctx: t.Context(), listed: listed{listedViews([]string{"raw"})}}
	if got, err := r.Listed(n); err != nil || got != view.SetOf(view.Named("raw")) {
		t.Errorf("an array is listed by the views %b, %v", got, err)
	}
}
