package fs

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/zarrfs/zarrfs/fs/document"
	"github.com/zarrfs/zarrfs/fs/known"
	"github.com/zarrfs/zarrfs/fs/material"
	"github.com/zarrfs/zarrfs/fs/names"
	"github.com/zarrfs/zarrfs/fs/pathstate"
	"github.com/zarrfs/zarrfs/fs/program"
	"github.com/zarrfs/zarrfs/fs/transient"
	"github.com/zarrfs/zarrfs/fs/view"
	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/dtype"
	"github.com/zarrfs/zarrfs/zarrcore/store"
	"github.com/zarrfs/zarrfs/zarrcore/store/memstore"
)

// sampleParts fill each part of a state at a path, by the names of their fields. They return the
// path that the part has then, or "" if nothing is left of it.
var sampleParts = map[string]struct {
	fill func(f *filesystem, path string)
	at   func(s *known.State) string
}{
	"Writing": {
		func(f *filesystem, path string) { f.writings.Open(pathstate.At(path), nil, npyView) },
		func(s *known.State) string { return s.Writing.It.Path() },
	},
	"Texts": {
		func(f *filesystem, path string) {
			f.documents.Open(f.ctx, pathstate.At(path), &zarrcore.Node{})
			f.wholes.Open(pathstate.At(path), jsonlView)
		},
		func(s *known.State) string {
			if !s.Texts.HasWholes() {
				return ""
			}
			return document.Of(&s.Texts).Path()
		},
	},
	"Unlinked": {
		func(f *filesystem, path string) { f.unlinked.Add(path, rawView, 0) }, nil,
	},
	"Material": {fillMaterial, nil},
	"Transients": {
		func(f *filesystem, path string) {
			where := pathstate.At(path)
			f.transients.Announce(where, "x", func() bool { return true })
		},
		func(s *known.State) string { return s.Transients["x"].At().Dir },
	},
	"Refused": {
		func(f *filesystem, path string) {
			f.transients.KeepText(document.Spot(names.Join(path, "x")), []byte("{}"))
		},
		func(s *known.State) string { return s.Refused["x.json"].At().Dir },
	},
	"Trace": {
		func(f *filesystem, path string) {
			f.traces.NoteMade(path, npyView, program.Process{PID: 1})
		}, nil,
	},
	"Failure": {
		func(f *filesystem, path string) { f.Failures.Note(path, io.ErrUnexpectedEOF) }, nil,
	},
	"Node":  {fillStat, nil},
	"Taken": {fillStat, nil},
	"Reads": {
		func(f *filesystem, path string) {
			f.reads.Note(path, program.Process{PID: 1}, []byte(`{"shape": [1]}`))
		}, nil,
	},
	"Copied": {
		func(f *filesystem, path string) { f.copied.Note(path, program.Process{Mover: true}) }, nil,
	},
	"Views": {
		func(f *filesystem, path string) {
			f.compared.Made(path, npyView, program.Process{Mover: true})
		}, nil,
	},
}

// fillStat asks what there is to know of the array at path, which it makes.
func fillStat(f *filesystem, path string) {
	dir, _ := names.Split(path)
	err := errors.Join(f.h.CreateGroup(f.ctx, dir),
		f.h.CreateFromDocument(f.ctx, path, []byte(testObjects()["a/zarr.json"])))
	if err != nil && !errors.Is(err, os.ErrExist) { // for the other part of a state
		panic(err)
	}
	n, err := f.stat.Node(f.ctx, path)
	if err != nil {
		panic(err)
	}
	f.stat.Taken(f.ctx, n, time.Minute)
}

// fillMaterial tries to materialise a file of the array at path, which fails for want of a folder.
func fillMaterial(f *filesystem, path string) {
	o := material.Options{Most: 1 << 30, Limit: 1 << 30, Dir: "/nonexistent", Log: &f.Errors}
	files := material.New(f.ctx, o, f.h, f.states.Material())
	bytes, err := dtype.ParseDescr("'|u1'")
	if err != nil {
		panic(err)
	}
	arr, err := f.h.CreateArray(f.ctx, "large", []int64{1 << 20}, bytes, false)
	if err != nil {
		panic(err)
	}
	c, err := view.NewFlat(rawView, arr)
	if err != nil {
		panic(err)
	}
	defer c.Close()
	files.Start(path, rawView, c, arr.Fingerprint())
	files.Wait()
}

// forgottenByRename are the parts that are true of a path only, or of what is read there now.
var forgottenByRename = map[string]bool{"Material": true, "Trace": true, "Failure": true,
	"Node": true, "Taken": true, "Reads": true,
	"Copied": true, "Views": true}

// TestPartsFollowARename renames a group while all is known of an array in it: each part is at the
// new path, or nowhere. And nothing is left of what is removed.
func TestPartsFollowARename(t *testing.T) {
	f := testFilesystem(t, testObjects())
	fields := reflect.TypeFor[known.State]()
	for i := range fields.NumField() {
		name := fields.Field(i).Name
		if sample, ok := sampleParts[name]; ok {
			sample.fill(f, "g/a")
		} else {
			t.Errorf("there is no sample of State.%s", name)
		}
	}
	isEmpty := func(s *known.State, i int) bool {
		p := reflect.NewAt(fields.Field(i).Type,
			reflect.ValueOf(s).Elem().Field(i).Addr().UnsafePointer()).Interface().(pathstate.Part)
		return p.IsEmpty()
	}
	check := func(path string, rename bool) {
		found := false
		f.states.Look(path, func(s *known.State) {
			found = true
			for i := range fields.NumField() {
				name := fields.Field(i).Name
				if forgotten := rename && forgottenByRename[name]; isEmpty(s, i) != forgotten {
					t.Errorf("State.%s at %s: empty is %v, expected %v", name, path, isEmpty(s, i),
						forgotten)
				} else if at := sampleParts[name].at; !forgotten && at != nil && at(s) != path {
					t.Errorf("State.%s of %s is at %s", name, path, at(s))
				}
			}
		})
		if !found {
			t.Errorf("nothing is known of %s", path)
		}
	}
	check("g/a", false)
	f.states.Move("g", "h/new")
	check("h/new/a", true)
	if n := f.states.Len(); n != 1 {
		t.Errorf("%d paths have a state, expected 1", n)
	}
	f.states.End("h/new")
	for _, x := range f.transients.In("h/new/a") { // the bytes of such a file are nowhere else
		f.transients.Drop(x)
	}
	f.transients.ForgetText(transient.Spot{Dir: "h/new/a", Name: "x.json"})
	if n := f.states.Len(); n != 0 {
		t.Errorf("%d paths have a state after all was removed", n)
	}
}

// TestDocumentAfterARemovedOne: a program has the document of a removed array open for writing.
// When another array of that name has come, it reads what it read before.
func TestDocumentAfterARemovedOne(t *testing.T) {
	s := store.New(memstore.New(), "test")
	for key, data := range testObjects() {
		if err := s.Put(t.Context(), key, []byte(data)); err != nil {
			t.Fatal(err)
		}
	}
	dir := mounted(t, s)
	name := func(view string) string { return filepath.Join(dir, "ocean", "salt."+view) }
	opened, err := os.OpenFile(name("json"), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	read := func() string {
		p := make([]byte, 1<<16)
		n, err := opened.ReadAt(p, 0)
		if err != nil && err != io.EOF {
			t.Fatal(err)
		}
		return string(p[:n])
	}
	before := read()
	for _, view := range []string{"npy", "raw", "json"} {
		if err := os.Remove(name(view)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Stat(name("npy")); !os.IsNotExist(err) {
		t.Fatalf("the array is there still: %v", err)
	}
	text := fmt.Sprintf(arrayDoc, "5, 7", "int16", "5, 7", bytesCodec)
	if err := os.WriteFile(name("json"), []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	if after := read(); after != before {
		t.Errorf("the removed array's document reads as that of the new one:\n%s", after)
	}
	now, err := os.ReadFile(name("json"))
	if err != nil || string(now) == before {
		t.Errorf("the new array's document: %v\n%s", err, now)
	}
	if err := errors.Join(writeAt(opened, before), opened.Close()); !errors.Is(err,
		syscall.ESTALE) {
		t.Errorf("what is written to the removed array's document: %v, expected ESTALE", err)
	}
	if after, err := os.ReadFile(name("json")); err != nil || string(after) != string(now) {
		t.Errorf("it became that of the new array: %v\n%s", err, after)
	}
}

// TestRemovedArrayStaysRemoved: what is written to the document of a removed array does not create
// the array again.
func TestRemovedArrayStaysRemoved(t *testing.T) {
	s := store.New(memstore.New(), "test")
	for key, data := range testObjects() {
		if err := s.Put(t.Context(), key, []byte(data)); err != nil {
			t.Fatal(err)
		}
	}
	dir := filepath.Join(mounted(t, s), "ocean")
	opened, err := os.OpenFile(filepath.Join(dir, "salt.json"), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, view := range []string{"npy", "raw", "json"} {
		if err := os.Remove(filepath.Join(dir, "salt."+view)); err != nil {
			t.Fatal(err)
		}
	}
	text := fmt.Sprintf(arrayDoc, "5, 7", "int16", "5, 7", bytesCodec)
	if err := errors.Join(writeAt(opened, text), opened.Close()); !errors.Is(err, syscall.ESTALE) {
		t.Errorf("written and closed: %v, expected ESTALE", err)
	}
	if files, err := filepath.Glob(filepath.Join(dir, "salt.*")); err != nil || len(files) > 0 {
		t.Errorf("the array is there again: %v, %v", files, err)
	}
}

// writeAt writes a document over a shorter one of at most a page.
func writeAt(f *os.File, text string) error {
	_, err := f.WriteAt([]byte(text+strings.Repeat("\n", 4096)), 0)
	return err
}
