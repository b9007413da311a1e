package integration

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestReadmeFirstHour runs the commands of the README's first hour, in an empty folder.
func TestReadmeFirstHour(t *testing.T) {
	need(t, "setfattr")
	commands := readmeBlock(t, "## A first hour", "sh")
	bin := zarrfs(t)
	dir, tools := t.TempDir(), t.TempDir()
	link(t, bin, filepath.Join(tools, "zarrfs"))
	wrapper := "#!/bin/sh\nexec " + absolute(t, python(t, "ZARRFS_PY3", ".venv-v3")) +
		` "$@"` + "\n"
	if err := os.WriteFile(filepath.Join(tools, "python3"), []byte(wrapper), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { command(bin, "umount", "--force", filepath.Join(dir, "mnt")) })
	cmd := limited(t, "bash", "-euxo", "pipefail", "-c", commands)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "PATH="+tools+":"+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{"salt.json", "psu", "31"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("the commands print no %q:\n%s", want, out)
		}
	}
}

// TestReadmeUnit starts and stops a mount by the commands of the README's systemd unit.
func TestReadmeUnit(t *testing.T) {
	unit := readmeBlock(t, "## Mount for good", "ini")
	bin := zarrfs(t)
	store, mnt := filepath.Join(t.TempDir(), "climate.zarr"), t.TempDir()
	run(t, bin, "create", store, "--group")
	t.Cleanup(func() { command(bin, "umount", "--force", mnt) })
	ours := strings.NewReplacer("/usr/local/bin/zarrfs", bin, "/data/climate.zarr", store,
		"/mnt/climate", mnt)
	for _, step := range []struct {
		key     string
		mounted bool
	}{{"ExecStart", true}, {"ExecStop", false}} {
		m := regexp.MustCompile(`(?m)^` + step.key + `=(.*)$`).FindStringSubmatch(unit)
		if m == nil {
			t.Fatalf("the unit has no %s:\n%s", step.key, unit)
		}
		args := strings.Fields(ours.Replace(m[1]))
		run(t, args[0], args[1:]...)
		if _, err := os.Stat(filepath.Join(mnt, "zarr.json")); (err == nil) != step.mounted {
			t.Errorf("after %s: %v", step.key, err)
		}
	}
}

// readmeBlock returns the first block of code of a language behind a heading of the README.
func readmeBlock(t *testing.T, heading, language string) string {
	t.Helper()
	_, section, found := strings.Cut(readPage(t, "README.md"), heading+"\n")
	_, block, begun := strings.Cut(section, "```"+language+"\n")
	block, _, ended := strings.Cut(block, "```")
	if !found || !begun || !ended {
		t.Fatalf("the README has no block of %s behind %q", language, heading)
	}
	return block
}

func link(t *testing.T, target, name string) {
	t.Helper()
	if err := os.Symlink(target, name); err != nil {
		t.Fatal(err)
	}
}
