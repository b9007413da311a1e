package zarrcore

import (
	"context"
	"errors"
	"fmt"
	iofs "io/fs"

	"github.com/zarrfs/zarrfs/zarrcore/catalog"
	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// findHome holds the array's directory open, until leaveHome. It makes sure that the array is still
// the one that the draft was made of. The caller holds flushing.
func (d *draft) findHome(ctx context.Context) (err error) {
	if d.home != nil {
		return nil
	}
	if d.home, err = d.openHome(ctx); err == nil {
		if err = d.reconcile(ctx); err != nil {
			d.takeBackAhead(ctx, err)
		}
	}
	if errors.Is(err, iofs.ErrNotExist) {
		if err = d.h.absent(ctx, d.path); err == nil {
			err = fmt.Errorf("%w: it was removed, and is there again", store.ErrConflict)
		}
	}
	if err != nil {
		d.leaveHome()
	}
	return err
}

// openHome finds the directory, also where this process has just renamed it.
func (d *draft) openHome(ctx context.Context) (*catalog.Home, error) {
	for {
		at := d.path
		if moved := d.moved.Load(); moved != nil {
			at = *moved
		}
		m, err := d.h.catalog.Home(ctx, at, d.path, d.live.Load().meta.Format)
		if !errors.Is(err, iofs.ErrNotExist) {
			return m, err
		}
		if to, ok := d.h.underway.Load().follow(at); ok {
			return d.h.catalog.Home(ctx, to, d.path, d.live.Load().meta.Format)
		}
		if moved := d.moved.Load(); moved == nil || *moved == at {
			return nil, err
		}
	}
}

// leaveHome ends findHome.
func (d *draft) leaveHome() {
	d.home.Close()
	d.home = nil
}
