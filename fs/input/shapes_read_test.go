package input

import (
	"testing"

	"github.com/zarrfs/zarrfs/fs/pathstate"
	"github.com/zarrfs/zarrfs/fs/program"
)

// readState is a state that has nothing else.
type readState struct{ pathstate.Bound[Readers] }

func (s *readState) Join(*readState) {}

// TestReusedProcessNumber: a program has the number of one that has ended, and has not read the
// document. The shape that the other one found is not its own.
func TestReusedProcessNumber(t *testing.T) {
	var table pathstate.Table[readState, *readState]
	of := func(s *readState) *pathstate.Bound[Readers] { return &s.Bound }
	known := NewReads(pathstate.PartsOf(&table, of))
	editor, later := program.Process{PID: 7, Start: "1"}, program.Process{PID: 7, Start: "2"}
	known.Note("a", editor, []byte(`{"shape": [10]}`))
	known.Note("a", program.Process{PID: 8, Start: "1"}, []byte(`{"shape": [12]}`))
	if !known.IsOld("a", editor, "[10]", "[12]") {
		t.Error("the shape that the editor found is taken for a request")
	}
	if known.IsOld("a", later, "[10]", "[12]") {
		t.Error("a later program of the editor's number is taken for the editor")
	}
}
