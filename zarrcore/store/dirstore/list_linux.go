package dirstore

import (
	"bytes"
	"encoding/binary"
	"os"
	"runtime"
	"sync"

	"golang.org/x/sys/unix"
)

// Where the members of struct linux_dirent64 are (getdents64(2)): u64 d_ino, s64 d_off, u16
// d_reclen, u8 d_type, char d_name[].
const (
	direntLen  = 16
	direntType = 18
	direntName = 19
)

// entries recycles the buffers of eachEntry: the folder of an array mostly has a handful of
// entries, and clearing so many bytes for them takes longer than to read them.
var entries = sync.Pool{New: func() any { return new([entriesLen]byte) }}

// entriesLen is how many bytes of a directory are read at once.
const entriesLen = 32 << 10

// eachEntry calls yield for each entry of dir but "." and "..". It is not dir.ReadDir, which in an
// os.Root looks at each entry: that costs 2 µs each, and a round trip each on a network file
// system.
func eachEntry(dir *os.File, yield func(name string, kind entryKind) error) error {
	defer runtime.KeepAlive(dir)
	fd := int(dir.Fd())
	buf := entries.Get().(*[entriesLen]byte)
	defer entries.Put(buf)
	for {
		n, err := unix.Getdents(fd, buf[:])
		switch {
		case err == unix.EINTR:
			continue
		case err == unix.ENOENT || err == nil && n == 0: // ENOENT: dir was removed meanwhile
			return nil
		case err != nil:
			return err
		}
		if err := eachDirent(buf[:n], yield); err != nil {
			return err
		}
	}
}

func eachDirent(buf []byte, yield func(name string, kind entryKind) error) error {
	for len(buf) > 0 {
		if len(buf) < direntName {
			return unix.EIO
		}
		size := int(binary.NativeEndian.Uint16(buf[direntLen:]))
		if size < direntName || size > len(buf) {
			return unix.EIO
		}
		name, _, _ := bytes.Cut(buf[direntName:size], []byte{0})
		kind := kindOfDirent(buf[direntType])
		buf = buf[size:]
		if s := string(name); s != "." && s != ".." {
			if err := yield(s, kind); err != nil {
				return err
			}
		}
	}
	return nil
}

func kindOfDirent(t byte) entryKind {
	switch t {
	case unix.DT_DIR:
		return isDirectory
	case unix.DT_LNK:
		return isLink
	case unix.DT_UNKNOWN:
		return lookAtIt
	}
	return isFile
}
