package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRescuedFilesAreNamed: umount --force names the files that hold what could not be stored. It
// reports no loss where the mount has stored everything when it ended.
func TestRescuedFilesAreNamed(t *testing.T) {
	scratch, full := t.TempDir(), errors.New("no space left on device")
	others := filepath.Join(scratch, "zarrfs-unsaved-7-a.unsaved")
	noError(t, "another mount's file", os.WriteFile(others, nil, 0o600))
	if err := checkRescued(full, scratch, 77); err != nil {
		t.Errorf("nothing is left, and umount says %v", err)
	}
	mine := filepath.Join(scratch, "zarrfs-unsaved-77-a.unsaved")
	noError(t, "a file", os.WriteFile(mine, nil, 0o600))
	for folder, names := range map[string]string{scratch: mine, "": "zarrfs-unsaved-77-*"} {
		err := checkRescued(full, folder, 77)
		if err == nil || !errors.Is(err, full) || !strings.Contains(err.Error(), names) {
			t.Errorf("expected an error that names %s, found %v", names, err)
		}
	}
}
