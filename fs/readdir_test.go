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

	"github.com/zarrfs/zarrfs/fs/identity"
	"github.com/zarrfs/zarrfs/fs/names"
	"github.com/zarrfs/zarrfs/fs/pagecache"
	"github.com/zarrfs/zarrfs/zarrcore"
)

// list returns the names in the directory of the group at path, folders with a "/".
func list(t *testing.T, f *filesystem, path string) []string {
	t.Helper()
	d := newDirHandle(&groupNode{base: newBase(f, identity.Of(path, ""))}, false)
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
		{"", "100%25/ a.json a.npy a.raw clash/ enormous.json enormous.npy enormous.raw " +
			"line%0Abreak.json line%0Abreak.npy line%0Abreak.raw ocean/ strange.json strange.npy " +
			"strange.raw zarr.json"},
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

// TestListResolves looks up every name in a listing. The listing and the lookup must give the same
// inode number.
func TestListResolves(t *testing.T) {
	f := testFilesystem(t, testObjects())
	for _, path := range []string{"", "ocean", "clash"} {
		d := newDirHandle(&groupNode{base: newBase(f, identity.Of(path, ""))}, false)
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
			if ino := identity.Of(got.Node.Path, view).Number(); ino != e.Ino ||
				(got.View == nil) != (e.Mode == syscall.S_IFDIR) {
				t.Errorf("%q in %q: listed as inode %d mode %o, found inode %d, view %q", e.Name,
					path, e.Ino, e.Mode, ino, view)
			}
		}
		d.Releasedir(context.Background(), 0)
	}
}

func TestLongNameResolves(t *testing.T) {
	name := strings.Repeat("long ", 80)
	o := objects{"zarr.json": groupDoc, name + "/zarr.json": fmt.Sprintf(arrayDoc, "2, 2", "uint8",
		"2, 2", `{"name": "bytes"}`)}
	f := testFilesystem(t, o)
	for _, shown := range list(t, f, "") {
		if len(shown) > names.MaxEntry {
			t.Errorf("%q has %d bytes", shown, len(shown))
		}
		if got, err := f.names.Resolve(context.Background(), "", shown); err != nil ||
			shown != groupFile && got.Node.Path != name {
			t.Errorf("%q: %+v, %v", shown, got, err)
		}
	}
}

func TestRootArray(t *testing.T) {
	f := testFilesystem(t,
		objects{"zarr.json": fmt.Sprintf(arrayDoc, "2, 2", "uint8", "2, 2", `{"name": "bytes"}`)})
	got := list(t, f, "")
	if s := strings.Join(got, " "); s != "test.json test.npy test.raw" {
		t.Errorf("the root holds %s", s)
	}
	for _, name := range got {
		if target, err := f.names.Resolve(context.Background(), "", name); err != nil ||
			target.Node.Kind != zarrcore.ArrayNode {
			t.Errorf("%s: %+v, %v", name, target, err)
		}
	}
	for _, name := range []string{"zarr.json", "other.npy", "test"} {
		if _, err := f.names.Resolve(context.Background(), "", name); !errors.Is(err,
			iofs.ErrNotExist) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestSeekdir(t *testing.T) {
	f := testFilesystem(t, testObjects())
	d := newDirHandle(&groupNode{base: base{fs: f}}, false)
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

// TestFirstReplyIsBrief: a first request with attributes gets few entries, and none is lost by
// that.
func TestFirstReplyIsBrief(t *testing.T) {
	f := testFilesystem(t, testObjects())
	d := newDirHandle(&groupNode{base: base{fs: f}}, false)
	defer d.Releasedir(context.Background(), 0)
	first := context.Background()
	var names []string
	for e, _ := d.Readdirent(first); e != nil; e, _ = d.Readdirent(first) {
		names = append(names, strings.TrimPrefix(e.Name, ".."))
		d.plus = true // as Lookup notes, which go-fuse calls after each entry
	}
	if len(names) != pagecache.Briefly {
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

// BenchmarkList lists a group of many arrays, without a kernel.
func BenchmarkList(b *testing.B) {
	o := objects{"zarr.json": groupDoc}
	for i := range 1000 {
		o[fmt.Sprintf("array%04d/zarr.json", i)] = fmt.Sprintf(arrayDoc, "2, 2", "uint8", "2, 2",
			`{"name": "bytes"}`)
	}
	f := testFilesystem(b, o)
	for b.Loop() {
		d := newDirHandle(&groupNode{base: base{fs: f}}, false)
		for e, _ := d.Readdirent(context.Background()); e != nil; e,
			_ = d.Readdirent(context.Background()) {
		}
		d.Releasedir(context.Background(), 0)
	}
}
