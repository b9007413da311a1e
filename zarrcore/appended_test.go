package zarrcore_test

import (
	"bytes"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/store"
	"github.com/zarrfs/zarrfs/zarrcore/store/memstore"
	"github.com/zarrfs/zarrfs/zarrcore/store/storetest"
)

// This file is about an array that another program makes longer, while bytes written to it here are
// not stored yet.

// appendRows lets another program write rows at byte off of the array "a", and store them.
func appendRows(t *testing.T, d store.Driver, off int64, p []byte) error {
	t.Helper()
	o := openArray(t, reopened(t, d), "a")
	if _, err := o.WriteAt(t.Context(), p, off); err != nil {
		return err
	}
	return o.Flush(t.Context(), false)
}

// TestOpenedWhileStored: another process makes an array longer, just while this process stores its
// own writes. A program opens the array here in that moment. It sees the further rows and all bytes
// written here, stored or not. So do all programs afterwards.
func TestOpenedWhileStored(t *testing.T) {
	for _, codecs := range []string{plainBytes, inShards} {
		for _, grows := range []bool{false, true} {
			for _, at := range []string{"a/c/0"} {
				name := fmt.Sprintf("%d bytes of codecs, grows %v, %s", len(codecs), grows, at)
				t.Run(name, func(t *testing.T) {
					h, k, d := hooked(t)
					a := described(t, h, "a", numbers("[4]", "[4]", codecs))
					mine := []byte{1, 2, 3}
					if grows {
						mine = []byte{1, 2, 3, 0, 5}
					}
					expect := []byte{1, 2, 3, 0, mine[len(mine)-1], 0, 0, 0, 9, 9}
					if !grows {
						expect[4] = 0
					}
					write(t, a, 0, mine)
					r := a.NewReader()
					defer r.Close()
					var b *zarrcore.Array
					k.once(storetest.OpStage, at, func() error {
						must(t, appendRows(t, d, 8, []byte{9, 9}))
						b = openArray(t, h, "a").Live()
						if got := whole(t, b); !bytes.Equal(got, expect) {
							t.Errorf("opened meanwhile: %v, expected %v", got, expect)
						}
						return nil
					})
					must(t, a.Flush(t.Context(), false))
					if b == nil {
						t.Fatal("nothing was opened meanwhile")
					}
					sameStored(t, d, "a", expect)
					write(t, a, 3, []byte{7})
					expect[3] = 7
					for who, x := range map[string]*zarrcore.Array{"opened meanwhile": b,
						"opened before": a, "opened now": openArray(t, h, "a")} {
						if got := whole(t, x.Live()); !bytes.Equal(got, expect) {
							t.Errorf("%s, when more was written: %v, expected %v", who, got, expect)
						}
					}
					must(t, a.Flush(t.Context(), false))
					sameStored(t, d, "a", expect)
				})
			}
		}
	}
}

// TestTruncateWhileOtherAppends: another program appends rows at each step of storing a truncation.
// Nothing that one of the two was told to be stored is gone: the array is as if the one had done
// everything before the other. Truncated rows do not come back when it grows.
func TestTruncateWhileOtherAppends(t *testing.T) {
	for _, c := range []struct{ chunk, codecs string }{{"[4]", plainBytes}, {"[4]", inShards},
		{"[32]", plainBytes}, {"[32]", inShards}} {
		for step, reached := 0, true; reached; step++ {
			mem, k := memstore.New(), &hook{}
			h := writable(t, 3, storetest.Faulty(mem, k))
			a := described(t, h, "a", numbers("[18]", c.chunk, c.codecs))
			write(t, a, 0, upTo(18))
			must(t, a.Flush(t.Context(), false))
			must(t, a.SetSize(t.Context(), 6))
			var calls, appended atomic.Int64
			other := openArray(t, reopened(t, mem), "a")
			write(t, other, 18, []byte{91, 92, 93, 94, 95})
			otherErr := errors.New("not asked")
			k.set(func(storetest.Op) error {
				if calls.Add(1) == int64(step)+1 && appended.Add(1) == 1 {
					otherErr = other.Flush(t.Context(), false)
				}
				return nil
			})
			err := a.Flush(t.Context(), false)
			k.set(nil)
			if reached = appended.Load() > 0; !reached {
				must(t, err)
				break
			}
			about := fmt.Sprintf("appended at step %d: truncate %v, append %v", step, err, otherErr)
			if err != nil || otherErr != nil && !errors.Is(otherErr, store.ErrConflict) {
				t.Fatal(about)
			}
			sameStored(t, mem, "a", upTo(6))
			must(t, a.SetSize(t.Context(), 30))
			must(t, a.Flush(t.Context(), false))
			if got := whole(t, openArray(t, reopened(t, mem), "a")); otherErr == nil &&
				!bytes.Equal(got, append(upTo(6), make([]byte, 24)...)) {
				t.Fatalf("%s: grown again: %v", about, got)
			}
		}
	}
}

// TestRemovedAfterOtherTruncated: rows were appended to an array that another program has
// truncated, so they cannot be stored. The array can be removed all the same.
func TestRemovedAfterOtherTruncated(t *testing.T) {
	h, _, d := hooked(t)
	a := described(t, h, "a", numbers("[10]", "[4]", plainBytes))
	write(t, a, 0, upTo(10))
	must(t, a.Flush(t.Context(), false))
	write(t, a, 10, []byte{91, 92, 93})
	other := openArray(t, reopened(t, d), "a")
	must(t, other.SetSize(t.Context(), 6))
	must(t, other.Flush(t.Context(), false))
	if err := a.Flush(t.Context(), false); !errors.Is(err, store.ErrConflict) {
		t.Fatalf("the rows are stored: %v", err)
	}
	removed := make(chan error, 1)
	go func() { removed <- h.Remove(t.Context(), "a") }()
	select {
	case err := <-removed:
		must(t, err)
	case <-time.After(time.Minute):
		t.Fatal("removing the array does not end")
	}
}

// TestTruncationOfAppended: an array is truncated here. Before that is stored, another program
// appends rows, and the truncation removes them too. An array opened here in between has only the
// rows that were left.
func TestTruncationOfAppended(t *testing.T) {
	h, _, d := hooked(t)
	a := described(t, h, "a", numbers("[10]", "[4]", plainBytes))
	write(t, a, 0, upTo(10))
	must(t, a.Flush(t.Context(), false))
	must(t, a.SetSize(t.Context(), 6))
	must(t, appendRows(t, d, 10, []byte{91, 92, 93}))
	if got := whole(t, openArray(t, h, "a").Live()); !bytes.Equal(got, upTo(6)) {
		t.Errorf("opened before the truncation is stored: %v", got)
	}
	write(t, a, 6, []byte{7})
	must(t, a.Flush(t.Context(), false))
	sameStored(t, d, "a", upTo(7))
	must(t, a.SetSize(t.Context(), 20))
	must(t, a.Flush(t.Context(), false))
	sameStored(t, d, "a", append(upTo(7), make([]byte, 13)...))
}

// TestAppendedRightAfterDocument: another program appends right after this one has stored how many
// rows there are, before that is read again. What is appended here afterwards is stored all the
// same.
func TestAppendedRightAfterDocument(t *testing.T) {
	h, k, d := hooked(t)
	a := described(t, h, "a", numbers("[4]", "[4]", plainBytes))
	write(t, a, 4, []byte{1, 2})
	stored, appended := false, false
	k.set(func(op storetest.Op) error {
		if op.Key != "a/zarr.json" || appended {
			return nil
		}
		if stored {
			appended = true
			return appendRows(t, d, 6, []byte{3})
		}
		stored = op.Kind == storetest.OpCommit
		return nil
	})
	must(t, a.Flush(t.Context(), false))
	k.set(nil)
	if !appended {
		t.Fatal("nothing was appended in between")
	}
	write(t, a, 7, []byte{4})
	must(t, a.Flush(t.Context(), false))
	sameStored(t, d, "a", []byte{0, 0, 0, 0, 1, 2, 3, 4})
}

// TestFortranAppendedByOther: bytes written in Fortran order are stored, and another program makes
// the array longer before or meanwhile. All elements of both are where they belong, also in chunks
// with elements of both. Programs that have the array open see them.
func TestFortranAppendedByOther(t *testing.T) {
	sharded := `{"name": "sharding_indexed", "configuration": {"chunk_shape": [2, 2],
		"codecs": [` + inFortran + `],
		"index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}}]}}`
	for _, c := range []struct{ name, chunk, codecs string }{
		{"chunks of two rows", "[2, 2]", inFortran}, {"one chunk with room", "[8, 4]", inFortran},
		{"chunks with room", "[3, 3]", inFortran},
		{"shards", "[4, 2]", sharded}, {"shards with room", "[8, 4]", sharded},
	} {
		for _, whole := range []bool{false, true} {
			for _, when := range []string{"before", "meanwhile", "opened", "opened meanwhile"} {
				name := fmt.Sprintf("%s, all written %v, %s", c.name, whole, when)
				t.Run(name, func(t *testing.T) {
					fortranAppended(t, c.chunk, c.codecs, whole, when)
				})
			}
		}
	}
}

func fortranAppended(t *testing.T, chunk, codecs string, all bool, when string) {
	h, k, d := hooked(t)
	a := described(t, h, "a", numbers("[5, 4]", chunk, codecs))
	f, _ := a.Transposed()
	r := f.NewReader() // a program has it open
	defer r.Close()
	expect := make([]byte, 7*4) // in C order
	for i := range int64(20) {
		if all || i == 3 || i == 9 { // element i in Fortran order is row i%5, column i/5
			write(t, f, i, []byte{byte(i + 1)})
			expect[i%5*4+i/5] = byte(i + 1)
		}
	}
	copy(expect[5*4:], []byte{101, 102, 103, 104, 105, 106, 107, 108})
	open := func() {
		b := openArray(t, h, "a").Live()
		if got := readAt(t, b, 0, b.Size()); !bytes.Equal(got, expect) {
			t.Errorf("opened since: %v, expected %v", got, expect)
		}
		g, _ := b.Transposed()
		if got := readAt(t, g, 0, g.Size()); !bytes.Equal(got, turned(expect, 7, 4)) {
			t.Errorf("opened since, in Fortran order: %v, expected %v", got, turned(expect, 7, 4))
		}
	}
	var opened sync.WaitGroup
	other := func() error { return appendRows(t, d, 5*4, expect[5*4:]) }
	switch when {
	case "before", "opened":
		must(t, other())
	default:
		k.once(storetest.OpStage, "", func() error {
			err := other()
			if when == "opened meanwhile" {
				opened.Go(open) // which waits until that is stored
			}
			return err
		})
	}
	if when == "opened" {
		open()
	}
	must(t, f.Flush(t.Context(), true))
	opened.Wait()
	if n, err := f.Dirty(); n != 0 || err != nil {
		t.Errorf("%d bytes are not stored, %v", n, err)
	}
	sameStored(t, d, "a", expect)
	open()
	write(t, f, 1, []byte{77}) // by the program that has it open as it was
	expect[4] = 77
	open()
	must(t, h.Flush(t.Context(), true))
	sameStored(t, d, "a", expect)
}

// turned returns rows in Fortran order.
func turned(p []byte, rows, columns int) (q []byte) {
	for i := range p {
		q = append(q, p[i%rows*columns+i/rows])
	}
	return q
}
