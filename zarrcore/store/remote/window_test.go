package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// A wire answers requests as a function says, given how many others are under way.
type wire struct {
	answer func(n, others int) (after time.Duration, status int)

	mu                 sync.Mutex
	sent, flying, most int
	refused            int
}

// RoundTrip answers a request.
func (w *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	w.mu.Lock()
	w.sent++
	after, status := w.answer(w.sent, w.flying)
	w.flying++
	w.most = max(w.most, w.flying)
	if status != http.StatusOK {
		w.refused++
	}
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.flying--
	}()
	select {
	case <-time.After(after):
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
	return &http.Response{
		StatusCode: status, ContentLength: 3, Request: r,
		Header: http.Header{"Etag": {`"e"`}}, Body: io.NopCloser(strings.NewReader("abc")),
	}, nil
}

// plainWeb is a dialect of servers without credentials.
type plainWeb struct {
	Plain
	nobody
}

type nobody struct{}

func (nobody) Authorize(*http.Request) error { return nil }
func (nobody) Renew(context.Context) bool    { return false }
func (nobody) Credentials() string           { return "" }

func (plainWeb) Request(ctx context.Context, key string) (*http.Request, error) {
	return Get(ctx, &url.URL{Scheme: "http", Host: "far", Path: "/" + key}), nil
}

func (plainWeb) Listing(context.Context, Listing) (*http.Request, error) {
	return nil, store.ErrCannotList
}

func (plainWeb) Page(string, *Answer) (Page, error) { return Page{}, store.ErrCannotList }

// over opens a store over a wire.
func over(t *testing.T, w *wire) *Driver {
	t.Helper()
	d, err := Open(t.Context(), plainWeb{}, "http://far", Options{Transport: w})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// getMany reads so many objects at once, and returns how long that takes.
func getMany(t *testing.T, d *Driver, n int) time.Duration {
	began := time.Now()
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			o, err := d.Open(t.Context(), fmt.Sprint("c/", i))
			if err != nil {
				t.Error(err)
				return
			}
			o.Close()
		})
	}
	wg.Wait()
	return time.Since(began)
}

const trip = 50 * time.Millisecond

// TestWindowGrows: while answers are as quick as ever, each round trip has twice as many requests
// as the one before, up to a limit.
func TestWindowGrows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &wire{answer: func(int, int) (time.Duration, int) { return trip, http.StatusOK }}
		d := over(t, w)
		if took := getMany(t, d, 32+64+5*128); took != 7*trip {
			t.Errorf("it takes %v, want 7 round trips", took)
		}
		if w.most != 128 {
			t.Errorf("%d requests are under way at most, want 128", w.most)
		}
	})
}

// TestWindowStays: where more requests only wait longer, there are no more.
func TestWindowStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &wire{answer: func(_, others int) (time.Duration, int) {
			return trip + time.Duration(max(0, others-20))*10*time.Millisecond, http.StatusOK
		}}
		getMany(t, over(t, w), 2000)
		// Requests sent at one moment find few others, in an unknown order.
		if w.most > 96 {
			t.Errorf("%d requests are under way at most", w.most)
		}
	})
}

// TestThrottled: a server that takes ten requests at once soon gets little more than that, and
// everything is read.
func TestThrottled(t *testing.T) {
	for _, status := range []int{http.StatusTooManyRequests, http.StatusServiceUnavailable} {
		synctest.Test(t, func(t *testing.T) {
			w := &wire{}
			w.answer = func(_, others int) (time.Duration, int) {
				if others >= 10 {
					return trip, status
				}
				return trip, http.StatusOK
			}
			d := over(t, w)
			getMany(t, d, 500)
			if w.refused > 200 {
				t.Errorf("%d: %d requests of %d were refused", status, w.refused, w.sent)
			}
			w.most = 0
			getMany(t, d, 100)
			if w.most > 20 {
				t.Errorf("%d: %d requests are still under way at once", status, w.most)
			}
		})
	}
}

// TestRefusalsAreNotRoundTrips: a server refuses at once, and answers slowly. That its answers take
// longer than its refusals does not keep the window small for ever.
func TestRefusalsAreNotRoundTrips(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &wire{}
		w.answer = func(_, others int) (time.Duration, int) {
			if others >= 8 {
				return trip, http.StatusServiceUnavailable
			}
			return 10 * trip, http.StatusOK
		}
		d := over(t, w)
		getMany(t, d, 100)
		w.most = 0
		getMany(t, d, 100)
		if w.most < 6 {
			t.Errorf("%d requests are under way at most, where the server takes 8", w.most)
		}
	})
}

// TestHedged: an answer that is late is overtaken by one to a second request. At most one request
// in twenty is sent twice.
func TestHedged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stuck := func(int) bool { return false }
		w := &wire{answer: func(n, _ int) (time.Duration, int) {
			if stuck(n) {
				return time.Hour, http.StatusOK
			}
			return trip, http.StatusOK
		}}
		d := over(t, w)
		for range 40 {
			getMany(t, d, 1)
		}
		began := w.sent
		stuck = func(n int) bool { return n == began+1 }
		if took := getMany(t, d, 1); took != hedgeLeast+trip {
			t.Errorf("one that is stuck takes %v, want %v", took, hedgeLeast+trip)
		}
		if w.sent != began+2 {
			t.Errorf("%d requests for one that is stuck, want 2", w.sent-began)
		}
		began = w.sent
		stuck = func(n int) bool { return n%2 == 0 }
		for range 60 {
			getMany(t, d, 1)
		}
		if twice := w.sent - began - 60 - int(d.retries.Load()); twice < 1 || twice > w.sent/20 {
			t.Errorf("%d requests were sent twice, %d in all", twice, w.sent)
		}
		synctest.Wait()
		if w.flying != 0 {
			t.Errorf("%d requests are under way at the end", w.flying)
		}
	})
}

// TestLateTakesOnePlace: where all answers are late, few requests are sent twice. The others keep
// one place each, so that further requests can go.
func TestLateTakesOnePlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		after := trip
		w := &wire{answer: func(int, int) (time.Duration, int) { return after, http.StatusOK }}
		d := over(t, w)
		for range 40 {
			getMany(t, d, 1)
		}
		after = 2 * time.Second
		w.mu.Lock()
		began := w.sent
		w.mu.Unlock()
		var all sync.WaitGroup
		all.Go(func() { getMany(t, d, firstWindow/2) })
		time.Sleep(after / 2)
		d.window.mu.Lock()
		places := d.window.flying
		d.window.mu.Unlock()
		w.mu.Lock()
		sent := w.sent - began
		w.mu.Unlock()
		if places != sent {
			t.Errorf("%d requests under way take %d places", sent, places)
		}
		all.Wait()
	})
}

// TestTurnIsNotSilence: requests that wait until others are answered do not take the server for
// silent, however many there are.
func TestTurnIsNotSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answer := func(int, int) (time.Duration, int) { return 5 * time.Second, http.StatusOK }
		d := over(t, &wire{answer: answer})
		d.window.limit, d.window.slowly = leastWindow, true
		if took := getMany(t, d, 1000); took < 2*time.Minute {
			t.Fatalf("all is answered after %v: too soon for this test", took)
		}
	})
}

// TestSilentServerEndsAllTurns: when a server answers nothing any more, requests that wait for
// their turn end as soon as the sent ones.
func TestSilentServerEndsAllTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &wire{answer: func(n, _ int) (time.Duration, int) {
			if n <= 10 {
				return 5 * time.Second, http.StatusOK
			}
			return time.Hour, http.StatusOK
		}}
		d := over(t, w)
		d.window.limit, d.window.slowly = leastWindow, true
		began, failed := time.Now(), 0
		var mu sync.Mutex
		var all sync.WaitGroup
		for i := range 1000 {
			all.Go(func() {
				o, err := d.Open(t.Context(), fmt.Sprint("c/", i))
				if err == nil {
					o.Close()
					return
				}
				if !errors.Is(err, os.ErrDeadlineExceeded) {
					t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				failed++
			})
		}
		all.Wait()
		if took := time.Since(began); failed != 990 || took > 3*time.Minute {
			t.Errorf("%d of 990 requests fail, after %v", failed, took)
		}
	})
}

// TestWindowGivesUp: a request that waits for others ends with its context, and takes no place.
func TestWindowGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWindow()
		for range firstWindow {
			if _, err := w.enter(t.Context(), time.Minute); err != nil {
				t.Fatal(err)
			}
		}
		ctx, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		if _, err := w.enter(ctx, time.Minute); err == nil {
			t.Error("a request goes although there is no place")
		}
		w.exit()
		if !w.enterNow() || w.enterNow() {
			t.Error("the one place is not there for one request")
		}
	})
}
