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
	"testing"
	"time"

	"github.com/zarrfs/zarrfs/layout/npy"
	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/store"
	"github.com/zarrfs/zarrfs/zarrcore/store/dirstore"
)

// The tests of this file rename, and remove, what others are writing just then: in the store, by
// another mount, and by the same one. Writers make new arrays, each of one number that no other
// has. What a writer was told is stored has to be somewhere in the end, whole; and nothing half may
// be left.

// TestRenameRaces: a group or an array is renamed, through the mount or directly in the store.
// Meanwhile arrays are made in it, written to in place and appended to.
func TestRenameRaces(t *testing.T) {
	var all raceTotal
	for _, how := range []string{"in the store", "by another mount", "in the mount"} {
		for _, what := range []string{"group", "array"} {
			for _, format := range []string{"2", "3", "3 sharded"} {
				t.Run(how+"/"+what+"/"+format, func(t *testing.T) { all.add(raceRenames(t, how, what, format)) })
			}
		}
	}
	t.Logf("in all: %v", all)
}

// A raceTotal is what came of one race or several.
type raceTotal struct{ renames, stored, changed, lost, half int }

func (r *raceTotal) add(o raceTotal) {
	r.renames += o.renames
	r.stored += o.stored
	r.changed += o.changed
	r.lost += o.lost
	r.half += o.half
}

func (r raceTotal) String() string {
	return fmt.Sprintf("renames: %d, arrays stored: %d, changed in place or appended to: %d, lost: %d, half: %d",
		r.renames, r.stored, r.changed, r.lost, r.half)
}

// raceTime is how long each race is run, in milliseconds.
func raceTime() time.Duration { return time.Duration(count("ZARRFS_RACE_MS", 1500)) * time.Millisecond }

const raceElements = 256 // of int64, in four chunks

// A race is writers that make arrays below one folder while something is renamed there.
type race struct {
	t      *testing.T
	dir    string // where they write
	next   atomic.Int64
	mu     sync.Mutex
	told   map[int64]string // numbers that were stored, as their writers were told, and where
	change map[int64]change // what was stored of a number's array afterwards
	failed map[string]int   // by the text of the error
}

// A change is what is done to an array once it is stored.
type change uint8

const (
	inPlace  change = 1 << iota // the elements from raceElements/4 to 3/4 are raised by raised
	appended                    // raceElements/4 elements follow
)

// raised is added to elements that are changed in place.
const raised = 1 << 32

func raceRenames(t *testing.T, how, what, format string) raceTotal {
	format, sharded := strings.CutSuffix(format, " sharded")
	base := filepath.Join(t.TempDir(), "s.zarr")
	for _, args := range [][]string{{"create", base, "--group", "--format", format}, {"create", base, "g0", "--group"}} {
		run(t, zarrfs(t), args...)
	}
	flags := []string{"--create-chunks", "64", "--create-codecs", "none"}
	if sharded {
		flags = append(flags, "--create-shards", "128")
	}
	d := started(t, base, flags...)
	where := base
	switch how {
	case "by another mount":
		where = started(t, base, flags...).dir
	case "in the mount":
		where = d.dir
	}
	r := &race{t: t, dir: d.dir, told: map[int64]string{}, change: map[int64]change{}, failed: map[string]int{}}
	rename := renameGroup(where)
	if what == "array" {
		rename = renameArrays(where, how == "in the store")
	}
	renames := r.run(rename)
	if err := d.stop(); err != nil {
		t.Logf("stop: %v", err)
	}
	lost, half := r.compare(base), halfThings(t, base)
	total := raceTotal{renames, len(r.told), len(r.change), len(lost), len(half)}
	t.Logf("%v, refused: %d %v", total, r.refused(), r.failed)
	if len(lost) > 0 || len(half) > 0 {
		t.Errorf("lost: %v\nhalf: %v", some(lost), some(half))
	}
	if len(r.told) == 0 || renames == 0 {
		t.Error("nothing was raced for")
	}
	if n := strings.Count(d.logged(), "another program has removed"); how == "in the mount" && n > 0 {
		t.Errorf("the mount blames another program %d times", n)
	}
	return total
}

func some(all []string) []string { return all[:min(5, len(all))] }

// run lets four writers write until the time is over, and renames meanwhile. It returns how many
// renames succeeded.
func (r *race) run(rename func() bool) (renames int) {
	var done atomic.Bool
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for !done.Load() {
				r.write()
			}
		})
	}
	end := time.Now().Add(raceTime())
	late := end.Add(20 * time.Second) // a loaded machine may store nothing so soon
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
	return len(r.told) > 0
}

// write makes an array of one number in the group as it is called now, and changes some of them
// then.
func (r *race) write() {
	number := r.next.Add(1)
	path := filepath.Join(r.dir, fmt.Sprintf("g%d/a%d", rand.IntN(2), number))
	if !r.note(writeFile(path+".npy", npyOf(number)), func() { r.told[number] = path }) {
		return
	}
	if what := change(rand.IntN(4)); what != 0 {
		r.note(changeFile(path+".raw", number, what), func() { r.change[number] = what })
	}
}

// note calls told if there is no error, and counts the error otherwise.
func (r *race) note(err error, told func()) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil {
		told()
	} else if !os.IsNotExist(err) || !strings.HasPrefix(err.Error(), "open ") { // there is no such name at the moment
		text := err.Error()
		r.failed[text[strings.LastIndex(text, ": ")+2:]]++
	}
	return err == nil
}

// changeFile does what to the array of a number, and waits until it is stored.
func changeFile(path string, number int64, what change) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	if what&inPlace != 0 {
		_, err = f.WriteAt(elements(number+raised, raceElements/2), 8*raceElements/4)
	}
	if what&appended != 0 && err == nil {
		_, err = f.WriteAt(elements(number, raceElements/4), 8*raceElements)
	}
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

func (r *race) refused() (n int) {
	for _, k := range r.failed {
		n += k
	}
	return n
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

// compare returns which numbers are in no array of the store as a whole, though their writers were
// told that they are.
func (r *race) compare(base string) (lost []string) {
	d, err := dirstore.Open(base, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	defer d.Close()
	h, err := zarrcore.Open(r.t.Context(), store.New(d, base), nil)
	if err != nil {
		r.t.Fatal(err)
	}
	defer h.Close()
	found := map[int64]bool{}
	eachFolder(base, func(path string, names map[string]bool) {
		if names["zarr.json"] || names[".zarray"] {
			if p := r.content(h, path); p != nil {
				found[p[0]] = r.whole(p)
			}
		}
	})
	for number, path := range r.told {
		if !found[number] {
			lost = append(lost, path)
		}
	}
	return lost
}

// content returns the elements of the array at path; nil if there is no array.
func (r *race) content(h *zarrcore.Hierarchy, path string) []int64 {
	a, err := h.OpenArray(r.t.Context(), path)
	if err != nil || a.Size() < raceElements*8 {
		return nil
	}
	p := make([]byte, a.Size())
	if _, err := a.ReadAt(r.t.Context(), p, 0); err != nil {
		r.t.Errorf("%s: %v", path, err)
	}
	all := make([]int64, len(p)/8)
	binary.Read(bytes.NewReader(p), binary.LittleEndian, all)
	return all
}

// whole reports whether an array, whose first element is its number, has all that its writer was
// told is stored. A change that failed may be there in part.
func (r *race) whole(all []int64) bool {
	number := all[0]
	told := r.change[number]
	for i, n := range all[:raceElements] {
		middle := i >= raceElements/4 && i < raceElements*3/4
		switch {
		case middle && n == number+raised:
		case middle && told&inPlace != 0 || n != number:
			return false
		}
	}
	tail := all[raceElements:]
	return number != 0 && (told&appended == 0 || len(tail) == raceElements/4 && !slices.ContainsFunc(tail, func(n int64) bool { return n != number }))
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
			from, to := filepath.Join(where, fmt.Sprint("g", i)), filepath.Join(where, fmt.Sprint("g", 1-i))
			if os.Rename(from, to) == nil {
				return true
			}
		}
		return false
	}
}

// renameArrays renames an array of g0 that is being written, or was just now.
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
