package integration

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/zarrfs/zarrfs/layout/npy"
)

// The tests of this file rename and remove what other programs are writing at that moment: in the
// store, by another mount, and by the same one. Writers make new arrays, each of one number that no
// other has. What a writer was told is stored has to be somewhere in the end, whole. Nothing may be
// left in part.

// TestRenameRaces: a group or an array is renamed, through the mount or directly in the store.
// Meanwhile arrays are made in it, written to in place and appended to, also by programs that leave
// storing to the background.
func TestRenameRaces(t *testing.T) {
	readers := arraysReaders(t)
	for _, how := range renamers {
		for _, what := range []string{"group", "array"} {
			for _, format := range raceFormats {
				t.Run(how+"/"+what+"/"+format, func(t *testing.T) {
					raceRenames(t, how, what, format, readers)
				})
			}
		}
	}
}

// renamers are the programs that rename, and raceFormats the formats of what they rename.
var (
	renamers    = []string{"in the store", "by another mount", "in the mount"}
	raceFormats = []string{"2", "3", "3 sharded"}
)

// raceTime is how long each race is run, in milliseconds.
func raceTime() time.Duration {
	return time.Duration(count("ZARRFS_RACE_MS", 1500)) * time.Millisecond
}

const raceElements = 256 // of int64, in four chunks

// A race is writers that make arrays below one folder while something is renamed there.
type race struct {
	t    *testing.T
	dir  string // where they write
	next atomic.Int64
	mu   sync.Mutex
	told map[int64]change // what was stored of a number's array, as its writer was told
	rows map[change]*raceRow
}

// A change is what is done to an array: it is saved, and changed once it is stored.
type change uint8

const (
	saved      change = 1 << iota
	inPlace           // the elements from raceElements/4 to 3/4 are raised by raised
	appended          // raceElements/4 elements follow
	background        // the file is closed after the mount has stored it
)

// changes names the changes, as rows of the table have them.
var changes = map[change]string{
	saved: "np.save", inPlace: "in place", appended: "append", background: "background",
}

// raised is added to elements that are changed in place.
const raised = 1 << 32

// raceStore makes a store with an empty group g0, and returns how to mount it for a race. What
// cannot be stored is kept in scratch.
func raceStore(t *testing.T, format string) (base, scratch string, flags []string) {
	return raceStoreIn(t, t.TempDir(), format)
}

// raceStoreIn is raceStore in a folder.
func raceStoreIn(t *testing.T, dir, format string) (base, scratch string, flags []string) {
	format, sharded := strings.CutSuffix(format, " sharded")
	base = filepath.Join(dir, "s.zarr")
	run(t, zarrfs(t), "create", base, "--group", "--format", format)
	run(t, zarrfs(t), "create", base, "g0", "--group")
	scratch = t.TempDir()
	flags = []string{"--create-chunks", "64", "--create-codecs", "none", "--scratch-dir", scratch}
	if sharded {
		flags = append(flags, "--create-shards", "128")
	}
	return base, scratch, flags
}

func raceRenames(t *testing.T, how, what, format string, readers []arraysReader) {
	base, _, flags := raceStore(t, format)
	d := started(t, base, flags...)
	where := base
	switch how {
	case "by another mount":
		where = started(t, base, flags...).dir
	case "in the mount":
		where = d.dir
	}
	r := &race{t: t, dir: d.dir, told: map[int64]change{}, rows: map[change]*raceRow{}}
	for what := range changes {
		r.rows[what] = &raceRow{}
	}
	rename := renameGroup(where)
	if what == "array" {
		rename = renameArrays(where, how == "in the store")
	}
	all := raceRow{rounds: r.run(rename)}
	if err := d.stop(); err != nil {
		all.stopByForce(t, d)
	}
	r.compare(base, readers)
	all.countHalf(t, base)
	if how == "in the mount" {
		all.accused = strings.Count(d.logged(), "another program has removed") + r.stale()
	}
	r.report("1, 2 renames "+how, format, all)
}

// stale returns how many programs were told that a file is stale.
func (r *race) stale() (times int) {
	for _, row := range r.rows {
		times += row.allowed[syscall.ESTALE.Error()]
	}
	return times
}

// report adds the rows of a race to the table, and fails at what is bad in them.
func (r *race) report(name, format string, all raceRow) {
	races.add(name, "renames, format "+format, all)
	bad := all.bad()
	for what, row := range r.rows {
		races.add(name, changes[what]+", format "+format, *row)
		r.t.Logf("%s: rounds: %d, lost: %d, refused: %s",
			changes[what], row.rounds, row.lost, row.errors())
		bad += row.bad()
	}
	r.t.Logf("renames: %d, half: %d, accused: %d", all.rounds, all.half, all.accused)
	if bad > 0 {
		r.t.Errorf("%d faults", bad)
	}
	if r.rows[saved].rounds == 0 || all.rounds == 0 {
		r.t.Error("nothing has raced")
	}
}

// stopByForce unmounts, and keeps in files what cannot be stored.
func (d *daemon) stopByForce(t *testing.T) {
	t.Helper()
	out, err := command(d.bin, "umount", "--force", d.dir)
	t.Logf("umount --force: %v\n%s", err, some(strings.Split(string(out), "\n")))
	d.wait()
	d.process = nil
}

func some(all []string) []string { return all[:min(5, len(all))] }

// run lets four writers write until the time is over, and renames meanwhile. A fifth one leaves
// storing to the mount. It returns how many renames succeeded.
func (r *race) run(rename func() bool) (renames int) {
	var done atomic.Bool
	var wg sync.WaitGroup
	for i := range 5 {
		wg.Go(func() {
			for !done.Load() {
				if i == 4 {
					r.writeInBackground(done.Load)
				} else {
					r.write()
				}
			}
		})
	}
	end := time.Now().Add(raceTime())
	late := end.Add(20 * time.Second) // a busy machine may not store anything so soon
	for now := time.Now(); now.Before(end) || now.Before(late) && !r.hasStored(); now = time.Now() {
		if rename() {
			renames++
		}
		time.Sleep(time.Duration(rand.IntN(5000)) * time.Microsecond)
	}
	done.Store(true)
	wg.Wait()
	return renames
}

// hasStored reports whether an array has been stored.
func (r *race) hasStored() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.rows[saved].rounds > 0
}

// save makes an array of one number in the group as it is called now. It returns its path without a
// suffix; "" if it could not.
func (r *race) save() (number int64, path string) {
	number = r.next.Add(1)
	path = filepath.Join(r.dir, fmt.Sprintf("g%d/a%d", rand.IntN(2), number))
	if !r.note(number, saved, writeFile(path+".npy", npyOf(number))) {
		return 0, ""
	}
	return number, path
}

// write makes arrays, and then changes some of them.
func (r *race) write() {
	number, path := r.save()
	if what := change(rand.IntN(4)) << 1; what != 0 && path != "" {
		f, err := changeFile(path+".raw", number, what)
		if f != nil {
			err = errors.Join(err, f.Sync(), f.Close())
		}
		r.note(number, what, err)
	}
}

// writeInBackground makes some arrays and changes them, with no fsync. It closes them when the
// mount has stored them, after five seconds without a write, or when all is done.
func (r *race) writeInBackground(done func() bool) {
	open := map[int64]*os.File{}
	for len(open) < 8 && !done() {
		number, path := r.save()
		if path == "" {
			continue
		}
		f, err := changeFile(path+".raw", number, inPlace)
		if err != nil {
			r.note(number, inPlace|background, err)
		}
		if f != nil {
			open[number] = f
		}
	}
	for end := time.Now().Add(6 * time.Second); time.Now().Before(end) && !done(); {
		time.Sleep(10 * time.Millisecond)
	}
	for number, f := range open {
		r.note(number, inPlace|background, f.Close())
	}
}

// note counts a change of the array of a number: it was stored, or refused.
func (r *race) note(number int64, done change, err error) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil {
		r.told[number] |= done &^ background
	}
	for what, row := range r.rows {
		switch {
		case done&what == 0 || done&background != 0 && what != background:
		case err == nil:
			row.rounds++
		case os.IsNotExist(err): // there is no such name at the moment
			row.allow("no such file", 1)
		default:
			row.allow(lastPart(err.Error()), 1)
		}
	}
	return err == nil
}

// changeFile makes the change what to the array of a number. If it returns a file, the caller
// closes it.
func changeFile(path string, number int64, what change) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	if what&inPlace != 0 {
		_, err = f.WriteAt(elements(number+raised, raceElements/2), 8*raceElements/4)
	}
	if what&appended != 0 && err == nil {
		_, err = f.WriteAt(elements(number, raceElements/4), 8*raceElements)
	}
	return f, err
}

// writeFile writes as numpy.save does: the header, then the data.
func writeFile(path string, data []byte) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	for _, part := range [][]byte{data[:128], data[128:]} {
		if _, err := f.Write(part); err != nil {
			f.Close()
			return err
		}
	}
	return f.Close()
}

// npyOf is a .npy file of raceElements times the number.
func npyOf(number int64) []byte {
	return append(headerOf("'<i8'", raceElements), elements(number, raceElements)...)
}

// elements is the bytes of a number, several times.
func elements(number int64, times int) []byte {
	return bytes.Repeat(binary.LittleEndian.AppendUint64(nil, uint64(number)), times)
}

// headerOf is the header of a .npy file of one axis.
func headerOf(descr string, length int64) []byte {
	header, err := npy.Header(descr, false, []int64{length})
	if err != nil {
		panic(err)
	}
	return header
}

// compare counts what writers were told is stored, and what a reader does not find whole.
func (r *race) compare(base string, readers []arraysReader) {
	lost := map[int64]change{}
	for _, read := range readers {
		found := map[int64][]int64{}
		for _, all := range read(r.t, base) {
			if len(all) >= raceElements {
				found[all[0]] = all
			}
		}
		for number, told := range r.told {
			lost[number] |= missing(found[number], number, told)
		}
	}
	for number, missing := range lost {
		for what, row := range r.rows {
			if missing&what != 0 {
				row.lost++
				r.t.Errorf("lost: %s of the array of number %d", changes[what], number)
			}
		}
	}
}

// missing returns the changes of told that the array of a number lacks. told has the changes that
// their writer was told are stored.
func missing(all []int64, number int64, told change) (lost change) {
	for what := range changes {
		if told&what != 0 && !holds(all, number, what) {
			lost |= what
		}
	}
	return lost
}

// holds reports whether the array of a number has what a change stored of it. Other changes, which
// its writer does not know to be stored, may be there in part.
func holds(all []int64, number int64, what change) bool {
	if len(all) < raceElements {
		return false
	}
	middle := all[raceElements/4 : raceElements*3/4]
	isNot := func(want ...int64) func(int64) bool {
		return func(n int64) bool { return !slices.Contains(want, n) }
	}
	switch what {
	case inPlace:
		return !slices.ContainsFunc(middle, isNot(number+raised))
	case appended:
		tail := all[raceElements:]
		return len(tail) == raceElements/4 && !slices.ContainsFunc(tail, isNot(number))
	}
	rest := slices.Concat(all[:raceElements/4], all[raceElements*3/4:raceElements])
	return !slices.ContainsFunc(rest, isNot(number)) &&
		!slices.ContainsFunc(middle, isNot(number, number+raised))
}

// halfThings returns folders of a store that should not be there: with chunks, or nodes, and
// without a document.
func halfThings(t *testing.T, base string) (half []string) {
	t.Helper()
	eachFolder(base, func(path string, names map[string]bool) {
		if names["zarr.json"] || names[".zgroup"] || names[".zarray"] {
			return
		}
		var all []string
		for name := range names {
			all = append(all, name)
		}
		half = append(half, fmt.Sprintf("%s: %v", path, some(all)))
	})
	return half
}

// eachFolder calls visit for each folder of a store that is not a folder of chunks of an array,
// with the names in it.
func eachFolder(base string, visit func(path string, names map[string]bool)) {
	filepath.WalkDir(base, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.IsDir() {
			return nil
		}
		if strings.HasPrefix(e.Name(), ".zarrfs-") {
			return filepath.SkipDir
		}
		names := map[string]bool{}
		entries, _ := os.ReadDir(path)
		for _, e := range entries {
			names[e.Name()] = true
		}
		rel, _ := filepath.Rel(base, path)
		visit(strings.TrimPrefix(rel, "."), names)
		doc, _ := os.ReadFile(filepath.Join(path, "zarr.json"))
		if names[".zarray"] || bytes.Contains(doc, []byte(`"array"`)) {
			return filepath.SkipDir
		}
		return nil
	})
}

// renameGroup renames g0 to g1, or back.
func renameGroup(where string) func() bool {
	return func() bool {
		for i := range 2 {
			from, to := filepath.Join(where, fmt.Sprint("g", i)),
				filepath.Join(where, fmt.Sprint("g", 1-i))
			if os.Rename(from, to) == nil {
				return true
			}
		}
		return false
	}
}

// renameArrays renames an array of g0 that is being written, or was written a moment ago.
func renameArrays(where string, stored bool) func() bool {
	n := 0
	return func() bool {
		names, _ := filepath.Glob(filepath.Join(where, "g0", "a[0-9]*"))
		for _, from := range names {
			if !stored && !strings.HasSuffix(from, ".npy") {
				continue
			}
			n++
			to := filepath.Join(where, "g0", fmt.Sprintf("b%d%s", n, filepath.Ext(from)))
			if os.Rename(from, to) == nil {
				return true
			}
		}
		return false
	}
}
