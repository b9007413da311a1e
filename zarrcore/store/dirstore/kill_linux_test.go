package dirstore

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// script is what a child does in a store until it is killed. It says each step that is done.
var script = []struct {
	name string
	do   func(ctx context.Context, s *store.Store) error
}{
	{"put new", func(ctx context.Context, s *store.Store) error {
		return s.Put(ctx, "c/0/0", freshObject)
	}},
	{"replace", func(ctx context.Context, s *store.Store) error {
		return s.Put(ctx, "a", freshObject)
	}},
	{"replace if", func(ctx context.Context, s *store.Store) error {
		_, info, err := s.ReadAll(ctx, "b", 1<<20)
		if err != nil {
			return err
		}
		o, err := s.Stage(ctx, "b", freshObject)
		if err == nil {
			err = s.SyncStaged(ctx, []*store.Staged{o})
		}
		if err == nil {
			_, err = o.Commit(ctx, store.If{Version: info.Version})
		}
		return err
	}},
	{"delete", func(ctx context.Context, s *store.Store) error {
		return s.Delete(ctx, "gone", store.If{})
	}},
	{"remove", func(ctx context.Context, s *store.Store) error {
		return s.Dirs().RemoveAll(ctx, "g")
	}},
	{"rename", func(ctx context.Context, s *store.Store) error {
		return s.Dirs().Rename(ctx, "h", "c/h")
	}},
	{"replace tree", func(ctx context.Context, s *store.Store) error {
		return s.Dirs().Replace(ctx, "y", "x")
	}},
	{"unfinished", func(ctx context.Context, s *store.Store) error {
		mark, _, err := s.Unfinished().Note(ctx, "x~0")
		if err != nil {
			return err
		}
		documents := map[string][]byte{"zarr.json": oldObject, store.UnfinishedMark: mark}
		if err := s.Make(ctx, "x~0", "", documents); err != nil {
			return err
		}
		if err := s.Put(ctx, "x~0/c/0", oldObject); err != nil {
			return err
		}
		return s.Dirs().Replace(ctx, "x~0", "x")
	}},
	{"sync", func(ctx context.Context, s *store.Store) error {
		return s.SyncDirs(ctx, []string{"c/0/0", "a"})
	}},
	{"close", func(_ context.Context, s *store.Store) error { return s.Close() }},
}

var (
	oldObject   = bytes.Repeat([]byte("old"), 3000)
	freshObject = bytes.Repeat([]byte("newer"), 3000)
)

func init() {
	children["script"] = func(args []string) error {
		runtime.LockOSThread() // strace counts the calls of each thread
		s, err := openStore(args[0], "")
		if err != nil {
			return err
		}
		for _, step := range script {
			if err := step.do(context.Background(), s); err != nil {
				return fmt.Errorf("%s: %w", step.name, err)
			}
			fmt.Println(step.name)
		}
		return nil
	}
}

// A process is killed at each of its system calls that change the store. Whatever it had done
// stays: each object is the whole old or the whole new one, and trees exist or not. Clean leaves
// nothing else.
func TestKill(t *testing.T) {
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("SKIPPED: no strace")
	}
	if out, err := exec.Command(strace, "-qq", "-e", "trace=none",
		"true").CombinedOutput(); err != nil {
		t.Skipf("SKIPPED: strace cannot trace: %s", out)
	}
	kills, late := 0, 0
	for _, call := range []string{
		"openat", "openat2", "mkdirat", "pwrite64", "utimensat", "fsync", "linkat", "fcntl",
		"renameat", "renameat2", "unlinkat", "close",
	} {
		for n := 1; ; n++ {
			done, killed := killedAt(t, strace, call, n)
			if !killed {
				break
			}
			kills++
			if done > 0 {
				late++
			}
		}
	}
	t.Logf("killed %d times, %d of them after the first step", kills, late)
	if late < 50 {
		t.Errorf("only %d kills came after the first step", late)
	}
}

// killedAt runs the script in a new store until its nth call, which is not done, and looks at what
// is left. It returns how many steps were done.
func killedAt(t *testing.T, strace, call string, n int) (done int, killed bool) {
	dir := t.TempDir()
	objects := map[string][]byte{}
	for key, data := range states()[0] {
		objects[key] = []byte(data)
	}
	writeFiles(t, dir, objects)
	cmd := child(t, []string{strace, "-f", "-qq", "-o", "/dev/null", "-e", "trace=" + call, "-e",
		fmt.Sprintf("inject=%s:signal=KILL:when=%d", call, n)}, "script", dir)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if stderr.Len() > 0 {
		t.Fatalf("%s %d: %s", call, n, stderr.String())
	}
	done = bytes.Count(out, []byte("\n"))
	where := fmt.Sprintf("killed at %s %d, %d steps done", call, n, done)
	if err == nil && done != len(script) {
		t.Fatalf("%s, yet well", where)
	}
	d := open(t, dir, ways["beneath"])
	if err := d.Clean(t.Context()); err != nil {
		t.Errorf("%s: %v", where, err)
	}
	wantOutcome(t, where, dir, done)
	os.RemoveAll(dir)
	return done, err != nil
}

// states are the store before the script and after each of its steps.
func states() []map[string]string {
	before, after := string(oldObject), string(freshObject)
	now := map[string]string{"a": before, "b": before, "gone": before, "g/zarr.json": before,
		"g/c/0": before, "g/c/1": before,
		"h/zarr.json": before, "h/c/0": before,
		"x/zarr.json": before, "x/c/0": before, "x/c/1": before,
		"y/zarr.json": after, "y/c/0": after}
	all := []map[string]string{maps.Clone(now)}
	step := func(change func()) {
		change()
		all = append(all, maps.Clone(now))
	}
	step(func() { now["c/0/0"] = after })
	step(func() { now["a"] = after })
	step(func() { now["b"] = after })
	step(func() { delete(now, "gone") })
	step(func() {
		maps.DeleteFunc(now, func(key, _ string) bool { return strings.HasPrefix(key, "g/") })
	})
	step(func() {
		for _, key := range []string{"zarr.json", "c/0"} {
			delete(now, "h/"+key)
			now["c/h/"+key] = before
		}
	})
	step(func() { // replace tree
		for _, key := range []string{"zarr.json", "c/0"} {
			delete(now, "y/"+key)
			now["x/"+key] = after
		}
		delete(now, "x/c/1")
	})
	step(func() { now["x/zarr.json"], now["x/c/0"] = before, before }) // unfinished
	step(func() {})                                                    // sync
	step(func() {})                                                    // close
	return append(all, now)
}

// wantOutcome expects a store in which the first done steps were done, and perhaps the next, and
// nothing else.
func wantOutcome(t *testing.T, where, dir string, done int) {
	t.Helper()
	got := readFiles(t, dir)
	states := states()
	if !maps.Equal(got, states[done]) && !maps.Equal(got, states[done+1]) {
		t.Errorf("%s: neither that step undone nor done: %s", where, names(got))
	}
}

// readFiles returns all files in dir, hidden ones too, by their path.
func readFiles(t *testing.T, dir string) map[string]string {
	t.Helper()
	got := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		rel, _ := filepath.Rel(dir, path)
		got[rel] = string(data)
		return err
	})
	if err != nil {
		t.Error(err)
	}
	if left := folders(t, dir); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
	return got
}

func names(got map[string]string) string {
	var all []string
	for key, data := range got {
		all = append(all, fmt.Sprintf("%s (%d bytes)", key, len(data)))
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}
