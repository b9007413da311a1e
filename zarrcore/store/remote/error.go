package remote

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"strings"
	"syscall"

	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// An Error says why a server has not given what it was asked for, and what to do. It never wraps a
// number of the network's system calls: a program that reads a file could not know what a refused
// connection has to do with it.
type Error struct {
	Where  string // the server: scheme and host
	Text   string // what it did
	Advice string // what to do; may be ""
	Kind   Kind   // what the last answer meant; Passing if there was none

	answered bool // the text is what the server said

	class error // what errors.Is finds: a permission, a deadline, a conflict; nil otherwise
}

// Error is one line. The store adds the key.
func (e *Error) Error() string {
	text := e.Where + ": " + e.Text
	if e.Advice != "" {
		text += "; " + e.Advice
	}
	return text
}

// Unwrap returns the class of the error.
func (e *Error) Unwrap() error { return e.class }

// isMissing reports whether a server has nothing of that name, whatever that means.
func (e *Error) isMissing() bool {
	return e.Kind == Missing || e.Kind == Doubtful || e.Kind == Directory
}

// Errors of one try, which end up as text.
var (
	errStalled  = errors.New("nothing came")
	errSlow     = errors.New("too little came")
	errCut      = errors.New("the connection was cut")
	errRange    = errors.New("the server sent another range than it was asked for")
	errNoObject = errors.New("the answer has neither ETag nor Last-Modified, which objects of " +
		"buckets have")
	errChanged = errors.New("the object was replaced while it was read")
)

// refusal is the error of an answer that trying again does not change.
type refusal struct{ Verdict }

// Error says what the server answered.
func (r refusal) Error() string { return r.Text }

// final is an error that trying again does not change.
type final struct{ text, advice string }

// Error says what is wrong.
func (f final) Error() string { return f.text }

// isPassing reports whether another try may succeed.
func isPassing(err error) bool {
	var r refusal
	if errors.As(err, &r) {
		return r.Kind == Passing || r.Kind == Busy
	}
	isFinal := errors.As(err, new(final)) || errors.As(err, new(*Error))
	return !isFinal && !errors.Is(err, errChanged)
}

// inWords says what an error of the network means. The numbers of system calls get lost here.
func inWords(err error) error {
	var dns *net.DNSError
	var authority x509.UnknownAuthorityError
	var host x509.HostnameError
	var cert *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	switch {
	case errors.As(err, &authority):
		return final{"its certificate is of an authority that this machine does not trust",
			"name a file with that authority's certificate in SSL_CERT_FILE"}
	case errors.As(err, &host):
		return final{host.Error(), "the URL names another host than the certificate"}
	case errors.As(err, &cert):
		return final{cert.Err.Error(),
			"the server needs a valid certificate, and this machine the right time"}
	case errors.As(err, &record):
		return final{"the server does not speak TLS at this port", "is it an http:// URL?"}
	case errors.As(err, &dns) && dns.IsNotFound:
		return fmt.Errorf("there is no host %s", dns.Name)
	case errors.As(err, &dns):
		return fmt.Errorf("the name %s could not be looked up", dns.Name)
	case errors.Is(err, syscall.ECONNREFUSED):
		return errors.New("the server refuses connections at this port")
	case errors.Is(err, syscall.ENETUNREACH), errors.Is(err, syscall.EHOSTUNREACH):
		return errors.New("there is no route to the server")
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF),
		errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return errCut
	case errors.Is(err, os.ErrDeadlineExceeded):
		return errStalled
	case strings.Contains(err.Error(), "malformed"):
		return errors.New("what the server answers is not HTTP, or is cut")
	}
	return errors.New(err.Error())
}

// explain makes an Error of why the last of some tries has failed.
func (c *Client) explain(err error, tries int) error {
	e := &Error{Where: c.where, Text: err.Error(), Kind: Passing}
	var r refusal
	var f final
	switch {
	case errors.Is(err, context.Canceled), errors.As(err, new(*Error)):
		return err
	case errors.As(err, &f):
		e.Advice, e.Kind = f.advice, Refused
	case errors.Is(err, errChanged):
		e.Kind, e.class, e.Advice = Changed, store.ErrChanged, "open the file again"
	case errors.As(err, &r):
		e.Kind, e.answered = r.Kind, true
		c.explainVerdict(e, r.Verdict)
	case errors.Is(err, errStalled), errors.Is(err, errSlow):
		e.class = os.ErrDeadlineExceeded
		e.Advice = "look whether the network is up and the server runs"
	}
	if tries > 1 && isPassing(err) {
		e.Text += fmt.Sprintf(", the last of %d tries", tries)
	}
	return e
}

// explainVerdict says what to do about an answer.
func (c *Client) explainVerdict(e *Error, v Verdict) {
	e.Text = "the server answers " + v.Text
	switch v.Kind {
	case Missing:
		e.class = fs.ErrNotExist
	case Denied, Expired:
		e.class, e.Advice = fs.ErrPermission, c.dialect.Credentials()
	case Changed:
		e.Text, e.class, e.Advice = errChanged.Error(), store.ErrChanged, "open the file again"
	case Busy:
		e.Advice = "it is overloaded; try again later"
	case Passing:
		e.Advice = "try again later"
	}
}
