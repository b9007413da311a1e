package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/zarrfs/zarrfs/zarrcore/store"
	"github.com/zarrfs/zarrfs/zarrcore/store/httpstore"
	"github.com/zarrfs/zarrfs/zarrcore/store/remote"
	"github.com/zarrfs/zarrfs/zarrcore/store/zipstore"
)

// openWeb returns the opener of a store on a web server. It is a zip file if the URL ends as the
// name of one.
func openWeb(scheme string) func(string, *openOptions) (*source, error) {
	return func(location string, o *openOptions) (*source, error) {
		at, err := webLocation(scheme, location)
		if err != nil {
			return nil, err
		}
		if isZipName(at.Name()) {
			return openWebZip(scheme)(location, o)
		}
		d, err := openLocation(at, o, remoteOptions())
		if err != nil {
			return nil, err
		}
		return &source{
			Store: store.New(d, at.Name()), base: baseName(at.Base()),
			fixed: fmt.Sprintf("zarrfs does not change stores on web servers. "+
				"Copy it to a folder: wget -r -np -nH %s/", at.Name()),
		}, nil
	}
}

// zipFresh is for how long a zip file on a web server counts as unchanged, unless a read shows that
// it is not.
const zipFresh = 10 * time.Second

// openWebZip returns the opener of a store in a zip file on a web server.
func openWebZip(scheme string) func(string, *openOptions) (*source, error) {
	return func(location string, o *openOptions) (*source, error) {
		at, err := webLocation(scheme, location)
		if err != nil {
			return nil, err
		}
		folder, key := at.Parent()
		far := remoteOptions()
		far.NoListing = true
		d, err := openLocation(folder, o, far)
		if err != nil {
			return nil, err
		}
		in := store.New(d, folder.Name())
		s, err := openZipIn(in, key, at.Name(), zipstore.Options{Fresh: zipFresh})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", at.Name(), bare(err))
		}
		s.fixed = fmt.Sprintf("zarrfs does not change zip files. "+
			"Fetch it, and unpack it: wget %s", at.Name())
		return s, nil
	}
}

// missingEnv says which status code of a server means that nothing is stored: 403, as S3 answers
// clients that may not list.
const missingEnv = "ZARRFS_MISSING"

// remoteOptions are the options of all stores behind a network, from flags and the environment.
func remoteOptions() remote.Options {
	return remote.Options{Missing403: os.Getenv(missingEnv) == "403"}
}

// webLocation reads the URL of a store.
func webLocation(scheme, location string) (*httpstore.Location, error) {
	at, err := httpstore.Parse(scheme+"://"+location, os.Getenv(queryEnv))
	if err != nil {
		return nil, usageError{err}
	}
	return at, nil
}

// openLocation opens what lies at a URL.
func openLocation(
	at *httpstore.Location, o *openOptions, far remote.Options,
) (store.Driver, error) {
	return cached(at.Name(), o, func(ctx context.Context) (store.Driver, error) {
		return httpstore.Open(ctx, at, httpstore.Credentials{}, far)
	})
}
