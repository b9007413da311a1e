package dirty

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"
)

// folder is a Scratch of limited size in the test's own folder.
type folder struct {
	dir         string
	limit, used int64
	fail        error
	last        *os.File
}

func (s *folder) Reserve(n int64) bool {
	if s.used+n > s.limit {
		return false
	}
	s.used += n
	return true
}

func (s *folder) Release(n int64) { s.used -= n }

func (s *folder) Create() (*os.File, error) {
	if s.fail != nil {
		return nil, s.fail
	}
	f, err := os.CreateTemp(s.dir, "")
	if err == nil {
		os.Remove(f.Name())
	}
	s.last = f
	return f, err
}

// A model is what a set must show: two layers of bytes for each chunk, the
// newer one over the one being stored; -1 is a byte that is not dirty.
type model struct {
	active, frozen [][]int
	size           []int64 // of each chunk, which grows up to modelSize
}

func (m *model) read(chunk, i int64) int {
	if b := m.active[chunk][i]; b >= 0 {
		return b
	}
	return m.frozen[chunk][i]
}

const (
	modelChunks = 6
	modelSize   = 3000
)

func empty() []int {
	b := make([]int, modelSize)
	for i := range b {
		b[i] = -1
	}
	return b
}

// TestModel compares a set with a model over random histories. The limit is two chunks, so that
// most of them live in scratch most of the time.
func TestModel(t *testing.T) {
	for seed := range uint64(60) {
		runModel(t, seed)
	}
}

func runModel(t *testing.T, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 2))
	scratch := &folder{dir: t.TempDir(), limit: 1 << 30}
	p := NewPool(2*modelSize+modelSize/2, scratch)
	s := p.NewSet()
	m := &model{}
	for range modelChunks {
		m.size = append(m.size, 1+r.Int64N(modelSize))
		m.active, m.frozen = append(m.active, empty()), append(m.frozen, empty())
	}
	frozen := map[int64]*Frozen{}
	for step := range 400 {
		n := r.Int64N(modelChunks)
		switch r.IntN(10) {
		case 0, 1, 2, 3, 4:
			m.write(t, s, r, n)
		case 5, 6:
			m.check(t, s, n, seed, step)
		case 7:
			f, err := s.Freeze(n)
			if err != nil {
				t.Fatal(err)
			}
			if f != nil {
				frozen[n] = f
				m.frozen[n], m.active[n] = m.active[n], empty()
				m.open(t, f, r.IntN(2) == 0)
			}
		case 8:
			m.end(t, frozen, n, r.IntN(2) == 0)
		case 9:
			if len(frozen) == 0 {
				cut := r.Int64N(modelSize)
				s.Truncate(n, cut)
				for i := cut; i < modelSize; i++ {
					m.active[n][i] = -1
				}
			}
		}
	}
	for n := range int64(modelChunks) {
		m.check(t, s, n, seed, -1)
		m.end(t, frozen, n, true)
	}
	s.Drop()
	if u := p.Usage(); u.Dirty != 0 || u.Memory != 0 || scratch.used != 0 || !s.IsEmpty() {
		t.Fatalf("seed %d: %+v and %d bytes of scratch left, expected none", seed, u, scratch.used)
	}
}

func (m *model) write(t *testing.T, s *Set, r *rand.Rand, n int64) {
	if r.IntN(8) == 0 {
		m.size[n] += r.Int64N(modelSize - m.size[n] + 1)
	}
	off := r.Int64N(m.size[n])
	length := 1 + r.Int64N(min(m.size[n]-off, 1<<r.IntN(12)))
	data := make([]byte, length)
	for i := range data {
		data[i] = byte(r.Uint32())
		m.active[n][off+int64(i)] = int(data[i])
	}
	covered, err := s.Write(n, m.size[n], off, data)
	if err != nil {
		t.Fatal(err)
	}
	var want int64
	for _, b := range m.active[n] {
		if b >= 0 {
			want++
		}
	}
	if covered != want {
		t.Fatalf("%d bytes covered, expected %d", covered, want)
	}
}

func (m *model) check(t *testing.T, s *Set, n int64, seed uint64, step int) {
	t.Helper()
	dst := make([]byte, modelSize)
	gap := make([]bool, modelSize)
	err := s.Read(n, 0, dst, func(lo, hi int64) {
		for i := lo; i < hi; i++ {
			gap[i] = true
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	for i := range int64(modelSize) {
		want := m.read(n, i)
		if gap[i] != (want < 0) || want >= 0 && dst[i] != byte(want) {
			t.Fatalf("seed %d step %d chunk %d byte %d: %d (gap %v), expected %d",
				seed, step, n, i, dst[i], gap[i], want)
		}
	}
}

// open looks at the dirty bytes of a frozen chunk, over zeros and where they are.
func (m *model) open(t *testing.T, f *Frozen, again bool) {
	size := m.size[f.Number]
	over := make([]byte, size)
	if err := f.CopyTo(over); err != nil {
		t.Fatal(err)
	}
	buf, err := f.Open(size)
	if err != nil || int64(len(buf)) != size {
		t.Fatalf("%d bytes, expected %d, %v", len(buf), size, err)
	}
	for i, want := range m.frozen[f.Number][:size] {
		if byte(max(want, 0)) != over[i] || want >= 0 && byte(want) != buf[i] {
			t.Fatalf("frozen chunk %d byte %d: %d and %d, expected %d",
				f.Number, i, over[i], buf[i], want)
		}
	}
	f.Close()
	if again {
		m.open(t, f, false)
	}
}

func (m *model) end(t *testing.T, frozen map[int64]*Frozen, n int64, stored bool) {
	f := frozen[n]
	if f == nil {
		return
	}
	delete(frozen, n)
	if stored {
		f.Stored()
		m.frozen[n] = empty()
		return
	}
	if err := f.Thaw(); err != nil {
		t.Fatal(err)
	}
	for i, b := range m.frozen[n] {
		if m.active[n][i] < 0 {
			m.active[n][i] = b
		}
	}
	m.frozen[n] = empty()
}

// TestAnyOrderInBoundedMemory: single bytes in random order over an array a
// hundred times the limit.
func TestAnyOrderInBoundedMemory(t *testing.T) {
	const size, chunks = 1000, 200
	p := NewPool(2*size, &folder{dir: t.TempDir(), limit: size * chunks})
	s := p.NewSet()
	for _, at := range rand.Perm(size * chunks) {
		_, err := s.Write(int64(at/size), size, int64(at%size), []byte{byte(at * 7)})
		if err != nil {
			t.Fatal(err)
		}
	}
	if u := p.Usage(); u.Peak > 2*size+chunks*(size/4+2*pieceBytes)+size || u.Dirty != size*chunks {
		t.Errorf("%+v; the limit is %d", u, 2*size)
	}
	for n := range int64(chunks) {
		f, err := s.Freeze(n)
		if err != nil {
			t.Fatal(err)
		}
		buf, err := f.Open(1000)
		if err != nil || f.Covered() != size {
			t.Fatalf("chunk %d: %d bytes covered, %v", n, f.Covered(), err)
		}
		for i, b := range buf {
			if b != byte((int(n)*size+i)*7) {
				t.Fatalf("chunk %d byte %d: %d", n, i, b)
			}
		}
		f.Stored()
	}
}

// TestOpenedFromScratch: a chunk that is in scratch as a whole is not written there again once it
// was opened.
func TestOpenedFromScratch(t *testing.T) {
	const size = 1000
	p := NewPool(size, &folder{dir: t.TempDir(), limit: 3 * size})
	s := p.NewSet()
	for n := range int64(3) { // the last one stays in memory
		if _, err := s.Write(n, size, 0, bytes.Repeat([]byte{byte(n)}, size)); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		for n := range int64(2) {
			f, err := s.Freeze(n)
			if err != nil {
				t.Fatal(err)
			}
			if buf, err := f.Open(size); err != nil || buf[size-1] != byte(n) {
				t.Fatalf("chunk %d: %v, or not its bytes", n, err)
			}
			f.Close()
			if err := f.Thaw(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if u := p.Usage(); u.Spilled != 3*size {
		t.Errorf("%d bytes written to scratch, expected %d", u.Spilled, 3*size)
	}
}

// TestNoScratch: where scratch has no room, or fails, nothing is lost and the
// pool says by how much it exceeds its limit.
func TestNoScratch(t *testing.T) {
	broken := errors.New("broken")
	for _, scratch := range []Scratch{
		nil, &folder{limit: 10}, &folder{limit: 1 << 20, fail: broken},
	} {
		p := NewPool(1000, scratch)
		s := p.NewSet()
		for n := range int64(3) {
			if _, err := s.Write(n, 1000, 0, bytes.Repeat([]byte{byte(n)}, 1000)); err != nil {
				t.Fatal(err)
			}
		}
		if p.Over() != 2000 || p.Usage().Scratch == nil {
			t.Errorf("over by %d, expected 2000; scratch: %v", p.Over(), p.Usage().Scratch)
		}
		dst := make([]byte, 1000)
		if err := s.Read(0, 0, dst, nil); err != nil || dst[999] != 0 {
			t.Error(err)
		}
	}
}

// TestChunkBeyondLimit: a chunk larger than the limit is not a reason to store it with
// each write, while scratch has room for the others.
func TestChunkBeyondLimit(t *testing.T) {
	p := NewPool(10, &folder{dir: t.TempDir(), limit: 1 << 20})
	s := p.NewSet()
	for i := range int64(100) {
		if _, err := s.Write(i%5, 1000, i, []byte{1}); err != nil {
			t.Fatal(err)
		}
		if p.Over() != 0 {
			t.Fatalf("over by %d after write %d, expected 0", p.Over(), i)
		}
	}
}

// TestNotesAreCounted: the record of dirty bytes takes memory too. In the end something has to be
// stored for its sake, even if scratch has room for all the rest.
func TestNotesAreCounted(t *testing.T) {
	const size, limit = 16 << 10, 1 << 20
	p := NewPool(limit, &folder{dir: t.TempDir(), limit: 1 << 30})
	s := p.NewSet()
	for n := int64(0); p.Over() == 0; n++ {
		if n*size > 100*limit {
			t.Fatalf("%+v: not over the limit of %d", p.Usage(), limit)
		}
		for off := int64(0); off < size; off += 16 {
			if _, err := s.Write(n, size, off, []byte{1}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if u := p.Usage(); u.Peak > leastNotes+2*size {
		t.Errorf("%+v; the limit is %d, or %d for notes", u, limit, leastNotes)
	}
	s.Drop()
	if u := p.Usage(); u.Memory != 0 {
		t.Errorf("%+v after all was dropped", u)
	}
}

// TestThawFails: bytes that cannot be read back from scratch to become one with newer
// ones stay apart from these, and are not forgotten. The next Freeze has them again.
func TestThawFails(t *testing.T) {
	scratch := &folder{dir: t.TempDir(), limit: 1 << 20}
	p := NewPool(1500, scratch)
	s := p.NewSet()
	write := func(chunk, off int64, b byte) {
		if _, err := s.Write(chunk, 1000, off, []byte{b}); err != nil {
			t.Fatal(err)
		}
	}
	write(0, 10, 1)
	f, err := s.Freeze(0)
	if err != nil {
		t.Fatal(err)
	}
	write(0, 20, 2)
	write(1, 0, 3)   // both layers of chunk 0 are in scratch now
	s.Truncate(1, 0) // there is room again, and nothing more will go there
	content, err := os.ReadFile(fmt.Sprintf("/proc/self/fd/%d", scratch.last.Fd()))
	if err == nil {
		err = scratch.last.Truncate(0)
	}
	if err != nil {
		t.Skip(err)
	}
	if f.Thaw() == nil {
		t.Fatal("thawed without scratch")
	}
	if _, err := s.Freeze(0); err == nil {
		t.Fatal("frozen without what is in scratch")
	}
	if _, err := scratch.last.WriteAt(content, 0); err != nil {
		t.Fatal(err)
	}
	f, err = s.Freeze(0)
	if err != nil || f == nil {
		t.Fatal(err)
	}
	buf, err := f.Open(1000)
	if err != nil || buf[10] != 1 || buf[20] != 2 || f.Covered() != 2 {
		t.Errorf("%v: %d and %d, %d bytes covered; expected 1 and 2, 2 bytes",
			err, buf[10], buf[20], f.Covered())
	}
	f.Stored()
	s.Drop()
	if u := p.Usage(); u.Memory != 0 || u.Dirty != 0 || scratch.used != 0 {
		t.Errorf("%+v, %d bytes of scratch after all was dropped", u, scratch.used)
	}
}

// TestWriteUnder: older bytes go where nothing is dirty, also where some of what is newer is being
// stored.
func TestWriteUnder(t *testing.T) {
	s := NewPool(1<<20, &folder{dir: t.TempDir(), limit: 1 << 20}).NewSet()
	write := func(off int64, p string) {
		if _, err := s.Write(3, 10, off, []byte(p)); err != nil {
			t.Fatal(err)
		}
	}
	write(1, "ab")
	if _, err := s.Freeze(3); err != nil {
		t.Fatal(err)
	}
	write(5, "c")
	if err := s.WriteUnder(3, 10, 2, []byte("23456")); err != nil {
		t.Fatal(err)
	}
	got, gaps := make([]byte, 10), 0
	if err := s.Read(3, 0, got, func(lo, hi int64) { gaps += int(hi - lo) }); err != nil {
		t.Fatal(err)
	}
	if string(got[1:7]) != "ab34c6" || gaps != 4 {
		t.Errorf("%q, %d bytes are not dirty", got, gaps)
	}
}
