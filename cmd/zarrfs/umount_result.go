package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/zarrfs/zarrfs/zarrcore/rescue"
)

// The program that serves a mount says at its end whether all is stored. umount is not its parent
// and cannot get its exit code. The scratch folder may be full. So the verdict is written to a file
// in memory. umount opens that before the end, and reads it after the end.

// verdict is how a mount has ended.
type verdict struct {
	Stored bool     `json:"stored"`         // all that was written
	Why    string   `json:"why,omitempty"`  // it is not
	Kept   []string `json:"kept,omitempty"` // files of the scratch folder, with what is not stored
	Lost   string   `json:"lost,omitempty"` // why they do not have all of it
}

const verdictName = "zarrfs-verdict"

// newVerdict creates the file. It returns nil if the kernel cannot create one; umount then says
// that it does not know how the mount ended.
func newVerdict() *os.File {
	fd, err := unix.MemfdCreate(verdictName, unix.MFD_CLOEXEC|unix.MFD_NOEXEC_SEAL)
	if errors.Is(err, unix.EINVAL) { // before Linux 6.3; later kernels may warn without this flag
		fd, err = unix.MemfdCreate(verdictName, unix.MFD_CLOEXEC)
	}
	if err != nil {
		return nil
	}
	return os.NewFile(uintptr(fd), verdictName)
}

// say writes the verdict.
func (v verdict) say(file *os.File) {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // it has only strings
	}
	if err := file.Truncate(0); err == nil { // file may be nil
		file.WriteAt(text, 0)
	}
}

// verdictFile opens the file of a process. It returns nil if the process has no such file, or if
// this user may not see it.
func verdictFile(pid int) *os.File {
	file, _ := askAbout(pid, func() *os.File { return openVerdict(procOf(pid) + "fd") })
	return file
}

// openVerdict opens the file among the descriptors in a folder.
func openVerdict(folder string) *os.File {
	fds, _ := os.ReadDir(folder)
	for _, fd := range fds {
		name := filepath.Join(folder, fd.Name())
		to, err := os.Readlink(name)
		if err != nil || !strings.HasPrefix(to, "/memfd:"+verdictName) {
			continue
		}
		if file, err := os.Open(name); err == nil {
			return file
		}
	}
	return nil
}

// readVerdict reports whether the process has said how the mount ended.
func readVerdict(file *os.File) (v verdict, said bool) {
	text, err := io.ReadAll(io.NewSectionReader(file, 0, 1<<30))
	return v, err == nil && json.Unmarshal(text, &v) == nil
}

// errKilled says that a mount ended without a verdict.
var errKilled = errors.New("the program that served it ended before it could say whether all " +
	"is stored")

// howEnded returns an error if something that was written is not in the store. unstored is what
// could not be stored before the end.
func (u *unmounting) howEnded(unstored error) error {
	v, said := readVerdict(u.verdict)
	switch {
	case said && v.Stored:
		if unstored != nil {
			fmt.Fprintln(stderr, "zarrfs: what could not be stored at first "+
				"was stored when the mount ended")
		}
		return u.keptErr()
	case said:
		if unstored == nil {
			unstored = errors.New(v.Why)
		}
		return mountErr(fmt.Errorf("unmounted, but %w%s", unstored, keptText(v.Kept, v.Lost)))
	case u.verdict != nil && !u.lazy && unstored == nil:
		unstored = errKilled
	case u.verdict != nil && !u.lazy:
		unstored = fmt.Errorf("%w, and %w", unstored, errKilled)
	case unstored == nil:
		return u.keptErr()
	}
	return mountErr(fmt.Errorf("unmounted, but %w\nWhat is left of it is in the scratch folder, "+
		"in the files %s*, which the log names; `zarrfs restore` puts it back",
		unstored, rescue.Prefix(u.named)))
}

// keptText says where the rest of what was written is, and what is lost of it.
func keptText(kept []string, lost string) (text string) {
	if len(kept) > 0 {
		text += fmt.Sprintf("\nWhat is left of it is in %q. %s", kept, restoring(kept))
	}
	if lost != "" {
		text += "\nNot all of it could be kept in the scratch folder, and the rest is lost: " + lost
	}
	return text
}

// keptErr returns an error if the mount has kept what was written for arrays that no longer exist.
// sayKept has named the files.
func (u *unmounting) keptErr() error {
	if !u.hasKept {
		return nil
	}
	return mountErr(errors.New("unmounted, but not all that was written is in the store: " +
		"the files named above have the rest"))
}
