package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/zarrfs/zarrfs/zarrcore/store"
	"github.com/zarrfs/zarrfs/zarrcore/store/azurestore"
	"github.com/zarrfs/zarrfs/zarrcore/store/gcsstore"
	"github.com/zarrfs/zarrfs/zarrcore/store/remote"
	"github.com/zarrfs/zarrfs/zarrcore/store/s3store"
	"github.com/zarrfs/zarrfs/zarrcore/store/zipstore"
)

// cloudFlags are the flags that say how buckets are read. Each sets a variable of the environment
// that other programs of the clouds know too. The program that serves a mount inherits it.
var cloudFlags = []struct{ flag, env, usage string }{
	{"s3-endpoint", "AWS_ENDPOINT_URL_S3", "the `URL` of a server of S3 that is not Amazon's"},
	{"s3-region", "AWS_REGION", "the region of an S3 bucket (default: as the server says)"},
	{"s3-profile", "AWS_PROFILE", "the profile of ~/.aws/config whose credentials are sent"},
	{"gs-project", "GOOGLE_CLOUD_QUOTA_PROJECT", "the `PROJECT` that pays for gs requests"},
	{"az-account", "AZURE_STORAGE_ACCOUNT", "the storage `ACCOUNT` of az:// URLs"},
	{"http-headers", "ZARRFS_HTTP_HEADERS",
		"a `FILE` of header lines that are sent with each request to a web server, such as " +
			"Authorization: Bearer TOKEN"},
	{"missing", missingEnv,
		"the `CODE` that, besides 404, means that an object is missing: 403 for servers that do " +
			"not allow listing"},
}

// anonymousEnv says that no credentials are sent to the servers of buckets.
const anonymousEnv = "ZARRFS_ANONYMOUS"

// addCloudFlags declares the flags for stores in buckets.
func addCloudFlags(flags *pflag.FlagSet) {
	for _, f := range cloudFlags {
		flags.Var(envFlag(f.env), f.flag, f.usage+"; also "+f.env)
	}
	flags.Var(envFlag(anonymousEnv), "anonymous", "send no credentials: the bucket is public")
	flags.Lookup("anonymous").NoOptDefVal = "true"
	flags.Var(envFlag("AWS_REQUEST_PAYER"), "requester-pays",
		"pay for the requests to an S3 bucket whose owner does not")
	flags.Lookup("requester-pays").NoOptDefVal = "requester"
	flags.Var(cacheFlag{cacheDirEnv, filepath.Abs}, "cache-dir", "keep what is read of a store "+
		"behind a network in `DIR` (default $XDG_CACHE_HOME/zarrfs, if --cache-disk is given); "+
		"also "+cacheDirEnv)
	flags.Var(cacheFlag{cacheDiskEnv, checkCacheSize}, "cache-disk", "the most that the cache "+
		"in --cache-dir takes, as `SIZE` (default 10GiB, if --cache-dir is given); also "+
		cacheDiskEnv)
}

// envFlag is a flag whose value is a variable of the environment.
type envFlag string

// Set sets the variable.
func (f envFlag) Set(value string) error { return os.Setenv(string(f), value) }

// String is empty: help shows no default.
func (f envFlag) String() string { return "" }

// Type is what help calls the value.
func (f envFlag) Type() string { return "string" }

// isSet reports whether one of some variables of the environment says yes.
func isSet(names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		switch strings.ToLower(os.Getenv(name)) {
		case "", "0", "no", "false", "off":
			return false
		}
		return true
	})
}

// A placeParser reads what is left of a bucket's URL behind its scheme.
type placeParser func(location string) (remote.Place, error)

// A bucketOpener opens the store at a place in a bucket, with options of its backend.
type bucketOpener[O any] func(
	ctx context.Context, at remote.Place, o O, far remote.Options,
) (*remote.Bucket, error)

// inBucket returns the backend of stores in buckets. options says what flags and environment say of
// them, and copier is the command that copies from there.
func inBucket[O any](
	scheme string, parse placeParser, open bucketOpener[O], options func() O, copier string,
) backend {
	return withZips(scheme, func(location string, o *openOptions) (*source, error) {
		at, err := parse(location)
		if err != nil {
			return nil, usageError{err}
		}
		name := scheme + "://" + at.String()
		d, err := cached(name, o, func(ctx context.Context) (store.Driver, error) {
			return open(ctx, at, options(), remoteOptions())
		})
		if err != nil {
			return nil, err
		}
		return bucketSource(d, name, at, scheme, copier), nil
	})
}

// s3Options are what flags and environment say of buckets of S3, or of servers that speak it.
func s3Options() s3store.Options {
	return s3store.Options{
		Anonymous:     isSet(anonymousEnv, "AWS_NO_SIGN_REQUEST"),
		RequesterPays: isSet("AWS_REQUEST_PAYER"),
	}
}

// gcsOptions are what flags and environment say of buckets of Google Cloud Storage.
func gcsOptions() gcsstore.Options { return gcsstore.Options{Anonymous: isSet(anonymousEnv)} }

// inContainer returns the backend of stores in containers of Azure.
func inContainer(scheme string) backend {
	return withZips(scheme, func(location string, o *openOptions) (*source, error) {
		at, err := azurestore.Parse(scheme, location)
		if err != nil {
			return nil, usageError{err}
		}
		url := scheme + "://" + strings.TrimSuffix(location, "/")
		d, err := cached(url, o, func(ctx context.Context) (store.Driver, error) {
			as := azurestore.Options{Anonymous: isSet(anonymousEnv)}
			return azurestore.Open(ctx, at, as, remoteOptions())
		})
		if err != nil {
			return nil, err
		}
		return bucketSource(d, url, at.Place, scheme, "azcopy copy --recursive"), nil
	})
}

// bucketSource is the store that d reads. name is the URL of the store. copier is the command that
// copies from such a bucket.
func bucketSource(d store.Driver, name string, at remote.Place, scheme, copier string) *source {
	return &source{
		Store: store.New(d, name), base: baseName(at.Base()),
		fixed: fmt.Sprintf("zarrfs does not change stores in buckets. Copy it to a folder: "+
			"%s %s://%s %s", copier, scheme, at, store.Base(at.String())),
	}
}

// withZips returns the backend of buckets in which open opens stores. A URL that ends as the name
// of a zip file is one of a zip file, as with the scheme zip+….
func withZips(scheme string, open opener) backend {
	zip := zipInBucket(scheme, open)
	orZip := func(location string, o *openOptions) (*source, error) {
		if isZipName(location) {
			return zip(location, o)
		}
		return open(location, o)
	}
	return backend{open: orZip, zip: zip}
}

// zipInBucket returns the opener of a store in a zip file, which is an object of a bucket.
func zipInBucket(scheme string, open opener) opener {
	return func(location string, o *openOptions) (*source, error) {
		i := strings.LastIndexByte(location, '/')
		if i <= 0 || i == len(location)-1 {
			return nil, usageError{fmt.Errorf("expected zip+%s://BUCKET/NAME.zip", scheme)}
		}
		folder, err := open(location[:i], o)
		if err != nil {
			return nil, err
		}
		name, fresh := scheme+"://"+location, zipstore.Options{Fresh: zipFresh}
		s, err := openZipIn(folder.Store, location[i+1:], name, fresh)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, bare(err))
		}
		s.fixed = "zarrfs does not change zip files. Fetch it from the bucket, and unpack it"
		return s, nil
	}
}
