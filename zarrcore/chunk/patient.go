package chunk

import (
	"context"
	"errors"
	"time"
)

// Patient bounds the bytes, or other things, that requests use at once while they wait for stores.
// If a store hangs, its requests may hold all of them. As soon as none were given back for long,
// others take from as many more, until those that hang go on. So other arrays go on, and no more
// than twice as many are used.
type Patient struct {
	usual, more *Semaphore
	patience    time.Duration
}

// NewPatient returns a bound of size bytes. A request waits for patience while no other one ends.
func NewPatient(size int64, patience time.Duration) *Patient {
	return &Patient{NewSemaphore(size), NewSemaphore(size), patience}
}

// Acquire waits until n bytes are free, and takes them. The caller releases them at from. Where ctx
// ends the wait, nothing is taken.
func (p *Patient) Acquire(ctx context.Context, n int64) (from *Semaphore, err error) {
	if err := p.usual.acquire(ctx, n, p.patience); !errors.Is(err, errStuck) {
		return p.usual, err
	}
	return p.more, p.more.Acquire(ctx, n)
}

// Usual returns what requests take from if no store hangs.
func (p *Patient) Usual() *Semaphore { return p.usual }
