package gcsstore

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"sync"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/google"
)

// scope is what the tokens are for.
const scope = "https://www.googleapis.com/auth/devstorage.read_only"

// renewEvery is how often at most a token is asked for again before it expires.
const renewEvery = 30 * time.Second

// tokenTime bounds the wait for a token.
const tokenTime = 20 * time.Second

// envFile names a file with credentials.
const envFile = "GOOGLE_APPLICATION_CREDENTIALS"

// An account has the credentials that are sent. The zero account is anonymous.
type account struct {
	from string // where they were found

	mu      sync.Mutex
	tokens  oauth2.TokenSource // nil: anonymous
	last    string             // the token that was sent last
	renewed time.Time
}

// load finds the application default credentials, and asks for a first token.
func load(ctx context.Context) (*account, error) {
	a := &account{}
	var err error
	if a.tokens, a.from, err = find(ctx); err != nil {
		return nil, err
	}
	_, err = a.token(ctx)
	return a, err
}

// find finds the application default credentials.
func find(ctx context.Context) (oauth2.TokenSource, string, error) {
	own := context.WithValue(context.WithoutCancel(ctx), oauth2.HTTPClient,
		&http.Client{Timeout: tokenTime})
	c, err := google.FindDefaultCredentials(own, scope)
	if err != nil {
		return nil, "", fmt.Errorf("no credentials of Google were found; run "+
			"`gcloud auth application-default login`, name a file in %s, or say --anonymous if "+
			"the bucket is public", envFile)
	}
	from := "the metadata server of this machine"
	if len(c.JSON) > 0 {
		if from = os.Getenv(envFile); from == "" {
			from = "`gcloud auth application-default login`"
		}
	}
	return c.TokenSource, from, nil
}

// token returns a token that is valid now.
func (a *account) token(ctx context.Context) (string, error) {
	a.mu.Lock()
	tokens := a.tokens
	a.mu.Unlock()
	type answer struct {
		token *oauth2.Token
		err   error
	}
	got := make(chan answer, 1)
	go func() {
		token, err := tokens.Token()
		got <- answer{token, err}
	}()
	select {
	case now := <-got:
		if now.err != nil {
			return "", fmt.Errorf("the credentials of %s give no token: %w", a.from,
				withoutBody(now.err))
		}
		a.mu.Lock()
		defer a.mu.Unlock()
		a.last = now.token.AccessToken
		return a.last, nil
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

// withoutBody leaves out of an error what a server has answered, which may hold secrets.
func withoutBody(err error) error {
	r := new(oauth2.RetrieveError)
	if !errors.As(err, &r) || r.Response == nil {
		return err
	}
	return fmt.Errorf("%s %s", r.Response.Status, r.ErrorCode)
}

// Authorize adds a token to a request.
func (a *account) Authorize(r *http.Request) error {
	if a.tokens == nil {
		return nil
	}
	token, err := a.token(r.Context())
	if err == nil {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	return err
}

// Renew looks for credentials again, and reports whether there is another token.
func (a *account) Renew(ctx context.Context) bool {
	a.mu.Lock()
	before, tooSoon := a.last, time.Since(a.renewed) < renewEvery
	a.mu.Unlock()
	if a.from == "" || tooSoon {
		return false
	}
	tokens, _, err := find(ctx)
	a.mu.Lock()
	if a.renewed = time.Now(); err == nil {
		a.tokens = tokens
	}
	a.mu.Unlock()
	now, err := a.token(ctx)
	return err == nil && now != before
}

// Credentials implements remote.Account.
func (a *account) Credentials() string {
	if a.from == "" {
		return "no credentials were sent, because of --anonymous or " + envEmulator
	}
	return "the credentials of " + a.from + " were sent; " + envFile + " names others, and " +
		"--anonymous sends none"
}
