package integration

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// The tests of this file rename what others are writing, as TestRenameRaces does, while the daemon
// is killed, or the disk is full.

// eachRenamer runs a race for each renamer in each format in the long mode of the races. Otherwise
// it runs a few of them, so that each renamer and each format is tried once.
func eachRenamer(t *testing.T, run func(t *testing.T, how, format string)) {
	for i, how := range renamers {
		for j, format := range raceFormats {
			if i == j || os.Getenv("ZARRFS_RACE_MS") != "" {
				t.Run(how+"/"+format, func(t *testing.T) { run(t, how, format) })
			}
		}
	}
}

// renamedIn returns where a renamer renames what is in the mount d of the store base.
func renamedIn(t *testing.T, how, base string, d *daemon) string {
	t.Helper()
	switch how {
	case "by another mount":
		return started(t, base, d.flags...).dir
	case "in the mount":
		return d.dir
	}
	return base
}

// TestKilledBesideRenames: the daemon is killed and started again while arrays are written and
// their group is renamed. What a writer was told is stored is there in the end, and nothing is
// there in part.
func TestKilledBesideRenames(t *testing.T) {
	readers := arraysReaders(t)
	eachRenamer(t, func(t *testing.T, how, format string) {
		base, _, flags := raceStore(t, format)
		d := started(t, base, flags...)
		r := &race{t: t, dir: d.dir, told: map[int64]change{}, rows: map[change]*raceRow{}}
		for what := range changes {
			r.rows[what] = &raceRow{}
		}
		rename := renameGroup(renamedIn(t, how, base, d))
		done, killed := make(chan struct{}), make(chan int)
		go func() { killed <- killAgainAndAgain(t, d, done) }()
		all := raceRow{rounds: r.run(rename)}
		close(done)
		t.Logf("killed %d times", <-killed)
		if err := d.stop(); err != nil {
			all.stopByForce(t, d)
		}
		r.compare(base, readers)
		all.countHalf(t, base)
		r.report("1, 2 kills beside renames "+how, format, all)
	})
}

// killAgainAndAgain kills the daemon and starts it again, until done. It returns how many times.
func killAgainAndAgain(t *testing.T, d *daemon, done <-chan struct{}) (times int) {
	for {
		select {
		case <-done:
			return times
		case <-time.After(time.Duration(100+rand.IntN(600)) * time.Millisecond):
		}
		d.kill()
		times++
		if err := d.start(); err != nil {
			t.Error(err)
			return times
		}
	}
}

// TestFullDiskBesideRenames: arrays are written to while their group is renamed, and the disk is
// full most of the time. What a writer was told is stored is in its array in the end, unless
// something newer is. Each byte that a write accepted is there or in a file.
func TestFullDiskBesideRenames(t *testing.T) {
	needRoot(t)
	eachRenamer(t, fullDiskBesideRenames)
}

func fullDiskBesideRenames(t *testing.T, how, format string) {
	disk := tmpfs(t, "6m")
	base, scratch, flags := raceStoreIn(t, disk, format)
	d := started(t, base, flags...)
	writers := make([]overwriter, 12)
	for i := range writers {
		writers[i] = overwriter{dir: d.dir, number: i}
		if err := writeFile(d.path(fmt.Sprintf("g0/a%d.npy", i)), npyOf(0)); err != nil {
			t.Fatal(err)
		}
	}
	rename := renameGroup(renamedIn(t, how, base, d))
	renames := 0
	var over atomic.Bool
	var wg sync.WaitGroup
	for i := range writers {
		wg.Go(func() { writers[i].writeUntil(&over) })
	}
	wg.Go(func() {
		for ; !over.Load(); time.Sleep(time.Duration(rand.IntN(10)) * time.Millisecond) {
			if rename() {
				renames++
			}
		}
	})
	for end := time.Now().Add(raceTime()); time.Now().Before(end); {
		fillFor(t, filepath.Join(disk, "ballast"), 200*time.Millisecond)
		time.Sleep(100 * time.Millisecond)
	}
	over.Store(true)
	wg.Wait()
	row := raceRow{}
	if err := d.stop(); err != nil {
		row.stopByForce(t, d)
	}
	found := arraysByZarrcore(t, base)
	for _, w := range writers {
		row.rounds += w.rounds
		if !w.isWhole(t, found, scratch) {
			row.lost++
		}
		for text, times := range w.refused {
			row.allow(text, times)
		}
	}
	row.countHalf(t, base)
	if how == "in the mount" {
		row.accused = row.allowed[syscall.ESTALE.Error()]
	}
	races.add("1, 2 full disks beside renames "+how, "in place, format "+format, row)
	t.Logf("renames: %d, written: %d, lost: %d, half: %d, accused: %d, allowed: %s",
		renames, row.rounds, row.lost, row.half, row.accused, row.errors())
	if row.bad() > 0 || row.rounds == 0 || renames == 0 {
		t.Errorf("%d faults", row.bad())
	}
}

// fillFor takes all space of a disk, and frees it after a while.
func fillFor(t *testing.T, ballast string, while time.Duration) {
	end := time.Now().Add(while)
	f, err := os.Create(ballast)
	if err != nil { // there is no room for its name
		time.Sleep(while)
		return
	}
	for time.Now().Before(end) {
		if _, err := f.Write(make([]byte, 1<<16)); err != nil {
			time.Sleep(time.Millisecond)
		}
	}
	if err := errors.Join(f.Close(), os.Remove(ballast)); err != nil {
		t.Error(err)
	}
}

// An overwriter writes to the array of a number, again and again, a higher value each time.
type overwriter struct {
	dir      string
	number   int
	accepted int64 // the last that a write accepted
	told     int64 // the last that is stored, as it was told
	rounds   int
	refused  map[string]int // by the text of the error
}

// Where an overwriter writes: to elements of two chunks.
const (
	overwrittenFrom = 70
	overwrittenEnd  = 170
)

func (w *overwriter) writeUntil(over *atomic.Bool) {
	w.refused = map[string]int{}
	for next := int64(1); !over.Load(); next++ {
		if err := w.write(next); err == nil {
			w.told = next
			w.rounds++
		} else {
			w.refused[lastPart(err.Error())]++
			time.Sleep(time.Millisecond)
		}
	}
}

// write opens the array where it may be now, and writes.
func (w *overwriter) write(next int64) error {
	path := filepath.Join(w.dir, fmt.Sprintf("g%d/a%d.raw", rand.IntN(2), w.number))
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(elements(next, overwrittenEnd-overwrittenFrom), 8*overwrittenFrom)
	if err == nil {
		w.accepted = next
		if next%3 == 0 {
			err = f.Sync()
		}
		if next%7 == 0 {
			time.Sleep(time.Duration(rand.IntN(50)) * time.Millisecond)
		}
	}
	return errors.Join(err, f.Close())
}

// isWhole reports whether what was written last is in the array. If its writer was told of an
// error, it may be in files of what could not be stored.
func (w *overwriter) isWhole(t *testing.T, found map[string][]int64, scratch string) bool {
	t.Helper()
	var parts [][]int64
	for path, all := range found {
		if filepath.Base(path) == fmt.Sprint("a", w.number) {
			parts = append(parts, all)
		}
	}
	if len(parts) != 1 {
		t.Errorf("array %d is there %d times", w.number, len(parts))
		return false
	}
	if w.told < w.accepted {
		parts = append(parts, keptElements(t, scratch, w.number)...)
	}
	for i := overwrittenFrom; i < overwrittenEnd; i++ {
		if !slices.ContainsFunc(parts, func(all []int64) bool { return all[i] == w.accepted }) {
			t.Errorf("array %d, element %d: %d, expected %d; stored as told: %d",
				w.number, i, parts[0][i], w.accepted, w.told)
			return false
		}
	}
	return true
}

// keptElements returns the elements of an array that are in files because they could not be stored.
func keptElements(t *testing.T, scratch string, number int) (kept [][]int64) {
	t.Helper()
	name := regexp.MustCompile(fmt.Sprintf(`%%2Fa%d(\D[^%%]*)?\.unsaved$`, number))
	files, _ := filepath.Glob(filepath.Join(scratch, "zarrfs-unsaved-*.unsaved"))
	for _, file := range files {
		if !name.MatchString(file) {
			continue
		}
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		all := make([]int64, raceElements)
		err = binary.Read(f, binary.LittleEndian, all)
		f.Close()
		if err != nil {
			t.Fatal(err)
		}
		kept = append(kept, all)
	}
	return kept
}
