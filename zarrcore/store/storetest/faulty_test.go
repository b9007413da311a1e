package storetest_test

import (
	"context"
	"errors"
	"io"
	"syscall"
	"testing"
	"time"

	"github.com/zarrfs/zarrfs/zarrcore/store"
	"github.com/zarrfs/zarrfs/zarrcore/store/memstore"
	"github.com/zarrfs/zarrfs/zarrcore/store/storetest"
)

// readOnly hides that a driver can write.
type readOnly struct{ store.Driver }

func filled(t *testing.T, objects map[string][]byte) store.Driver {
	d := memstore.New()
	storetest.Fill(t, d, objects)
	return d
}

// Without faults, a faulty driver keeps the contract, and stays unable to write where the driver
// is.
func TestFaultyWithoutFaults(t *testing.T) {
	none := storetest.All()
	storetest.Run(t, func(t *testing.T, objects map[string][]byte) store.Driver {
		return storetest.Faulty(filled(t, objects), none)
	})
	t.Run("ReadOnly", func(t *testing.T) {
		storetest.Run(t, func(t *testing.T, objects map[string][]byte) store.Driver {
			return storetest.Faulty(readOnly{filled(t, objects)}, none)
		})
	})
	if s := store.New(storetest.Faulty(readOnly{memstore.New()}, none), ""); s.IsWritable() {
		t.Error("a driver that cannot write can, once it is faulty")
	} else if err := s.Put(t.Context(), "a", nil); !errors.Is(err, store.ErrReadOnly) {
		t.Errorf("Put: %v, want store.ErrReadOnly", err)
	}
}

// operations does one of each kind and returns their errors.
func operations(ctx context.Context, d store.Driver) map[storetest.OpKind]error {
	errs := map[storetest.OpKind]error{}
	o, err := d.Open(ctx, "a")
	if errs[storetest.OpOpen] = err; err == nil {
		_, errs[storetest.OpRead] = o.ReadAt(make([]byte, 3), 0)
	}
	_, errs[storetest.OpStat] = d.Stat(ctx, "a")
	errs[storetest.OpList] = d.List(ctx, "", func(store.Entry) error { return nil })
	writes(ctx, d.(store.Writer), errs)
	return errs
}

// writes does one of each kind of operation of a writer.
func writes(ctx context.Context, w store.Writer, errs map[storetest.OpKind]error) {
	o, err := w.Stage(ctx, "b", func(store.Parts) error { return nil })
	if errs[storetest.OpStage] = err; err == nil {
		errs[storetest.OpSync] = w.SyncStaged(ctx, []store.StagedObject{o})
		_, errs[storetest.OpCommit] = o.Commit(ctx, store.If{})
	}
	errs[storetest.OpSyncDir] = w.SyncDirs(ctx, []string{"b"})
	errs[storetest.OpRename] = w.Rename(ctx, "b", "c")
	errs[storetest.OpDelete] = w.Delete(ctx, "c", store.If{})
	errs[storetest.OpRemoveAll] = w.RemoveAll(ctx, "d")
	_, errs[storetest.OpLock] = w.(store.Locker).Lock(ctx, "a")
	errs[storetest.OpClean] = w.(store.Cleaner).Clean(ctx)
}

func TestOnNth(t *testing.T) {
	kinds := []storetest.OpKind{
		storetest.OpOpen, storetest.OpRead, storetest.OpStat, storetest.OpList, storetest.OpStage,
		storetest.OpSync, storetest.OpCommit,
		storetest.OpSyncDir, storetest.OpDelete, storetest.OpRename, storetest.OpRemoveAll,
		storetest.OpLock, storetest.OpClean,
	}
	for _, kind := range kinds {
		d := storetest.Faulty(filled(t, map[string][]byte{"a": []byte("abc")}),
			storetest.OnNth(2, kind, syscall.EIO))
		for round := 1; round <= 3; round++ {
			for k, err := range operations(t.Context(), d) {
				if want := round == 2 && k == kind; errors.Is(err, syscall.EIO) != want {
					t.Errorf("fault at the 2nd of kind %d: round %d, kind %d: %v", kind, round, k,
						err)
				}
			}
		}
	}
}

func TestEntryFault(t *testing.T) {
	d := filled(t, map[string][]byte{"a": nil, "b": nil, "c": nil})
	calls := 0
	err := storetest.Faulty(d, storetest.OnNth(2, storetest.OpEntry, io.ErrUnexpectedEOF)).
		List(t.Context(), "", func(store.Entry) error { calls++; return nil })
	if !errors.Is(err, io.ErrUnexpectedEOF) || calls != 1 {
		t.Errorf("List that breaks at its 2nd entry: %v after %d entries", err, calls)
	}
}

func TestShortRead(t *testing.T) {
	d := storetest.Faulty(filled(t, map[string][]byte{"a": []byte("abcdef")}),
		storetest.ShortRead(1, 2))
	o, err := d.Open(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	p := make([]byte, 6)
	if n, err := o.ReadAt(p, 0); n != 2 || !errors.Is(err, io.ErrUnexpectedEOF) ||
		string(p[:2]) != "ab" {
		t.Errorf("1st read: %d bytes %q, %v", n, p, err)
	}
	if n, err := o.ReadAt(p, 0); n != 6 || err != nil {
		t.Errorf("2nd read: %d bytes, %v", n, err)
	}
	cut := store.New(storetest.Faulty(filled(t, map[string][]byte{"a": []byte("abcdef")}),
		storetest.ShortRead(1, 2)), "")
	if _, _, err := cut.ReadAll(t.Context(), "a", 100); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("ReadAll through a short read: %v", err)
	}
}

func TestSlowDelays(t *testing.T) {
	d := storetest.Faulty(filled(t, nil), storetest.Slow(storetest.OpStat, 20*time.Millisecond))
	start := time.Now()
	if _, err := d.Stat(t.Context(), ""); err != nil || time.Since(start) < 20*time.Millisecond {
		t.Errorf("Stat took %v, %v", time.Since(start), err)
	}
	d = storetest.Faulty(filled(t, nil), storetest.Slow(storetest.AnyOp, time.Hour))
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if _, err := d.Stat(ctx, ""); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Stat beyond its deadline: %v", err)
	}
}

func TestInjectorsCombine(t *testing.T) {
	in := storetest.All(storetest.Slow(storetest.OpOpen, 1), storetest.Slow(storetest.AnyOp, 2),
		storetest.Always(storetest.OpOpen, syscall.EIO),
		storetest.Always(storetest.AnyOp, syscall.EPERM))
	if f := in.Inject(storetest.Op{Kind: storetest.OpOpen}); f.Delay != 3 || f.Err != syscall.EIO {
		t.Errorf("open: %+v", f)
	}
	if f := in.Inject(storetest.Op{Kind: storetest.OpRead}); f.Delay != 2 ||
		f.Err != syscall.EPERM {
		t.Errorf("read: %+v", f)
	}
}
