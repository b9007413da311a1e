package integration

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// TestReadersOfViewsAreInstalled: the libraries that read the files of views have the versions of
// interop/requirements-views.txt. docs/FORMATS.md names the same for the readers of volumes.
func TestReadersOfViewsAreInstalled(t *testing.T) {
	wanted, err := os.ReadFile("interop/requirements-views.txt")
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(viewsPython(t), "-m", "pip", "freeze", "--all").Output()
	if err != nil {
		t.Fatal(err)
	}
	installed, page := strings.ToLower(string(out)), strings.ToLower(readPage(t, "docs/FORMATS.md"))
	for _, line := range strings.Fields(strings.ToLower(string(wanted))) {
		if !strings.Contains(installed, line+"\n") {
			t.Errorf("%s is not installed: run `make peers`", line)
		}
		name, version, _ := strings.Cut(line, "==")
		row := regexp.MustCompile(`(?m)^\| ` + name + `(?:'s readers)? \| ([^ ]+) \|`)
		if found := row.FindStringSubmatch(page); found != nil && found[1] != version {
			t.Errorf("docs/FORMATS.md has %s %s, expected %s", name, found[1], version)
		}
	}
}

// viewsPython returns the interpreter with the usual libraries for files in the formats of views:
// ZARRFS_PY_VIEWS, with the packages of interop/requirements-views.txt.
func viewsPython(t *testing.T) string {
	t.Helper()
	return python(t, "ZARRFS_PY_VIEWS", ".venv-views")
}
