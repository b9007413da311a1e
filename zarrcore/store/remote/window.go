package remote

import (
	"context"
	"sync"
	"time"
)

// Requests under way at one server, at most: at first, and however quick it is.
const (
	firstWindow = 32
	mostWindow  = maxConnections
	leastWindow = 2
)

// A window bounds the requests under way at one server. It grows while requests wait for it and
// answers stay as quick: by one for each answer until the server first says that it is busy, and
// from then on by one in each round trip. A server that is busy halves it. This is how TCP finds
// out how much a path carries (RFC 5681, section 3.1).
type window struct {
	mu      sync.Mutex
	limit   float64
	flying  int
	waiting []chan struct{} // each is closed when its request may go
	slowly  bool            // it was halved
	halved  time.Time
	heard   time.Time // when a wanted answer, or a part of one, last came
}

func newWindow() *window { return &window{limit: firstWindow} }

// enter waits until a request may go, for as long as the server answers others: it gives up when
// nothing has come for the time that it is given. It returns how long it has waited.
func (w *window) enter(ctx context.Context, patience time.Duration) (
	waited time.Duration, err error,
) {
	w.mu.Lock()
	if len(w.waiting) == 0 && w.flying < int(w.limit) {
		w.flying++
		w.mu.Unlock()
		return 0, nil
	}
	may := make(chan struct{})
	w.waiting = append(w.waiting, may)
	w.mu.Unlock()
	began := time.Now()
	look := time.NewTimer(patience)
	defer look.Stop()
	for {
		select {
		case <-may:
			return time.Since(began), nil
		case <-look.C:
			silent := w.silence(began)
			if silent >= patience {
				w.leave(may)
				return time.Since(began), errSlow
			}
			look.Reset(patience - silent)
		case <-ctx.Done():
			w.leave(may)
			return time.Since(began), context.Cause(ctx)
		}
	}
}

// hear notes that a wanted answer, or a part of one, came.
func (w *window) hear() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.heard = time.Now()
}

// silence returns for how long nothing has come, at most since began.
func (w *window) silence(began time.Time) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return min(time.Since(began), time.Since(w.heard))
}

// leave ends the wait of a request.
func (w *window) leave(may chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, other := range w.waiting {
		if other == may {
			w.waiting = append(w.waiting[:i], w.waiting[i+1:]...)
			return
		}
	}
	w.flying-- // it may go since a moment ago
	w.admit()
}

// enterNow reports whether a request may go at once.
func (w *window) enterNow() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.waiting) > 0 || w.flying >= int(w.limit) {
		return false
	}
	w.flying++
	return true
}

// admit lets requests go that wait. The caller holds mu.
func (w *window) admit() {
	for len(w.waiting) > 0 && w.flying < int(w.limit) {
		close(w.waiting[0])
		w.waiting = w.waiting[1:]
		w.flying++
	}
}

// exit notes that a request has ended.
func (w *window) exit() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.flying--
	w.admit()
}

// answered notes an answer that came after a time. The shortest one of late is given. More requests
// would only wait in a queue somewhere if this one took twice as long.
func (w *window) answered(after, shortest time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.waiting) == 0 || after > 2*shortest {
		return
	}
	step := 1.0
	if w.slowly {
		step = 1 / w.limit
	}
	w.limit = min(w.limit+step, mostWindow)
	w.admit()
}

// busy notes that the server has too much to do. Those requests that were under way when it was
// halved do not count again: began is when this one was sent.
func (w *window) busy(began time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if began.Before(w.halved) {
		return
	}
	w.limit = max(float64(min(w.flying, int(w.limit)))/2, leastWindow)
	w.slowly, w.halved = true, time.Now()
}
