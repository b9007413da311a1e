package main

import (
	"os"
	"slices"
	"strings"
)

// queryEnv is the query that all requests to a web server have. It may be a signature, which is a
// secret.
const queryEnv = "ZARRFS_HTTP_QUERY"

// hideQuery moves the query of a URL among the arguments to the environment, where other users do
// not see it: the program that serves a mount keeps its arguments for long, and errors show them.
// It reports whether there was one.
func hideQuery(args []string) (found bool) {
	for i, arg := range args {
		scheme, _ := splitScheme(arg)
		url, query, has := strings.Cut(arg, "?")
		if has && slices.Contains(webSchemes, strings.TrimPrefix(scheme, "zip+")) {
			args[i], found = url, true
			os.Setenv(queryEnv, query)
		}
		if has && slices.Contains(azureSchemes, strings.TrimPrefix(scheme, "zip+")) {
			args[i], found = url, true
			os.Setenv("AZURE_STORAGE_SAS_TOKEN", query) // a query there is a signature
		}
	}
	return found
}

var (
	webSchemes   = []string{"http", "https"}
	azureSchemes = []string{"az", "abfs", "abfss"}
)
