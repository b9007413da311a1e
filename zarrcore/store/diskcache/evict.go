package diskcache

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
)

// evict makes room for size bytes. Of the fullest folder it removes the oldest files that nobody
// has read since the folder was looked at before, then the others: so what is read once, as by a
// scan, goes before what is read again and again. It removes a quarter of a folder at once.
func (f *folder) evict(c *counts, size int64) error {
	for c.total()+size > f.limit {
		in := c.fullest()
		if c.bytes[in] <= 0 {
			return errors.New("the account of the cache is wrong")
		}
		files, err := f.list(in)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		slices.SortFunc(files, func(a, b file) int {
			if a.isRead != b.isRead {
				return map[bool]int{true: 1, false: -1}[a.isRead]
			}
			return cmp.Or(a.modified.Compare(b.modified), cmp.Compare(a.name, b.name))
		})
		c.bytes[in] = sizeOf(files)
		least := c.bytes[in] * 3 / 4
		for i, file := range files {
			path := filepath.Join(fmt.Sprintf("%02x", in), file.name)
			if i > 0 && c.bytes[in] <= least && c.total()+size <= f.limit {
				f.forgetRead(path, file)
				continue
			}
			if err := f.root.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			c.bytes[in] -= file.size
		}
	}
	return nil
}

// forgetRead makes a file one that nobody has read.
func (f *folder) forgetRead(path string, file file) {
	if file.isRead {
		f.root.Chmod(path, modeNew)
	}
}
