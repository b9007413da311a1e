package transient

import (
	"bytes"
	"testing"

	"github.com/zarrfs/zarrfs/fs/identity"
	"github.com/zarrfs/zarrfs/fs/pathstate"
)

// TestEachPiece copies a file of more than two pieces from its third byte on.
func TestEachPiece(t *testing.T) {
	x, err := newFiles(t).Make(pathstate.At("g"), "a.raw")
	if err != nil {
		t.Fatal(err)
	}
	written := bytes.Repeat([]byte("0123456789"), 2*pieceSize/10+1)
	if _, err := x.Bytes.WriteAt(written, 0); err != nil {
		t.Fatal(err)
	}
	var got []byte
	err = x.EachPiece(2, func(p []byte, at int64) error {
		if at != int64(2+len(got)) {
			t.Errorf("a piece at %d follows %d bytes from 2 on", at, len(got))
		}
		got = append(got, p...)
		return nil
	})
	if err != nil || !bytes.Equal(got, written[2:]) {
		t.Errorf("%d of %d bytes, %v", len(got), len(written)-2, err)
	}
}

// TestEnd ends a file: the mount does not find it, and its inode is forgotten.
func TestEnd(t *testing.T) {
	all := newFiles(t)
	var forgotten []identity.Key
	all.o.Ended = func(key identity.Key) { forgotten = append(forgotten, key) }
	x, err := all.Make(pathstate.At("g"), "a.raw")
	if err != nil {
		t.Fatal(err)
	}
	all.End(x)
	if all.Find("g", "a.raw") != nil || all.Has(x) {
		t.Error("it is still there")
	}
	if len(forgotten) != 1 || forgotten[0] != x.Key() {
		t.Errorf("forgotten %v, expected %v", forgotten, x.Key())
	}
}
