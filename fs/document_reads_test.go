package fs

import (
	"testing"

	"github.com/zarrfs/zarrfs/fs/program"
)

// TestReusedProcessNumber: a program has the number of one that has ended, and has not read the
// document. The shape that the other one found is not its own.
func TestReusedProcessNumber(t *testing.T) {
	var states states
	var known reads
	known.init(&states)
	editor, later := program.Process{PID: 7, Start: "1"}, program.Process{PID: 7, Start: "2"}
	known.note("a", editor, []byte(`{"shape": [10]}`))
	known.note("a", program.Process{PID: 8, Start: "1"}, []byte(`{"shape": [12]}`))
	if !known.isOld("a", editor, "[10]", "[12]") {
		t.Error("the shape that the editor found is taken for a request")
	}
	if known.isOld("a", later, "[10]", "[12]") {
		t.Error("a later program of the editor's number is taken for the editor")
	}
}
