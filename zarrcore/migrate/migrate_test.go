package migrate_test

import (
	"context"
	"errors"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/hierarchytest"
	"github.com/zarrfs/zarrfs/zarrcore/migrate"
	"github.com/zarrfs/zarrfs/zarrcore/store"
	"github.com/zarrfs/zarrfs/zarrcore/store/memstore"
)

// hierarchyV2 is a store of format 2: its objects by key. Chunks are not compressed, so that they
// are text.
func hierarchyV2() map[string]string {
	const zarray = `{"zarr_format": 2, "shape": [2, 3], "chunks": [2, 2], "dtype": "|u1", ` +
		`"fill_value": 46, "order": "C", "compressor": null, "filters": null}`
	return map[string]string{
		".zgroup": `{"zarr_format": 2}`, ".zattrs": `{"title": "é", "precise": 1.50}`,
		".zmetadata": `{"zarr_consolidated_format": 1, "metadata": {}}`,
		"a/.zarray":  zarray, "a/.zattrs": `{"_ARRAY_DIMENSIONS": ["y", "x"]}`, "a/0.0": "abde",
		"g/.zgroup": `{"zarr_format": 2}`,
		// nested, as old writers did without saying so
		"g/b/.zarray": zarray, "g/b/0/0": "abde", "g/b/0/1": "c f ",
		"g/f/.zarray": strings.Replace(zarray, `"C"`, `"F"`, 1), "g/f/0.0": "adbe",
		"folder/file": "no document",
		"new/zarr.json": `{"zarr_format": 3, "node_type": "array", "shape": [1],
			"data_type": "uint8", "fill_value": 0, "codecs": ["bytes"],
			"chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [1]}},
			"chunk_key_encoding": "default"}`,
	}
}

// wantV2 is what the arrays of hierarchyV2 hold.
var wantV2 = map[string]string{"a": "ab.de.", "g/b": "abcdef", "g/f": "ab.de."}

// open puts objects into a new store.
func open(t *testing.T, objects map[string]string) (*limited, *store.Store, *zarrcore.Hierarchy) {
	t.Helper()
	d := &limited{Driver: memstore.New(), left: 1 << 30}
	h, st := hierarchytest.Open(t, d, objects)
	return d, st, h
}

// limited is a store that fails after so many changes, as if the program had ended there.
type limited struct {
	*memstore.Driver
	left int
}

var errEnded = errors.New("the program ended")

func (d *limited) end() error {
	if d.left--; d.left < 0 {
		return errEnded
	}
	return nil
}

func (d *limited) Stage(
	ctx context.Context, key string, write func(store.Parts) error,
) (store.StagedObject, error) {
	if err := d.end(); err != nil {
		return nil, err
	}
	return d.Driver.Stage(ctx, key, write)
}

func (d *limited) Delete(ctx context.Context, key string, cond store.If) error {
	if err := d.end(); err != nil {
		return err
	}
	return d.Driver.Delete(ctx, key, cond)
}

// objects returns all that is stored below dir.
func objects(t *testing.T, st *store.Store, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := st.List(t.Context(), dir, func(e store.Entry) error {
		key := strings.TrimPrefix(dir+"/"+e.Name, "/")
		if e.Dir {
			maps.Copy(all, objects(t, st, key))
			return nil
		}
		data, _, err := st.ReadAll(t.Context(), key, 1<<20)
		all[key] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func apply(t *testing.T, st *store.Store, h *zarrcore.Hierarchy, path string, to int) {
	t.Helper()
	p, err := migrate.Make(t.Context(), h, st, path, to)
	if err == nil {
		err = p.Apply(t.Context(), st)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func undo(t *testing.T, st *store.Store, h *zarrcore.Hierarchy, path string) {
	t.Helper()
	r, err := migrate.Reverse(t.Context(), h, st, path)
	if err == nil {
		err = r.Apply(t.Context(), st)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func checkArrays(t *testing.T, h *zarrcore.Hierarchy, want map[string]string, format int) {
	t.Helper()
	for path, bytes := range want {
		a, err := h.OpenArray(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		p := make([]byte, a.Size())
		if _, err := a.ReadAt(t.Context(), p, 0); err != nil && err != io.EOF {
			t.Fatal(err)
		}
		if string(p) != bytes || a.Meta().Format != format {
			t.Errorf("%q is of format %d and reads as %q, want format %d and %q",
				path, a.Meta().Format, p, format, bytes)
		}
	}
}

// TestMigrate goes from format 2 to 3 and back.
func TestMigrate(t *testing.T) {
	before := hierarchyV2()
	_, st, h := open(t, before)
	p, err := migrate.Make(t.Context(), h, st, "", 3)
	if err != nil {
		t.Fatal(err)
	}
	if p.From != 2 || p.To != 3 || p.Arrays != 3 || p.Groups != 2 {
		t.Errorf("plan: %+v", p)
	}
	if got := objects(t, st, ""); !maps.Equal(got, before) {
		t.Error("a plan has changed the store")
	}
	if err := p.Apply(t.Context(), st); err != nil {
		t.Fatal(err)
	}
	got := slices.Sorted(maps.Keys(objects(t, st, "")))
	want := ".zarrfs-migration.json a/0.0 a/zarr.json folder/file g/b/0/0 g/b/0/1 g/b/zarr.json " +
		"g/f/0.0 g/f/zarr.json g/zarr.json new/zarr.json zarr.json"
	if strings.Join(got, " ") != want {
		t.Errorf("the store holds %s\nwant %s", got, want)
	}
	checkArrays(t, h, wantV2, 3)
	n, err := h.Node(t.Context(), "")
	if err != nil || n.Format != 3 || n.Attributes.Get("title").Text() != "é" ||
		string(n.Attributes.Get("precise").Raw()) != "1.50" {
		t.Errorf("root: %s, %v", n.Document, err)
	}
	if a, err := h.OpenArray(t.Context(), "a"); err != nil ||
		strings.Join(a.Meta().DimensionNames, " ") != "y x" {
		t.Errorf("names of the axes: %v", err)
	}
	if _, err := migrate.Make(t.Context(), h, st, "", 3); !errors.Is(err, migrate.ErrNothing) {
		t.Errorf("again: %v", err)
	}
	undo(t, st, h, "")
	if got := objects(t, st, ""); !maps.Equal(got, before) {
		t.Errorf("undone, the store holds %v", slices.Sorted(maps.Keys(got)))
	}
	checkArrays(t, h, wantV2, 2)
	if _, err := migrate.Reverse(t.Context(), h, st, ""); !errors.Is(err, migrate.ErrNothing) {
		t.Errorf("undone twice: %v", err)
	}
}

// TestMigrateV1 goes from format 1 to 2, on to 3, and back in two steps.
func TestMigrateV1(t *testing.T) {
	before := map[string]string{
		"meta": `{"zarr_format": 1, "shape": [3], "chunks": [2], "dtype": "|u1", "fill_value": ` +
			`46, "order": "C", "compression": null, "compression_opts": null}`,
		"attrs": `{ "units":"m" }`, "0": "ab",
	}
	_, st, h := open(t, before)
	want := map[string]string{"": "ab."}
	apply(t, st, h, "", 2)
	checkArrays(t, h, want, 2)
	middle := objects(t, st, "")
	if middle[".zattrs"] != before["attrs"] || len(middle) != 4 {
		t.Errorf("format 2: %v", middle)
	}
	apply(t, st, h, "", 3)
	checkArrays(t, h, want, 3)
	undo(t, st, h, "")
	if got := objects(t, st, ""); !maps.Equal(got, middle) {
		t.Errorf("back in format 2: %v", got)
	}
	undo(t, st, h, "")
	if got := objects(t, st, ""); !maps.Equal(got, before) {
		t.Errorf("back in format 1: %v", got)
	}
	apply(t, st, h, "", 3)
	checkArrays(t, h, want, 3)
	undo(t, st, h, "")
	if got := objects(t, st, ""); !maps.Equal(got, before) {
		t.Errorf("back from 3 to 1: %v", got)
	}
}

// TestInterrupted ends the program after each change that a migration makes. Then the migration can
// be completed, and it can be taken back.
func TestInterrupted(t *testing.T) {
	before := hierarchyV2()
	ended := true
	for changes := 0; ended; changes++ {
		for _, resume := range []bool{true, false} {
			d, st, h := open(t, before)
			p, err := migrate.Make(t.Context(), h, st, "", 3)
			if err != nil {
				t.Fatal(err)
			}
			d.left = changes
			err = p.Apply(t.Context(), st)
			if ended = errors.Is(err, errEnded); err != nil && !ended {
				t.Fatal(err)
			}
			d.left = 1 << 30
			if resume && ended {
				apply(t, st, h, "", 3)
				checkArrays(t, h, wantV2, 3)
			}
			if changes > 0 { // otherwise there is no journal
				undo(t, st, h, "")
			} else if resume {
				undo(t, st, h, "")
			}
			if got := objects(t, st, ""); !maps.Equal(got, before) {
				t.Errorf("ended after %d changes, resumed %v: the store holds %v",
					changes, resume, slices.Sorted(maps.Keys(got)))
			}
		}
	}
}

// TestUndoInterrupted ends the program after each change that undoing makes. Then that can be done
// again.
func TestUndoInterrupted(t *testing.T) {
	before := hierarchyV2()
	ended := true
	for changes := 0; ended; changes++ {
		d, st, h := open(t, before)
		apply(t, st, h, "", 3)
		r, err := migrate.Reverse(t.Context(), h, st, "")
		if err != nil {
			t.Fatal(err)
		}
		d.left = changes
		err = r.Apply(t.Context(), st)
		if ended = errors.Is(err, errEnded); err != nil && !ended {
			t.Fatal(err)
		}
		d.left = 1 << 30
		if ended {
			undo(t, st, h, "")
		}
		if got := objects(t, st, ""); !maps.Equal(got, before) {
			t.Errorf("ended after %d changes: the store holds %v",
				changes, slices.Sorted(maps.Keys(got)))
		}
	}
}

// TestRefused holds that what stands against a migration is named, all of it, and that nothing is
// changed then.
func TestRefused(t *testing.T) {
	zarray := hierarchyV2()["a/.zarray"]
	change := func(old, new string) string { return strings.Replace(zarray, old, new, 1) }
	for _, c := range []struct {
		to      int
		objects map[string]string // beside those of hierarchyV2
		want    []string
	}{
		{3, map[string]string{
			"x/.zarray": change(`"filters": null`, `"filters": [{"id": "packbits"}]`),
			"y/.zarray": strings.Replace(change(`"|u1"`, `[["f", "|u1", [2]]]`), "46", "0", 1),
			"z/.zarray": change(`"compressor": null`, `"compressor": {"id": "mystery"}`),
			"w/.zarray": `{"zarr_format": 2}`,
			"v/.zarray": change(`"filters": null`,
				`"filters": [{"id": "shuffle"}, {"id": "delta", "dtype": "|u1"}]`),
		}, []string{`"x": `, "numcodecs.packbits", `"y": `, "format 3 has no", `"z": `, "mystery",
			`"w": `, "shape", `"v": `, "numcodecs.delta after numcodecs.shuffle"}},
		{2, nil, []string{`"new": it has format 3`}},
		{4, nil, []string{"format 4: expected 2 or 3"}},
		{3, map[string]string{".zarrfs-migration.json": `{"zarrfs_migration": 2}`},
			[]string{"journal of version 2, expected 1"}},
		{3, map[string]string{".zarrfs-migration.json": `{"zarrfs_migration": 1, "steps": ` +
			`[{"to": 2}]}`}, []string{"a migration to format 2 was interrupted"}},
		{3, map[string]string{".zarrfs-migration.json": `{"zarrfs_migration": 1, "steps": ` +
			`[{"changes": [{"key": "a/0.0", "old": "x"}]}]}`},
			[]string{`expected keys of documents, found "a/0.0"`}},
		{3, map[string]string{".zarrfs-migration.json": `{"zarrfs_migration": 1, "steps": ` +
			`[{"changes": [{"key": "../zarr.json", "old": "x"}]}]}`},
			[]string{`found "../zarr.json"`}},
	} {
		before := hierarchyV2()
		maps.Copy(before, c.objects)
		_, st, h := open(t, before)
		_, err := migrate.Make(t.Context(), h, st, "", c.to)
		if err == nil {
			t.Fatalf("%s: no error", c.want)
		}
		for _, want := range c.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%v\ndoes not say %s", err, want)
			}
		}
		if got := objects(t, st, ""); !maps.Equal(got, before) {
			t.Errorf("%s: the store was changed", c.want)
		}
	}
}

// TestUndoRefused holds that nothing is lost that was written since the migration.
func TestUndoRefused(t *testing.T) {
	for _, c := range []struct{ key, data, want string }{
		{"a/zarr.json", `{"zarr_format": 3, "node_type": "group"}`,
			"a/zarr.json: document was changed since"},
		{"g/new/zarr.json", `{"zarr_format": 3, "node_type": "group"}`,
			`"g/new": made after the migration`},
		{"g/.zgroup", `{}`, "g/.zgroup: document was changed since"},
	} {
		_, st, h := open(t, hierarchyV2())
		apply(t, st, h, "", 3)
		if err := st.Put(t.Context(), c.key, []byte(c.data)); err != nil {
			t.Fatal(err)
		}
		before := objects(t, st, "")
		_, err := migrate.Reverse(t.Context(), h, st, "")
		if !errors.Is(err, migrate.ErrChanged) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.key, err, c.want)
		}
		if got := objects(t, st, ""); !maps.Equal(got, before) {
			t.Errorf("%s: the store was changed", c.key)
		}
	}
	_, st, h := open(t, hierarchyV2())
	p, err := migrate.Make(t.Context(), h, st, "", 3)
	if err == nil {
		err = st.Put(t.Context(), "a/.zattrs", []byte(`{}`))
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Apply(t.Context(), st); !errors.Is(err, migrate.ErrChanged) {
		t.Errorf("a document that was changed between plan and migration: %v", err)
	}
}

// TestSubtree migrates one group, whose journal is its own.
func TestSubtree(t *testing.T) {
	before := hierarchyV2()
	_, st, h := open(t, before)
	apply(t, st, h, "g", 3)
	checkArrays(t, h, map[string]string{"g/b": "abcdef", "g/f": "ab.de."}, 3)
	checkArrays(t, h, map[string]string{"a": "ab.de."}, 2)
	undo(t, st, h, "g")
	if got := objects(t, st, ""); !maps.Equal(got, before) {
		t.Errorf("undone, the store holds %v", slices.Sorted(maps.Keys(got)))
	}
}

// TestUndoAfterGroupMoved holds that a group that was moved since can be taken back all the same.
func TestUndoAfterGroupMoved(t *testing.T) {
	before := hierarchyV2()
	delete(before, "g/.zgroup")
	// of the later format already
	before["g/zarr.json"] = `{"zarr_format": 3, "node_type": "group"}`
	_, st, h := open(t, before)
	apply(t, st, h, "g", 3)
	if err := st.Dirs().Rename(t.Context(), "g", "moved"); err != nil {
		t.Fatal(err)
	}
	undo(t, st, h, "moved")
	checkArrays(t, h, map[string]string{"moved/b": "abcdef", "moved/f": "ab.de."}, 2)
}
