package fs

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/zarrfs/zarrfs/fs/document"
	"github.com/zarrfs/zarrfs/fs/identity"
	"github.com/zarrfs/zarrfs/fs/program"
	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/store/storetest"
)

// TestDocumentWhileRenameIsSlow: a document is stored where its array is. It does not matter how
// long a rename takes after the store has done it, until the mount knows.
func TestDocumentWhileRenameIsSlow(t *testing.T) {
	ctx, renamed, slow := t.Context(), atomic.Bool{}, make(chan struct{})
	f, _ := arrayToWrite(t, func(op storetest.Op) {
		switch {
		case op.Kind == storetest.OpRename:
			renamed.Store(true)
		case op.Kind == storetest.OpSyncDir && renamed.Swap(false):
			close(slow)
			time.Sleep(300 * time.Millisecond)
		}
	})
	d, _ := f.documents.Open(t.Context(), atA, &zarrcore.Node{})
	d.NoteExisted()
	if err := d.Text.Write([]byte(`{"attributes": {"units": "K"}}`), 0, false); err != nil {
		t.Fatal(err)
	}
	moved := make(chan error, 1)
	go func() { moved <- f.present.Move("a", "b", false, identity.Key{}) }()
	<-slow
	if err := d.Apply(ctx, program.Process{}, document.Opened); err != nil {
		t.Error(err)
	}
	if err := <-moved; err != nil {
		t.Fatal(err)
	}
	n, err := f.h.Node(ctx, "b")
	if err != nil || !n.Attributes.Get("units").Exists() {
		t.Errorf("after the rename: %v, attributes %s", err, n.Attributes.Raw())
	}
}
