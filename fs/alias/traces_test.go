package alias

import (
	"context"
	"os"
	"testing"

	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/zarrfs/zarrfs/fs/pathstate"
	"github.com/zarrfs/zarrfs/fs/program"
	"github.com/zarrfs/zarrfs/fs/view"
	"github.com/zarrfs/zarrfs/fs/wire"
	"github.com/zarrfs/zarrfs/zarrcore"
)

type process = program.Process

// onlyTrace is a state of which a trace is the only part.
type onlyTrace struct{ pathstate.Bound[Trace] }

// Join implements pathstate.State.
func (s *onlyTrace) Join(*onlyTrace) {}

// TestTraces plays what programs do to an array of three views, and asks what they meet.
func TestTraces(t *testing.T) {
	ctx := func(pid uint32) context.Context {
		return &fuse.Context{Caller: fuse.Caller{Pid: pid}}
	}
	self, other := ctx(uint32(os.Getpid())), ctx(1)
	cp := program.Process{PID: 2, Start: "1", Mover: true, Copier: true}
	json, npy, raw := view.Document, view.Named("npy"), view.Named("raw")
	gone := &zarrcore.Node{Path: "a"}
	var table *pathstate.Table[onlyTrace, *onlyTrace] // of the case
	for _, tc := range []struct {
		name  string
		mover bool
		do    func(t *Traces, by process)
		want  func(x *Trace) bool
	}{
		{"a script meets all views of its new array", false, func(t *Traces, by process) {
			t.NoteMade("a", npy, by)
		},
			func(x *Trace) bool { return !x.Hides(self, raw) && !x.Hides(self, json) }},
		{"a mover meets its own view only", true, func(t *Traces, by process) {
			t.NoteMade("a", json, by)
		},
			func(x *Trace) bool {
				return x.Hides(self, npy) && x.Hides(self, raw) && !x.Hides(self, json)
			}},
		{"others meet all", true, func(t *Traces, by process) { t.NoteMade("a", json, by) },
			func(x *Trace) bool { return !x.Hides(other, npy) }},
		{"a view that it made too", true, func(t *Traces, by process) {
			t.NoteMade("a", json, by)
			t.NoteMade("a", npy, by)
		},
			func(x *Trace) bool { return !x.Hides(self, npy) && x.Hides(self, raw) }},
		{"a renamed array leaves its other names to a mover", true, func(t *Traces, by process) {
			t.Renamed("a", "b", json, view.FullSet(), 0, by)
		},
			func(x *Trace) bool {
				return x.Leaves(self, npy) && !x.Leaves(self, json) && !x.Leaves(other, npy)
			}},
		{"but not to a script", false, func(t *Traces, by process) {
			t.Renamed("a", "b", json, view.FullSet(), 0, by)
		},
			func(x *Trace) bool { return !x.Leaves(self, npy) }},
		{"a removed view is there for a program that was told so",
			false, func(t *Traces, by process) {
				t.Refused("a", npy, by)
			},
			func(x *Trace) bool {
				return x.Leaves(self, npy) && !x.Leaves(self, raw) && !x.Leaves(other, npy)
			}},
		{"to be renamed to the same place", true, func(t *Traces, by process) {
			t.Renamed("a", "b", json, view.FullSet(), 0, by)
		},
			func(x *Trace) bool {
				return x.Follows(wire.Caller(self), "b", npy) &&
					!x.Follows(wire.Caller(self), "c", npy) && !x.Follows(cp, "b", npy)
			}},
		{"each of them once", true, func(t *Traces, by process) {
			t.Renamed("a", "b", json, view.FullSet(), 0, by)
			t.Leave("a", npy)
		},
			func(x *Trace) bool { return !x.Leaves(self, npy) && x.Leaves(self, raw) }},
		{"until an array is made there", true, func(t *Traces, by process) {
			t.Renamed("a", "b", json, view.FullSet(), 0, by)
			t.NoteMade("a", npy, by)
		},
			func(x *Trace) bool { return !x.Leaves(self, raw) && x.Hides(self, raw) }},
		{"at the new place they are not there yet", true, func(t *Traces, by process) {
			t.Renamed("b", "a", json, view.FullSet(), 0, by)
		},
			func(x *Trace) bool {
				return x.Hides(self, npy) && !x.Hides(self, json) && !x.Hides(other, npy)
			}},
		{"an array that was removed through its only listed view", false,
			func(t *Traces, by process) { t.Removed("a", gone, 0, by) },
			func(x *Trace) bool {
				return x.Replacing(wire.Caller(self)) == gone && x.Replacing(cp) == nil &&
					!x.IsMade()
			}},
		{"and is there again", false,
			func(t *Traces, by process) { t.Removed("a", gone, 0, by); t.NoteMade("a", npy, by) },
			func(x *Trace) bool { return x.Replacing(wire.Caller(self)) == nil }},
		{"a group's document that was removed", false, func(t *Traces, by process) {
			t.Hide("a", json, by)
		},
			func(x *Trace) bool { return x.Hides(self, json) && !x.Hides(other, json) }},
		{"and recreated", false, func(t *Traces, by process) {
			t.Hide("a", json, by)
			t.NoteMade("a", json, by)
		},
			func(x *Trace) bool { return !x.Hides(self, json) }},
		{"a mover that looked before another made the array", true, func(t *Traces, _ process) {
			t.NoteMiss(self, "a", raw)
			t.NoteMade("a", json, cp)
		},
			func(x *Trace) bool {
				return x.Hides(self, raw) && !x.Hides(self, npy) && !x.Hides(other, raw)
			}},
		{"a script that looked", false, func(t *Traces, _ process) {
			t.NoteMiss(self, "a", raw)
			t.NoteMade("a", json, cp)
		},
			func(x *Trace) bool { return !x.Hides(self, raw) }},
		{"a mover that looked for a view: another made it", true, func(t *Traces, _ process) {
			t.NoteMiss(self, "a", raw)
			t.NoteMade("a", raw, cp)
		},
			func(x *Trace) bool { return !x.Hides(self, raw) }},
		{"a mover that looked for a view: it came as a file", true, func(t *Traces, _ process) {
			t.NoteMiss(self, "a", raw)
			t.NoteCreate(ctx(1), "a", raw)
			t.NoteMade("a", json, cp)
		},
			func(x *Trace) bool { return !x.Hides(self, raw) }},
		{"a mover's document after another's .npy", true, func(t *Traces, _ process) {
			t.NoteMade("a", npy, cp)
		},
			func(x *Trace) bool { return x.IsUnfinished(wire.Caller(self)) }},
		{"and after another's document", true,
			func(t *Traces, _ process) { t.NoteMade("a", json, cp) },
			func(x *Trace) bool { return !x.IsUnfinished(wire.Caller(self)) }},
		{"a script's document", false, func(t *Traces, _ process) { t.NoteMade("a", npy, cp) },
			func(x *Trace) bool { return !x.IsUnfinished(wire.Caller(self)) }},
		{"a mover that created it, and another made the array before it was open",
			true, func(t *Traces, by process) {
				t.NoteMiss(self, "a", raw)
				t.NoteMiss(ctx(1), "a", npy)
				t.NoteCreate(self, "a", raw)
				t.NoteMade("a", json, cp)
				t.NoteMade("a", raw, by)
			}, func(x *Trace) bool {
				return x.By == cp && x.isAwaitedBy(1, npy) && !x.Hides(self, raw)
			}},
		{"a mover that looked and made it", true, func(t *Traces, by process) {
			t.NoteMiss(self, "a", json)
			t.NoteMade("a", npy, cp)
			t.NoteMade("a", json, by)
		},
			func(x *Trace) bool {
				return !x.Hides(self, json) && x.IsUnfinished(cp) &&
					x.IsUnfinished(wire.Caller(self))
			}},
		{"two that looked for one view, and the other made it", true, func(t *Traces, _ process) {
			t.NoteMiss(self, "a", raw)
			t.NoteMiss(ctx(1), "a", raw)
			t.NoteMade("a", json, cp)
			t.NoteMade("a", raw, program.Process{PID: 1, Mover: true})
		}, func(x *Trace) bool { return !x.Hides(self, raw) }},
		{"nothing is remembered of what is forgotten", true, func(t *Traces, by process) {
			t.NoteMade("a/b", npy, by)
			t.NoteMade("a", npy, by)
			table.End("a")
		},
			func(x *Trace) bool { return x == nil }},
	} {
		by := wire.Caller(self)
		if by.PID != os.Getpid() || by.Start == "" || by.Mover {
			t.Fatalf("this process is %+v", by)
		}
		table = new(pathstate.Table[onlyTrace, *onlyTrace])
		all := NewTraces(pathstate.PartsOf(table, func(s *onlyTrace) *pathstate.Bound[Trace] {
			return &s.Bound
		}))
		tc.do(all, program.Process{PID: by.PID, Start: by.Start, Mover: tc.mover, Copier: tc.mover})
		if tc.mover {
			program.Movers[comm()] = true // so that this process is one too
		}
		if x := all.Of("a"); !tc.want(x) {
			t.Errorf("%s: %+v", tc.name, x)
		}
		delete(program.Movers, comm())
	}
}

// comm is the name by which this process is known.
func comm() string {
	b, _ := os.ReadFile("/proc/self/comm")
	return string(b[:max(0, len(b)-1)])
}
