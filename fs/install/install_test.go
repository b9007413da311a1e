package install

import (
	"bytes"
	"errors"
	iofs "io/fs"
	"testing"

	"github.com/zarrfs/zarrfs/fs/adopt"
	"github.com/zarrfs/zarrfs/fs/alias"
	"github.com/zarrfs/zarrfs/fs/compare"
	"github.com/zarrfs/zarrfs/fs/creation"
	"github.com/zarrfs/zarrfs/fs/document"
	"github.com/zarrfs/zarrfs/fs/errno"
	"github.com/zarrfs/zarrfs/fs/identity"
	"github.com/zarrfs/zarrfs/fs/known"
	"github.com/zarrfs/zarrfs/fs/material"
	"github.com/zarrfs/zarrfs/fs/pathstate"
	"github.com/zarrfs/zarrfs/fs/site"
	"github.com/zarrfs/zarrfs/fs/transient"
	"github.com/zarrfs/zarrfs/fs/view"
	"github.com/zarrfs/zarrfs/zarrcore/hierarchytest"
	"github.com/zarrfs/zarrfs/zarrcore/store/memstore"
)

// npyFile returns a .npy file of 2 by 3 bytes, of which so many have come.
func npyFile(come int) []byte {
	const dict = "{'descr': '|u1', 'fortran_order': False, 'shape': (2, 3), }"
	head := append([]byte("\x93NUMPY\x01\x00\x76\x00"), dict...)
	for len(head) < 127 {
		head = append(head, ' ')
	}
	return append(append(head, '\n'), []byte("abcdef")[:come]...)
}

// TestNewArray installs files where there is no array. A .npy makes one with its bytes. If it has a
// part of a row, or a document has no text, nothing is made.
func TestNewArray(t *testing.T) {
	for _, tc := range []struct {
		name string
		as   view.View
		text []byte
		want string // the bytes of the array; "": no array
	}{
		{"all", view.Headed(), npyFile(6), "abcdef"},
		{"half a row", view.Headed(), npyFile(4), ""},
		{"no header", view.Headed(), []byte("not a .npy"), ""},
		{"no text", view.Document, nil, ""},
	} {
		f := filesOf(t)
		x, err := f.Transients.Make(pathstate.At(""), "a.tmp")
		if err == nil {
			_, err = x.Bytes.WriteAt(tc.text, 0)
		}
		if err != nil {
			t.Fatal(err)
		}
		err = f.Install(x, As{Path: "a", View: tc.as, Missing: true})
		if (err == nil) != (tc.want != "") {
			t.Errorf("%s: %v", tc.name, err)
		}
		_, missing := f.H.Node(t.Context(), "a")
		if errors.Is(missing, iofs.ErrNotExist) != (tc.want == "") {
			t.Errorf("%s: the array: %v", tc.name, missing)
		}
		if tc.want == "" {
			continue
		}
		arr, err := f.H.OpenArray(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		got := make([]byte, len(tc.want))
		_, err = arr.ReadAt(t.Context(), got, 0)
		if err != nil || !bytes.Equal(got, []byte(tc.want)) {
			t.Errorf("%s: the array has %q, %v", tc.name, got, err)
		}
	}
}

// filesOf returns the files of a mount of a store without arrays.
func filesOf(t *testing.T) *Files {
	t.Helper()
	ctx := t.Context()
	root := map[string]string{"zarr.json": hierarchytest.Group}
	h, _ := hierarchytest.Open(t, memstore.New(), root)
	states := new(known.States)
	m := Mount{Ctx: ctx, H: h, Sites: site.New(ctx, h), Traces: alias.NewTraces(states.Traces()),
		Documents: document.New(document.Mount{H: h}, states.Texts()),
		Material:  material.New(ctx, material.Options{}, h, states.Material()),
		Adopting:  adopt.New(adopt.Mount{Ctx: ctx, H: h, Errors: &errno.Log{}})}
	m.Compared = compare.New(ctx, h, m.Traces, states.Views())
	m.Creation = creation.New(creation.Mount{Ctx: ctx, H: h, Traces: m.Traces})
	o := transient.Options{Scratch: t.TempDir(), Ended: func(identity.Key) {}}
	m.Transients = transient.New(ctx, o, states.Transients())
	return New(m)
}
