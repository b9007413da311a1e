package integration

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestFinalFlushRaces: arrays are changed through mappings that no program syncs. So they are
// stored only when the mount ends, while their group is renamed. If zarrfs umount succeeds, all is
// in the store. Otherwise the rest is in files, which zarrfs restore puts back.
func TestFinalFlushRaces(t *testing.T) {
	readers := arraysReaders(t)
	for _, how := range renamers {
		for _, format := range raceFormats {
			t.Run(how+"/"+format, func(t *testing.T) {
				f := finalFlush{how: how, format: format, readers: readers}
				for end := time.Now().Add(raceTime()); time.Now().Before(end) && !t.Failed(); {
					f.round(t)
				}
				races.add("1, 2 renames "+how, "final flush, format "+format, f.row)
				t.Logf("changed: %d, lost: %d, half: %d, allowed: %s",
					f.row.rounds, f.row.lost, f.row.half, f.row.errors())
			})
		}
	}
}

// A finalFlush has the results of the rounds of one combination.
type finalFlush struct {
	how, format string
	readers     []arraysReader
	row         raceRow
}

// round changes thirty arrays, unmounts while others rename, and compares.
func (f *finalFlush) round(t *testing.T) {
	base, scratch, flags := raceStore(t, f.format)
	d := started(t, base, flags...)
	where, other := base, (*daemon)(nil)
	switch f.how {
	case "by another mount":
		other = started(t, base, flags...)
		where = other.dir
	case "in the mount":
		where = d.dir
	}
	r := &race{t: t, dir: d.dir, told: map[int64]change{}}
	r.rows = map[change]*raceRow{inPlace: &f.row}
	for number := range int64(30) {
		path := d.path(fmt.Sprintf("g0/a%d", number+1))
		err := writeFile(path+".npy", npyOf(number+1))
		if err = errors.Join(err, changeMapped(path+".raw", number+1)); err != nil {
			t.Fatal(err)
		}
		r.note(number+1, inPlace, nil)
	}
	f.unmountWhile(t, d, renameGroup(where))
	if other != nil {
		if err := other.stop(); err != nil {
			t.Error(err)
		}
	}
	f.restore(t, base, scratch)
	r.compare(base, f.readers)
	f.row.countHalf(t, base)
}

// changeMapped changes an array in place through a mapping. The kernel writes its pages when the
// mapping ends, and no program waits until they are stored.
func changeMapped(path string, number int64) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	const readWrite = unix.PROT_READ | unix.PROT_WRITE
	m, err := unix.Mmap(int(f.Fd()), 0, 8*raceElements, readWrite, unix.MAP_SHARED)
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	copy(m[8*raceElements/4:], elements(number+raised, raceElements/2))
	return unix.Munmap(m)
}

// unmountWhile unmounts while rename goes on, and by force if that fails.
func (f *finalFlush) unmountWhile(t *testing.T, d *daemon, rename func() bool) {
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
				rename()
			}
		}
	})
	err := d.stop()
	if f.how == "in the mount" && err != nil {
		f.row.allow("umount: in use", 1) // by the renames
	} else if err != nil {
		f.row.allow("umount: not all can be stored", 1)
	}
	close(done)
	wg.Wait()
	if err != nil {
		d.stopByForce(t)
	}
}

// ofArray finds the number of an array in the name of a file with data that could not be stored.
var ofArray = regexp.MustCompile(`%2Fa(\d+)[^%]*\.unsaved$`)

// restore puts back what is in such files.
func (f *finalFlush) restore(t *testing.T, base, scratch string) {
	files, _ := filepath.Glob(filepath.Join(scratch, "zarrfs-unsaved-*.unsaved"))
	for _, file := range files {
		number, err := strconv.Atoi(ofArray.FindStringSubmatch(file)[1])
		if err != nil {
			t.Fatal(err)
		}
		found, _ := filepath.Glob(filepath.Join(base, fmt.Sprintf("g?/a%d", number)))
		if len(found) != 1 {
			t.Fatalf("array %d is at %v", number, found)
		}
		node, _ := filepath.Rel(base, found[0])
		run(t, zarrfs(t), "restore", file, base, node)
		f.row.allow("restored from a file", 1)
	}
}
