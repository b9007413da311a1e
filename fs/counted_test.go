package fs

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zarrfs/zarrfs/zarrcore/store"
	"github.com/zarrfs/zarrfs/zarrcore/store/memstore"
	"github.com/zarrfs/zarrfs/zarrcore/store/storetest"
)

// slowLooks is an injector under which a look at an object of a listing takes so long on average.
// No timer waits for less than some time, so a few looks take it for all.
type slowLooks struct{ nanoseconds, looks atomic.Int64 }

const slowLook = 32 // each look of so many takes time

// Inject implements storetest.Injector.
func (s *slowLooks) Inject(op storetest.Op) storetest.Fault {
	if op.Kind != storetest.OpEntry || s.looks.Add(1)%slowLook != 0 {
		return storetest.Fault{}
	}
	return storetest.Fault{Delay: slowLook * time.Duration(s.nanoseconds.Load())}
}

// manyStrings is an array "s" in a store, of so many objects that an open looks at few of them.
type manyStrings struct {
	t     *testing.T
	store *store.Store
	words []string
}

const manyObjects = 6000

func newManyStrings(t *testing.T, in storetest.Injector) *manyStrings {
	m := &manyStrings{t, store.New(storetest.Faulty(memstore.New(), in), "test"),
		make([]string, manyObjects)}
	m.put("zarr.json", groupDoc)
	m.put("s/zarr.json", fmt.Sprintf(`{"zarr_format":3,"node_type":"array","shape":[%d],
		"data_type":"string","fill_value":"","codecs":["vlen-utf8"],
		"chunk_grid":{"name":"regular","configuration":{"chunk_shape":[1]}},
		"chunk_key_encoding":{"name":"default"}}`, manyObjects))
	for i := range m.words {
		m.set(i, fmt.Sprint("word ", i))
	}
	return m
}

func (m *manyStrings) put(key, data string) {
	m.t.Helper()
	if err := m.store.Put(context.Background(), key, []byte(data)); err != nil {
		m.t.Fatal(err)
	}
}

// set replaces an element, as another program does.
func (m *manyStrings) set(i int, word string) {
	m.words[i] = word
	m.put(fmt.Sprint("s/c/", i), chunkOf([]string{word}))
}

func (m *manyStrings) lines() string {
	return `"` + strings.Join(m.words, "\"\n\"") + "\"\n"
}

// TestManyStringsOpenSoon: a stat, an open and a first read of a .jsonl do not wait for a look at
// all objects. A stat of the open file does, and then has the size.
func TestManyStringsOpenSoon(t *testing.T) {
	var looks slowLooks
	m := newManyStrings(t, &looks)
	path := filepath.Join(mounted(t, m.store), "s.jsonl")
	looks.nanoseconds.Store(int64(time.Millisecond))
	start := time.Now()
	if info, err := os.Stat(path); err != nil || info.Size() != 2*manyObjects {
		t.Errorf("an array that is not counted: %v, %v", info, err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	p := make([]byte, 20)
	if n, err := f.ReadAt(p, 0); err != nil || !strings.HasPrefix(m.lines(), string(p[:n])) {
		t.Errorf("read %q, %v", p[:n], err)
	}
	if took, all := time.Since(start), manyObjects*time.Millisecond; took > all/2 {
		t.Errorf("stat, open and a read take %v, and a look at all objects %v", took, all)
	}
	looks.nanoseconds.Store(0)
	if info, err := f.Stat(); err != nil || info.Size() != int64(len(m.lines())) {
		t.Errorf("the size of the open file: %v, %v, want %d", info, err, len(m.lines()))
	}
}

// TestManyStringsAreCopiedWhole: programs find the end of a .jsonl that has become longer since it
// was counted, though counting it again takes longer than a stat waits.
func TestManyStringsAreCopiedWhole(t *testing.T) {
	var looks slowLooks
	m := newManyStrings(t, &looks)
	dir := mounted(t, m.store)
	looks.nanoseconds.Store(int64(30 * time.Microsecond))
	commands := []string{"tar cf - s.jsonl | tar xOf -", "find s.jsonl -size +0 -exec cat {} +",
		"cat s.jsonl", "cp s.jsonl $OLDPWD/copy; cat $OLDPWD/copy", "tail -c 200 s.jsonl",
		"wc -c < s.jsonl",
		"dd if=s.jsonl bs=1M status=none", "tar cSf - s.jsonl | tar xOf -"}
	for i, command := range commands {
		// it may be counted, or not
		if _, err := os.Stat(filepath.Join(dir, "s.jsonl")); err != nil {
			t.Fatal(err)
		}
		m.set(manyObjects-1-i, strings.Repeat("longer ", i+1))
		cmd := exec.Command("sh", "-ec", `cd "$1"; `+command, "sh", dir)
		cmd.Dir = t.TempDir()
		cmd.Env = append(os.Environ(), "OLDPWD="+cmd.Dir)
		got, err := cmd.Output()
		want := m.lines()
		switch {
		case strings.HasPrefix(command, "tail"):
			want = want[len(want)-200:]
		case strings.HasPrefix(command, "wc"):
			want = fmt.Sprintln(len(want))
		}
		if err != nil || string(got) != want {
			t.Errorf("%s: %v, %d bytes with the end %.50q, want %d with the end %.50q", command,
				err, len(got), got[max(0, len(got)-50):],
				len(want), want[max(0, len(want)-50):])
		}
	}
}

// TestManyStringsEndOfWriter: a program that opens a .jsonl to write finds its end, though counting
// it takes longer than a stat waits. So what it writes there replaces nothing.
func TestManyStringsEndOfWriter(t *testing.T) {
	var looks slowLooks
	m := newManyStrings(t, &looks)
	dir := mounted(t, m.store)
	looks.nanoseconds.Store(int64(30 * time.Microsecond))
	f, err := os.OpenFile(filepath.Join(dir, "s.jsonl"), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	if at, err := f.Seek(0, io.SeekEnd); err != nil || at != int64(len(m.lines())) {
		t.Errorf("the end is at %d, %v, want %d", at, err, len(m.lines()))
	}
	if _, err := f.WriteString("\"new\"\n"); err != nil {
		t.Error(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(filepath.Join(dir, "s.jsonl")); err != nil ||
		string(got) != m.lines()+"\"new\"\n" {
		t.Errorf("%d bytes, %v, want %d", len(got), err, len(m.lines())+6)
	}
}
