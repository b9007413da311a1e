package dirstore

import (
	"path"
	"strings"
	"testing"
)

// mustSync returns how many directories must be synced for the name of key to be durable.
func mustSync(d *Driver, key string) int {
	r := d.root.Load()
	now := newNames{root: r, known: &r.durable}
	now.climb(path.Dir(key))
	return len(now.dirs)
}

// TestSyncDirsOfDeepTree: what is known to be durable is not synced again for each name in a deep
// tree. That holds where something is made, and where the tree is removed from its end on. What was
// removed or renamed, and recreated, is synced.
func TestSyncDirsOfDeepTree(t *testing.T) {
	const levels = 200
	d, err := Open(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	ctx := t.Context()
	group := func(level int) string { return strings.TrimSuffix(strings.Repeat("d/", level), "/") }
	made := 0
	create := func(level int) int {
		key := group(level) + "/zarr.json"
		writeFiles(t, d.path, map[string][]byte{key: []byte("{}")})
		must := mustSync(d, key)
		if err := d.SyncDirs(ctx, []string{key}); err != nil {
			t.Fatal(err)
		}
		return must
	}
	for level := 1; level <= levels; level++ {
		made += create(level)
	}
	if made > 2*levels {
		t.Errorf("to make %d levels %d directories are synced", levels, made)
	}
	removed := 0
	for level := levels; level > levels/2; level-- {
		if err := d.RemoveAll(ctx, group(level)); err != nil {
			t.Fatal(err)
		}
		removed += mustSync(d, group(level))
	}
	if removed > levels/2 {
		t.Errorf("to remove %d levels %d directories are synced", levels/2, removed)
	}
	if n := create(levels/2 + 1); n != 2 {
		t.Errorf("what was recreated: %d directories are synced, not it and the one that it is in",
			n)
	}
	if err := d.Rename(ctx, group(2), "e"); err != nil {
		t.Fatal(err)
	}
	if n := mustSync(d, "e/d/zarr.json"); n != 3 {
		t.Errorf("below what was renamed %d directories are synced, not that, what it is in, and "+
			"the root", n)
	}
}
