package dirstore

import (
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// ownXattrs are attributes that belong to the bytes of one file, not to its name: digests of its
// content, and rights to run it.
var ownXattrs = []string{"security.ima", "security.evm", "security.capability"}

// keepXattrs gives the file that is open as fd the extended attributes of the object at p, an
// access control list among them.
func (p place) keepXattrs(fd int) {
	// there is no call that takes a directory and a name before Linux 6.13
	path := fmt.Sprintf("/proc/self/fd/%d/%s", p.dir, p.name)
	var list [4 << 10]byte
	n, err := unix.Llistxattr(path, list[:])
	if err == unix.ERANGE {
		return // no file system that is known here has so many
	}
	for name := range strings.SplitSeq(string(list[:max(n, 0)]), "\x00") {
		if name == "" || slices.Contains(ownXattrs, name) {
			continue
		}
		value := make([]byte, 64<<10) // the largest that the kernel knows: XATTR_SIZE_MAX
		if n, err := unix.Lgetxattr(path, name, value); err == nil {
			unix.Fsetxattr(fd, name, value[:n], 0)
		}
	}
}

// hasACL reports whether the file that is open as fd, if only to find names in it, has an access
// control list.
func hasACL(fd int) bool {
	n, err := unix.Getxattr(fmt.Sprintf("/proc/self/fd/%d", fd), "system.posix_acl_access", nil)
	return err == nil && n > 0
}
