// Package mounttest is the harness of tests that mount with the program. It finds or builds the
// program, runs it with a limit of time, mounts stores until a test ends, and ends daemons that
// hang.
//
// Mounts are served by processes of their own, because a process that uses its own mount can wait
// for itself for ever. Some tests of package fs do serve their mount themselves, because no other
// process can have what they need of it.
package mounttest

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// work is the folder of a run of tests, which [Main] makes: programs are built there, and mounts
// keep their state.
var work string

// Main runs the tests of a package for its TestMain, and returns the exit code of the process.
//
// Mounts keep their state, such as a log, in a folder of the tests' own. Shortly before the time of
// -timeout is up, the daemons that the tests have started are ended. Under the race detector the
// tests fail if any program has met a race, also a daemon in the background.
func Main(m *testing.M) (code int) {
	var err error
	if work, err = os.MkdirTemp("", "zarrfs-test-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(work)
	if Race {
		reports := raceReports{dir: filepath.Join(work, "races")}
		if err := reports.begin(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer func() {
			if reports.print(os.Stderr) > 0 {
				code = 1
			}
		}()
	}
	state := filepath.Join(work, "state")
	if err := os.Mkdir(state, 0o777); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	os.Setenv("XDG_STATE_HOME", state)
	watch(state)
	return m.Run()
}
