package object

import (
	"sync"

	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// readable are the bits of a mode that let everybody read.
const readable = 0o444

// rights are what users may do with all objects of a generation that were opened, where one of
// these is not for everybody. Decoded chunks are shared by all readers, so that the rights to an
// object must outlive it.
type rights struct {
	kept bool // otherwise nothing is noted
	mu   sync.Mutex
	of   map[uint64]store.Rights // by the number of the generation
}

// note adds an opened object to those of a generation.
func (r *rights) note(generation uint64, o store.Object) {
	owned, ok := o.(store.Owned)
	if !r.kept || !ok {
		return
	}
	if to := owned.Rights(); to.Known && to.Mode&readable != readable {
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

// Retire forgets a generation, of which no chunk is kept.
func (s *Shared) Retire(generation uint64) {
	s.rights.mu.Lock()
	defer s.rights.mu.Unlock()
	delete(s.rights.of, generation)
}
