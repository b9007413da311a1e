package diskcache

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// A folder is a cache folder. Processes share it: each file is written under a temporary name and
// renamed, so that a reader finds a whole file or none.
type folder struct {
	root    *os.Root
	limit   int64    // bytes of all files
	account *account // nil where nothing can be written
}

// inside is the folder for the files in the one that the user names. It bears the number of the
// format.
const inside = "zarrfs-cache-1"

// temporaries is the folder of files that are being written.
const temporaries = "tmp"

// Modes of files. A file that was read has a mode of its own, so that it is evicted later.
const (
	modeNew  = 0o600
	modeRead = 0o400
)

// openFolder opens the cache in dir, which is created where it is missing. A cache that cannot be
// written is read, and why not is returned with it.
func openFolder(dir string, limit int64) (f *folder, readOnly error, err error) {
	path := filepath.Join(dir, inside)
	readOnly = os.MkdirAll(path, 0o700)
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, nil, cmp.Or(readOnly, err)
	}
	if err := isPrivate(root); err != nil {
		root.Close()
		return nil, nil, err
	}
	f = &folder{root: root, limit: limit}
	if readOnly == nil {
		readOnly = f.prepare()
	}
	return f, readOnly, nil
}

// isPrivate returns an error unless the folder is the user's own, and nobody else can look into it:
// it holds what the user's credentials gave access to.
func isPrivate(root *os.Root) error {
	info, err := root.Stat(".")
	switch {
	case err != nil:
		return err
	case info.Sys().(*syscall.Stat_t).Uid != uint32(os.Geteuid()):
		return fmt.Errorf("%s belongs to another user; name a folder of your own", root.Name())
	case info.Mode().Perm()&0o077 != 0:
		return fmt.Errorf("%s: other users can look into it; chmod 700 %[1]s", root.Name())
	}
	return nil
}

// prepare makes ready to write.
func (f *folder) prepare() (err error) {
	if f.account, err = openAccount(f.root); err != nil {
		return err
	}
	err = f.root.Mkdir(temporaries, 0o700)
	if errors.Is(err, fs.ErrExist) {
		err = f.dropTemporaries()
	}
	if err != nil {
		f.account.file.Close()
		f.account = nil
	}
	return err
}

// abandoned is the greatest age of a file that is being written. An older one was left by a killed
// process.
const abandoned = 10 * time.Minute

// dropTemporaries removes what killed processes left.
func (f *folder) dropTemporaries() error {
	files, err := f.files(temporaries)
	for _, file := range files {
		if age := time.Since(file.modified); age > abandoned || age < -abandoned {
			f.root.Remove(filepath.Join(temporaries, file.name))
		}
	}
	return err
}

// close ends the use of the folder.
func (f *folder) close() error {
	if f.account != nil {
		f.account.file.Close()
	}
	return f.root.Close()
}

// read returns the record of that name. One that is missing or damaged is nil.
func (f *folder) read(name string) *record {
	file, err := f.root.Open(pathOf(name))
	if err != nil {
		return nil
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil || info.Size() > mostList+mostHeader {
		return nil
	}
	b := make([]byte, info.Size())
	if _, err := io.ReadFull(file, b); err != nil {
		return nil
	}
	r, err := decode(b, name)
	if err != nil {
		return nil
	}
	if info.Mode().Perm() == modeNew {
		file.Chmod(modeRead) // otherwise it may be evicted earlier
	}
	return r
}

// pathOf returns where the file of a name is.
func pathOf(name string) string { return filepath.Join(name[:2], name) }

// folderOf returns the number of the folder of a name.
func folderOf(name string) int {
	n, _ := strconv.ParseUint(name[:2], 16, 8)
	return int(n)
}

// write keeps a record, and evicts others for it. One that takes more than all the cache is left
// out.
func (f *folder) write(r *record) error {
	b, err := r.encode()
	if err != nil || int64(len(b)) > f.limit {
		return err
	}
	temporary := filepath.Join(temporaries, rand.Text())
	if err := f.writeTemporary(temporary, b); err != nil {
		return err
	}
	err = f.account.hold(func(c *counts, keep func() error) error {
		return f.place(c, keep, temporary, r.Name, int64(len(b)))
	})
	if err != nil {
		f.root.Remove(temporary)
	}
	return err
}

// writeTemporary writes a file. It is not synced: its checksum shows what a power cut did to it.
func (f *folder) writeTemporary(path string, b []byte) error {
	file, err := f.root.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, modeNew)
	if err != nil {
		return err
	}
	_, err = file.Write(b)
	if err = errors.Join(err, file.Close()); err != nil {
		f.root.Remove(path)
	}
	return err
}

// place renames a file of size bytes to the name, when there is room for it.
func (f *folder) place(
	c *counts, keep func() error, temporary, name string, size int64,
) error {
	if c.isWrong {
		if err := c.count(f); err != nil {
			return err
		}
	}
	if err := f.evict(c, size); err != nil {
		return err
	}
	path, in := pathOf(name), folderOf(name)
	old := int64(0)
	if info, err := f.root.Lstat(path); err == nil {
		old = info.Size()
	}
	c.bytes[in] += size
	if err := keep(); err != nil {
		return err
	}
	err := f.root.Rename(temporary, path)
	if errors.Is(err, fs.ErrNotExist) {
		if err = f.root.Mkdir(name[:2], 0o700); err == nil || errors.Is(err, fs.ErrExist) {
			err = f.root.Rename(temporary, path)
		}
	}
	if err != nil {
		old = size
	}
	c.bytes[in] -= old
	return err
}

// file is a file of the cache.
type file struct {
	name     string
	size     int64
	modified time.Time
	isRead   bool
}

func sizeOf(files []file) (n int64) {
	for _, f := range files {
		n += f.size
	}
	return n
}

// list returns the files of one folder.
func (f *folder) list(folder int) ([]file, error) { return f.files(fmt.Sprintf("%02x", folder)) }

func (f *folder) files(dir string) (files []file, err error) {
	d, err := f.root.Open(dir)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	entries, err := d.ReadDir(-1)
	for _, e := range entries {
		if info, err := e.Info(); err == nil {
			files = append(files, file{e.Name(), info.Size(), info.ModTime(),
				info.Mode().Perm() == modeRead})
		}
	}
	return files, err
}
