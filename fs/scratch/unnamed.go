// Package scratch has what a mount keeps outside its store: files of the scratch folder without a
// name, how many descriptors they have, and how many bytes they may take.
package scratch

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Unnamed returns a new file in dir that has no name, so that nothing is left of it whatever ends
// the program.
func Unnamed(dir string) (*os.File, error) {
	file, err := openUnnamed(dir)
	if err == nil {
		return file, nil
	}
	if file, err = os.CreateTemp(dir, ".zarrfs-file-*"); err != nil {
		return nil, err
	}
	if err = os.Remove(file.Name()); err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}

// openUnnamed is Unnamed for file systems that have files without names.
func openUnnamed(dir string) (*os.File, error) {
	return os.OpenFile(dir, os.O_RDWR|unix.O_TMPFILE, 0o600)
}

// Allocate gives the file size bytes and their blocks, so that it cannot run out of space later.
func Allocate(file *os.File, size int64) (err error) {
	for err = unix.EINTR; err == unix.EINTR; {
		err = unix.Fallocate(int(file.Fd()), 0, 0, size)
	}
	if err != nil {
		return fmt.Errorf("allocate %d bytes in the scratch folder: %w", size, err)
	}
	return nil
}
