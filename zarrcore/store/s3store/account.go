package s3store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/config"
)

// renewEvery is how often at most credentials are fetched again before they expire: some of their
// sources take few requests.
const renewEvery = 30 * time.Second

// emptyHash is the SHA-256 of the body of requests, which have none.
const emptyHash = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

// anywhere is the region that is asked first where none is named. Its answer names the right one.
const anywhere = "us-east-1"

// An account is a server, and the credentials that are sent to it.
type account struct {
	endpoint string // "" is Amazon's
	region   string
	keys     *aws.CredentialsCache // nil: anonymous
	signer   *v4.Signer
	profile  string

	mu      sync.Mutex
	source  string // of the credentials that were sent last
	renewed time.Time
}

// load finds out what o does not say. It fails if there are no credentials.
func load(ctx context.Context, o Options) (*account, error) {
	cfg, err := config.LoadDefaultConfig(ctx,
		config.WithRegion(o.Region), config.WithSharedConfigProfile(o.Profile))
	if err != nil {
		return nil, fmt.Errorf("the configuration of AWS: %w", err)
	}
	a := &account{
		endpoint: cmp.Or(o.Endpoint, endpointIn(ctx, cfg)),
		region:   cmp.Or(cfg.Region, anywhere),
		profile: cmp.Or(o.Profile, os.Getenv("AWS_PROFILE"), os.Getenv("AWS_DEFAULT_PROFILE"),
			"default"),
		signer: v4.NewSigner(func(s *v4.SignerOptions) {
			s.DisableURIPathEscaping = true // S3 alone signs paths as they are sent
		}),
	}
	if o.Anonymous {
		return a, nil
	}
	a.keys = cacheOf(cfg.Credentials)
	if _, err := a.retrieve(ctx); err != nil {
		return nil, err
	}
	return a, nil
}

// cacheOf returns the cache that the library has made of a source, so that Invalidate reaches it.
func cacheOf(source aws.CredentialsProvider) *aws.CredentialsCache {
	if cache, ok := source.(*aws.CredentialsCache); ok {
		return cache
	}
	return aws.NewCredentialsCache(source)
}

// endpointIn returns the server that a configuration names for S3, as
// https://docs.aws.amazon.com/sdkref/latest/guide/feature-ss-endpoints.html says.
func endpointIn(ctx context.Context, cfg aws.Config) string {
	for _, source := range cfg.ConfigSources {
		if s, ok := source.(interface {
			GetIgnoreConfiguredEndpoints(context.Context) (bool, bool, error)
		}); ok {
			if ignore, found, _ := s.GetIgnoreConfiguredEndpoints(ctx); found && ignore {
				return ""
			}
		}
	}
	for _, source := range cfg.ConfigSources {
		if s, ok := source.(interface {
			GetServiceBaseEndpoint(context.Context, string) (string, bool, error)
		}); ok {
			if url, found, _ := s.GetServiceBaseEndpoint(ctx, "S3"); found {
				return url
			}
		}
	}
	return aws.ToString(cfg.BaseEndpoint)
}

// retrieve returns credentials that are valid now.
func (a *account) retrieve(ctx context.Context) (aws.Credentials, error) {
	keys, err := a.keys.Retrieve(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return keys, ctx.Err()
		}
		return keys, &NoCredentials{cause: err}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.source = keys.Source
	return keys, nil
}

// NoCredentials is the error of requests that cannot be signed.
type NoCredentials struct{ cause error }

// Error says why, and what to do. What the library says of several sources ends in the reason.
func (e *NoCredentials) Error() string {
	root := e.cause
	for next := errors.Unwrap(root); next != nil; next = errors.Unwrap(root) {
		root = next
	}
	return fmt.Sprintf("no credentials of AWS were found (%s); set AWS_PROFILE or "+
		"AWS_ACCESS_KEY_ID, or say --anonymous if the bucket is public",
		withoutValues(root.Error()))
}

// withoutValues leaves out of a text what it quotes, which may be an answer with secrets, and all
// lines but the first.
func withoutValues(text string) string {
	text, _, _ = strings.Cut(text, "\n")
	return quoted.ReplaceAllString(text, `"..."`)
}

var quoted = regexp.MustCompile(`"[^"]*"`)

// Unwrap returns the library's error.
func (e *NoCredentials) Unwrap() error { return e.cause }

// sign adds credentials to a request. It signs the host and the fields of Amazon, so that proxies
// may change others.
func (a *account) sign(r *http.Request, region string) error {
	if a.keys == nil {
		return nil
	}
	keys, err := a.retrieve(r.Context())
	if err != nil {
		return err
	}
	r.Header.Set("X-Amz-Content-Sha256", emptyHash)
	signed := &http.Request{Method: r.Method, URL: r.URL, Host: r.Host, Header: http.Header{}}
	for name, values := range r.Header {
		if strings.HasPrefix(name, "X-Amz-") {
			signed.Header[name] = values
		}
	}
	err = a.signer.SignHTTP(r.Context(), keys, signed, emptyHash, "s3", region, time.Now())
	for name, values := range signed.Header {
		r.Header[name] = values
	}
	return err
}

// renew fetches the credentials again, and reports whether there are others.
func (a *account) renew(ctx context.Context) bool {
	if a.keys == nil {
		return false
	}
	before, err := a.keys.Retrieve(ctx)
	a.mu.Lock()
	tooSoon := time.Since(a.renewed) < renewEvery
	if !tooSoon {
		a.renewed = time.Now()
	}
	a.mu.Unlock()
	if err != nil || tooSoon {
		return false
	}
	a.keys.Invalidate()
	now, err := a.retrieve(ctx)
	return err == nil && now.AccessKeyID+now.SessionToken != before.AccessKeyID+before.SessionToken
}

// sources are what users know the sources of credentials by.
var sources = map[string]string{
	"EnvConfigCredentials":        "the environment (AWS_ACCESS_KEY_ID)",
	"EC2RoleProvider":             "the role of this machine",
	"CredentialsEndpointProvider": "the container's endpoint",
	"SSOProvider":                 "single sign-on",
	"WebIdentityCredentials":      "the web identity",
	"AssumeRoleProvider":          "the assumed role",
	"ProcessProvider":             "the credential_process",
}

// String says which credentials were sent, and where others can be given. It has no secrets.
func (a *account) String() string {
	if a.keys == nil {
		return "no credentials were sent, because of --anonymous"
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	from := cmp.Or(sources[a.source], a.source)
	if file, ok := strings.CutPrefix(a.source, "SharedConfigCredentials: "); ok {
		from = "the profile " + a.profile + " in " + file
	}
	return "the credentials of " + from + " were sent; AWS_PROFILE names others, and " +
		"--anonymous sends none"
}
