package fs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/zarrfs/zarrfs/fs/names"
	"github.com/zarrfs/zarrfs/fs/view"
	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/store"
	"github.com/zarrfs/zarrfs/zarrcore/store/memstore"
)

// headerBytes is the length of the header of a boxed file.
const headerBytes = 100

// boxed is a view with a header that says the shape of the array and that no program can change.
type boxed struct {
	view.ArrayView
	readOnly bool
}

func (v boxed) Name() string {
	if v.readOnly {
		return "shut"
	}
	return "boxed"
}

func (v boxed) IsWritable() bool { return !v.readOnly }

func (boxed) IsKeeper() bool { return false }

func (v boxed) Size(n *zarrcore.Node) (int64, error) {
	size, err := view.ArraySize(n)
	return headerBytes + size, err
}

func (v boxed) Open(ctx context.Context, h *zarrcore.Hierarchy, path string) (view.Content, error) {
	return view.OpenFlat(ctx, h, path, v)
}

func (boxed) Parts(a *zarrcore.Array) (head int64, data *zarrcore.Array, err error) {
	return headerBytes, a, nil
}

func (boxed) Header(
	_ context.Context, a *zarrcore.Array,
) (text []byte, to store.Rights, err error) {
	return boxedHeader(a.Meta().Shape...), to, nil
}

func boxedHeader(shape ...int64) []byte {
	return fmt.Appendf(nil, "%-*s", headerBytes, fmt.Sprint("BOXED ", shape))
}

// boxedMount returns a mount whose arrays have boxed files too. Its array "a" has 8 rows of 1000
// bytes that count up.
func boxedMount(t *testing.T) (dir string, data []byte) {
	t.Helper()
	return boxedMountOf(t, nil)
}

// boxedMountOf is boxedMount with these views listed.
func boxedMountOf(t *testing.T, listed []string) (dir string, data []byte) {
	t.Helper()
	register(t, boxed{ArrayView: rawView}, boxed{rawView, true})
	s := store.New(memstore.New(), "test")
	put := func(key string, data []byte) {
		if err := s.Put(t.Context(), key, data); err != nil {
			t.Fatal(err)
		}
	}
	put("zarr.json", []byte(groupDoc))
	put("a/zarr.json", fmt.Appendf(nil, arrayDoc, "8, 1000", "uint8", "3, 500",
		`{"name": "bytes"}`))
	dir = mountedOf(t, s, listed)
	data = make([]byte, 8000)
	for i := range data {
		data[i] = byte(i*7 + i/256)
	}
	must(t, os.WriteFile(filepath.Join(dir, "a.raw"), data, 0o666))
	return dir, data
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func failsWith(t *testing.T, what string, err error, want syscall.Errno) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: %v, expected %v", what, err, want)
	}
}

// TestHeaderViewIsWritten: what programs write behind a view's header goes to the array's bytes,
// each way of writing, and the header stays as it is.
func TestHeaderViewIsWritten(t *testing.T) {
	for _, tc := range []struct {
		name  string
		flags int
		write func(f *os.File) error
		want  func(data []byte) []byte
	}{
		{"in place", os.O_RDWR, func(f *os.File) error {
			_, err := f.WriteAt([]byte("hello"), headerBytes+2998)
			return err
		},
			func(b []byte) []byte { copy(b[2998:], "hello"); return b }},
		{"at the first byte", os.O_RDWR, func(f *os.File) error {
			_, err := f.WriteAt([]byte("hello"), headerBytes)
			return err
		},
			func(b []byte) []byte { copy(b, "hello"); return b }},
		{"with the same header", os.O_RDWR, func(f *os.File) error {
			_, err := f.WriteAt(append(boxedHeader(8, 1000)[90:], "hello"...), 90)
			return err
		}, func(b []byte) []byte { copy(b, "hello"); return b }},
		{"a hole", os.O_RDWR, func(f *os.File) error {
			return unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE,
				headerBytes+10, 3000)
		}, func(b []byte) []byte { clear(b[10:3010]); return b }},
		{"mapped", os.O_RDWR, func(f *os.File) error {
			m, err := unix.Mmap(int(f.Fd()), 0, headerBytes+8000, unix.PROT_READ|unix.PROT_WRITE,
				unix.MAP_SHARED)
			if err != nil {
				return err
			}
			return errors.Join(readHello(m[headerBytes+4000:]), unix.Msync(m, unix.MS_SYNC),
				unix.Munmap(m))
		}, func(b []byte) []byte { copy(b[4000:], "hello"); return b }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir, data := boxedMount(t)
			f, err := os.OpenFile(filepath.Join(dir, "a.boxed"), tc.flags, 0)
			must(t, err)
			must(t, tc.write(f))
			must(t, f.Close())
			want := tc.want(data)
			raw, err := os.ReadFile(filepath.Join(dir, "a.raw"))
			if err != nil || !bytes.Equal(raw, want) {
				t.Errorf("a.raw has %d bytes, %v, expected the %d that were written", len(raw), err,
					len(want))
			}
			got, err := os.ReadFile(filepath.Join(dir, "a.boxed"))
			if err != nil ||
				!bytes.Equal(got, append(boxedHeader(int64(len(want)/1000), 1000), want...)) {
				t.Errorf("a.boxed has %d bytes, %v, and begins %.40q", len(got), err, got)
			}
		})
	}
}

// readHello has the kernel write to memory that maps a file of a mount of this process. If a
// goroutine did so, the runtime would not know that the goroutine waits for the mount. It could
// then wait for the goroutine before the mount has answered.
func readHello(mapped []byte) error {
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer r.Close()
	_, err = w.WriteString("hello")
	_, readErr := unix.Read(int(r.Fd()), mapped[:len("hello")])
	return errors.Join(err, readErr, w.Close())
}

// TestHeaderIsKept: what would change the header of a derived view is refused, and changes nothing.
func TestHeaderIsKept(t *testing.T) {
	dir, data := boxedMount(t)
	name := filepath.Join(dir, "a.boxed")
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	must(t, err)
	defer f.Close()
	_, err = f.WriteAt([]byte("X"), 3)
	failsWith(t, "another header", err, syscall.EPERM)
	_, err = f.WriteAt(append(boxedHeader(8, 1000)[80:], data[:9]...), 80)
	must(t, err)
	_, err = f.WriteAt(bytes.Repeat([]byte("x"), 50), 80)
	failsWith(t, "another header and bytes behind it", err, syscall.EPERM)
	_, err = f.WriteAt(make([]byte, 1000), headerBytes+8000)
	failsWith(t, "a row behind the end", err, syscall.EPERM)
	_, err = f.WriteAt(make([]byte, 1000), headerBytes+7500)
	failsWith(t, "across the end", err, syscall.EPERM)
	failsWith(t, "truncate", f.Truncate(headerBytes+5000), syscall.EPERM)
	failsWith(t, "into the header", f.Truncate(50), syscall.EPERM)
	failsWith(t, "extend", unix.Fallocate(int(f.Fd()), 0, 0, headerBytes+9000), syscall.EPERM)
	failsWith(t, "a hole in the header",
		unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, 0, 500),
		syscall.EPERM)
	failsWith(t, "> a.boxed", os.Truncate(name, 0), syscall.EPERM)
	end, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND, 0)
	must(t, err)
	defer end.Close()
	_, err = end.Write(make([]byte, 1000))
	failsWith(t, ">> a.boxed", err, syscall.EPERM)
	failsWith(t, "cp b.boxed a.boxed", os.WriteFile(name, data, 0o666), syscall.EPERM)
	must(t, os.Remove(name))
	failsWith(t, "a new file", os.WriteFile(name, data, 0o666), syscall.EPERM)
	raw, err := os.ReadFile(filepath.Join(dir, "a.raw"))
	if err != nil || !bytes.Equal(raw, data) {
		t.Errorf("a.raw has %d bytes, %v, and not those that it had", len(raw), err)
	}
}

// TestDerivedFileIsCopied: a program that copies a file onto a derived view changes the array's
// bytes to those of the file. What the program leaves out is zero, as in a new file.
func TestDerivedFileIsCopied(t *testing.T) {
	other := bytes.Repeat([]byte{5}, 8000)
	for _, tc := range []struct {
		name, flag string
		data       []byte
	}{
		{"whole", "--sparse=never", other},
		{"all but holes", "--sparse=always", slices.Concat(make([]byte, 4096), other[:900],
			make([]byte, 3004))},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir, _ := boxedMount(t)
			file := filepath.Join(t.TempDir(), "file")
			must(t, os.WriteFile(file, append(boxedHeader(8, 1000), tc.data...), 0o666))
			out, err := exec.Command("cp", tc.flag, file,
				filepath.Join(dir, "a.boxed")).CombinedOutput()
			if err != nil {
				t.Fatalf("cp: %v %s", err, out)
			}
			raw, err := os.ReadFile(filepath.Join(dir, "a.raw"))
			if err != nil || !bytes.Equal(raw, tc.data) {
				t.Errorf("a.raw has other bytes than were copied, %v", err)
			}
		})
	}
}

// TestCopyOfHalfAFile: a copy onto a derived view's file that ends too early fails. What it leaves
// out at the end is zero bytes, unless it has no byte of the array.
func TestCopyOfHalfAFile(t *testing.T) {
	whole := append(boxedHeader(8, 1000), bytes.Repeat([]byte{5}, 8000)...)
	for _, program := range []string{"cp $0 $1", "dd if=$0 of=$1 bs=999"} {
		for _, n := range []int{0, 50, headerBytes, headerBytes + 3000, headerBytes + 7999} {
			t.Run(fmt.Sprint(program, n), func(t *testing.T) {
				dir, want := boxedMount(t)
				file := filepath.Join(t.TempDir(), "file")
				must(t, os.WriteFile(file, whole[:n], 0o666))
				cmd := exec.Command("sh", "-c", program, file, filepath.Join(dir, "a.boxed"))
				out, err := cmd.CombinedOutput()
				if err == nil || !strings.Contains(string(out), "nvalid argument") {
					t.Errorf("%v: %s, expected that it fails", err, out)
				}
				if n > headerBytes {
					want = make([]byte, 8000)
					copy(want, whole[headerBytes:n])
				}
				raw, err := os.ReadFile(filepath.Join(dir, "a.raw"))
				if err != nil || !bytes.Equal(raw, want) {
					t.Errorf("a.raw has other bytes, %v", err)
				}
			})
		}
	}
}

// TestDerivedViewIsTaken: a file that is renamed onto a derived view's becomes the array's bytes,
// if its header and its size are those of the array.
func TestDerivedViewIsTaken(t *testing.T) {
	dir, data := boxedMount(t)
	at := func(name string) string { return filepath.Join(dir, name) }
	other := bytes.Repeat([]byte{5}, 8000)
	for what, file := range map[string][]byte{
		"another header": append(boxedHeader(9, 1000), other...),
		"no header":      []byte("hello"), "nothing": nil,
		"too little": append(boxedHeader(8, 1000), other[1000:]...),
		"too much":   append(boxedHeader(8, 1000), append(other, 1)...),
	} {
		must(t, os.WriteFile(at("tmp"), file, 0o666))
		failsWith(t, what, os.Rename(at("tmp"), at("a.boxed")), syscall.EPERM)
	}
	if raw, _ := os.ReadFile(at("a.raw")); !bytes.Equal(raw, data) {
		t.Error("the array has changed")
	}
	must(t, os.WriteFile(at("tmp"), append(boxedHeader(8, 1000), other...), 0o666))
	must(t, os.Rename(at("tmp"), at("a.boxed")))
	if raw, _ := os.ReadFile(at("a.raw")); !bytes.Equal(raw, other) {
		t.Error("the array has not the bytes of the file that was renamed onto it")
	}
}

// TestDerivedNamesAreOrdinary: where there is no array, the name of a derived view is that of an
// ordinary file. It stays one when the array comes, by whatever way.
func TestDerivedNamesAreOrdinary(t *testing.T) {
	dir, _ := boxedMount(t)
	at := func(name string) string { return filepath.Join(dir, name) }
	text := []byte("an ordinary file")
	ordinary := []string{"b.boxed", "c.boxed", "d.boxed", "e.shut", "my%20file.boxed", ".boxed"}
	check := func(name string) {
		t.Helper()
		if got, err := os.ReadFile(at(name)); !bytes.Equal(got, text) {
			t.Errorf("%s has %.30q, %v", name, got, err)
		}
	}
	for _, name := range ordinary {
		must(t, os.WriteFile(at(name), text, 0o666))
		check(name)
	}
	must(t,
		os.WriteFile(at("b.json"), fmt.Appendf(nil, arrayDoc, "8, 1000", "uint8", "3, 500",
			`{"name": "bytes"}`), 0o666))
	npyFile, err := os.ReadFile(at("a.npy"))
	must(t, err)
	must(t, os.WriteFile(at("c.npy"), npyFile, 0o666))
	must(t, os.Rename(at("a.npy"), at("d.npy")))
	for _, name := range []string{"b.raw", "c.raw", "d.raw"} {
		if info, err := os.Stat(at(name)); err != nil || info.Size() != 8000 {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, name := range ordinary {
		check(name)
	}
	must(t, os.Remove(at("d.boxed")))
	if got, err := os.ReadFile(at("d.boxed")); !bytes.HasPrefix(got, []byte("BOXED")) {
		t.Errorf("without the ordinary file d.boxed has %.30q, %v", got, err)
	}
}

// TestDerivedViewsStayDerived: removing or renaming a derived view touches nothing else.
func TestDerivedViewsStayDerived(t *testing.T) {
	for _, listed := range [][]string{nil, {"json", "npy", "raw", "boxed", "shut"}} {
		t.Run(strings.Join(listed, ","), func(t *testing.T) { staysDerived(t, listed) })
	}
}

func staysDerived(t *testing.T, listed []string) {
	dir, data := boxedMountOf(t, listed)
	at := func(name string) string { return filepath.Join(dir, name) }
	names := func() string {
		entries, err := os.ReadDir(dir)
		must(t, err)
		var all []string
		for _, e := range entries {
			all = append(all, e.Name())
		}
		slices.Sort(all)
		return strings.Join(all, " ")
	}
	all := "a.json a.npy a.raw zarr.json"
	if listed != nil {
		all = "a.boxed a.json a.npy a.raw a.shut zarr.json"
	}
	if got := names(); got != all {
		t.Errorf("listed are %s, expected %s", got, all)
	}
	failsWith(t, "mv a.boxed b.boxed", os.Rename(at("a.boxed"), at("b.boxed")), syscall.EPERM)
	failsWith(t, "mv a.boxed notes", os.Rename(at("a.boxed"), at("notes")), syscall.EPERM)
	failsWith(t, "mv a.npy a.boxed", os.Rename(at("a.npy"), at("a.boxed")), syscall.EPERM)
	failsWith(t, "ln -s a.boxed l.boxed", os.Symlink("a.boxed", at("l.boxed")), syscall.EPERM)
	must(t, os.Remove(at("a.boxed")))
	must(t, os.Remove(at("a.shut")))
	if got := names(); got != all {
		t.Errorf("after derived files were removed there are %s, expected %s", got, all)
	}
	if raw, err := os.ReadFile(at("a.raw")); !bytes.Equal(raw, data) {
		t.Errorf("a.raw has %d bytes, %v", len(raw), err)
	}
	for _, name := range []string{"a.raw", "a.json", "a.npy"} {
		must(t, os.Remove(at(name)))
	}
	if got := names(); got != "zarr.json" {
		t.Errorf("after all was removed there are %s", got)
	}
}

// TestDerivedFilesAreRemovedWithTheirArray: the program that removes an array by its files may
// remove the derived ones after the last of the others. No other program finds them.
func TestDerivedFilesAreRemovedWithTheirArray(t *testing.T) {
	dir, _ := boxedMountOf(t, []string{"json", "npy", "raw", "boxed", "shut"})
	for _, suffix := range []string{"json", "boxed", "npy", "raw", "shut"} {
		must(t, os.Remove(filepath.Join(dir, "a."+suffix)))
	}
	failsWith(t, "a second rm", os.Remove(filepath.Join(dir, "a.shut")), syscall.ENOENT)
}

// grouped is a view that groups have, and no array.
type grouped struct{ boxed }

func (grouped) Name() string                         { return "grouped" }
func (grouped) Has(view.Subject) bool                { return false }
func (grouped) IsWritable() bool                     { return false }
func (grouped) HasGroup(*zarrcore.Node) bool         { return true }
func (grouped) Size(n *zarrcore.Node) (int64, error) { return int64(len(n.Document)), nil }
func (grouped) Open(ctx context.Context, h *zarrcore.Hierarchy, path string) (view.Content, error) {
	return view.Document.Open(ctx, h, path)
}

// TestDerivedViewOfGroup: a group may have files of its own in derived views. Removing and renaming
// them does not touch the group.
func TestDerivedViewOfGroup(t *testing.T) {
	register(t, grouped{boxed{ArrayView: rawView}})
	dir, _ := boxedMount(t)
	at := func(name string) string { return filepath.Join(dir, name) }
	must(t, os.Mkdir(at("g"), 0o777))
	doc, err := os.ReadFile(at("g/zarr.json"))
	must(t, err)
	info, err := os.Stat(at("g.grouped"))
	if err != nil || info.Size() != int64(len(doc)) || !info.Mode().IsRegular() {
		t.Fatalf("g.grouped: %v %v", info, err)
	}
	if got, err := os.ReadFile(at("g.grouped")); !bytes.Equal(got, doc) {
		t.Errorf("g.grouped has %q, %v", got, err)
	}
	if _, err := os.Stat(at("a.grouped")); err == nil {
		t.Error("an array has the file of a group")
	}
	failsWith(t, "mv g.grouped h.grouped", os.Rename(at("g.grouped"), at("h.grouped")),
		syscall.EPERM)
	failsWith(t, "> g.grouped", os.WriteFile(at("g.grouped"), nil, 0o666), syscall.EACCES)
	must(t, os.Mkdir(at("h"), 0o777))
	must(t, os.Remove(at("h.grouped")))
	must(t, os.Rename(at("h"), at("i")))
	if _, err := os.Stat(at("i.grouped")); err != nil {
		t.Error(err)
	}
}

// TestReadOnlyView: the files of a view that cannot be written say so, and are refused for writing.
func TestReadOnlyView(t *testing.T) {
	dir, data := boxedMount(t)
	name := filepath.Join(dir, "a.shut")
	info, err := os.Stat(name)
	must(t, err)
	if info.Mode().Perm()&0o222 != 0 {
		t.Errorf("mode %v", info.Mode())
	}
	for _, flags := range []int{os.O_WRONLY, os.O_RDWR, os.O_WRONLY | os.O_TRUNC,
		os.O_WRONLY | os.O_APPEND} {
		f, err := os.OpenFile(name, flags, 0)
		failsWith(t, fmt.Sprintf("open with flags %#x", flags), err, syscall.EACCES)
		f.Close()
	}
	failsWith(t, "truncate", os.Truncate(name, headerBytes), syscall.EACCES)
	must(t, os.WriteFile(filepath.Join(dir, "tmp"), append(boxedHeader(8, 1000), data...), 0o666))
	failsWith(t, "mv tmp a.shut", os.Rename(filepath.Join(dir, "tmp"), name), syscall.EACCES)
	if got, err := os.ReadFile(name); !bytes.Equal(got, append(boxedHeader(8, 1000), data...)) {
		t.Errorf("a.shut has %d bytes, %v", len(got), err)
	}
}

// TestViewsCanBeTaken: how programs write to a view's files is known of each view that can be
// written. There is one document, and one view with a header that programs write.
func TestViewsCanBeTaken(t *testing.T) {
	documents, headers := 0, 0
	for _, v := range view.All() {
		_, array := v.(view.ArrayView)
		_, text := v.(view.TextView)
		_, header := v.(view.HeaderView)
		if v == view.Document {
			documents++
		}
		if header {
			headers++
		}
		if v.IsWritable() && !array && !text && v != view.Document && !view.IsComposite(v) {
			t.Errorf("nothing says how %s is written", v.Name())
		}
		if len(v.Name()) > names.MaxSuffix {
			t.Errorf("%s is longer than node names leave room for, %d bytes", v.Name(),
				names.MaxSuffix)
		}
	}
	if documents != 1 || headers != 1 {
		t.Errorf("%d documents, %d views with a header that is written", documents, headers)
	}
}
