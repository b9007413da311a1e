package attach

import (
	"errors"
	"fmt"
	"os/exec"
	"strings"
)

// ErrNoFusermount says that the helper program that mounts for ordinary users is not installed.
var ErrNoFusermount = errors.New("fusermount3 is not installed (Debian, Ubuntu: apt install " +
	"fuse3; Fedora: dnf install fuse3)")

// Fusermount runs fusermount3, or the fusermount of FUSE 2, which mount and unmount for users who
// are not root.
func Fusermount(args ...string) error {
	path, err := FusermountPath()
	if err != nil {
		return err
	}
	out, err := exec.Command(path, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %s (%w)", path, strings.TrimSpace(string(out)), err)
	}
	return nil
}

// FusermountPath returns where fusermount3 or fusermount is installed.
func FusermountPath() (string, error) {
	for _, name := range []string{"fusermount3", "fusermount", "/bin/fusermount3",
		"/usr/bin/fusermount3", "/bin/fusermount"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", ErrNoFusermount
}
