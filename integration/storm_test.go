package integration

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// TestStormInOneMount: eight writers create, change, rename and remove arrays and groups in one
// mount, each in the way of the others. The mount must not take that for changes by another
// program: there is no ESTALE, no file of what could not be stored, and unmounting succeeds. Each
// array that is left is whole.
func TestStormInOneMount(t *testing.T) {
	readers := arraysReaders(t)
	for _, format := range raceFormats {
		t.Run(format, func(t *testing.T) { oneMount(t, format, readers) })
	}
}

// A storm is eight writers of one mount, and what they have done.
type storm struct {
	dir string

	mu   sync.Mutex
	next int64
	// elements that an array has at least, as its writer was told, by its number
	least map[int64]int64
	// numbers of arrays of which a write was refused, so that they are incomplete
	half   map[int64]bool
	did    map[string]int // by what was done
	failed map[string]int // by what was done, and the text of the error
}

func oneMount(t *testing.T, format string, readers []arraysReader) {
	base, scratch, flags := raceStore(t, format)
	d := started(t, base, flags...)
	s := &storm{dir: d.dir, least: map[int64]int64{}, half: map[int64]bool{}, did: map[string]int{},
		failed: map[string]int{}}
	s.rage()
	if err := d.stop(); err != nil {
		t.Error(err)
	}
	row := raceRow{allowed: s.failed}
	for _, n := range s.did {
		row.rounds += n
	}
	for _, read := range readers {
		arrays, lost := s.compare(t, read(t, base))
		t.Logf("done: %v, refused: %v, arrays left: %d", s.did, s.failed, arrays)
		row.lost = max(row.lost, lost)
		if arrays == 0 {
			t.Error("nothing is left that could be compared")
		}
	}
	row.accused = s.accusations(t, d.logged(), scratch)
	row.countHalf(t, base)
	races.add("6 eight writers in one mount", "format "+format, row)
}

// accusations counts where the mount took what the storm did for the work of another program.
func (s *storm) accusations(t *testing.T, log, scratch string) (all int) {
	t.Helper()
	for what, n := range s.failed {
		if strings.Contains(what, syscall.ESTALE.Error()) ||
			strings.Contains(what, syscall.EIO.Error()) {
			t.Errorf("%s, %d times", what, n)
			all += n
		}
	}
	if kept, _ := filepath.Glob(filepath.Join(scratch, "zarrfs-unsaved-*")); len(kept) > 0 {
		t.Errorf("%d files of what could not be stored: %v", len(kept), some(kept))
		all += len(kept)
	}
	if n := strings.Count(log, "another program"); n > 0 {
		t.Errorf("the mount blames another program %d times", n)
		all += n
	}
	return all
}

// rage lets eight writers do what they want until the time is over.
func (s *storm) rage() {
	end := time.Now().Add(raceTime())
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for time.Now().Before(end) {
				s.step()
			}
		})
	}
	wg.Wait()
}

// step does one thing.
func (s *storm) step() {
	group := s.group()
	switch n := rand.IntN(20); {
	case n < 8:
		s.save(group)
	case n < 10: // all writers have the same few names for these
		s.note("slow save of a common name",
			saveSlowly(filepath.Join(group, fmt.Sprintf("common%d.npy", rand.IntN(3)))))
	case n < 12:
		s.note("mkdir", os.MkdirAll(group, 0o777))
	case n < 14:
		s.note("rename of a group", os.Rename(group, s.group()))
	case n < 17:
		from := s.array(group)
		s.note("rename of an array", os.Rename(from, filepath.Join(s.group(), filepath.Base(from))))
	case n < 19:
		s.note("removal of an array", os.Remove(s.array(group)))
	default:
		s.note("removal of a group", os.RemoveAll(group))
	}
}

// group returns one of a few paths, where there may be a group.
func (s *storm) group() string {
	path := filepath.Join(s.dir, fmt.Sprint("g", rand.IntN(5)))
	if rand.IntN(2) == 0 {
		path = filepath.Join(path, fmt.Sprint("h", rand.IntN(2)))
	}
	return path
}

// array returns an array of the group, or a name that nothing has.
func (s *storm) array(group string) string {
	if all, _ := filepath.Glob(filepath.Join(group, "*.npy")); len(all) > 0 {
		return all[rand.IntN(len(all))]
	}
	return filepath.Join(group, "nothing.npy")
}

// save makes an array of one number, which is in its name. It then appends to it, and writes to its
// middle.
func (s *storm) save(group string) {
	s.mu.Lock()
	s.next++
	number := s.next
	s.half[number] = true // until all is written
	s.mu.Unlock()
	path := filepath.Join(group, fmt.Sprintf("n%d.npy", number))
	err := writeFile(path, npyOf(number))
	s.note("save", err)
	if err != nil {
		return
	}
	s.told(number, raceElements)
	if rand.IntN(2) == 0 {
		s.change(strings.TrimSuffix(path, ".npy")+".raw", number)
	}
}

// change appends elements to the array of a number, and writes some again.
func (s *storm) change(path string, number int64) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		s.note("open", err)
		return
	}
	var some []byte
	for range raceElements / 4 {
		some = binary.LittleEndian.AppendUint64(some, uint64(number))
	}
	_, err = f.WriteAt(some, 8*raceElements)
	if err == nil {
		_, err = f.WriteAt(some[:50*8], 8*rand.Int64N(100))
	}
	s.note("write", err)
	syncErr := f.Sync()
	s.note("fsync", syncErr)
	closeErr := f.Close()
	s.note("close", closeErr)
	if errors.Join(err, syncErr, closeErr) == nil {
		s.told(number, raceElements*5/4)
	}
}

// saveSlowly saves an array in four pieces, with time for others to remove and rename it, and waits
// until it is stored.
func saveSlowly(path string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	data := npyOf(1)
	for len(data) > 0 && err == nil {
		n := min(len(data), (128+8*raceElements)/4)
		_, err = f.Write(data[:n])
		data = data[n:]
		time.Sleep(time.Duration(rand.IntN(5)) * time.Millisecond)
	}
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// told notes that the array of a number has been stored with so many elements.
func (s *storm) told(number, elements int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.least[number] = elements
	delete(s.half, number)
}

// note counts what was done, or why it was not.
func (s *storm) note(what string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		s.did[what]++
		return
	}
	s.failed[what+": "+lastPart(err.Error())]++
}

// compare looks at each array of the store, and returns how many those are. One of a number has as
// much of it as its writer was told.
func (s *storm) compare(t *testing.T, stored map[string][]int64) (arrays, lost int) {
	t.Helper()
	for path, all := range stored {
		var number int64
		if n, _ := fmt.Sscanf(filepath.Base(path), "n%d", &number); n != 1 || s.half[number] {
			continue
		}
		arrays++
		if int64(len(all)) < s.least[number] ||
			slices.ContainsFunc(all, func(n int64) bool { return n != number }) {
			t.Errorf("%s has %d elements, expected %d of its number",
				path, len(all), s.least[number])
			lost++
		}
	}
	return arrays, lost
}
