package live

import (
	"sync"
	"sync/atomic"

	"github.com/zarrfs/zarrfs/zarrcore/generation"
)

// Generations are an array in one order as this process has made it longer and shorter. Only the
// newest counts. It changes while the mu of its draft is held.
type generations struct {
	h    *common
	live atomic.Pointer[Array] // the newest

	// reshaping is held for writing while the document is replaced, and for reading while another
	// generation is made of it.
	reshaping sync.RWMutex
}

// longer returns the generation of the array that has so many bytes.
func (g *generations) longer(size int64) (*Array, error) {
	return g.next(g.live.Load().gen.Longer(size, g.h.open.nextID))
}

// next returns the array as the generation that follows the live one shows it.
func (g *generations) next(gen *generation.Array, err error) (*Array, error) {
	if err != nil {
		return nil, err
	}
	return g.live.Load().next(gen), nil
}

// adopt makes b the live generation. The caller holds mu.
func (g *generations) adopt(b *Array) {
	h, old := g.h, g.live.Load()
	old.past.Store(true) // before anybody can store an object as of b
	h.open.replace(old, b)
	if b.gen.ID != old.gen.ID {
		h.of.Shared.Retire(old.gen.ID)
	}
	if b.bands != old.bands && old.bands != nil {
		old.bands.Close()
	}
}
