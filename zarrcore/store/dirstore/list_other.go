//go:build !linux

package dirstore

import (
	"io"
	"io/fs"
	"os"
)

// listBatch is how many entries are read from a directory at once: enough to make system calls
// cheap, few enough that a directory of millions needs no memory to speak of.
const listBatch = 1000

// eachEntry calls yield for each entry of dir but "." and "..".
func eachEntry(dir *os.File, yield func(name string, kind entryKind) error) error {
	for {
		batch, err := dir.ReadDir(listBatch)
		for _, e := range batch {
			if err := yield(e.Name(), kindOfEntry(e)); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return bare(err)
		}
	}
}

func kindOfEntry(e fs.DirEntry) entryKind {
	switch {
	case e.IsDir():
		return isDirectory
	case e.Type()&fs.ModeSymlink != 0:
		return isLink
	}
	return isFile
}
