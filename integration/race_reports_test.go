package integration

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// raceReports are what the race detector has to say of the daemons that the tests start. Each
// writes a file of its own: a daemon in the background has no standard error, and one that is
// killed no exit status.
type raceReports struct{ dir string }

// begin makes all programs that are started from now on write their reports. What the environment
// asks of the detector counts more.
func (r *raceReports) begin() {
	dir, err := os.MkdirTemp("", "zarrfs-race-")
	if err != nil {
		panic(err)
	}
	r.dir = dir
	os.Setenv("GORACE", fmt.Sprintf("atexit_sleep_ms=0 log_path=%s %s", filepath.Join(dir, "report"), os.Getenv("GORACE")))
}

// end copies the reports to w, removes them, and returns how many programs have made one.
func (r *raceReports) end(w io.Writer) (programs int) {
	defer os.RemoveAll(r.dir)
	files, _ := filepath.Glob(filepath.Join(r.dir, "*"))
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			text = fmt.Appendf(nil, "a race report cannot be read: %v\n", err)
		}
		w.Write(text)
	}
	return len(files)
}
