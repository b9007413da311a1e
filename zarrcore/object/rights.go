package object

import (
	"context"
	"errors"
	iofs "io/fs"
	"sync"

	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// readable are the bits of a mode that let everybody read.
const readable = 0o444

// rights are what users may do with all objects of a generation that were opened. They are noted
// where an object, or a folder on the way to it, is not for everybody. Decoded chunks are shared by
// all readers, so that the rights to an object must outlive it.
type rights struct {
	kept bool // otherwise nothing is noted
	mu   sync.Mutex
	of   map[uint64]store.Rights // by the number of the generation
}

// note adds an opened object to those of a generation.
func (r *rights) note(generation uint64, o store.Object) {
	if !r.kept {
		return
	}
	if owned, ok := o.(store.Owned); ok {
		r.add(generation, owned.Rights())
	}
}

// noteWay adds the folders between an array, whose path is prefix, and an object of it. Only users
// who may enter them all can read the object. If they are missing, opening the object says so.
func (r *rights) noteWay(
	ctx context.Context, st *store.Store, generation uint64, prefix, key string,
) error {
	if !r.kept || st.Traits().Remote {
		return nil
	}
	for i, c := range key {
		if c != '/' || i < len(prefix) {
			continue
		}
		info, err := st.Stat(ctx, key[:i])
		if errors.Is(err, iofs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		r.add(generation, info.Rights.Inside())
	}
	return nil
}

// add adds the rights to an object, or to what is in a folder, to those of a generation.
func (r *rights) add(generation uint64, to store.Rights) {
	if to.Known && to.Mode&readable != readable {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.of == nil {
			r.of = map[uint64]store.Rights{}
		}
		r.of[generation] = to.And(r.of[generation])
	}
}

// KeepRights makes RightsTo known, for all objects that are opened from now on.
func (s *Shared) KeepRights() { s.rights.kept = true }

// RightsTo returns what users may do with all objects that were opened of a generation of an array.
// It is not Known if everybody may read them.
func (s *Shared) RightsTo(generation uint64) store.Rights {
	s.rights.mu.Lock()
	defer s.rights.mu.Unlock()
	return s.rights.of[generation]
}

// Retire forgets the rights to a generation. A read of it that has begun may note some again.
func (s *Shared) Retire(generation uint64) {
	s.rights.mu.Lock()
	defer s.rights.mu.Unlock()
	delete(s.rights.of, generation)
}
