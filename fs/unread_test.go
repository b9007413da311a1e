package fs

import (
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/zarrfs/zarrfs/zarrcore/hierarchytest"
	"github.com/zarrfs/zarrfs/zarrcore/store/memstore"
	"github.com/zarrfs/zarrfs/zarrcore/store/storetest"
)

// unreadOnce returns a mount of the array a, and a function. After a call of
// that, the nth operation on the document of a fails, and no other.
func unreadOnce(t *testing.T, views ...string) (f *filesystem, unread func(nth int64)) {
	t.Helper()
	var left atomic.Int64
	inject := storetest.InjectorFunc(func(op storetest.Op) (fault storetest.Fault) {
		if op.Key == "a/zarr.json" && left.Add(-1) == 0 {
			fault.Err = errors.New("the disk has a bad block")
		}
		return fault
	})
	h, s := hierarchytest.Open(t, storetest.Faulty(memstore.New(), inject), objects{
		"zarr.json": groupDoc, "a/zarr.json": testObjects()["a/zarr.json"]})
	return newFilesystem(h, "", &Options{Name: "test", Store: s, Views: views}), left.Store
}

// operations is more operations on one document than any request has.
const operations = 12

// TestUnreadIsNotAnOrdinaryName: a program that creates the file of a derived view gets an error if
// the document of the array cannot be read. The name is not that of an ordinary file then. The
// error names the array and its document.
func TestUnreadIsNotAnOrdinaryName(t *testing.T) {
	failed := 0
	for nth := range int64(operations) {
		f, unread := unreadOnce(t)
		root := mountless(f)
		unread(nth + 1)
		var out fuse.EntryOut
		_, _, _, errno := root.Create(t.Context(), "a.nrrd", syscall.O_WRONLY, 0o666, &out)
		if f.transients.Find("", "a.nrrd") != nil {
			t.Errorf("read %d of the document failed, and a.nrrd is an ordinary file", nth+1)
		}
		if errno == syscall.EIO {
			failed++
			why := f.Failures.Of("a")
			if why == nil || !strings.Contains(why.Error(), "a/zarr.json") {
				t.Errorf("the reason is %v, expected a text about a/zarr.json", why)
			}
		}
	}
	if failed == 0 {
		t.Error("no create has failed with EIO")
	}
}

// TestUnreadIsListed: a listing that has the .npy of an array has its .nrrd too, or fails.
func TestUnreadIsListed(t *testing.T) {
	failed := 0
	for nth := range int64(operations) {
		f, unread := unreadOnce(t, "npy", "nrrd")
		unread(nth + 1)
		names, errno := listed(t, f)
		if errno == syscall.EIO {
			failed++
		} else if slices.Contains(names, "a.npy") != slices.Contains(names, "a.nrrd") {
			t.Errorf("read %d of the document failed: listed are %q, %v", nth+1, names, errno)
		}
	}
	if failed == 0 {
		t.Error("no listing has failed with EIO")
	}
}

// listed returns the names in the root, and the error that ends the listing.
func listed(t *testing.T, f *filesystem) (names []string, errno syscall.Errno) {
	t.Helper()
	d := newDirHandle(mountless(f), false)
	defer d.Releasedir(t.Context(), 0)
	for {
		e, errno := d.Readdirent(t.Context())
		if errno != 0 || e == nil {
			return names, errno
		}
		names = append(names, e.Name)
	}
}
