package gcsstore_test

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/zarrfs/zarrfs/zarrcore/store/gcsstore"
	"github.com/zarrfs/zarrfs/zarrcore/store/remote"
)

// secret is in all credentials of these tests, and must be in no error.
const secret = "a-secret-that-must-not-be-seen"

// google is two servers in one: an issuer of tokens, and a storage that takes only the newest
// tokens.
type google struct {
	*httptest.Server
	issued atomic.Int64
	valid  atomic.Int64 // the first token that counts
	asked  atomic.Value // for the last token: path and form
}

func newGoogle(t *testing.T) *google {
	g := &google{}
	g.valid.Store(1)
	g.Server = httptest.NewServer(g)
	t.Cleanup(g.Close)
	for name, value := range map[string]string{
		"HOME": t.TempDir(), "STORAGE_EMULATOR_HOST": "", "GOOGLE_APPLICATION_CREDENTIALS": "",
		"GCE_METADATA_HOST": "", "GOOGLE_CLOUD_QUOTA_PROJECT": "",
	} {
		t.Setenv(name, value)
	}
	os.Unsetenv("GCE_METADATA_HOST")
	return g
}

// ServeHTTP answers as an issuer of tokens, as the metadata of a machine, or as the storage.
func (g *google) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	r.ParseForm()
	switch path := r.URL.Path; {
	case path == "/token", strings.HasSuffix(path, "/service-accounts/default/token"):
		g.asked.Store(fmt.Sprint(path, " ", r.Form, r.Header.Get("Metadata-Flavor")))
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"access_token": "token%d", "expires_in": 3600, "token_type": "Bearer",
			"issued_token_type": "urn:ietf:params:oauth:token-type:access_token"}`, g.issued.Add(1))
	case strings.HasPrefix(path, "/computeMetadata/"):
		w.Header().Set("Metadata-Flavor", "Google")
		fmt.Fprint(w, "project")
	case !g.takes(r.Header.Get("Authorization")):
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprintf(w, "<Error><Code>AuthenticationRequired</Code><Details>%s</Details></Error>",
			r.Header.Get("Authorization"))
	case strings.HasPrefix(path, "/storage/v1/b/"):
		fmt.Fprint(w, `{"items": []}`)
	default:
		w.Header().Set("ETag", `"e"`)
		w.Header().Set("x-goog-generation", "7")
		w.Header().Set("Content-Range", "bytes 0-2/3")
		w.WriteHeader(http.StatusPartialContent)
		fmt.Fprint(w, "abc")
	}
}

// takes reports whether a token counts.
func (g *google) takes(header string) bool {
	var n int64
	_, err := fmt.Sscanf(header, "Bearer token%d", &n)
	return err == nil && n >= g.valid.Load()
}

// RoundTrip sends what is for Google to the server of the test.
func (g *google) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Host != "storage.googleapis.com" || r.URL.Scheme != "https" {
		return nil, fmt.Errorf("a request to %s://%s", r.URL.Scheme, r.URL.Host)
	}
	to, _ := url.Parse(g.URL)
	r = r.Clone(r.Context())
	r.URL.Scheme, r.URL.Host = to.Scheme, to.Host
	return http.DefaultTransport.RoundTrip(r)
}

// open opens a store by the credentials that the environment has.
func (g *google) open(ctx context.Context, o gcsstore.Options) (*remote.Bucket, error) {
	place, err := gcsstore.Parse("bucket/x.zarr")
	if err != nil {
		return nil, err
	}
	return gcsstore.Open(ctx, place, o, remote.Options{Transport: g})
}

// writeJSON writes a file, and returns its path.
func writeJSON(t *testing.T, path string, value map[string]any) string {
	t.Helper()
	text, err := json.Marshal(value)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(path), 0o700)
	}
	if err == nil {
		err = os.WriteFile(path, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// newKey returns a key as the files of service accounts have it.
func newKey(t *testing.T) string {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
}

// sources are the application default credentials that people have. Each sets one up, and returns
// what an error calls it.
var sources = []struct {
	name  string
	setUp func(t *testing.T, g *google) (says string)
	asked string // what the issuer was asked, in part
}{
	{"service account", func(t *testing.T, g *google) string {
		path := writeJSON(t, filepath.Join(t.TempDir(), "key.json"), map[string]any{
			"type": "service_account", "client_email": "me@example.iam.gserviceaccount.com",
			"private_key": newKey(t), "private_key_id": "1", "token_uri": g.URL + "/token"})
		t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", path)
		return path
	}, "jwt-bearer"},
	{"workload identity", func(t *testing.T, g *google) string {
		token := writeJSON(t, filepath.Join(t.TempDir(), "token"), map[string]any{"t": secret})
		path := writeJSON(t, filepath.Join(t.TempDir(), "key.json"), map[string]any{
			"type": "external_account", "token_url": g.URL + "/token",
			"audience":           "//iam.googleapis.com/projects/1/x",
			"subject_token_type": "urn:ietf:params:oauth:token-type:jwt",
			"credential_source": map[string]any{"file": token,
				"format": map[string]any{"type": "json", "subject_token_field_name": "t"}}})
		t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", path)
		return path
	}, "subject_token:[" + secret + "]"},
	{"metadata server", func(t *testing.T, g *google) string {
		t.Setenv("GCE_METADATA_HOST", strings.TrimPrefix(g.URL, "http://"))
		return "the metadata server of this machine"
	}, "/computeMetadata/v1/instance/service-accounts/default/token"},
}

// TestSources: the token of each source is sent, and renewed once where it is not taken any more.
// An error says where it is from, and has no secrets.
func TestSources(t *testing.T) {
	for _, c := range sources {
		t.Run(c.name, func(t *testing.T) {
			g := newGoogle(t)
			says := c.setUp(t, g)
			d, err := g.open(t.Context(), gcsstore.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer d.Close()
			if asked, _ := g.asked.Load().(string); !strings.Contains(asked, c.asked) {
				t.Errorf("the issuer was asked %q, want %q", asked, c.asked)
			}
			first := g.issued.Load()
			g.valid.Store(first + 1)
			o, err := d.Open(t.Context(), "c/0")
			if err != nil {
				t.Fatalf("with a token that is not taken any more: %v", err)
			}
			o.Close()
			if n := g.issued.Load(); n != first+1 {
				t.Errorf("%d tokens, want %d", n, first+1)
			}
			g.valid.Store(1000)
			_, err = d.Open(t.Context(), "c/0")
			if !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), says) ||
				strings.Contains(err.Error(), secret) || strings.Contains(err.Error(), "token2") {
				t.Errorf("%v, want an error that says %q, without secrets", err, says)
			}
		})
	}
}

// TestNoCredentials: without any, opening says so and what to do. Anonymous needs none.
func TestNoCredentials(t *testing.T) {
	g := newGoogle(t)
	t.Setenv("NO_GCE_CHECK", "true")
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", filepath.Join(t.TempDir(), "none"))
	_, err := g.open(t.Context(), gcsstore.Options{})
	if err == nil || !strings.Contains(err.Error(), "--anonymous") {
		t.Errorf("without credentials: %v", err)
	}
	_, err = g.open(t.Context(), gcsstore.Options{Anonymous: true})
	if err != nil {
		t.Fatalf("anonymous: %v", err)
	}
	if n := g.issued.Load(); n != 0 {
		t.Errorf("anonymous: %d tokens were asked for", n)
	}
}
