package main

import (
	"os"
	"path/filepath"
	"testing"
)

// TestMountedAtOtherSpaces: a mount is found, and unmounted, at a folder whose name has spaces of
// other kinds. The kernel escapes only the plain ones.
func TestMountedAtOtherSpaces(t *testing.T) {
	needFuse(t)
	store := makeStore(t)
	for _, name := range []string{"a b", "a\u00a0b", "a\u3000b", "a\u2028b", "a\rb", "a\u0085"} {
		dir := filepath.Join(t.TempDir(), name)
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if code, out := zarrfs(t, "mount", store, dir); code != 0 {
			t.Errorf("%q: mount: exit code %d: %s", name, code, out)
		}
		if m, ok := mountAt(dir); !ok || m.dir != dir {
			t.Errorf("%q is mounted, and found at %q", name, m.dir)
		}
		if code, out := zarrfs(t, "umount", dir); code != 0 {
			t.Errorf("%q: umount: exit code %d: %s", name, code, out)
			zarrfs(t, "umount", "--lazy", dir)
		}
	}
}
