package azurestore_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// secret is in all credentials of these tests, and must be in no error. It is valid base64.
const secret = "c2VjcmV0IHRoYXQgbXVzdCBub3QgYmUgc2Vlbg=="

// azure is two servers in one: an issuer of tokens, and a storage that takes what a test says.
type azure struct {
	*httptest.Server
	issued atomic.Int64

	mu    sync.Mutex
	takes func(r *http.Request) bool
	last  *http.Request
	asked string // of the issuer
}

func newAzure(t *testing.T) *azure {
	a := &azure{}
	a.Server = httptest.NewServer(a)
	t.Cleanup(a.Close)
	for _, name := range []string{
		"ACCOUNT", "KEY", "SAS_TOKEN", "CONNECTION_STRING", "BLOB_ENDPOINT", "ACCOUNT_KEY",
		"ACCESS_KEY", "ACCOUNT_NAME",
	} {
		t.Setenv("AZURE_STORAGE_"+name, "")
	}
	for _, name := range []string{
		"AZURE_CLIENT_ID", "AZURE_TENANT_ID", "IDENTITY_ENDPOINT", "AZURE_TOKEN_CREDENTIALS",
	} {
		t.Setenv(name, "")
		os.Unsetenv(name)
	}
	t.Setenv("HOME", t.TempDir())
	t.Setenv("PATH", t.TempDir()) // of a machine on which nobody is logged in
	return a
}

// ServeHTTP answers as the identity of a machine, or as the storage.
func (a *azure) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.URL.Path, "/identity") || strings.HasPrefix(r.URL.Path, "/metadata") {
		a.mu.Lock()
		a.asked = fmt.Sprint(r.URL.Path, " ", r.URL.Query(), " ", r.Header)
		a.mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"access_token": "%s-%d", "expires_on": "4102444800",
			"expires_in": "86400", "resource": "x", "token_type": "Bearer"}`, secret,
			a.issued.Add(1))
		return
	}
	a.mu.Lock()
	a.last = r
	takes := a.takes
	a.mu.Unlock()
	switch {
	case takes != nil && !takes(r):
		w.Header().Set("x-ms-error-code", "AuthenticationFailed")
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprintf(w, "<Error><Code>AuthenticationFailed</Code><Message>Refused.</Message>"+
			"<AuthenticationErrorDetail>%s %s</AuthenticationErrorDetail></Error>",
			r.URL.RawQuery, r.Header.Get("Authorization"))
	case r.URL.Query().Get("comp") == "list":
		fmt.Fprint(w, "<EnumerationResults><Blobs></Blobs></EnumerationResults>")
	default:
		w.Header().Set("ETag", `"e"`)
		w.Header().Set("Content-Range", "bytes 0-2/3")
		w.WriteHeader(http.StatusPartialContent)
		fmt.Fprint(w, "abc")
	}
}

// sources are the credentials that people have. Each sets one up.
var sources = []struct {
	name  string
	setUp func(t *testing.T, a *azure)
	sent  func(r *http.Request) bool // whether a request has the credentials
	asked string                     // what the issuer was asked, in part
	says  string                     // where an error says that they are from
}{
	{name: "key", says: "the key of AZURE_STORAGE_KEY was sent, for the account acc",
		setUp: func(t *testing.T, a *azure) {
			t.Setenv("AZURE_STORAGE_ACCOUNT", "acc")
			t.Setenv("AZURE_STORAGE_KEY", secret)
			t.Setenv("AZURE_STORAGE_BLOB_ENDPOINT", a.URL+"/acc")
		}, sent: hasField("SharedKey acc:")},
	{name: "signature", says: "the shared access signature of AZURE_STORAGE_SAS_TOKEN",
		setUp: func(t *testing.T, a *azure) {
			t.Setenv("AZURE_STORAGE_SAS_TOKEN", "?sv=2022-11-02&sig="+secret)
			t.Setenv("AZURE_STORAGE_BLOB_ENDPOINT", a.URL+"/acc")
		}, sent: hasSignature},
	{name: "connection string with a key",
		says: "the key of AZURE_STORAGE_CONNECTION_STRING was sent",
		setUp: func(t *testing.T, a *azure) {
			t.Setenv("AZURE_STORAGE_CONNECTION_STRING", "DefaultEndpointsProtocol=http;"+
				"AccountName=acc;AccountKey="+secret+";BlobEndpoint="+a.URL+"/acc;")
		}, sent: hasField("SharedKey acc:")},
	{name: "connection string with a signature",
		says: "the shared access signature of AZURE_STORAGE_CONNECTION_STRING",
		setUp: func(t *testing.T, a *azure) {
			t.Setenv("AZURE_STORAGE_CONNECTION_STRING", "BlobEndpoint="+a.URL+"/acc;"+
				"SharedAccessSignature=sv=2022-11-02&sig="+secret)
		}, sent: hasSignature},
	{name: "managed identity of a service", asked: "X-Identity-Header:[header-of-the-service]",
		says: "managed identity", setUp: func(t *testing.T, a *azure) {
			t.Setenv("IDENTITY_ENDPOINT", a.URL+"/identity")
			t.Setenv("IDENTITY_HEADER", "header-of-the-service")
			t.Setenv("AZURE_STORAGE_BLOB_ENDPOINT", a.URL+"/acc")
		}, sent: hasField("Bearer " + secret)},
	{name: "az login", says: "`az login`", setUp: func(t *testing.T, a *azure) {
		dir := t.TempDir()
		program := `#!/bin/sh
echo '{"accessToken": "` + secret + `", "expires_on": 4102444800,
"expiresOn": "2100-01-01 00:00:00.000000"}'
`
		if err := os.WriteFile(filepath.Join(dir, "az"), []byte(program), 0o700); err != nil {
			t.Fatal(err)
		}
		t.Setenv("PATH", dir+":/usr/bin:/bin")
		t.Setenv("AZURE_TOKEN_CREDENTIALS", "AzureCLICredential")
		t.Setenv("AZURE_STORAGE_BLOB_ENDPOINT", a.URL+"/acc")
	}, sent: hasField("Bearer " + secret)},
}

func hasField(begin string) func(*http.Request) bool {
	return func(r *http.Request) bool {
		return strings.HasPrefix(r.Header.Get("Authorization"), begin)
	}
}

func hasSignature(r *http.Request) bool {
	return strings.Contains(r.URL.RawQuery, "sv=2022-11-02&sig="+secret) &&
		r.Header.Get("Authorization") == ""
}

// TestSources: the credentials of each source are sent. An error says where they are from, and has
// no secrets.
func TestSources(t *testing.T) {
	for _, c := range sources {
		t.Run(c.name, func(t *testing.T) {
			a := newAzure(t)
			c.setUp(t, a)
			a.takes = c.sent
			d, err := open(t.Context(), "container/x.zarr")
			if err != nil {
				t.Fatal(err)
			}
			defer d.Close()
			o, err := d.Open(t.Context(), "c/0")
			if err != nil {
				t.Fatalf("%v; the request was %s %v", err, a.last.URL, a.last.Header)
			}
			o.Close()
			if !strings.Contains(a.asked, c.asked) {
				t.Errorf("the issuer was asked %q, want %q", a.asked, c.asked)
			}
			if n := a.issued.Load(); n > 1 {
				t.Errorf("%d tokens were asked for", n)
			}
			a.mu.Lock()
			a.takes = func(*http.Request) bool { return false }
			a.mu.Unlock()
			_, err = d.Open(t.Context(), "c/0")
			if !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), c.says) ||
				strings.Contains(err.Error(), secret) {
				t.Errorf("%v, want an error that says %q, without secrets", err, c.says)
			}
		})
	}
}

// TestRefusedSettings: settings that cannot be right are refused in words, without their text.
func TestRefusedSettings(t *testing.T) {
	for name, env := range map[string][2]string{
		"no base64":     {"AZURE_STORAGE_KEY", "*" + secret},
		"no connection": {"AZURE_STORAGE_CONNECTION_STRING", secret[:20]},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAzure(t)
			t.Setenv("AZURE_STORAGE_ACCOUNT", "acc")
			t.Setenv("AZURE_STORAGE_BLOB_ENDPOINT", a.URL+"/acc")
			t.Setenv(env[0], env[1])
			_, err := open(context.Background(), "container/x.zarr")
			if err == nil || !strings.Contains(err.Error(), env[0]) ||
				strings.Contains(err.Error(), secret[:20]) {
				t.Errorf("%v, want an error that names %s only", err, env[0])
			}
		})
	}
}
