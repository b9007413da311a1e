package storetest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// OpKind is the kind of an operation on a driver or an object. The zero OpKind, AnyOp, stands for
// all of them.
type OpKind uint8

// The kinds of operations. OpRead is Object.ReadAt. OpStage is the end of Stage, once all is
// written. OpEntry is the return of one entry of a listing. OpSync is SyncStaged for one object,
// and OpSyncDir is SyncDirs for one key. The others are the methods of the same name.
const (
	AnyOp OpKind = iota
	OpOpen
	OpRead
	OpStat
	OpList
	OpEntry
	OpStage
	OpSync
	OpCommit
	OpSyncDir
	OpDelete
	OpRemoveAll
	OpRename
	OpLock
	OpClean
	OpHold
)

// Op is one operation that is about to happen.
type Op struct {
	Kind OpKind
	Key  string
	Off  int64 // OpRead: offset
	Len  int   // OpRead: bytes asked for
}

func (op Op) is(kind OpKind) bool { return kind == AnyOp || kind == op.Kind }

// Fault is what happens to an operation. The zero Fault does nothing.
type Fault struct {
	Delay time.Duration // first waits, or until the context ends
	Err   error         // then fails with Err
	Keep  int           // OpRead that fails: bytes that were read nevertheless
}

// Injector decides about each operation. Inject is called concurrently.
type Injector interface {
	Inject(op Op) Fault
}

// InjectorFunc is a function as an Injector.
type InjectorFunc func(op Op) Fault

// Inject calls f.
func (f InjectorFunc) Inject(op Op) Fault { return f(op) }

// OnNth fails the nth operation (from 1) of its kind with err, and no other.
func OnNth(n int, kind OpKind, err error) Injector {
	return onNth(n, kind, Fault{Err: err})
}

// ShortRead cuts the nth read down to keep bytes, with io.ErrUnexpectedEOF, as a connection that
// breaks does.
func ShortRead(n, keep int) Injector {
	return onNth(n, OpRead, Fault{Err: io.ErrUnexpectedEOF, Keep: keep})
}

func onNth(n int, kind OpKind, fault Fault) Injector {
	var count atomic.Int64
	return InjectorFunc(func(op Op) Fault {
		if op.is(kind) && count.Add(1) == int64(n) {
			return fault
		}
		return Fault{}
	})
}

// Always fails each operation of its kind with err.
func Always(kind OpKind, err error) Injector {
	return InjectorFunc(func(op Op) Fault {
		if op.is(kind) {
			return Fault{Err: err}
		}
		return Fault{}
	})
}

// Slow delays each operation of its kind.
func Slow(kind OpKind, delay time.Duration) Injector {
	return InjectorFunc(func(op Op) Fault {
		if op.is(kind) {
			return Fault{Delay: delay}
		}
		return Fault{}
	})
}

// All asks each of injectors: delays add up, the first error wins.
func All(injectors ...Injector) Injector {
	return InjectorFunc(func(op Op) Fault {
		var sum Fault
		for _, in := range injectors {
			f := in.Inject(op)
			sum.Delay += f.Delay
			if sum.Err == nil {
				sum.Err, sum.Keep = f.Err, f.Keep
			}
		}
		return sum
	})
}

// Faulty returns d with faults. The result is a store.Writer where d is one. What fails has changed
// nothing.
func Faulty(d store.Driver, in Injector) store.Driver {
	f := &faulty{driver: d, in: in}
	if w, ok := d.(store.Writer); ok {
		return &faultyWriter{faulty: f, writer: w}
	}
	return f
}

type faulty struct {
	driver store.Driver
	in     Injector
	within string // what an Injector is told begins so: "", or a directory that is held and "/"
}

// Hold is the driver's, where it has one. What is done in the directory can fail as all else can.
func (f *faulty) Hold(ctx context.Context, dir string) (store.Driver, error) {
	if _, err := f.inject(ctx, Op{Kind: OpHold, Key: dir}); err != nil {
		return nil, err
	}
	h, ok := f.driver.(store.Holder)
	if !ok {
		return nil, errors.ErrUnsupported
	}
	d, err := h.Hold(ctx, dir)
	if err != nil {
		return nil, err
	}
	held := &faulty{driver: d, in: f.in, within: f.within + dir + "/"}
	if w, ok := d.(store.Writer); ok {
		return &faultyWriter{faulty: held, writer: w}, nil
	}
	return held, nil
}

// Identity is the driver's, where it has one.
func (f *faulty) Identity(ctx context.Context, dir string) (string, error) {
	i, ok := f.driver.(store.Identifier)
	if !ok {
		return "", nil
	}
	return i.Identity(ctx, dir)
}

// Close is the driver's, where it has one.
func (f *faulty) Close() error {
	if c, ok := f.driver.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

// inject waits and fails as the injector wants it.
func (f *faulty) inject(ctx context.Context, op Op) (Fault, error) {
	op.Key = f.within + op.Key
	fault := f.in.Inject(op)
	if fault.Delay > 0 {
		timer := time.NewTimer(fault.Delay)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			return Fault{}, ctx.Err()
		}
	}
	return fault, fault.Err
}

// Open is the driver's, or a fault.
func (f *faulty) Open(ctx context.Context, key string) (store.Object, error) {
	if _, err := f.inject(ctx, Op{Kind: OpOpen, Key: key}); err != nil {
		return nil, err
	}
	o, err := f.driver.Open(ctx, key)
	if err != nil {
		return nil, err
	}
	return &faultyObject{Object: o, faulty: f, ctx: ctx, key: key}, nil
}

// Stat is the driver's, or a fault.
func (f *faulty) Stat(ctx context.Context, key string) (store.Info, error) {
	if _, err := f.inject(ctx, Op{Kind: OpStat, Key: key}); err != nil {
		return store.Info{}, err
	}
	return f.driver.Stat(ctx, key)
}

// List is the driver's, or a fault at its start or at any entry.
func (f *faulty) List(ctx context.Context, dir string, yield func(store.Entry) error) error {
	if _, err := f.inject(ctx, Op{Kind: OpList, Key: dir}); err != nil {
		return err
	}
	return f.driver.List(ctx, dir, func(e store.Entry) error {
		if _, err := f.inject(ctx, Op{Kind: OpEntry, Key: dir}); err != nil {
			return err
		}
		return yield(e)
	})
}

// Refresh is the driver's, where it has one.
func (f *faulty) Refresh(dir string) {
	if r, ok := f.driver.(store.Refresher); ok {
		r.Refresh(dir)
	}
}

type faultyObject struct {
	store.Object
	faulty *faulty
	ctx    context.Context
	key    string
}

// ReadAt is the object's, or a fault, which may come after some bytes.
func (o *faultyObject) ReadAt(p []byte, off int64) (int, error) {
	fault, err := o.faulty.inject(o.ctx, Op{Kind: OpRead, Key: o.key, Off: off, Len: len(p)})
	if err == nil {
		return o.Object.ReadAt(p, off)
	}
	n, readErr := o.Object.ReadAt(p[:min(fault.Keep, len(p))], off)
	if readErr != nil {
		return n, fmt.Errorf("%w (and %w)", err, readErr)
	}
	return n, err
}

// Traits are the driver's.
func (f *faulty) Traits() store.Traits { return store.TraitsOf(f.driver) }

// OpenFor is the driver's, or a fault of the opening.
func (f *faulty) OpenFor(ctx context.Context, key string, w store.Want) (store.Object, error) {
	if _, err := f.inject(ctx, Op{Kind: OpOpen, Key: key}); err != nil {
		return nil, err
	}
	o, err := store.OpenFor(ctx, f.driver, key, w)
	if err != nil {
		return nil, err
	}
	return &faultyObject{Object: o, faulty: f, ctx: ctx, key: key}, nil
}

// GetIf is the driver's, or a fault of the opening or the read.
func (f *faulty) GetIf(
	ctx context.Context, key, version string, limit int64,
) ([]byte, store.Info, error) {
	for _, kind := range []OpKind{OpOpen, OpRead} {
		if _, err := f.inject(ctx, Op{Kind: kind, Key: key}); err != nil {
			return nil, store.Info{}, err
		}
	}
	return store.GetIf(ctx, f.driver, key, version, limit)
}

// ReadRanges is the object's, or a fault of the read of any of the spans.
func (o *faultyObject) ReadRanges(ctx context.Context, spans []store.Span) error {
	for _, s := range spans {
		op := Op{Kind: OpRead, Key: o.key, Off: s.Off, Len: len(s.P)}
		if _, err := o.faulty.inject(ctx, op); err != nil {
			return err
		}
	}
	return store.ReadRanges(ctx, o.Object, spans)
}
