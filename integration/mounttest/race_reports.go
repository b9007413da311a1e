package mounttest

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// raceReports are what the race detector reports of the programs that the tests start. Each program
// writes a file of its own: a daemon in the background has no standard error, and one that is
// killed has no exit status.
type raceReports struct{ dir string }

// begin makes all programs that are started from now on write their reports, also those of other
// users: a program that cannot do so does not start. None of them waits a second at its exit, as
// the detector's default is. What the environment asks of the detector counts more.
func (r *raceReports) begin() error {
	if err := os.Mkdir(r.dir, 0o777); err != nil {
		return err
	}
	for dir, mode := range map[string]os.FileMode{
		filepath.Dir(r.dir): 0o711,
		r.dir:               0o777 | os.ModeSticky,
	} {
		if err := os.Chmod(dir, mode); err != nil {
			return err
		}
	}
	options := "atexit_sleep_ms=0 log_path=" + filepath.Join(r.dir, "report")
	return os.Setenv("GORACE", options+" "+os.Getenv("GORACE"))
}

// print copies the reports to w, and returns how many programs have made one.
func (r *raceReports) print(w io.Writer) (programs int) {
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
