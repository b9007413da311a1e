package main

import (
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"sync"
)

const (
	// logMost is the size, in bytes, beyond which the log in the state folder is put aside when a
	// mount begins.
	logMost = 8 << 20
	// logName is what it is called there.
	logName = "zarrfs.log"
)

// stateFolder returns the user's folder for what zarrfs keeps between runs, and makes it.
func stateFolder() (string, error) {
	base := os.Getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(base) { // as the XDG Base Directory Specification has it
		home, err := os.UserHomeDir()
		if u, known := user.Current(); err != nil && known == nil {
			home, err = u.HomeDir, nil
		}
		if err != nil {
			return "", err
		}
		base = filepath.Join(home, ".local", "state")
	}
	folder := filepath.Join(base, "zarrfs")
	return folder, os.MkdirAll(folder, 0o700)
}

// stateLog opens the log in the state folder.
func stateLog() (*logFile, error) {
	folder, err := stateFolder()
	if err != nil {
		return nil, err
	}
	return openInState(filepath.Join(folder, logName))
}

// openInState opens a log of the state folder. A log that has grown is put aside, and replaces the
// one put aside before.
func openInState(path string) (*logFile, error) {
	if info, err := os.Stat(path); err == nil && info.Size() > logMost {
		os.Rename(path, path+".1") // a log that cannot be put aside goes on growing
	}
	return openLogFile(path)
}

// logFile is a log that can be opened again under its name, after another program has renamed what
// had that name.
type logFile struct {
	path string // absolute: a daemon leaves the folder that it was started in

	mu   sync.Mutex
	file *os.File
}

func openLogFile(path string) (*logFile, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	l := &logFile{path: abs}
	return l, l.reopen()
}

// reopen opens the file again, and creates it if it is missing. If that fails, the open file stays.
func (l *logFile) reopen() error {
	f, err := os.OpenFile(l.path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o640)
	if err != nil {
		return fmt.Errorf("log %s: %w", l.path, bare(err))
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file != nil {
		l.file.Close()
	}
	l.file = f
	return nil
}

// Write appends to the file.
func (l *logFile) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.file.Write(p)
}
