package remote

import (
	"cmp"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Plain is the part of a Dialect that HTTP itself defines (RFC 9110).
type Plain struct{}

// Judge goes by the status code alone.
func (Plain) Judge(a *Answer) Verdict {
	v := Verdict{Text: strings.TrimSpace(strconv.Itoa(a.Status) + " " + http.StatusText(a.Status))}
	switch s := a.Status; s {
	case http.StatusOK, http.StatusPartialContent:
		v.Kind = Fine
	case http.StatusNotModified:
		v.Kind = Unchanged
	case http.StatusRequestedRangeNotSatisfiable:
		v.Kind = Empty
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther,
		http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		v.Kind = Elsewhere
	case http.StatusNotFound, http.StatusGone:
		v.Kind = Doubtful
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusProxyAuthRequired:
		v.Kind = Denied
	case http.StatusPreconditionFailed:
		v.Kind = Changed
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		v.Kind = Busy
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusInternalServerError,
		http.StatusBadGateway, http.StatusGatewayTimeout:
		v.Kind = Passing
	default:
		v.Kind = Refused
		if s > 511 { // of proxies, as 520 to 530 of Cloudflare
			v.Kind = Passing
		}
	}
	return v
}

// Describe takes ETag for the version, and Last-Modified where there is no ETag.
func (Plain) Describe(a *Answer) Described {
	var d Described
	said := a.Header.Get("Last-Modified")
	if at, err := http.ParseTime(said); err == nil {
		d.Info.ModTime = at
	}
	d.Version = a.Header.Get("ETag")
	if d.Mark = cmp.Or(d.Version, said); d.Version == "" && isSettled(said, a.Header.Get("Date")) {
		d.Version = said
	}
	return d
}

// isSettled reports whether an object with that Last-Modified cannot be replaced any more within
// the same second (RFC 9110, section 8.8.2.2).
func isSettled(modified, date string) bool {
	at, err := http.ParseTime(modified)
	now, err2 := http.ParseTime(date)
	return err == nil && err2 == nil && now.Sub(at) >= 2*time.Second
}

// Pin asks for the version by If-Match, which takes a strong ETag alone (RFC 9110, section 13.1.1).
func (Plain) Pin(r *http.Request, version string) {
	if strings.HasPrefix(version, `"`) {
		r.Header.Set("If-Match", version)
	}
}

// Unless asks by If-None-Match, or by If-Modified-Since where the version is a date.
func (Plain) Unless(r *http.Request, version string) {
	if _, err := http.ParseTime(version); err == nil {
		r.Header.Set("If-Modified-Since", version)
		return
	}
	r.Header.Set("If-None-Match", version)
}

// sameVersion compares versions. A server may call an ETag weak in one answer, strong in another.
func sameVersion(a, b string) bool {
	return strings.TrimPrefix(a, "W/") == strings.TrimPrefix(b, "W/")
}

// isPage reports whether an answer is a page for people, which no object of a store is.
func (a *Answer) isPage() bool {
	kind, _, _ := mime.ParseMediaType(a.Header.Get("Content-Type"))
	return kind == "text/html" || kind == "application/xhtml+xml"
}

// encoding returns how the server has encoded the body by itself, "" if it has not.
func (a *Answer) encoding() string {
	e := strings.ToLower(strings.TrimSpace(a.Header.Get("Content-Encoding")))
	if e == "identity" {
		return ""
	}
	return e
}

// contentRange parses Content-Range (RFC 9110, section 14.4). An unknown total is -1.
func contentRange(text string) (first, last, total int64, ok bool) {
	text, ok = strings.CutPrefix(strings.ToLower(strings.TrimSpace(text)), "bytes ")
	if !ok {
		return 0, 0, 0, false
	}
	span, size, ok := strings.Cut(text, "/")
	if !ok {
		return 0, 0, 0, false
	}
	if total = -1; size != "*" {
		var err error
		if total, err = strconv.ParseInt(size, 10, 64); err != nil || total < 0 {
			return 0, 0, 0, false
		}
	}
	if span == "*" || total == 0 { // "0--1/0" is what some servers send of an empty object
		return 0, -1, total, true
	}
	from, to, ok := strings.Cut(span, "-")
	first, err1 := strconv.ParseInt(from, 10, 64)
	last, err2 := strconv.ParseInt(to, 10, 64)
	inside := first >= 0 && last >= first && (total < 0 || last < total)
	return first, last, total, ok && err1 == nil && err2 == nil && inside
}
