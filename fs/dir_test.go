package fs

import (
	"context"
	"errors"
	"fmt"
	iofs "io/fs"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/zarrfs/zarrfs/fs/identity"
	"github.com/zarrfs/zarrfs/fs/names"
	"github.com/zarrfs/zarrfs/zarrcore"
)

// list returns the names in the directory of the group at path, folders with a "/".
func list(t *testing.T, f *filesystem, path string) []string {
	t.Helper()
	d := newDirHandle(&groupNode{base: base{fs: f, place: identity.At(path, "")}})
	defer d.Releasedir(context.Background(), 0)
	return rest(t, d)
}

func rest(t *testing.T, d *dirHandle) (names []string) {
	t.Helper()
	for {
		e, errno := d.Readdirent(context.Background())
		if errno != 0 {
			t.Fatalf("listing: %v", errno)
		}
		if e == nil {
			return names
		}
		if e.Name == "." || e.Name == ".." {
			continue
		}
		if e.Mode == syscall.S_IFDIR {
			e.Name += "/"
		}
		names = append(names, e.Name)
	}
}

func TestList(t *testing.T) {
	f := testFilesystem(t, testObjects())
	for _, tc := range []struct{ path, want string }{
		{"", "100%25/ a.json a.npy a.raw clash/ enormous.json enormous.npy enormous.raw line%0Abreak.json line%0Abreak.npy line%0Abreak.raw " +
			"ocean/ strange.json strange.npy strange.raw zarr.json"},
		{"ocean", "salt.json salt.npy salt.raw zarr.json"},
		{"100%", "zarr.json"},
		{"clash", "%2Ezarrfs/ x%.npy x.json x.npy/ x.raw zarr%.json zarr.json zarr.npy zarr.raw"},
	} {
		got := list(t, f, tc.path)
		slices.Sort(got)
		if s := strings.Join(got, " "); s != tc.want {
			t.Errorf("%q holds\n%s\nwant\n%s", tc.path, s, tc.want)
		}
	}
}

// TestListResolves looks up every name that a listing shows, and the numbers that both give.
func TestListResolves(t *testing.T) {
	f := testFilesystem(t, testObjects())
	for _, path := range []string{"", "ocean", "clash"} {
		d := newDirHandle(&groupNode{base: base{fs: f, place: identity.At(path, "")}})
		for {
			e, _ := d.Readdirent(context.Background())
			if e == nil {
				break
			}
			if e.Name == "." || e.Name == ".." {
				continue
			}
			got, err := f.names.Resolve(context.Background(), path, e.Name)
			if err != nil {
				t.Errorf("%q in %q: %v", e.Name, path, err)
				continue
			}
			view := ""
			if got.View != nil {
				view = got.View.Name()
			}
			if ino := identity.Of(got.Node.Path, view).Number(); ino != e.Ino || (got.View == nil) != (e.Mode == syscall.S_IFDIR) {
				t.Errorf("%q in %q: listed as inode %d mode %o, found inode %d, view %q", e.Name, path, e.Ino, e.Mode, ino, view)
			}
		}
		d.Releasedir(context.Background(), 0)
	}
}

func TestLongNameResolves(t *testing.T) {
	name := strings.Repeat("long ", 80)
	o := objects{"zarr.json": groupDoc, name + "/zarr.json": fmt.Sprintf(arrayDoc, "2, 2", "uint8", "2, 2", `{"name": "bytes"}`)}
	f := testFilesystem(t, o)
	for _, shown := range list(t, f, "") {
		if len(shown) > names.MaxEntry {
			t.Errorf("%q has %d bytes", shown, len(shown))
		}
		if got, err := f.names.Resolve(context.Background(), "", shown); err != nil || shown != groupFile && got.Node.Path != name {
			t.Errorf("%q: %+v, %v", shown, got, err)
		}
	}
}

func TestRootArray(t *testing.T) {
	f := testFilesystem(t, objects{"zarr.json": fmt.Sprintf(arrayDoc, "2, 2", "uint8", "2, 2", `{"name": "bytes"}`)})
	got := list(t, f, "")
	if s := strings.Join(got, " "); s != "test.json test.npy test.raw" {
		t.Errorf("the root holds %s", s)
	}
	for _, name := range got {
		if target, err := f.names.Resolve(context.Background(), "", name); err != nil || target.Node.Kind != zarrcore.ArrayNode {
			t.Errorf("%s: %+v, %v", name, target, err)
		}
	}
	for _, name := range []string{"zarr.json", "other.npy", "test"} {
		if _, err := f.names.Resolve(context.Background(), "", name); !errors.Is(err, iofs.ErrNotExist) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestSeekdir(t *testing.T) {
	f := testFilesystem(t, testObjects())
	d := newDirHandle(&groupNode{base: base{fs: f}})
	defer d.Releasedir(context.Background(), 0)
	all := rest(t, d)
	for i := range all {
		if errno := d.Seekdir(context.Background(), uint64(i)+2); errno != 0 {
			t.Fatal(errno)
		}
		if got := rest(t, d); !slices.Equal(got, all[i:]) {
			t.Fatalf("from %d: %q, want %q", i, got, all[i:])
		}
	}
}

// TestFirstReplyIsBrief: a first request with attributes gets few entries, and none is lost by that.
func TestFirstReplyIsBrief(t *testing.T) {
	f := testFilesystem(t, testObjects())
	d := newDirHandle(&groupNode{base: base{fs: f}})
	defer d.Releasedir(context.Background(), 0)
	first := context.Background()
	var names []string
	for e, _ := d.Readdirent(first); e != nil; e, _ = d.Readdirent(first) {
		names = append(names, strings.TrimPrefix(e.Name, ".."))
		d.plus = true // as Lookup notes, which go-fuse calls after each entry
	}
	if len(names) != briefly {
		t.Errorf("the first reply has %d entries: %q", len(names), names)
	}
	for _, name := range rest(t, d) {
		names = append(names, strings.TrimSuffix(name, "/"))
	}
	slices.Sort(names)
	want := list(t, f, "")
	for i := range want {
		want[i] = strings.TrimSuffix(want[i], "/")
	}
	want = append(want, ".", "")
	slices.Sort(want)
	if !slices.Equal(names, want) {
		t.Errorf("listed\n%q\nwant\n%q", names, want)
	}
}

func TestKeepListing(t *testing.T) {
	const keep = fuse.FOPEN_CACHE_DIR | fuse.FOPEN_KEEP_CACHE
	start := time.Unix(1e9, 0)
	old := stamp{"1", start.Add(-time.Hour)}
	g := &groupNode{}
	for i, tc := range []struct {
		s     stamp
		after time.Duration
		whole bool // a listing came to its end before this open
		want  uint32
	}{
		{old, 0, false, keep},                                          // nothing is kept yet: fill
		{old, time.Second, true, keep},                                 // use it
		{stamp{"2", start.Add(-time.Hour)}, 2 * time.Second, false, 0}, // changed: drop
		{stamp{"2", start.Add(-time.Hour)}, 3 * time.Second, false, keep},
		{stamp{"2", start.Add(-time.Hour)}, 4 * time.Second, false, 0}, // never read to its end
		{old, 5 * time.Second, false, keep},
		{old, 5*time.Second + 2*keepFor, true, 0},                           // too old
		{stamp{"3", start.Add(6 * time.Minute)}, 6 * time.Minute, false, 0}, // changed just now
		{stamp{"4", time.Time{}}, 7 * time.Minute, false, 0},                // the store does not know when
	} {
		if tc.whole {
			g.listed(10, 0, true)
		}
		if got := g.keep(tc.s, start.Add(tc.after)); got != tc.want {
			t.Errorf("open %d: flags %#x, want %#x", i, got, tc.want)
		}
	}
}

// TestDetailedListing: where programs ask for the attributes of what they list, the kernel gets
// these with the listing. That is cheaper than a look at each name of a kept listing.
func TestDetailedListing(t *testing.T) {
	const keep = fuse.FOPEN_CACHE_DIR | fuse.FOPEN_KEEP_CACHE
	now := time.Unix(1e9, 0)
	old := stamp{"1", now.Add(-time.Hour)}
	g := &groupNode{}
	check := func(step string, want uint32) {
		t.Helper()
		if got := g.keep(old, now); got != want {
			t.Errorf("%s: flags %#x, want %#x", step, got, want)
		}
	}
	check("at first", keep)
	g.listed(1000, 1000, true)
	check("after ls -l", 0)
	g.listed(1000, 1000, true)
	check("after another", 0)
	g.listed(1000, briefly, true)
	check("after ls", keep)
	g.listed(1000, briefly, true)
	check("after another ls", keep)
	g.looked.Add(900)
	check("after ls -l of the kept listing", 0)
}

// BenchmarkList lists a group of many arrays, without a kernel.
func BenchmarkList(b *testing.B) {
	o := objects{"zarr.json": groupDoc}
	for i := range 1000 {
		o[fmt.Sprintf("array%04d/zarr.json", i)] = fmt.Sprintf(arrayDoc, "2, 2", "uint8", "2, 2", `{"name": "bytes"}`)
	}
	f := testFilesystem(b, o)
	for b.Loop() {
		d := newDirHandle(&groupNode{base: base{fs: f}})
		for e, _ := d.Readdirent(context.Background()); e != nil; e, _ = d.Readdirent(context.Background()) {
		}
		d.Releasedir(context.Background(), 0)
	}
}
