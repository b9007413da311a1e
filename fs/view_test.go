package fs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/zarrfs/zarrfs/fs/errno"
	"github.com/zarrfs/zarrfs/fs/identity"
	"github.com/zarrfs/zarrfs/fs/view"
	"github.com/zarrfs/zarrfs/fs/xattr"
	"github.com/zarrfs/zarrfs/layout/npy"
	"github.com/zarrfs/zarrfs/zarrcore"
)

// The views by name, as the tests use them.
var (
	rawView   = view.Named("raw").(view.ArrayView)
	npyView   = view.Named("npy").(view.HeaderView)
	jsonlView = view.Named("jsonl").(view.TextView)
)

func readAll(t *testing.T, f *filesystem, path, name string) []byte {
	t.Helper()
	file, err := view.Open(context.Background(), f.h, path, name)
	if err != nil {
		t.Fatalf("%s.%s: %v", path, name, err)
	}
	defer file.Close()
	b, err := io.ReadAll(file)
	if err != nil || int64(len(b)) != file.Size() {
		t.Fatalf("%s.%s: %d bytes, %v, want %d", path, name, len(b), err, file.Size())
	}
	return b
}

func TestViews(t *testing.T) {
	f := testFilesystem(t, testObjects())
	raw := readAll(t, f, "a", "raw")
	if !bytes.Equal(raw, bytesOfA()) {
		t.Errorf("raw is %v, want %v", raw, bytesOfA())
	}
	npy := readAll(t, f, "a", "npy")
	head := "\x93NUMPY\x01\x00v\x00{'descr': '<i2', 'fortran_order': False, 'shape': (4, 6), }"
	if !strings.HasPrefix(string(npy), head) || len(npy)%64 != len(raw)%64 ||
		!bytes.Equal(npy[len(npy)-len(raw):], raw) {
		t.Errorf("npy is %q", npy)
	}
	if doc := readAll(t, f, "a", "json"); !strings.Contains(string(doc), `"units": "K"`) {
		t.Errorf("json is %s", doc)
	}
	if doc := readAll(t, f, "ocean", "json"); !strings.Contains(string(doc),
		`12345678901234567890`) {
		t.Errorf("the group's json is %s", doc)
	}
}

func TestViewSizes(t *testing.T) {
	f := testFilesystem(t, testObjects())
	for _, path := range []string{"a", "ocean/salt", "line\nbreak"} {
		n, err := f.h.Node(context.Background(), path)
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range view.All() {
			if !view.Shows(v, view.Described(n.Meta)) || view.IsComposite(v) {
				continue
			}
			size, err := v.Size(n)
			if got := int64(len(readAll(t, f, path, v.Name()))); got != size || err != nil {
				t.Errorf("%q as %s: metadata says %d bytes (%v), found %d", path, v.Name(), size,
					err, got)
			}
		}
	}
}

// TestReadAnywhere reads every stretch of the .npy view, across header, chunks and holes.
func TestReadAnywhere(t *testing.T) {
	f := testFilesystem(t, testObjects())
	want := readAll(t, f, "a", "npy")
	c, err := npyView.Open(context.Background(), f.h, "a")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for off := int64(0); off < c.Size(); off++ {
		for n := int64(1); n <= c.Size()-off; n++ {
			r, err := c.Read(context.Background(), off, n)
			if err != nil {
				t.Fatal(err)
			}
			got := r.Bytes(nil)
			if !bytes.Equal(got, want[off:off+n]) || r.N != int(n) {
				t.Fatalf("[%d, %d): %v (size %d), want %v", off, off+n, got, r.N, want[off:off+n])
			}
			r.Done()
		}
	}
}

func TestUnreadableArrays(t *testing.T) {
	f := testFilesystem(t, testObjects())
	for _, tc := range []struct {
		path string
		want error
	}{{"strange", errors.ErrUnsupported}, {"enormous", errno.ErrTooBig},
		{"ocean", zarrcore.ErrNotArray}} {
		for _, name := range []string{"npy", "raw"} {
			if _, err := view.Open(context.Background(), f.h, tc.path, name); !errors.Is(err,
				tc.want) {
				t.Errorf("%s.%s: %v, want %v", tc.path, name, err, tc.want)
			}
		}
		if doc := readAll(t, f, tc.path, "json"); len(doc) == 0 {
			t.Errorf("%s.json is empty", tc.path)
		}
	}
}

func TestParseViews(t *testing.T) {
	for list, want := range map[string]string{"npy": "npy", "raw,json": "raw json",
		"npy:raw": "npy raw", "npy+json": "npy json", "": ""} {
		if got, err := view.Parse(list); strings.Join(got, " ") != want || err != nil {
			t.Errorf("ParseViews(%q) = %q, %v", list, got, err)
		}
	}
	if _, err := view.Parse("npy,hdf"); err == nil ||
		!strings.Contains(err.Error(), "json, npy, raw") {
		t.Errorf("an unknown view: %v", err)
	}
}

func TestReply(t *testing.T) {
	many := make([][]byte, maxPieces+1)
	for i := range many {
		many[i] = []byte{byte(i)}
	}
	for _, slices := range [][][]byte{nil, {[]byte("ab"), []byte("c")}, many} {
		n := 0
		for _, s := range slices {
			n += len(s)
		}
		r := answerOf(&view.Found{Slices: slices, N: n}, make([]byte, n))
		got, _ := r.Bytes(make([]byte, n))
		if !bytes.Equal(got, bytes.Join(slices, nil)) || r.Size() != n {
			t.Errorf("%d slices: %d bytes, size %d, want %d", len(slices), len(got), r.Size(), n)
		}
		if _, direct := r.(reply); direct != (n > 0 && len(slices) <= maxPieces) {
			t.Errorf("%d slices: direct = %v", len(slices), direct)
		}
	}
}

func TestXattrs(t *testing.T) {
	f := testFilesystem(t, testObjects())
	for _, tc := range []struct {
		path string
		want []string
	}{
		{"a", []string{
			`user.zarr.node=array`, `user.zarr.path=/a`, `user.zarr.format=3`,
			`user.zarr.shape=[4,6]`, `user.zarr.dtype=<i2`,
			`user.zarr.chunks=[2,3]`,
			`user.zarr.codecs=[{"name":"bytes","configuration":{"endian":"little"}}]`,
			`user.zarr.fill_value=0`, `user.zarr.dimension_names=["y","x"]`,
			`user.zarr.attr.units="K"`, `user.zarr.attr.a/b=null`, `user.zarr.attr.nan=NaN`,
		}},
		{"ocean", []string{
			`user.zarr.node=group`, `user.zarr.path=/ocean`, `user.zarr.format=3`,
			`user.zarr.attr.title="test"`, `user.zarr.attr.big=12345678901234567890`,
		}},
	} {
		n, err := f.h.Node(context.Background(), tc.path)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, x := range xattr.Of(n) {
			got = append(got, fmt.Sprintf("%s=%s", x.Name, x.Value()))
		}
		if !slices.Equal(got, tc.want) {
			t.Errorf("%s:\n%s\nwant\n%s", tc.path, strings.Join(got, "\n"),
				strings.Join(tc.want, "\n"))
		}
	}
}

func TestXattrError(t *testing.T) {
	f := testFilesystem(t, testObjects())
	b := &fileNode{base: newBase(f, identity.Of("strange", "npy"))}
	buf := make([]byte, 4096)
	n, errno := b.Listxattr(t.Context(), buf)
	if errno != 0 || !strings.HasSuffix(string(buf[:n]), "\x00"+xattr.Error+"\x00") {
		t.Fatalf("listed: %q, %v", buf[:n], errno)
	}
	n, errno = b.Getxattr(t.Context(), xattr.Error, buf)
	if errno != 0 || !strings.Contains(string(buf[:n]), "mystery") {
		t.Errorf("the reason is %q, %v", buf[:n], errno)
	}
}

func TestCopyXattr(t *testing.T) {
	buf := make([]byte, 4)
	for _, tc := range []struct {
		dest, value []byte
		n           uint32
		errno       string
	}{
		{nil, []byte("abc"), 3, ""}, {buf, []byte("abc"), 3, ""}, {buf, []byte("abcd"), 4, ""},
		{buf, []byte("abcde"), 5, "ERANGE"}, {buf, make([]byte, xattr.SizeMax+1), 0, "E2BIG"},
	} {
		if n, e := xattr.Copy(tc.dest, tc.value, xattr.SizeMax); n != tc.n || e != 0 &&
			errno.Name(e) != tc.errno {
			t.Errorf("%d bytes into %d: %d, %v", len(tc.value), len(tc.dest), n, e)
		}
	}
}

// TestFortranSizes: the header of an array in Fortran order may be shorter than that of one in C
// order. The size of the file is right before it is opened.
func TestFortranSizes(t *testing.T) {
	o, shorter := objects{"zarr.json": groupDoc}, 0
	for rank := 3; rank <= 24; rank++ {
		for _, middle := range []int64{1, 10, 100} {
			shape, order := []int64{2, middle}, []int{rank - 1, rank - 2}
			for axis := 2; axis < rank; axis++ {
				shape, order = append(shape, 1), append(order, rank-1-axis)
			}
			text := strings.Trim(strings.ReplaceAll(fmt.Sprint(shape), " ", ", "), "[]")
			codecs := fmt.Sprintf(`{"name": "transpose", "configuration": {"order": %s}}, %s`,
				strings.ReplaceAll(fmt.Sprint(order), " ", ", "), bytesCodec)
			doc := fmt.Sprintf(arrayDoc, text, "int16", text, codecs)
			o[fmt.Sprintf("f%d-%d/zarr.json", rank, middle)] = strings.Replace(doc,
				`"dimension_names": ["y", "x"],`, "", 1)
		}
	}
	f := testFilesystem(t, o)
	for key := range o {
		path, isArray := strings.CutSuffix(key, "/zarr.json")
		if !isArray {
			continue
		}
		n, err := f.h.Node(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		b := readAll(t, f, path, "npy")
		if size, err := npyView.Size(n); size != int64(len(b)) || err != nil ||
			!strings.Contains(string(b), "'fortran_order': True") {
			t.Errorf("%s: metadata says %d bytes (%v), found %d: %.60q", path, size, err, len(b), b)
		}
		inC, err := npy.Header(n.Meta.Type.Descr(), false, n.Meta.Shape)
		if err != nil {
			t.Fatal(err)
		}
		if int64(len(inC))+int64(len(readAll(t, f, path, "raw"))) > int64(len(b)) {
			shorter++
		}
	}
	if shorter == 0 {
		t.Error("no header is shorter: this tests nothing")
	}
}
