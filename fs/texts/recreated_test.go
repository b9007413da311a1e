package texts_test

import (
	"context"
	"testing"

	"github.com/zarrfs/zarrfs/fs/known"
	"github.com/zarrfs/zarrfs/fs/pathstate"
	"github.com/zarrfs/zarrfs/fs/site"
	"github.com/zarrfs/zarrfs/fs/texts"
	"github.com/zarrfs/zarrfs/zarrcore/hierarchytest"
	"github.com/zarrfs/zarrfs/zarrcore/store/memstore"
)

// identified is a store whose directory has an identity. It calls asked right after a request for
// the identity.
type identified struct {
	*memstore.Driver
	identity string
	asked    func()
}

func (s *identified) Identity(context.Context, string) (string, error) {
	answer := s.identity
	if then := s.asked; then != nil {
		s.asked = nil
		then()
	}
	return answer, nil
}

// openDocument is a document that a program has open.
type openDocument struct {
	home  site.Home
	ended bool
}

func (d *openDocument) Moved(string)     {}
func (d *openDocument) Ended()           { d.ended = true }
func (d *openDocument) Home() *site.Home { return &d.home }

// TestOpenedWhileRecreated: two programs unpack one tree. While one of them opens the document of
// an array, the mount recreates the array for the other one. Both documents are of the new array.
func TestOpenedWhileRecreated(t *testing.T) {
	for _, tc := range []struct {
		name   string
		during func(s *identified, open, recreate func())
	}{
		{"before", func(s *identified, open, recreate func()) { recreate(); open() }},
		{"while it is asked which directory is there", func(
			s *identified, open, recreate func(),
		) {
			s.asked = recreate
			open()
		}},
		{"while it is recreated", func(s *identified, open, recreate func()) {
			s.asked = func() { s.asked = open } // the former directory was asked for
			recreate()
		}},
		{"after", func(s *identified, open, recreate func()) { open(); recreate() }},
	} {
		for _, other := range []bool{false, true} {
			s := &identified{Driver: memstore.New(), identity: "old"}
			h, _ := hierarchytest.Open(t, s, map[string]string{
				"zarr.json": hierarchytest.Group, "a/zarr.json": hierarchytest.Array})
			files := texts.New(texts.Mount{Sites: site.New(t.Context(), h)},
				new(known.States).Texts())
			var opened openDocument
			open := func() {
				files.InDirectory(pathstate.At("a"), func(p *texts.Part, identity string) {
					if p.Document.It == nil {
						opened.home.Note(identity)
						p.Document.It = &opened
					}
				})
			}
			if other { // the program that has it recreated has its document open
				open()
			}
			tc.during(s, open, func() {
				files.MoveIn("a", func() error {
					if then := s.asked; then != nil {
						s.asked = nil
						then()
					}
					s.identity = "new"
					return nil
				}, func(_, _ string) {})
			})
			if opened.ended || opened.home.IsOther("new") {
				t.Errorf("%s, open before %t: the document has ended: %t, or is of another "+
					"directory: %t", tc.name, other, opened.ended, opened.home.IsOther("new"))
			}
		}
	}
}
