package integration

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestUnpackedTwiceAtOnce lets two programs unpack one tree into one folder at the same time. If
// both succeed, each array has the chunks, codecs, attributes and bytes of its source. tar removes
// what it finds in its way, also what the other has just made. cp may get EEXIST, as on any file
// system if another program makes the file between cp's stat and its open. So may tar, as over a
// tree that is there already: another program has removed the file before tar could. Here a.raw is
// there already, as soon as one program has made a.json.
func TestUnpackedTwiceAtOnce(t *testing.T) {
	need(t, "rsync")
	var zarrPython *peer
	t.Run("zarr-python is here", func(sub *testing.T) {
		zarrPython = startPeer(t, python(sub, "ZARRFS_PY3", ".venv-v3"))
	})
	const (
		tar, backwards = "tar -C new -xf $OUT/s.tar", "tar -C new -xf $OUT/r.tar"
		cp, rsync      = "cp -r $OUT/s/. new/", "rsync -a $OUT/s/ new/"
	)
	for _, format := range raceFormats {
		u := newUnpacking(t, format, zarrPython)
		for _, pair := range []struct {
			names         string
			first, second string
		}{
			{"tar, tar", tar, tar},
			{"tar, tar backwards", tar, backwards},
			{"tar, cp", tar, cp},
			{"tar, rsync", tar, rsync},
			{"tar backwards, rsync", backwards, rsync},
			{"cp, cp", cp, cp},
			{"cp, rsync", cp, rsync},
			{"rsync, rsync", rsync, rsync},
		} {
			t.Run(pair.names+"/"+format, func(t *testing.T) {
				row := u.race(t, pair.first, pair.second)
				races.add("5 unpacked twice at once", pair.names+", format "+format, row)
				t.Logf("rounds: %d, arrays lost: %d, %s", row.rounds, row.lost, row.errors())
			})
		}
	}
}

// An unpacking is a tree of a mount, s, and what programs unpack: a copy of it in $OUT.
type unpacking struct {
	store, mnt, out string
	files           map[string]string
	zarrPython      *peer             // nil: it is not installed
	arrays          map[string]string // as zarr-python describes them
}

func newUnpacking(t *testing.T, format string, zarrPython *peer) *unpacking {
	format, sharded := strings.CutSuffix(format, " sharded")
	store, out := filepath.Join(t.TempDir(), "s.zarr"), t.TempDir()
	u := &unpacking{store: store, out: out, zarrPython: zarrPython}
	small := strings.Fields(`--shape 10,4 --dtype <i2 --chunks 3,3 --attributes {"units":"K"}`)
	large := strings.Fields(`--shape 40,30 --dtype <f4 --chunks 7,9`) // tar writes it in pieces
	if sharded {
		small, large = append(small, "--shards", "6,6"), append(large, "--shards", "14,18")
	}
	run(t, zarrfs(t), "create", u.store, "--group", "--format", format)
	for i := range 3 {
		run(t, zarrfs(t), append([]string{"create", u.store, fmt.Sprint("s/b", i)}, small...)...)
		run(t, zarrfs(t), append([]string{"create", u.store, fmt.Sprint("s/l", i)}, large...)...)
	}
	u.mnt = mount(t, u.store)
	all, _ := filepath.Glob(filepath.Join(u.mnt, "s/*.raw"))
	for _, raw := range all {
		fill(t, raw)
	}
	t.Setenv("OUT", u.out)
	shell(t, u.mnt, `cp -r s $OUT; tar -C s --sort=name -cf $OUT/s.tar .
		tar -C s -cf $OUT/r.tar $(cd s; ls -r)`)
	u.files, u.arrays = tree(t, filepath.Join(u.mnt, "s")), u.described(t, "s")
	return u
}

// described are the arrays of a group, as zarr-python finds them in the store.
func (u *unpacking) described(t *testing.T, group string) map[string]string {
	t.Helper()
	var all map[string]string
	if u.zarrPython == nil {
		return nil
	}
	r := request{"do": "described", "path": filepath.Join(u.store, group)}
	if err := u.zarrPython.ask(r, &all); err != nil {
		t.Errorf("zarr-python cannot read what was unpacked: %v", err)
	}
	return all
}

// race lets two programs unpack at once, some rounds or as long as a race lasts.
func (u *unpacking) race(t *testing.T, first, second string) (row raceRow) {
	t.Setenv("OUT", u.out)
	end := time.Now()
	if os.Getenv("ZARRFS_RACE_MS") != "" {
		end = end.Add(raceTime())
	}
	for row.rounds < count("ZARRFS_UNPACK_ROUNDS", 1) || time.Now().Before(end) {
		row.rounds++
		shell(t, u.mnt, "mkdir new; { "+first+"; } 2>$OUT/1 & { "+second+"; } 2>$OUT/2 & wait; "+
			"sed '/^cp: .*: File exists$/d; /^tar: .*: Cannot open: File exists$/d; "+
			"/^tar: Exiting with failure/d' $OUT/1 $OUT/2")
		for _, said := range []string{"1", "2"} {
			text := string(read(t, filepath.Join(u.out, said)))
			if n := strings.Count(text, "File exists\n"); n > 0 {
				row.allow("File exists", n)
			}
		}
		wrong := different(tree(t, filepath.Join(u.mnt, "new")), u.files)
		wrong = append(wrong, different(u.described(t, "new"), u.arrays)...)
		if row.lost += len(wrong); row.lost > 0 || t.Failed() {
			out, _ := command(zarrfs(t), "errors", u.mnt)
			t.Errorf("round %d: %v\nerrors of the mount:\n%s", row.rounds, wrong, out)
			shell(t, u.mnt, "rm -r new")
			return row
		}
		shell(t, u.mnt, "rm -r new")
	}
	return row
}

// different returns the names that two maps do not have in common, or not with the same text.
func different(got, want map[string]string) (names []string) {
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if got[name] != want[name] {
			names = append(names, name)
		}
	}
	for name := range got {
		if _, ok := want[name]; !ok {
			names = append(names, name)
		}
	}
	return names
}
