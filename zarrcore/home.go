package zarrcore

import (
	"context"
	"errors"
	"fmt"
	iofs "io/fs"

	"github.com/zarrfs/zarrfs/zarrcore/meta"
	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// A home is the directory in which an array is stored, held open while something is stored there. Another program may rename it
// meanwhile, or a group above it: what is stored goes with it, and is never put into a directory of the old name that was made for it.
type home struct {
	st      *store.Store
	key     string // of the document that makes it an array
	version string // of that document, when it was last looked at
}

// openHome holds the directory of an array open. Its keys begin with as, the path that the array had when it was opened here.
func (h *Hierarchy) openHome(ctx context.Context, at, as string, format int) (*home, error) {
	st, err := h.store.Hold(ctx, at, as)
	if err != nil {
		return nil, err
	}
	m := &home{st: st, key: store.Join(as, documentName(format))}
	m.look(ctx)
	return m, nil
}

// look notes the version of the document, before that is read.
func (m *home) look(ctx context.Context) {
	m.version = ""
	if info, err := m.st.Stat(ctx, m.key); err == nil {
		m.version = info.Version
	}
}

// unchanged reports whether the document is the one that was there at the last look.
func (m *home) unchanged(ctx context.Context) bool {
	info, err := m.st.Stat(ctx, m.key)
	return err == nil && info.Version == m.version && m.version != ""
}

func (m *home) close() {
	if m != nil {
		m.st.Close()
	}
}

// holds makes sure that the directory still is that of the array, after objects were stored in it: that the document is there, and
// says the same of them.
func (m *home) holds(ctx context.Context, h *Hierarchy, path string, stored *meta.Array) error {
	was := m.version
	if m.look(ctx); m.version == was && was != "" {
		return nil
	}
	err := m.isOf(ctx, h, path, stored)
	if err != nil {
		m.version = ""
	}
	return err
}

// isOf is holds for a document that is another one by now.
func (m *home) isOf(ctx context.Context, h *Hierarchy, path string, stored *meta.Array) error {
	n, err := h.catalog.NodeIn(ctx, m.st, path)
	if err == nil && n.Kind == ArrayNode && n.Err == nil {
		h.catalog.ProbeSeparator(ctx, n)
	}
	switch {
	case errors.Is(err, iofs.ErrNotExist), err == nil && n.Kind == DirectoryNode:
		return fmt.Errorf("%w: it was removed while it was stored", errOrphan)
	case err != nil:
		return err
	case n.Kind != ArrayNode || n.Err != nil || !sameLayout(stored, n.Meta):
		return fmt.Errorf("%w: its document was replaced by another", errOrphan)
	}
	return nil
}

// takeBack removes objects that were stored where there is no array any more, and the directories that were made for them. It is
// enough to try: what they hold is kept elsewhere.
func (m *home) takeBack(ctx context.Context, objects map[string]store.Info) {
	for key, info := range objects {
		m.st.Delete(ctx, key, store.If{Version: info.Version})
	}
	m.st.Prune(ctx, store.Parent(m.key))
}

// findHome holds the array's directory open, until leaveHome, and makes sure that it is still the array that the draft was made of.
// The caller holds flushing.
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
func (d *draft) openHome(ctx context.Context) (*home, error) {
	for {
		at := d.path
		if moved := d.moved.Load(); moved != nil {
			at = *moved
		}
		m, err := d.h.openHome(ctx, at, d.path, d.live.Load().meta.Format)
		if !errors.Is(err, iofs.ErrNotExist) {
			return m, err
		}
		if to, ok := d.h.underway.Load().follow(at); ok {
			return d.h.openHome(ctx, to, d.path, d.live.Load().meta.Format)
		}
		if moved := d.moved.Load(); moved == nil || *moved == at {
			return nil, err
		}
	}
}

// leaveHome ends findHome.
func (d *draft) leaveHome() {
	d.home.close()
	d.home = nil
}
