package diskcache

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io/fs"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// fanOut is how many folders the files are spread over.
const fanOut = 256

// An account says how many bytes each folder holds. It is kept in a file, for all processes that
// use the cache. A process holds the lock of that file while it adds or removes files. The kernel
// releases the lock when the process dies. So the account is right, except after a kill in the
// middle or a power cut. A folder is counted again when files are evicted from it. All folders are
// counted again after a reboot.
type account struct {
	file *os.File
	boot string // which start of the machine this is

	isChecked bool // this process has compared boot; guarded by the lock of the file
}

// counts is what the file of an account holds.
type counts struct {
	bytes   [fanOut]int64
	isWrong bool // all folders must be counted
}

// total returns how many bytes all folders hold.
func (c *counts) total() (n int64) {
	for _, b := range c.bytes {
		n += b
	}
	return n
}

// fullest returns the folder that holds the most bytes.
func (c *counts) fullest() (folder int) {
	for i, n := range c.bytes {
		if n > c.bytes[folder] {
			folder = i
		}
	}
	return folder
}

// bootID returns a text that is another one after each start of the machine.
func bootID() string {
	b, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(b))
}

// errBusy says that another process holds the lock for too long, as one that is stopped.
var errBusy = errors.New("another process holds the account of the cache")

// lockTries is how often the lock is tried for, a millisecond apart.
const lockTries = 100

// openAccount opens the account of a folder, which it creates where there is none.
func openAccount(root *os.Root) (*account, error) {
	file, err := root.OpenFile("account", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	return &account{file: file, boot: bootID()}, nil
}

// hold calls change with the counts while no other process changes them, and keeps what it makes
// of them. keep keeps them before: then a kill leaves no file that is not counted.
func (a *account) hold(change func(c *counts, keep func() error) error) error {
	if err := a.lock(); err != nil {
		return err
	}
	defer unix.Flock(int(a.file.Fd()), unix.LOCK_UN)
	c := a.read()
	keep := func() error { return a.write(c) }
	return errors.Join(change(c, keep), keep())
}

func (a *account) lock() error {
	for try := 0; ; try++ {
		err := unix.Flock(int(a.file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case err == nil:
			return nil
		case err != unix.EWOULDBLOCK && err != unix.EINTR:
			return err
		case try == lockTries:
			return errBusy
		}
		time.Sleep(time.Millisecond)
	}
}

// The file is a boot ID of bootLen bytes, a number of 8 bytes for each folder, and a checksum.
const (
	bootLen    = 64
	accountLen = bootLen + 8*fanOut + 4
)

// read reads the counts.
func (a *account) read() *counts {
	var b [accountLen]byte
	c := new(counts)
	n, _ := a.file.ReadAt(b[:], 0)
	body, sum := b[:accountLen-4], binary.LittleEndian.Uint32(b[accountLen-4:])
	boot := strings.TrimRight(string(b[:bootLen]), "\x00")
	if n < accountLen || crc32.Checksum(body, castagnoli) != sum || !a.isChecked && boot != a.boot {
		c.isWrong = true
	}
	a.isChecked = true
	for i := range c.bytes {
		c.bytes[i] = int64(binary.LittleEndian.Uint64(body[bootLen+8*i:]))
	}
	return c
}

// write writes the counts. Wrong ones are left as they are.
func (a *account) write(c *counts) error {
	if c.isWrong {
		return nil
	}
	b := make([]byte, bootLen, accountLen)
	copy(b, a.boot)
	for _, n := range c.bytes {
		b = binary.LittleEndian.AppendUint64(b, uint64(n))
	}
	b = binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
	_, err := a.file.WriteAt(b, 0)
	return err
}

// count counts all folders of a cache again.
func (c *counts) count(f *folder) error {
	for i := range c.bytes {
		files, err := f.list(i)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		c.bytes[i] = sizeOf(files)
	}
	c.isWrong = false
	return nil
}
