package fs

import (
	"errors"
	"fmt"
	"testing"

	"github.com/zarrfs/zarrfs/fs/alias"
	"github.com/zarrfs/zarrfs/fs/document"
	"github.com/zarrfs/zarrfs/fs/program"
	"github.com/zarrfs/zarrfs/fs/view"
	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/store/storetest"
)

// TestDocumentOfTwoCopiers lets two programs copy a document with other chunks. The first made the
// array, and waits for a writer. The second comes before the first tries again, and gets no error.
func TestDocumentOfTwoCopiers(t *testing.T) {
	ctx := t.Context()
	f, arr := arrayToWrite(t, during(func(storetest.Op) {}))
	first, second := program.Process{PID: 1, Mover: true}, program.Process{PID: 2, Mover: true}
	both := view.SetOf(view.Document) | view.SetOf(view.Headed())
	f.traces.Put("a", &alias.Trace{By: first, Own: both})
	d, _ := f.documents.Open(t.Context(), atA, &zarrcore.Node{})
	d.NoteExisted()
	other := []byte(fmt.Sprintf(arrayDoc, "4, 6", "int16", "4, 5", bytesCodec))
	if err := d.Text.Write(other, 0, false); err != nil {
		t.Fatal(err)
	}
	w := f.writings.Open(atA, arr, rawView)
	if err := d.Apply(ctx, first, document.Opened); !errors.Is(err, document.ErrWriters) {
		t.Fatalf("beside a writer: %v", err)
	}
	w.Close(rawView)
	if err := d.Apply(ctx, second, document.Opened); err != nil {
		t.Fatal(err)
	}
	if arr, err := f.h.OpenArray(ctx, "a"); err != nil || arr.Chunk()[1] != 5 {
		t.Errorf("%v, expected the chunks of the document", err)
	}
}
