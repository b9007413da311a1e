package remote

import (
	"context"
	"io"
	"net/http"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// A path answers each request after a delay with bytes that come at a rate.
type path struct {
	delay time.Duration
	rate  int // bytes in a second
	size  int // of the object
}

// RoundTrip answers a request for the beginning of the object.
func (p path) RoundTrip(r *http.Request) (*http.Response, error) {
	time.Sleep(p.delay)
	return &http.Response{
		StatusCode: http.StatusOK, ContentLength: int64(p.size), Request: r,
		Header: http.Header{"Etag": {`"e"`}, "Content-Length": {strconv.Itoa(p.size)}},
		Body:   io.NopCloser(&slowly{left: p.size, rate: p.rate}),
	}, nil
}

// slowly is a body that comes at a rate.
type slowly struct{ left, rate int }

// Read brings up to 1000 bytes.
func (s *slowly) Read(b []byte) (int, error) {
	n := min(1000, len(b), s.left)
	if s.left == 0 {
		return 0, io.EOF
	}
	time.Sleep(time.Duration(n) * time.Second / time.Duration(s.rate))
	s.left -= n
	return n, nil
}

// TestCarries: what a request brings in a round trip is found out by two bodies that are not short.
func TestCarries(t *testing.T) {
	for _, tt := range []struct{ size, rate, want int }{
		{200_000, 10_000_000, 500_000}, {200_000, 1_000_000, 50_000}, {20_000, 10_000_000, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			p := path{delay: 50 * time.Millisecond, rate: tt.rate, size: tt.size}
			d, err := Open(t.Context(), plainWeb{}, "http://far", Options{Transport: p})
			if err != nil {
				t.Fatal(err)
			}
			for i := range 3 {
				got, want := d.Traffic().Carries, tt.want
				if i < 2 {
					want = 0
				}
				if got < int64(want*98/100) || got > int64(want*102/100) {
					t.Errorf("%+v: %d bytes after %d bodies, want %d", tt, got, i, want)
				}
				o, err := d.OpenFor(context.Background(), "a", store.Want{N: store.All})
				if err != nil {
					t.Fatal(err)
				}
				o.Close()
			}
		})
	}
}

// TestFlowIsSecondQuickest: one body that was quick by chance does not count, and neither do many
// late ones. What was long ago does not count, either.
func TestFlowIsSecondQuickest(t *testing.T) {
	f := new(flow)
	ms := func(all ...int) int64 {
		for _, n := range all {
			f.note(100_000, time.Duration(n)*time.Millisecond)
		}
		return f.carries(100 * time.Millisecond)
	}
	for _, tt := range []struct {
		took []int // milliseconds of bodies of 100,000 bytes
		want int64
	}{
		{nil, 0}, {[]int{10}, 0}, {[]int{1}, 1_000_000}, {[]int{100, 50, 100, 100}, 1_000_000},
		{[]int{100, 100, 100}, 200_000}, {[]int{5, 4}, 2_000_000},
	} {
		if got := ms(tt.took...); got != tt.want {
			t.Errorf("after %v ms: %d, want %d", tt.took, got, tt.want)
		}
	}
}
