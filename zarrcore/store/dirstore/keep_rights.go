package dirstore

import "golang.org/x/sys/unix"

// keep gives the open file fd the mode, owner and extended attributes of the object at p. The file
// is to replace that object, and old describes the object. So a change of rights survives, whether
// somebody has given a right or taken it away. What this process may not set stays as it is in a
// new file: that is not a reason to store nothing.
func (p place) keep(fd int, old *unix.Stat_t) {
	var now unix.Stat_t
	if fstat(fd, &now) != nil {
		return
	}
	if kindOf(old) == unix.S_IFLNK {
		target, _, err := p.r.look(p.key) // it is the rights of what readers see that count
		if err != nil {
			return
		}
		old = &target
	} else {
		p.keepXattrs(fd)
	}
	mode := permissions(old)
	if old.Uid != now.Uid || old.Gid != now.Gid {
		mode = keepOwner(fd, old, &now)
	} else if mode == permissions(&now) {
		return
	}
	unix.Fchmod(fd, mode)
}

// keepAbove gives a new directory the mode and owner of the one above it, which is open. Users who
// may change what is in that one can then change what is in the new one too. If narrow is set, they
// get no right that the umask has kept from them.
func keepAbove(above int, name string, narrow bool) {
	fd, err := openat(above, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW)
	if err != nil {
		return
	}
	defer unix.Close(fd)
	var want, now unix.Stat_t
	if fstat(above, &want) != nil || fstat(fd, &now) != nil || int(now.Uid) != unix.Geteuid() {
		return // another program has put a directory of its own there meanwhile
	}
	if narrow {
		want.Mode &= now.Mode | 0o7700
	}
	mode := permissions(&want)
	if want.Uid != now.Uid || want.Gid != now.Gid {
		mode = keepOwner(fd, &want, &now)
	}
	unix.Fchmod(fd, mode)
}

// keepOwner gives the file the owner and group of the old one, as far as it may, and returns its
// future mode. A group that is not the old one gets no more than all others have, and no file of
// another owner runs as its owner.
func keepOwner(fd int, old, now *unix.Stat_t) (mode uint32) {
	mode = permissions(old)
	if unix.Fchown(fd, int(old.Uid), int(old.Gid)) == nil {
		return mode
	}
	mode &= 0o777
	if old.Gid != now.Gid && unix.Fchown(fd, -1, int(old.Gid)) != nil {
		mode &^= 0o070 &^ (mode & 0o007 << 3)
	}
	return mode
}

// permissions returns the mode without the kind of file.
func permissions(st *unix.Stat_t) uint32 { return uint32(st.Mode) & 0o7777 }
