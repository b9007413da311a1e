package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"sync/atomic"
	"time"
)

// Limits of what is asked of one server, and of how long is waited for it.
const (
	maxConnections = 128
	maxRedirects   = 5
	firstBackoff   = 50 * time.Millisecond
	maxBackoff     = 8 * time.Second
	leastRate      = 8 << 10  // bytes a second of a body; what is slower is given up
	errorBody      = 64 << 10 // bytes of the body of an error that are looked at
)

// Options say how long is waited for a server. Zero values are defaults.
type Options struct {
	Stall      time.Duration // a try ends if nothing comes for so long; default 10 s
	Patience   time.Duration // tries end if nothing comes for so long; default 30 s
	Transport  http.RoundTripper
	Missing403 bool // 403 says of a key that nothing is stored
	NoSuffixes bool // the server knows no ranges that count from the end of an object
	NoListing  bool // the store does not list, even if the server can
}

func (o Options) withDefaults() Options {
	for _, d := range []struct {
		value    *time.Duration
		default_ time.Duration
	}{
		{&o.Stall, 10 * time.Second}, {&o.Patience, 30 * time.Second},
	} {
		if *d.value == 0 {
			*d.value = d.default_
		}
	}
	if o.Transport == nil {
		o.Transport = newTransport()
	}
	return o
}

// newTransport returns a pool of connections. It speaks HTTP/1.1: a connection for each request
// that is under way, so that a lost packet holds up one of them.
func newTransport() *http.Transport {
	only1 := new(http.Protocols)
	only1.SetHTTP1(true)
	dialer := net.Dialer{Timeout: 10 * time.Second, KeepAlive: 15 * time.Second}
	return &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         dialer.DialContext,
		Protocols:           only1,
		DisableCompression:  true, // ranges are of the bytes that are stored
		MaxIdleConnsPerHost: maxConnections,
		MaxConnsPerHost:     maxConnections,
		IdleConnTimeout:     90 * time.Second,
		TLSHandshakeTimeout: 10 * time.Second,
		ReadBufferSize:      64 << 10,
	}
}

// A Client sends the requests of one dialect: it keeps connections, tries again, counts, and gives
// up in time. It is safe for concurrent use.
type Client struct {
	dialect Dialect
	where   string // for errors: scheme and host
	o       Options
	window  *window
	hedge   hedge
	reached atomic.Bool // the server has answered before
	counters
}

// newClient returns a client of the server that where names in errors.
func newClient(d Dialect, where string, o Options) *Client {
	return &Client{
		dialect: d, where: where, o: o.withDefaults(), window: newWindow(),
	}
}

// A call is one thing that is asked of a server, through all tries.
type call struct {
	// build makes the request of the next try.
	build func(ctx context.Context) (*http.Request, error)
	// accept takes an answer whose verdict is in takes, or Fine. It reads the body.
	accept func(a *Answer, v Verdict, body *body) error
	takes  []Kind
	size   int64 // bytes that are expected, or guessed
	tries  int   // at most; 0: as many as there is patience for
}

// do makes a call. It returns an *Error, or the error of ctx.
func (c *Client) do(ctx context.Context, call *call) error {
	bounded, p := c.patience(ctx, call.size)
	defer p.end()
	renewed, last := false, error(nil)
	for try := 1; ; try++ {
		got, err := int64(0), p.turn(bounded, c.window)
		if err == nil {
			got, err = c.try(bounded, call)
		}
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if errors.Is(err, errSlow) && last != nil {
			err = last
		}
		last = err
		if got > 0 {
			p.progress = time.Now()
		}
		if c.isExpired(err) && !renewed && c.dialect.Renew(bounded) {
			renewed = true
			continue
		}
		wait := backoff(try, err)
		isLast := call.tries > 0 && try >= call.tries || bounded.Err() != nil
		if !isPassing(err) || c.isHopeless(err, try) || isLast ||
			time.Since(p.progress)+wait >= c.o.Patience {
			c.failed.Add(1)
			return c.explain(err, try)
		}
		if err := pause(bounded, wait); err != nil {
			continue // the next try says why
		}
		c.retries.Add(1)
	}
}

// patience bounds the time of a call. What it waits until others are answered does not count: the
// server is not silent then.
type patience struct {
	limit    time.Duration
	progress time.Time // when something last came for the call
	ends     time.Time
	clock    *time.Timer // ends the call
	cancel   context.CancelCauseFunc
}

// patience returns the context of a call that expects so many bytes, and what bounds it.
func (c *Client) patience(ctx context.Context, size int64) (context.Context, *patience) {
	limit := c.o.Patience + c.o.Stall + time.Duration(size/leastRate)*time.Second
	bounded, cancel := context.WithCancelCause(ctx)
	now := time.Now()
	return bounded, &patience{
		limit: limit, progress: now, ends: now.Add(limit), cancel: cancel,
		clock: time.AfterFunc(limit, func() { cancel(errSlow) }),
	}
}

// turn waits until a request of the call may go. When it returns an error, the call has ended.
func (p *patience) turn(ctx context.Context, w *window) error {
	p.clock.Stop()
	waited, err := w.enter(ctx, p.limit)
	p.progress, p.ends = p.progress.Add(waited), p.ends.Add(waited)
	p.clock.Reset(time.Until(p.ends))
	if err != nil {
		p.cancel(err)
	}
	return err
}

// end ends the call.
func (p *patience) end() {
	p.clock.Stop()
	p.cancel(nil)
}

// isExpired reports whether a server takes the credentials no longer.
func (c *Client) isExpired(err error) bool {
	var r refusal
	return errors.As(err, &r) && r.Kind == Expired
}

// isHopeless reports whether trying again is of little use after some tries. A server that has
// never answered may not exist. A server that still sends wrong ranges does not understand them.
func (c *Client) isHopeless(err error, try int) bool {
	isSilent := !isAnswered(err) && !c.reached.Load()
	return try >= 3 && (isSilent || errors.Is(err, errRange))
}

// isBusy reports whether the server asks for fewer requests.
func isBusy(err error) bool {
	var r refusal
	return errors.As(err, &r) && r.Kind == Busy
}

// isAnswered reports whether an error is an answer of the server.
func isAnswered(err error) bool {
	return errors.As(err, new(refusal)) || errors.Is(err, errRange) || errors.As(err, new(final))
}

// backoff returns how long to wait before the next try: what the server asks for, or twice as long
// as before, at random.
func backoff(try int, err error) time.Duration {
	most := min(maxBackoff, firstBackoff<<min(try-1, 10))
	wait := rand.N(most) + time.Millisecond
	if later := new(retryAfter); errors.As(err, later) {
		wait += later.wait
	}
	return wait
}

// retryAfter is a refusal that says when to come back.
type retryAfter struct {
	refusal
	wait time.Duration
}

// Unwrap returns the refusal.
func (r retryAfter) Unwrap() error { return r.refusal }

// pause waits.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// try sends one request, which is in the window, and gives the answer to call. It returns how many
// bytes of a body came.
func (c *Client) try(ctx context.Context, call *call) (got int64, err error) {
	defer c.window.exit()
	began := time.Now()
	c.inFlight.Add(1)
	defer c.inFlight.Add(-1)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stall := c.o.Stall
	watch := time.AfterFunc(stall, func() { cancel(fmt.Errorf("%w for %v", errStalled, stall)) })
	defer watch.Stop()
	resp, err := c.send(ctx, call)
	if err != nil {
		return 0, c.ownError(ctx, err)
	}
	b := &body{from: resp.Body, client: c, alive: func() { watch.Reset(stall) }}
	defer b.finish()
	b.alive()
	err = c.hear(resp, b, call)
	if isBusy(err) {
		c.window.busy(began)
	}
	if errors.Is(err, errCut) {
		err = c.ownError(ctx, err)
	}
	return b.got, err
}

// ownError returns why a try has failed: because time was over, or in words what the network says.
func (c *Client) ownError(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil && !errors.As(err, new(final)) {
		return cause
	}
	if errors.As(err, new(final)) || errors.As(err, new(*Error)) {
		return err
	}
	return inWords(err)
}

// send sends a request, and follows where the server leads.
func (c *Client) send(ctx context.Context, call *call) (*http.Response, error) {
	plain, err := call.build(ctx)
	if err != nil {
		return nil, final{text: err.Error()}
	}
	first := plain.URL
	for range maxRedirects {
		req := plain.Clone(ctx)
		if mayKnow(first, req.URL) {
			if err := c.dialect.Authorize(req); err != nil {
				return nil, final{text: err.Error()}
			}
		}
		resp, err := c.roundTrip(req)
		if err != nil {
			return nil, err
		}
		next, err := c.redirected(req.URL, resp)
		if next == nil {
			return resp, err
		}
		resp.Body.Close()
		if err != nil {
			return nil, err
		}
		plain.URL, plain.Host = next, ""
	}
	return nil, final{text: fmt.Sprintf("the server answers with %d redirects in a row",
		maxRedirects)}
}

// mayKnow reports whether the credentials for one URL may be sent to another: to the same host and
// port, and never without TLS after a request with it.
func mayKnow(first, now *url.URL) bool {
	return first.Host == now.Host && first.Scheme == now.Scheme
}

// redirected returns where an answer leads, nil if nowhere.
func (c *Client) redirected(from *url.URL, resp *http.Response) (*url.URL, error) {
	a := answerOf(resp)
	location := a.Header.Get("Location")
	if c.dialect.Judge(a).Kind != Elsewhere || location == "" {
		return nil, nil
	}
	to, err := from.Parse(location)
	switch {
	case err != nil || to.Host == "" || to.Scheme != "http" && to.Scheme != "https":
		return from, final{"the server redirects to something that is not an HTTP URL", ""}
	case from.Scheme == "https" && to.Scheme == "http":
		return from, final{"the server redirects from https to http, where anybody can change " +
			"the data", "if you trust the network, name the http URL"}
	}
	to.User = nil
	return to, nil
}

// answerOf returns an answer without its body.
func answerOf(resp *http.Response) *Answer {
	return &Answer{Status: resp.StatusCode, Header: resp.Header, Path: resp.Request.URL.Path}
}

// hear judges an answer, and gives it to the call if it is one that the call takes.
func (c *Client) hear(resp *http.Response, b *body, call *call) error {
	a := answerOf(resp)
	b.length = resp.ContentLength
	b.isOpen = b.length < 0 && len(resp.TransferEncoding) == 0
	if a.Status >= 300 {
		a.Body, _ = io.ReadAll(io.LimitReader(b, errorBody))
		b.got = 0 // nothing that was asked for
	}
	v := c.dialect.Judge(a)
	if v.Kind == Fine || slices.Contains(call.takes, v.Kind) {
		b.isAsked = true
		c.window.hear()
		return call.accept(a, v, b)
	}
	if v.Kind == Elsewhere {
		v.Kind = Refused
	}
	if wait, ok := waitAsked(a.Header.Get("Retry-After")); ok {
		return retryAfter{refusal{v}, wait}
	}
	return refusal{v}
}

// waitAsked reads Retry-After (RFC 9110, section 10.2.3).
func waitAsked(text string) (time.Duration, bool) {
	if n, err := strconv.Atoi(text); err == nil && n >= 0 {
		return time.Duration(min(n, 3600)) * time.Second, true
	}
	at, err := http.ParseTime(text)
	return max(0, time.Until(at)), err == nil
}

// body is the body of an answer. Each read of it shows that the server is alive.
type body struct {
	from    io.ReadCloser
	client  *Client
	alive   func()
	length  int64 // that the server says; -1: unknown
	isOpen  bool  // its end is that of the connection, so that nobody sees whether it was cut
	isAsked bool  // it is what was asked for, and not why that is refused
	got     int64
	half    int64     // of these, what had come when it was at least half; 0: it was not yet
	halfAt  time.Time // when that was
	ended   bool
	failed  bool
}

// Read reads. All errors but io.EOF are errCut.
func (b *body) Read(p []byte) (int, error) {
	n, err := b.from.Read(p)
	if n > 0 {
		b.alive()
		b.got += int64(n)
		if b.half == 0 && b.got >= b.length/2 {
			b.half, b.halfAt = b.got, time.Now()
		}
		b.client.bytes.Add(int64(n))
		if b.isAsked {
			b.client.window.hear()
		}
	}
	if err == io.EOF {
		b.ended = true
	} else if err != nil {
		b.failed, err = true, errCut
	}
	return n, err
}

// mostDrained is how many that bytes are read only so that a connection can be used again.
const mostDrained = 64 << 10

// finish lets go of the connection, which can be used again if the body was read to its end.
func (b *body) finish() {
	if b.isAsked && b.got == b.length {
		b.client.flow.note(b.got-b.half, time.Since(b.halfAt))
	}
	if !b.ended && b.length >= 0 && b.length-b.got <= mostDrained {
		io.Copy(io.Discard, io.LimitReader(b, mostDrained))
	}
	b.from.Close()
}
