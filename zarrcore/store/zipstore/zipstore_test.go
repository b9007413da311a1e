package zipstore_test

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	iofs "io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/zarrfs/zarrfs/zarrcore/store"
	"github.com/zarrfs/zarrfs/zarrcore/store/dirstore"
	"github.com/zarrfs/zarrfs/zarrcore/store/memstore"
	"github.com/zarrfs/zarrfs/zarrcore/store/storetest"
	"github.com/zarrfs/zarrfs/zarrcore/store/zipstore"
)

// pack returns a zip file of objects, sorted by name, as the standard library writes it.
func pack(t testing.TB, method uint16, objects map[string][]byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, name := range slices.Sorted(maps.Keys(objects)) {
		member, err := w.CreateHeader(&zip.FileHeader{Name: name, Method: method})
		if err == nil {
			_, err = member.Write(objects[name])
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// write writes a zip file into a fresh folder.
func write(t testing.TB, data []byte) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "s.zip")
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// open opens a zip file.
func open(t testing.TB, path string, o zipstore.Options) (*zipstore.Driver, error) {
	t.Helper()
	folder, err := dirstore.Open(filepath.Dir(path), nil)
	if err != nil {
		t.Fatal(err)
	}
	base := store.New(folder, filepath.Dir(path))
	d, err := zipstore.Open(t.Context(), base, filepath.Base(path), o)
	if err != nil {
		base.Close()
		return nil, err
	}
	t.Cleanup(func() { d.Close() })
	return d, nil
}

// opened opens a zip file of data, whose root may be a folder in it.
func opened(t testing.TB, data []byte) *zipstore.Driver {
	t.Helper()
	d, err := open(t, write(t, data), zipstore.Options{TopFolder: true})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestConformance(t *testing.T) {
	for name, method := range map[string]uint16{"stored": zip.Store, "deflated": zip.Deflate} {
		t.Run(name, func(t *testing.T) {
			storetest.Run(t, func(t *testing.T, objects map[string][]byte) store.Driver {
				d, err := open(t, write(t, pack(t, method, objects)), zipstore.Options{})
				if err != nil {
					t.Fatal(err)
				}
				return d
			})
		})
	}
}

// keys returns the objects of a store with their contents.
func keys(t *testing.T, d store.Driver) map[string]string {
	t.Helper()
	s, found := store.New(d, ""), map[string]string{}
	var walk func(dir string)
	walk = func(dir string) {
		err := s.List(t.Context(), dir, func(e store.Entry) error {
			key := store.Join(dir, e.Name)
			if e.Dir {
				walk(key)
				return nil
			}
			data, _, err := s.ReadAll(t.Context(), key, 1<<30)
			found[key] = string(data)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	walk("")
	return found
}

// members writes members in their order, with headers that a test chooses.
func members(t *testing.T, comment string, headers ...zip.FileHeader) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for i, h := range headers {
		m, err := w.CreateHeader(&h)
		if err == nil && !strings.HasSuffix(h.Name, "/") {
			_, err = m.Write([]byte{'0' + byte(i)})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.SetComment(comment), w.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestMembers: which objects a zip file holds.
func TestMembers(t *testing.T) {
	named := func(names ...string) (headers []zip.FileHeader) {
		for _, name := range names {
			headers = append(headers, zip.FileHeader{Name: name})
		}
		return headers
	}
	for _, test := range []struct {
		name string
		data []byte
		want string // as fmt prints it
	}{
		{"none", members(t, ""), "map[]"},
		{"plain", members(t, "", named("zarr.json", "a/zarr.json", "a/c/0")...),
			"map[a/c/0:2 a/zarr.json:1 zarr.json:0]"},
		{"the last of a name counts", members(t, "", named("zarr.json", "c/0", "zarr.json")...),
			"map[c/0:1 zarr.json:2]"},
		{"in a folder", members(t, "", named("s.zarr/", "s.zarr/.zgroup", "s.zarr/a/.zarray")...),
			"map[.zgroup:1 a/.zarray:2]"},
		{"in folders", members(t, "", named("./home/s/.zgroup", "./home/s/a/.zarray")...),
			"map[.zgroup:0 a/.zarray:1]"},
		{"packed by a Mac",
			members(t, "", named("s/.zgroup", "__MACOSX/s/._.zgroup", ".DS_Store")...),
			"map[.zgroup:0]"},
		{"names that are not keys", members(t, "", named("x", "a//b", "c/..")...), "map[x:0]"},
		{"names from another folder", members(t, "", named("../s/.zgroup", "/s/a/x")...),
			"map[.zgroup:0 a/x:1]"},
		{"names sorted between a file and the content of a folder of that name",
			members(t, "", named("zarr.json", "a", "a-b", "a/c", "a0")...),
			"map[a:1 a-b:2 a0:4 zarr.json:0]"},
		{"with a comment", members(t, "PK\x05\x06"+strings.Repeat("x", 30000), named("x")...),
			"map[x:0]"},
		{"behind a program", append([]byte("#!/bin/sh\nexit\n"), members(t, "", named("x")...)...),
			"map[x:0]"},
		{"code page 437", members(t, "", zip.FileHeader{Name: "gr\x81n/x", NonUTF8: true}),
			"map[grün/x:0]"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := fmt.Sprint(keys(t, opened(t, test.data))); got != test.want {
				t.Errorf("%s is expected, found %s", test.want, got)
			}
		})
	}
}

// TestEmptyFolder: a folder that a zip file names is there, although nothing is in it.
func TestEmptyFolder(t *testing.T) {
	d := opened(t, members(t, "", zip.FileHeader{Name: "x"}, zip.FileHeader{Name: "g/h/"}))
	info, err := d.Stat(t.Context(), "g/h")
	if err != nil || !info.Dir {
		t.Errorf("Stat: %v, %v", info, err)
	}
	fail := func(e store.Entry) error { return errors.New(e.Name) }
	if err := d.List(t.Context(), "g/h", fail); err != nil {
		t.Error(err)
	}
}

// TestFolderWithoutSlash: an empty member that has the name of a folder hides nothing in it.
func TestFolderWithoutSlash(t *testing.T) {
	objects := map[string][]byte{"a": nil, "a/zarr.json": []byte("{}")}
	got := fmt.Sprint(keys(t, opened(t, pack(t, zip.Store, objects))))
	if got != "map[zarr.json:{}]" {
		t.Error(got)
	}
}

// TestBelowLinks: what lies behind a symbolic link is an error, and not missing.
func TestBelowLinks(t *testing.T) {
	link := zip.FileHeader{Name: "a/c"}
	link.SetMode(0o777 | iofs.ModeSymlink)
	d := opened(t, members(t, "", zip.FileHeader{Name: "zarr.json"}, link))
	for _, key := range []string{"a/c", "a/c/0"} {
		_, statErr := d.Stat(t.Context(), key)
		_, err := d.Open(t.Context(), key)
		for _, err := range []error{statErr, err} {
			if !errors.Is(err, zipstore.ErrFormat) || errors.Is(err, iofs.ErrNotExist) {
				t.Errorf("%s: %v", key, err)
			}
		}
	}
}

// TestPartsOfMembers reads pieces of large and small members in any order.
func TestPartsOfMembers(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	want := map[string][]byte{"small": make([]byte, 5_000), "large": make([]byte, 300_000)}
	for _, data := range want {
		for i := range data {
			data[i] = byte(rng.IntN(50))
		}
	}
	for _, method := range []uint16{zip.Store, zip.Deflate} {
		d := opened(t, pack(t, method, want))
		for key, data := range want {
			o, err := d.Open(t.Context(), key)
			if err != nil {
				t.Fatal(err)
			}
			for range 100 {
				off := rng.IntN(len(data))
				p := make([]byte, 1+rng.IntN(len(data)-off))
				_, err := o.ReadAt(p, int64(off))
				if err != nil || !bytes.Equal(p, data[off:off+len(p)]) {
					t.Fatalf("method %d, %s, %d bytes at %d: %v", method, key, len(p), off, err)
				}
			}
			o.Close()
		}
	}
}

// TestRefusals: what cannot be read is refused in words, when it is opened or when it is read.
func TestRefusals(t *testing.T) {
	chunk := bytes.Repeat([]byte("chunk"), 100)
	whole := pack(t, zip.Deflate, map[string][]byte{"zarr.json": []byte("{}"), "c/0": chunk})
	changed := func(at int, b ...byte) []byte {
		c := bytes.Clone(whole)
		if at < 0 {
			at += len(c)
		}
		copy(c[at:], b)
		return c
	}
	central := bytes.Index(whole, []byte("PK\x01\x02")) // of c/0, the first by name
	for _, test := range []struct {
		name string
		data []byte
		want string
	}{
		{"empty", nil, "not complete"},
		{"no zip", []byte(strings.Repeat("no zip file", 1000)), "or not a zip file"},
		{"truncated", whole[:len(whole)-10], "not complete"},
		{"its beginning is missing", whole[50:], "something is cut out"},
		{"a part", changed(-18, 3), "one of 4 parts; join them"},
		{"encrypted", changed(central+8, 1), `"c/0" is encrypted`},
		{"compressed otherwise", changed(central+10, 93), "compressed by Zstandard"},
		{"a corrupt directory", changed(central+46, 'X'), ""},
		{"a signature", changed(central, 'X'), "signature 02014b50 is expected"},
		{"a count", changed(-12, 1), "1 members are expected in its directory, found 2"},
		{"a large count", changed(-12, 9), "9 members do not fit into a directory of 104 bytes"},
		{"a checksum", changed(central+16, 1, 2, 3, 4), "checksum 04030201 is expected, found"},
		{"corrupt data", changed(40, 0xff, 0xff, 0xff), "is corrupt"},
		{"too long", changed(central+24, 1, 0, 0, 1), "cannot be deflated to"},
		{"one byte too many", changed(central+24, 245), "501 bytes are expected"},
		{"a header elsewhere", changed(central+42, 9), "no header of the member is at byte 9"},
		{"a header beyond", changed(central+42, 0, 0, 1), "lies beyond the directory"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if test.name == "one byte too many" {
				test.data[central+25] = 1
			}
			d, err := open(t, write(t, test.data), zipstore.Options{})
			if err == nil {
				_, _, err = store.New(d, "").ReadAll(t.Context(), "c/0", 1<<30)
			}
			if test.want == "" {
				if !errors.Is(err, iofs.ErrNotExist) { // the object has another name
					t.Error(err)
				}
				return
			}
			if !errors.Is(err, zipstore.ErrFormat) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%q is expected, found %v", test.want, err)
			}
			if errors.Is(err, iofs.ErrNotExist) {
				t.Errorf("it reads as missing: %v", err)
			}
		})
	}
}

// TestReplaced: a zip file that is replaced is read again, and objects of the old one stay whole or
// fail.
func TestReplaced(t *testing.T) {
	path := write(t, pack(t, zip.Store, map[string][]byte{"a": []byte("old"), "b": []byte("same")}))
	d, err := open(t, path, zipstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	before, err := d.Open(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	defer before.Close()
	other := write(t, pack(t, zip.Store, map[string][]byte{"a": []byte("newer")}))
	if err := os.Rename(other, path); err != nil {
		t.Fatal(err)
	}
	if got := keys(t, d); !maps.Equal(got, map[string]string{"a": "newer"}) {
		t.Errorf("the new zip file has %v", got)
	}
	p := make([]byte, 3)
	info, err := d.Stat(t.Context(), "a")
	old := before.Info()
	if err != nil || info.Version == old.Version || info.ModTime.Before(old.ModTime) {
		t.Errorf("the new object is %v, %v; the old one %v", info, err, old)
	}
	if _, err := before.ReadAt(p, 0); err != nil || string(p) != "old" {
		t.Errorf("the whole old object: %q, %v", p, err)
	}
	if _, err := before.ReadAt(p[:2], 1); !errors.Is(err, zipstore.ErrChanged) {
		t.Errorf("part of the old object: %v", err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	_, err = d.Open(t.Context(), "a")
	if !errors.Is(err, zipstore.ErrFormat) || errors.Is(err, iofs.ErrNotExist) {
		t.Errorf("after its removal: %v", err)
	}
}

// TestBeyond4GiB reads members whose offsets stand in their ZIP64 fields.
func TestBeyond4GiB(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.zip")
	f, err := os.Create(path)
	if err == nil {
		_, err = f.Seek(5<<30, io.SeekStart)
	}
	if err != nil {
		t.Fatal(err)
	}
	w := zip.NewWriter(f)
	w.SetOffset(5 << 30)
	for _, name := range []string{"zarr.json", "c/0"} {
		m, err := w.Create(name)
		if err == nil {
			_, err = io.WriteString(m, name)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
	d, err := open(t, path, zipstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(keys(t, d)); got != "map[c/0:c/0 zarr.json:zarr.json]" {
		t.Error(got)
	}
}

// TestManyMembers: 70,000 members are more than a zip file without ZIP64 can count.
func TestManyMembers(t *testing.T) {
	objects := map[string][]byte{}
	for i := range 70_000 {
		objects[fmt.Sprintf("c/%d/%d", i%26, i)] = []byte{byte(i)}
	}
	d := opened(t, pack(t, zip.Store, objects))
	if got := keys(t, d); len(got) != len(objects) {
		t.Errorf("%d objects are expected, found %d", len(objects), len(got))
	}
}

// FuzzOpen: no file makes a driver panic or take much memory. Of a member that the standard library
// reads, zipstore reads the same bytes or says why not.
func FuzzOpen(f *testing.F) {
	doc, chunk := []byte("{}"), bytes.Repeat([]byte("chunk"), 100)
	f.Add(pack(f, zip.Deflate, map[string][]byte{"zarr.json": doc, "c/0": chunk}))
	f.Add(pack(f, zip.Store, map[string][]byte{"s/zarr.json": doc, "s/c/0": chunk, "s/x/": nil}))
	f.Fuzz(func(t *testing.T, data []byte) {
		base := store.New(memstore.New(), "memory")
		if err := base.Put(t.Context(), "s.zip", data); err != nil {
			t.Fatal(err)
		}
		d, err := zipstore.Open(t.Context(), base, "s.zip", zipstore.Options{})
		if err != nil {
			return
		}
		defer d.Close()
		found := map[string][]byte{}
		s := store.New(d, "")
		walk(t.Context(), s, "", func(key string) {
			if data, _, err := s.ReadAll(t.Context(), key, 1<<20); err == nil {
				found[key] = data
			}
		})
		r, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			return
		}
		last := map[string]*zip.File{}
		for _, file := range r.File {
			last[file.Name] = file
		}
		for name, file := range last {
			ours, ok := found[name]
			rc, err := file.Open()
			if !ok || err != nil {
				continue
			}
			theirs, err := io.ReadAll(io.LimitReader(rc, 1<<20))
			if err == nil && !bytes.Equal(ours, theirs) {
				t.Errorf("%q: %q is expected, found %q", name, theirs, ours)
			}
		}
	})
}

// walk calls visit for each object below dir.
func walk(ctx context.Context, s *store.Store, dir string, visit func(key string)) {
	s.List(ctx, dir, func(e store.Entry) error {
		if key := store.Join(dir, e.Name); e.Dir {
			walk(ctx, s, key, visit)
		} else {
			visit(key)
		}
		return nil
	})
}
