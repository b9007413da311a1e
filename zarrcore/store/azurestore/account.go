package azurestore

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"

	"github.com/zarrfs/zarrfs/zarrcore/store/remote"
)

// Environment variables that the programs of Azure know, too.
const (
	envAccount    = "AZURE_STORAGE_ACCOUNT"
	envKey        = "AZURE_STORAGE_KEY"
	envSAS        = "AZURE_STORAGE_SAS_TOKEN"
	envConnection = "AZURE_STORAGE_CONNECTION_STRING"
	envEndpoint   = "AZURE_STORAGE_BLOB_ENDPOINT"
)

// settings say which account is asked, and where.
type settings struct {
	account, key, sas string
	endpoint          string
	suffix            string // of the names of servers
	from              string // where the key or signature was found
	anonymous         bool
}

// findSettings finds out what o does not say.
func findSettings(o Options) (*settings, error) {
	s := &settings{anonymous: o.Anonymous, suffix: "core.windows.net"}
	if text := os.Getenv(envConnection); text != "" {
		if err := s.readConnection(text); err != nil {
			return nil, err
		}
	}
	if sas := os.Getenv(envSAS); sas != "" {
		s.sas, s.from = strings.TrimPrefix(sas, "?"), envSAS
	}
	for _, name := range []string{envKey, "AZURE_STORAGE_ACCOUNT_KEY", "AZURE_STORAGE_ACCESS_KEY"} {
		if key := os.Getenv(name); key != "" {
			s.key, s.from = key, name
			break
		}
	}
	s.account = cmp.Or(o.Account, os.Getenv(envAccount), os.Getenv("AZURE_STORAGE_ACCOUNT_NAME"),
		s.account)
	s.endpoint = cmp.Or(o.Endpoint, os.Getenv(envEndpoint), s.endpoint)
	return s, nil
}

// The account of servers for tests, whose key everybody knows.
const (
	testAccount = "devstoreaccount1"
	testKey     = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/" +
		"K1SZFPTOtr/KBHBeksoGMGw=="
)

// readConnection reads a connection string, which is a list of NAME=VALUE. Its text may be secret.
func (s *settings) readConnection(text string) error {
	values := map[string]string{}
	for part := range strings.SplitSeq(text, ";") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		name, value, ok := strings.Cut(part, "=")
		if !ok {
			return fmt.Errorf("%s is expected as NAME=VALUE;NAME=VALUE", envConnection)
		}
		values[strings.ToLower(name)] = value
	}
	s.account, s.key, s.from = values["accountname"], values["accountkey"], envConnection
	s.sas = strings.TrimPrefix(values["sharedaccesssignature"], "?")
	s.endpoint = values["blobendpoint"]
	s.suffix = cmp.Or(values["endpointsuffix"], s.suffix)
	if strings.EqualFold(values["usedevelopmentstorage"], "true") {
		s.account, s.key = testAccount, testKey
		s.endpoint = "http://127.0.0.1:10000/" + testAccount
	}
	return nil
}

// credentials returns those that the settings name, otherwise what the machine offers.
func (s *settings) credentials(ctx context.Context) (remote.Account, error) {
	switch {
	case s.anonymous:
		return nobody{}, nil
	case s.key != "":
		key, err := base64.StdEncoding.DecodeString(s.key)
		if err != nil {
			return nil, fmt.Errorf("the key of %s is expected in base64", s.from)
		}
		return &sharedKey{account: s.account, key: key, from: s.from}, nil
	case s.sas != "":
		return &signature{query: s.sas, from: s.from}, nil
	}
	source, err := azidentity.NewDefaultAzureCredential(nil)
	if err != nil {
		return nil, errNoCredentials
	}
	t := &tokens{source: source}
	_, err = t.get(ctx)
	return t, err
}

// errNoCredentials is the error where nothing is found.
var errNoCredentials = fmt.Errorf("no credentials of Azure were found; run `az login`, set %s, "+
	"%s or %s, or say --anonymous if the container is public", envKey, envSAS, envConnection)

// nobody sends no credentials.
type nobody struct{}

func (nobody) Authorize(*http.Request) error { return nil }
func (nobody) Renew(context.Context) bool    { return false }

func (nobody) Credentials() string { return "no credentials were sent, because of --anonymous" }

// signature is a shared access signature: a query that all requests have.
type signature struct{ query, from string }

func (s *signature) Authorize(r *http.Request) error {
	if r.URL.RawQuery != "" {
		r.URL.RawQuery += "&"
	}
	r.URL.RawQuery += s.query
	return nil
}

func (*signature) Renew(context.Context) bool { return false }
func (s *signature) Credentials() string {
	return "the shared access signature of " + s.from + " was sent; it may have expired, or not " +
		"allow reading and listing"
}

// sharedKey signs requests by the key of an account.
type sharedKey struct {
	account string
	key     []byte
	from    string
}

func (k *sharedKey) Authorize(r *http.Request) error {
	r.Header.Set("X-Ms-Date", time.Now().UTC().Format(http.TimeFormat))
	mac := hmac.New(sha256.New, k.key)
	mac.Write([]byte(k.text(r)))
	sum := base64.StdEncoding.EncodeToString(mac.Sum(nil))
	r.Header.Set("Authorization", "SharedKey "+k.account+":"+sum)
	return nil
}

// signedFields are those that the text begins with. Content-Length is empty without a body, and
// Date because of x-ms-date.
var signedFields = []string{
	"Content-Encoding", "Content-Language", "Content-Length", "Content-MD5", "Content-Type", "Date",
	"If-Modified-Since", "If-Match", "If-None-Match", "If-Unmodified-Since", "Range",
}

// text returns what is signed, as
// https://learn.microsoft.com/rest/api/storageservices/authorize-with-shared-key says.
func (k *sharedKey) text(r *http.Request) string {
	lines := []string{r.Method}
	for _, name := range signedFields {
		lines = append(lines, r.Header.Get(name))
	}
	var own []string
	for name := range r.Header {
		if lower := strings.ToLower(name); strings.HasPrefix(lower, "x-ms-") {
			own = append(own, lower+":"+strings.TrimSpace(r.Header.Get(name)))
		}
	}
	slices.Sort(own)
	lines = append(append(lines, own...), "/"+k.account+r.URL.EscapedPath())
	q, _ := url.ParseQuery(r.URL.RawQuery)
	for _, name := range slices.Sorted(maps.Keys(q)) {
		slices.Sort(q[name])
		lines = append(lines, strings.ToLower(name)+":"+strings.Join(q[name], ","))
	}
	return strings.Join(lines, "\n")
}

func (*sharedKey) Renew(context.Context) bool { return false }
func (k *sharedKey) Credentials() string {
	return "the key of " + k.from + " was sent, for the account " + k.account
}

// tokens are those of Microsoft Entra, for what the machine offers: a program in the environment,
// a managed identity, or the user of `az login`.
type tokens struct {
	source azcore.TokenCredential

	mu   sync.Mutex
	last string
}

// audience is what the tokens are for.
const audience = "https://storage.azure.com/.default"

// get returns a token that is valid now. The library keeps it until it expires.
func (t *tokens) get(ctx context.Context) (string, error) {
	token, err := t.source.GetToken(ctx, policy.TokenRequestOptions{Scopes: []string{audience}})
	switch {
	case err != nil && ctx.Err() != nil:
		return "", context.Cause(ctx)
	case errors.As(err, new(*azidentity.AuthenticationFailedError)):
		return "", errors.New("the credentials of this machine are refused by Microsoft Entra; " +
			"look at AZURE_CLIENT_ID and its like, or run `az login` again")
	case err != nil:
		return "", errNoCredentials
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last = token.Token
	return token.Token, nil
}

func (t *tokens) Authorize(r *http.Request) error {
	token, err := t.get(r.Context())
	if err == nil {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	return err
}

// Renew asks whether the library has another token by now.
func (t *tokens) Renew(ctx context.Context) bool {
	t.mu.Lock()
	before := t.last
	t.mu.Unlock()
	now, err := t.get(ctx)
	return err == nil && now != before
}

func (t *tokens) Credentials() string {
	return "a token of Microsoft Entra was sent (environment, managed identity or `az login`); " +
		"the role Storage Blob Data Reader lets it read"
}
