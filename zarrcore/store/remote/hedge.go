package remote

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"time"
)

// When a request is sent a second time although the first one may still be answered.
const (
	hedgeSamples = 64                     // of the times to the last answers
	hedgeEnough  = 20                     // samples, before which nothing is known
	hedgeLeast   = 200 * time.Millisecond // what is waited for at least
	hedgeShare   = 20                     // one request in so many, at most
)

// A hedge says when an answer is late. A second request then often overtakes the first one, which a
// lost packet or one slow machine of many holds up.
type hedge struct {
	mu     sync.Mutex
	times  [hedgeSamples]time.Duration // to the answers, a ring
	n      int                         // answers in all
	sent   int                         // requests
	hedged int                         // those that were sent twice
}

// note notes how long an answer has taken.
func (h *hedge) note(d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.times[h.n%hedgeSamples] = d
	h.n++
}

// after returns how long a request waits until it is sent again: twice as long as 95 of 100 answers
// take. It notes that a request is sent.
func (h *hedge) after() (d time.Duration, known bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.sent++
	if h.n < hedgeEnough {
		return 0, false
	}
	times := slices.Clone(h.times[:min(h.n, hedgeSamples)])
	slices.Sort(times)
	return max(2*times[len(times)*95/100], hedgeLeast), true
}

// mayHedge reports whether one more request may be sent twice, and notes that it is.
func (h *hedge) mayHedge() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if (h.hedged+1)*hedgeShare > h.sent {
		return false
	}
	h.hedged++
	return true
}

// A race is a request that was sent up to twice.
type race struct {
	client  *Client
	request *http.Request
	answers chan arrived
	stops   []context.CancelFunc
}

// arrived is what came of one of the requests.
type arrived struct {
	resp *http.Response
	err  error
	who  int
}

// roundTrip sends a request. If nothing is answered for long, it sends it once more and takes what
// is answered first.
func (c *Client) roundTrip(r *http.Request) (*http.Response, error) {
	wait, known := c.hedge.after()
	if !known {
		return c.sendOnce(r)
	}
	race := &race{client: c, request: r, answers: make(chan arrived, 2)}
	race.begin()
	late := time.NewTimer(wait)
	defer late.Stop()
	select {
	case a := <-race.answers:
		return race.won(a)
	case <-late.C:
	}
	if c.mayHedge() {
		defer c.window.exit()
		race.begin()
	}
	return race.won(<-race.answers)
}

// mayHedge reports whether a request may be sent twice. Then the second one has its place in the
// window. Otherwise it takes none.
func (c *Client) mayHedge() bool {
	if !c.window.enterNow() {
		return false
	}
	if c.hedge.mayHedge() {
		return true
	}
	c.window.exit()
	return false
}

// begin sends the request.
func (r *race) begin() {
	ctx, stop := context.WithCancel(r.request.Context())
	who := len(r.stops)
	r.stops = append(r.stops, stop)
	go func() {
		resp, err := r.client.sendOnce(r.request.Clone(ctx))
		r.answers <- arrived{resp, err, who}
	}()
}

// won returns the first answer, or the second one if the first is an error. The other request ends.
// The body can be read as long as the context of the request lasts.
func (r *race) won(a arrived) (*http.Response, error) {
	left := len(r.stops) - 1
	if a.err != nil && left > 0 {
		a, left = <-r.answers, 0
	}
	for who, stop := range r.stops {
		if who != a.who {
			stop()
		}
	}
	if left > 0 {
		go r.drop()
	}
	context.AfterFunc(r.request.Context(), r.stops[a.who])
	return a.resp, a.err
}

// drop throws away what comes second.
func (r *race) drop() {
	if a := <-r.answers; a.err == nil {
		a.resp.Body.Close()
	}
}

// sendOnce sends a request once.
func (c *Client) sendOnce(r *http.Request) (*http.Response, error) {
	c.requests.Add(1)
	began := time.Now()
	resp, err := c.o.Transport.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	c.reached.Store(true)
	if isOverload(resp.StatusCode) {
		return resp, nil
	}
	took := time.Since(began)
	c.hedge.note(took)
	c.trip.add(took)
	c.window.answered(took, c.trip.value())
	return resp, nil
}

// isOverload reports whether a server has refused a request, or could not answer it. Such an answer
// may come much sooner than others, so that it says nothing of how long they take.
func isOverload(status int) bool {
	return status == http.StatusTooManyRequests || status >= http.StatusInternalServerError
}
