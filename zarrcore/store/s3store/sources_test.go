package s3store_test

import (
	"crypto/sha1"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zarrfs/zarrfs/zarrcore/store/remote"
	"github.com/zarrfs/zarrfs/zarrcore/store/s3store"
)

// issuer gives credentials in all the ways in which Amazon's servers do. Each time their names have
// the next number.
type issuer struct {
	*httptest.Server
	issued atomic.Int64
	lasts  time.Duration // how long they are valid
	asked  atomic.Value  // the last request's path, headers and form
}

func newIssuer(t *testing.T) *issuer {
	i := &issuer{lasts: time.Hour}
	i.Server = httptest.NewServer(i)
	t.Cleanup(i.Close)
	return i
}

// ServeHTTP answers as STS, the portal of single sign-on, or the metadata of a machine.
func (i *issuer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	r.ParseForm()
	i.asked.Store(fmt.Sprint(r.Method, " ", r.URL.Path, " ", r.Form, " ",
		r.Header.Get("X-Amz-Sso_bearer_token"), r.Header.Get("Authorization")))
	end := time.Now().Add(i.lasts)
	switch path := r.URL.Path; {
	case path == "/latest/api/token":
		w.Header().Set("X-Aws-Ec2-Metadata-Token-Ttl-Seconds", "600")
		fmt.Fprint(w, "session-of-the-machine")
	case r.Header.Get("X-Aws-Ec2-Metadata-Token") == "session-of-the-machine" &&
		strings.HasSuffix(path, "/security-credentials/"):
		fmt.Fprint(w, "the-role")
	case r.Header.Get("X-Aws-Ec2-Metadata-Token") == "session-of-the-machine" &&
		strings.HasSuffix(path, "/security-credentials/the-role"):
		n := i.issued.Add(1)
		fmt.Fprintf(w, `{"Code": "Success", "Type": "AWS-HMAC", "AccessKeyId": "KEY%d",
			"SecretAccessKey": "%s", "Token": "token%d", "Expiration": "%s"}`,
			n, secret, n, end.UTC().Format(time.RFC3339))
	case path == "/federation/credentials":
		n := i.issued.Add(1)
		fmt.Fprintf(w, `{"roleCredentials": {"accessKeyId": "KEY%d", "secretAccessKey": "%s",
			"sessionToken": "token%d", "expiration": %d}}`, n, secret, n, end.UnixMilli())
	case strings.HasPrefix(r.Form.Get("Action"), "AssumeRole"):
		n, action := i.issued.Add(1), r.Form.Get("Action")
		w.Header().Set("Content-Type", "text/xml")
		fmt.Fprintf(w, `<%[1]sResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/">
			<%[1]sResult><Credentials><AccessKeyId>KEY%[2]d</AccessKeyId>
			<SecretAccessKey>%[3]s</SecretAccessKey>
			<SessionToken>token%[2]d</SessionToken><Expiration>%[4]s</Expiration></Credentials>
			</%[1]sResult></%[1]sResponse>`, action, n, secret, end.UTC().Format(time.RFC3339))
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

// write writes a file of the test's home, and returns its path.
func write(t *testing.T, home, name, text string) string {
	t.Helper()
	path := filepath.Join(home, name)
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	if err == nil {
		err = os.WriteFile(path, []byte(text), 0o700)
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// sources are the places where people have credentials. Each sets one up.
var sources = []struct {
	name  string
	setUp func(t *testing.T, home string, i *issuer)
	key   string // that signs; the default is KEY1, with token1
	asked string // what the issuer was asked, in part
	says  string // where an error says that they are from
}{
	{name: "profile", key: "AKIDWORK", says: "the profile work in ",
		setUp: func(t *testing.T, home string, _ *issuer) {
			t.Setenv("AWS_SHARED_CREDENTIALS_FILE", write(t, home, "credentials",
				"[default]\naws_access_key_id = WRONG\naws_secret_access_key = x\n"+
					"[work]\naws_access_key_id = AKIDWORK\naws_secret_access_key = "+secret+"\n"))
			t.Setenv("AWS_PROFILE", "work")
		}},
	{name: "process", says: "credential_process",
		setUp: func(t *testing.T, home string, _ *issuer) {
			program := write(t, home, "get", `#!/bin/sh
echo '{"Version": 1, "AccessKeyId": "KEY1", "SecretAccessKey": "`+secret+`",
"SessionToken": "token1"}'
`)
			t.Setenv("AWS_CONFIG_FILE", write(t, home, "config",
				"[default]\ncredential_process = "+program+"\n"))
		}},
	{name: "assumed role", asked: "Action:[AssumeRole]", says: "the assumed role",
		setUp: func(t *testing.T, home string, i *issuer) {
			t.Setenv("AWS_ENDPOINT_URL_STS", i.URL)
			t.Setenv("AWS_SHARED_CREDENTIALS_FILE", write(t, home, "credentials",
				"[base]\naws_access_key_id = BASE\naws_secret_access_key = "+secret+"\n"))
			t.Setenv("AWS_CONFIG_FILE", write(t, home, "config", "[profile role]\n"+
				"role_arn = arn:aws:iam::123456789012:role/reader\nsource_profile = base\n"))
			t.Setenv("AWS_PROFILE", "role")
		}},
	{name: "web identity", asked: "WebIdentityToken:[who-i-am]", says: "the web identity",
		setUp: func(t *testing.T, home string, i *issuer) {
			t.Setenv("AWS_ENDPOINT_URL_STS", i.URL)
			t.Setenv("AWS_WEB_IDENTITY_TOKEN_FILE", write(t, home, "token", "who-i-am"))
			t.Setenv("AWS_ROLE_ARN", "arn:aws:iam::123456789012:role/reader")
		}},
	{name: "single sign-on", asked: "who-is-signed-on", says: "single sign-on",
		setUp: func(t *testing.T, home string, i *issuer) {
			t.Setenv("AWS_ENDPOINT_URL_SSO", i.URL)
			t.Setenv("AWS_CONFIG_FILE", write(t, home, "config", `[profile on]
sso_session = mine
sso_account_id = 123456789012
sso_role_name = reader
[sso-session mine]
sso_region = eu-west-1
sso_start_url = https://example.awsapps.com/start
`))
			end := time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
			write(t, home, fmt.Sprintf(".aws/sso/cache/%x.json", sha1.Sum([]byte("mine"))),
				`{"accessToken": "who-is-signed-on", "expiresAt": "`+end+`"}`)
			t.Setenv("AWS_PROFILE", "on")
		}},
	{name: "machine", asked: "/security-credentials/the-role", says: "the role of this machine",
		setUp: func(t *testing.T, _ string, i *issuer) {
			t.Setenv("AWS_EC2_METADATA_DISABLED", "false")
			t.Setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", i.URL)
		}},
}

// TestSources: the credentials of each source sign the requests, and an error says where they are
// from. No error has secrets.
func TestSources(t *testing.T) {
	for _, c := range sources {
		t.Run(c.name, func(t *testing.T) {
			f, i, home := newFake(t), newIssuer(t), t.TempDir()
			withoutKeys(t, home)
			c.setUp(t, home, i)
			d := open(t, "bucket/x.zarr", s3store.Options{}, remote.Options{})
			f.say(failing(403, "AccessDenied"))
			_, err := d.Open(t.Context(), "c/0")
			if err == nil || !strings.Contains(err.Error(), c.says) ||
				strings.Contains(err.Error(), secret) || strings.Contains(err.Error(), "token1") {
				t.Errorf("%v, want an error that says %q, without secrets", err, c.says)
			}
			key, token := c.key, ""
			if key == "" {
				key, token = "KEY1", "token1"
			}
			r := f.last()
			if !strings.Contains(r.Header.Get("Authorization"), "Credential="+key+"/") ||
				r.Header.Get("X-Amz-Security-Token") != token {
				t.Errorf("the request is signed as %v, want %s", r.Header, key)
			}
			if asked, _ := i.asked.Load().(string); !strings.Contains(asked, c.asked) {
				t.Errorf("the issuer was asked %q, want %q", asked, c.asked)
			}
		})
	}
}

// withoutKeys takes the keys out of the environment, and gives the test a home of its own.
func withoutKeys(t *testing.T, home string) {
	for _, name := range []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"} {
		t.Setenv(name, "") // it is put back at the end
		os.Unsetenv(name)
	}
	t.Setenv("HOME", home)
}

// last returns the request that came last.
func (f *fake) last() *http.Request {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.asked[len(f.asked)-1]
}

// TestSoonExpired: credentials that are about to expire are fetched again before they are used.
// Those that last are fetched once.
func TestSoonExpired(t *testing.T) {
	const objects = 3
	for _, c := range []struct {
		lasts   time.Duration
		fetches int64
	}{{time.Hour, 1}, {-time.Minute, 2 + objects}} {
		f, i, home := newFake(t), newIssuer(t), t.TempDir()
		i.lasts = c.lasts
		withoutKeys(t, home)
		t.Setenv("AWS_ENDPOINT_URL_STS", i.URL)
		t.Setenv("AWS_WEB_IDENTITY_TOKEN_FILE", write(t, home, "token", "who-i-am"))
		t.Setenv("AWS_ROLE_ARN", "arn:aws:iam::123456789012:role/reader")
		d := open(t, "bucket/x.zarr", s3store.Options{}, remote.Options{})
		f.say(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("ETag", `"e"`)
			w.Header().Set("Content-Range", "bytes 0-2/3")
			w.WriteHeader(http.StatusPartialContent)
			fmt.Fprint(w, "abc")
		})
		for range objects {
			o, err := d.Open(t.Context(), "c/0")
			if err != nil {
				t.Fatal(err)
			}
			o.Close()
		}
		if n := i.issued.Load(); n != c.fetches {
			t.Errorf("credentials that last %v were fetched %d times, want %d", c.lasts, n,
				c.fetches)
		}
		want := fmt.Sprint("token", c.fetches)
		if got := f.last().Header.Get("X-Amz-Security-Token"); got != want {
			t.Errorf("the last request has %s, want %s", got, want)
		}
	}
}

// TestGarbledIssuer: what a server answers in place of credentials is in no error.
func TestGarbledIssuer(t *testing.T) {
	newFake(t)
	home := t.TempDir()
	withoutKeys(t, home)
	i := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"AccessKeyId": "KEY", "SecretAccessKey": "x", "Expiration": "%s"}`, secret)
	}))
	defer i.Close()
	t.Setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", i.URL)
	_, err := openIn(t.Context(), "bucket/x.zarr", s3store.Options{}, remote.Options{})
	if err == nil || strings.Contains(err.Error(), secret) || strings.Contains(err.Error(), "\n") {
		t.Errorf("%v, want an error of one line without secrets", err)
	}
}
