package fs

import (
	"context"
	"os"
	"testing"

	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/zarrfs/zarrfs/fs/program"
	"github.com/zarrfs/zarrfs/fs/view"
	"github.com/zarrfs/zarrfs/zarrcore"
)

// TestTraces plays what programs do to an array of three views, and asks what they meet.
func TestTraces(t *testing.T) {
	ctx := func(pid uint32) context.Context {
		return &fuse.Context{Caller: fuse.Caller{Pid: pid}}
	}
	self, other := ctx(uint32(os.Getpid())), ctx(1)
	cp := process{PID: 2, Start: "1", Mover: true, Copier: true}
	json, npy, raw := view.Document, view.View(npyView), view.View(rawView)
	gone := &zarrcore.Node{Path: "a"}
	for _, tc := range []struct {
		name  string
		mover bool
		do    func(t *traces, by process)
		want  func(x *trace) bool
	}{
		{"a script meets all views of its new array", false, func(t *traces, by process) { t.made("a", npy, by) },
			func(x *trace) bool { return !x.hides(self, raw) && !x.hides(self, json) }},
		{"a mover meets its own view only", true, func(t *traces, by process) { t.made("a", json, by) },
			func(x *trace) bool { return x.hides(self, npy) && x.hides(self, raw) && !x.hides(self, json) }},
		{"others meet all", true, func(t *traces, by process) { t.made("a", json, by) },
			func(x *trace) bool { return !x.hides(other, npy) }},
		{"a view that it made too", true, func(t *traces, by process) { t.made("a", json, by); t.made("a", npy, by) },
			func(x *trace) bool { return !x.hides(self, npy) && x.hides(self, raw) }},
		{"a renamed array leaves its other names to a mover", true, func(t *traces, by process) { t.renamed("a", "b", json, view.FullSet(), by) },
			func(x *trace) bool { return x.leaves(self, npy) && !x.leaves(self, json) && !x.leaves(other, npy) }},
		{"but not to a script", false, func(t *traces, by process) { t.renamed("a", "b", json, view.FullSet(), by) },
			func(x *trace) bool { return !x.leaves(self, npy) }},
		{"to be renamed to the same place", true, func(t *traces, by process) { t.renamed("a", "b", json, view.FullSet(), by) },
			func(x *trace) bool {
				return x.follows(caller(self), "b", npy) && !x.follows(caller(self), "c", npy) && !x.follows(cp, "b", npy)
			}},
		{"each of them once", true, func(t *traces, by process) { t.renamed("a", "b", json, view.FullSet(), by); t.leave("a", npy) },
			func(x *trace) bool { return !x.leaves(self, npy) && x.leaves(self, raw) }},
		{"until an array is made there", true, func(t *traces, by process) { t.renamed("a", "b", json, view.FullSet(), by); t.made("a", npy, by) },
			func(x *trace) bool { return !x.leaves(self, raw) && x.hides(self, raw) }},
		{"at the new place they are not there yet", true, func(t *traces, by process) { t.renamed("b", "a", json, view.FullSet(), by) },
			func(x *trace) bool { return x.hides(self, npy) && !x.hides(self, json) && !x.hides(other, npy) }},
		{"an array that was removed through its only listed view", false, func(t *traces, by process) { t.removed(gone, by) },
			func(x *trace) bool {
				return x.replacing(caller(self)) == gone && x.replacing(cp) == nil && !x.made()
			}},
		{"and is there again", false, func(t *traces, by process) { t.removed(gone, by); t.made("a", npy, by) },
			func(x *trace) bool { return x.replacing(caller(self)) == nil }},
		{"a group's document that was removed", false, func(t *traces, by process) { t.hide("a", json, by) },
			func(x *trace) bool { return x.hides(self, json) && !x.hides(other, json) }},
		{"and made again", false, func(t *traces, by process) { t.hide("a", json, by); t.made("a", json, by) },
			func(x *trace) bool { return !x.hides(self, json) }},
		{"who looked before another made the array", true, func(t *traces, _ process) { t.missed(self, "a", raw); t.made("a", json, cp) },
			func(x *trace) bool { return x.hides(self, raw) && !x.hides(self, npy) && !x.hides(other, raw) }},
		{"a script that looked", false, func(t *traces, _ process) { t.missed(self, "a", raw); t.made("a", json, cp) },
			func(x *trace) bool { return !x.hides(self, raw) }},
		{"who looked for the view that made it", true, func(t *traces, _ process) { t.missed(self, "a", raw); t.made("a", raw, cp) },
			func(x *trace) bool { return !x.hides(self, raw) }},
		{"who looked for a view that came as a file since", true, func(t *traces, _ process) { t.missed(self, "a", raw); t.came(ctx(1), "a", raw); t.made("a", json, cp) },
			func(x *trace) bool { return !x.hides(self, raw) }},
		{"whose document comes after another's .npy", true, func(t *traces, _ process) { t.made("a", npy, cp) },
			func(x *trace) bool { return x.unfinished(caller(self)) }},
		{"and after another's document", true, func(t *traces, _ process) { t.made("a", json, cp) },
			func(x *trace) bool { return !x.unfinished(caller(self)) }},
		{"a script's document", false, func(t *traces, _ process) { t.made("a", npy, cp) },
			func(x *trace) bool { return !x.unfinished(caller(self)) }},
		{"who created it, and another made the array before it was open", true, func(t *traces, by process) {
			t.missed(self, "a", raw)
			t.missed(ctx(1), "a", npy)
			t.came(self, "a", raw)
			t.made("a", json, cp)
			t.made("a", raw, by)
		}, func(x *trace) bool { return x.by == cp && x.awaitedBy(1, npy) && !x.hides(self, raw) }},
		{"who looked and made it", true, func(t *traces, by process) { t.missed(self, "a", json); t.made("a", npy, cp); t.made("a", json, by) },
			func(x *trace) bool { return !x.hides(self, json) && x.unfinished(cp) && x.unfinished(caller(self)) }},
		{"two that looked for one view, and the other made it", true, func(t *traces, _ process) {
			t.missed(self, "a", raw)
			t.missed(ctx(1), "a", raw)
			t.made("a", json, cp)
			t.made("a", raw, process{PID: 1, Mover: true})
		}, func(x *trace) bool { return !x.hides(self, raw) }},
		{"nothing is remembered of what is forgotten", true, func(t *traces, by process) { t.made("a/b", npy, by); t.made("a", npy, by); t.states.End("a") },
			func(x *trace) bool { return x == nil }},
	} {
		by := caller(self)
		if by.PID != os.Getpid() || by.Start == "" || by.Mover {
			t.Fatalf("this process is %+v", by)
		}
		var all traces
		all.init(new(states))
		tc.do(&all, process{PID: by.PID, Start: by.Start, Mover: tc.mover, Copier: tc.mover})
		if tc.mover {
			program.Movers[comm()] = true // so that this process is one too
		}
		if x := all.of("a"); !tc.want(x) {
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
