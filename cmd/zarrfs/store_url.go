package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/zarrfs/zarrfs/zarrcore/store"
	"github.com/zarrfs/zarrfs/zarrcore/store/dirstore"
	"github.com/zarrfs/zarrfs/zarrcore/store/httpstore"
	"github.com/zarrfs/zarrfs/zarrcore/store/remote"
)

// queryEnv is the query that all requests to a web server have. It may be a signature, and so a
// secret.
const queryEnv = "ZARRFS_HTTP_QUERY"

// hideQuery moves the query of a URL among the arguments to the environment, where other users do
// not see it: the program that serves a mount keeps its arguments for long, and errors show them.
func hideQuery(args []string) {
	for i, arg := range args {
		scheme, _ := splitScheme(arg)
		url, query, has := strings.Cut(arg, "?")
		if has && strings.HasSuffix(strings.TrimPrefix(scheme, "zip+"), "http") ||
			has && strings.HasSuffix(scheme, "https") {
			args[i] = url
			os.Setenv(queryEnv, query)
		}
	}
}

// openWeb returns the opener of a store on a web server.
func openWeb(scheme string) func(string, *dirstore.Options) (*source, error) {
	return func(location string, _ *dirstore.Options) (*source, error) {
		at, err := httpstore.Parse(scheme+"://"+location, os.Getenv(queryEnv))
		if err != nil {
			return nil, usageError{err}
		}
		ctx := context.Background()
		d, err := httpstore.Open(ctx, at, httpstore.Credentials{}, remote.Options{})
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
