package dirstore

import (
	"fmt"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// removeInPlace removes what is at the place and cannot be moved. If that is a tree, its documents
// get hidden names first, so that it is not an array or group any more. They go last. If something
// else cannot be removed, they get their names back: then the tree can be removed again.
func (p place) removeInPlace() error {
	dir, err := openIn(p.dir, p.name, unix.O_RDONLY|unix.O_DIRECTORY)
	if err == unix.ENOTDIR || err == unix.ELOOP { // no directory, or a link
		return p.named(unix.Unlinkat(p.dir, p.name, 0))
	}
	if err != nil {
		return p.named(err)
	}
	defer dir.Close()
	hidden, err := hideDocuments(dir)
	if isFull(err) { // no longer name has room
		err = p.removeDocuments()
	}
	if err != nil {
		return p.named(err)
	}
	if err := p.clear(dir, append(hidden.names(), store.UnfinishedMark)); err != nil {
		hidden.show(dir)
		return err
	}
	return p.named(bare(p.r.os.RemoveAll(p.key)))
}

// named returns the error of a removal with the key. It is nil if there was nothing to remove.
func (p place) named(err error) error {
	if err == nil || err == unix.ENOENT {
		return nil
	}
	return fmt.Errorf("%s: %w", p.r.full(p.key), err)
}

// hiddenDocuments are the hidden names of documents, by their own.
type hiddenDocuments map[string]string

// hideDocuments gives the documents of the directory hidden names. After an error none has one.
func hideDocuments(dir *os.File) (hiddenDocuments, error) {
	hidden := hiddenDocuments{}
	fd := int(dir.Fd())
	for _, name := range documents {
		temp := newTempName()
		err := unix.Renameat(fd, name, fd, temp)
		switch {
		case err == nil:
			hidden[name] = temp
		case err != unix.ENOENT:
			hidden.show(dir)
			return nil, err
		}
	}
	return hidden, nil
}

// names returns the hidden names.
func (h hiddenDocuments) names() (names []string) {
	for _, temp := range h {
		names = append(names, temp)
	}
	return names
}

// show gives the documents their own names.
func (h hiddenDocuments) show(dir *os.File) {
	fd := int(dir.Fd())
	for name, temp := range h {
		unix.Renameat(fd, temp, fd, name) // best effort
	}
}

// clear removes all in the directory that is at the place and open as dir, except what has one of
// the names. It ends at the first error, which names the key.
func (p place) clear(dir *os.File, except []string) error {
	var in []string
	err := eachEntry(dir, func(name string, _ entryKind) error {
		if !slices.Contains(except, name) {
			in = append(in, name)
		}
		return nil
	})
	for _, name := range in {
		if err == nil {
			below := place{r: p.r, key: p.key + "/" + name, dir: int(dir.Fd()), name: name}
			err = below.removeInPlace()
		}
	}
	return err
}
