package mounttest

import (
	"os"
	"os/exec"
	"testing"
)

// NeedFuse skips a test aloud where nothing can be mounted, which ZARRFS_REQUIRE_FUSE forbids.
func NeedFuse(t *testing.T) {
	t.Helper()
	f, err := os.OpenFile("/dev/fuse", os.O_RDWR, 0)
	if err == nil {
		f.Close()
		return
	}
	if os.Getenv("ZARRFS_REQUIRE_FUSE") != "" {
		t.Fatalf("tests that mount are required: %v", err)
	}
	t.Skip("SKIPPED: nothing can be mounted on this machine: ", err)
}

// NeedRoot skips a test aloud if it is not run by root, or if one of the tools is missing.
// ZARRFS_REQUIRE_ROOT=1 forbids that.
func NeedRoot(t *testing.T, tools ...string) {
	t.Helper()
	if os.Geteuid() != 0 {
		Cannot(t, "this test needs root's rights")
	}
	NeedTools(t, tools...)
}

// NeedTools skips a test aloud where a program is missing, which ZARRFS_REQUIRE_ROOT=1 forbids.
func NeedTools(t *testing.T, tools ...string) {
	t.Helper()
	for _, tool := range tools {
		if _, err := exec.LookPath(tool); err != nil {
			Cannot(t, "this test needs "+tool)
		}
	}
}

// Cannot skips a test aloud for a reason that root's rights, or installing a program, would remove.
// ZARRFS_REQUIRE_ROOT=1 forbids that.
func Cannot(t *testing.T, reason string) {
	t.Helper()
	if os.Getenv("ZARRFS_REQUIRE_ROOT") == "1" {
		t.Fatal(reason)
	}
	t.Skip("SKIPPED: ", reason)
}
