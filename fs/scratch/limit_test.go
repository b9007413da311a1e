package scratch

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestLimitIsSaid: a file that is to be longer than its disk allows is refused with the limit.
func TestLimitIsSaid(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "f"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	s := &File{file: file}
	const size = 1 << 60
	if file.Truncate(size) == nil {
		t.Log("SKIPPED: the disk takes files of 1 EiB")
		return
	}
	_, written := s.WriteAt([]byte("x"), size)
	for _, err := range []error{s.Truncate(size), written} {
		if !errors.Is(err, syscall.EFBIG) || !strings.Contains(err.Error(), "can have at most") {
			t.Errorf("%v", err)
		}
	}
	most := limitOf(file)
	if err := file.Truncate(most); err != nil {
		t.Errorf("%d bytes are said to be possible: %v", most, err)
	}
	if err := file.Truncate(most + 1); !errors.Is(err, syscall.EFBIG) {
		t.Errorf("%d bytes are one too many: %v", most+1, err)
	}
}
