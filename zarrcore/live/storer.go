package live

import (
	"context"
	"errors"
	"fmt"
	iofs "io/fs"

	"github.com/zarrfs/zarrfs/zarrcore/catalog"
	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// errBack says that the array was not found, although there is one by its name again.
var errBack = fmt.Errorf("%w: it was removed, and is there again", store.ErrConflict)

// A storer stores what a draft has, in the array's directory: it is one flush. It lives while the
// draft's flushing is held.
type storer struct {
	*draft
	home  *catalog.Home // nil until it is found
	found string        // where the array was found under another name; "": where the draft has it
}

// storer returns what stores the draft. The caller holds flushing, and calls leaveHome in the end.
func (d *draft) storer() *storer { return &storer{draft: d} }

// look returns why the array cannot be stored, if it is not there.
func (d *draft) look(ctx context.Context) error {
	d.flushing.Lock()
	defer d.flushing.Unlock()
	s := d.storer()
	defer s.leaveHome()
	return s.findHome(ctx)
}

// findHome holds the array's directory open, until leaveHome. It makes sure that the array is still
// the one that the draft was made of. The caller holds flushing.
func (s *storer) findHome(ctx context.Context) (err error) {
	if s.home != nil {
		return nil
	}
	if s.home, err = s.openHome(ctx); err == nil {
		if err = s.reconcile(ctx); err != nil {
			s.takeBackAhead(ctx, err)
		}
	}
	if errors.Is(err, iofs.ErrNotExist) {
		if err = s.h.absent(ctx, s.path); err == nil {
			err = errBack
		}
	}
	if err != nil {
		s.leaveHome()
	}
	return err
}

// openHome finds the directory, also where this process has just renamed it. If that is another
// array's by now, it is errNameTaken.
func (s *storer) openHome(ctx context.Context) (*catalog.Home, error) {
	m, err := s.openNamed(ctx)
	if err == nil && m.IsOther(ctx, s.where) {
		m.Close()
		return nil, errNameTaken
	}
	return m, err
}

// openNamed is openHome for whatever has the array's name.
func (s *storer) openNamed(ctx context.Context) (m *catalog.Home, err error) {
	open := func(path string) (err error) {
		m, err = s.h.of.Catalog.Home(ctx, path, s.path, s.live.Load().gen.Meta.Format)
		return err
	}
	if s.found != "" {
		err = open(s.found)
	} else {
		err = s.find(open)
	}
	return m, err
}

// leaveHome ends findHome.
func (s *storer) leaveHome() {
	s.home.Close()
	s.home = nil
}
