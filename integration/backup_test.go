package integration

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestBackupOfDocument: what `cp --backup` keeps of a document is the old text, from the first look
// on. But the kernel takes the document's inode for that of the backup until it looks the name up
// again. What is done to the backup does not change the document.
func TestBackupOfDocument(t *testing.T) {
	dir := filepath.Join(mount(t, treeStore(t)), "g")
	for _, name := range []string{"b.json", "zarr.json"} {
		document, backup := filepath.Join(dir, name), filepath.Join(dir, name+"~")
		for i := range 300 {
			old := string(read(t, document))
			now := text(t, old, i)
			open, err := os.Open(document)
			if err != nil {
				t.Fatal(err)
			}
			if i%3 > 0 {
				open.Close()
			}
			if err := os.Rename(document, backup); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(document, []byte(now), 0o666); err != nil {
				t.Fatal(err)
			}
			// It fails if it comes to an ordinary file.
			unix.Setxattr(backup, "user.zarr.attr.stray", []byte("1"), 0)
			if i%2 == 1 {
				if err := os.Truncate(backup, 3); err != nil {
					t.Fatal(err)
				}
				old = old[:3]
			}
			open.Close()
			if got := string(read(t, backup)); got != old {
				t.Fatalf("%s, round %d: the backup is\n%s\nexpected\n%s", name, i, got, old)
			}
			got := string(read(t, document))
			if !strings.Contains(got, attribute(i)) || strings.Contains(got, "stray") {
				t.Fatalf("%s, round %d: the document is\n%s\nexpected\n%s", name, i, got, now)
			}
			if err := os.Remove(backup); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// attribute returns the attribute that tells the texts of a document apart.
func attribute(i int) string { return fmt.Sprintf(`"n": "%d"`, i) }

// text returns the next text of a document.
func text(t *testing.T, old string, i int) string {
	t.Helper()
	now := strings.Replace(old, attribute(i-1), attribute(i), 1)
	if i == 0 {
		now = strings.Replace(old, `"attributes": {`, `"attributes": {`+attribute(0)+", ", 1)
	}
	if now == old {
		t.Fatalf("the document has no such attribute: %s", old)
	}
	return now
}
