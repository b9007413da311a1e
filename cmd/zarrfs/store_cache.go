package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/zarrfs/zarrfs/zarrcore/store"
	"github.com/zarrfs/zarrfs/zarrcore/store/dirstore"
	"github.com/zarrfs/zarrfs/zarrcore/store/diskcache"
)

// This file is about the cache on disk for stores behind a network.

// Where the cache is, and how large.
const (
	cacheDirEnv  = "ZARRFS_CACHE_DIR"
	cacheDiskEnv = "ZARRFS_CACHE_DISK"
)

// openOptions say how a store is opened. All of them may be nil, or zero.
type openOptions struct {
	folder *dirstore.Options
	fresh  store.Freshness
	log    *slog.Logger
}

// inFolder returns the options of a local folder.
func (o *openOptions) inFolder() *dirstore.Options {
	if o == nil {
		return nil
	}
	return o.folder
}

// A cacheFlag is a flag that is kept in the environment, checked when it is given.
type cacheFlag struct {
	env   string
	check func(value string) (string, error)
}

// Set sets the variable.
func (f cacheFlag) Set(value string) error {
	value, err := f.check(value)
	if err == nil {
		err = os.Setenv(f.env, value)
	}
	return err
}

// String is empty: help shows no default.
func (f cacheFlag) String() string { return "" }

// Type is what help calls the value.
func (f cacheFlag) Type() string { return "string" }

// checkCacheSize refuses what is not a number of bytes.
func checkCacheSize(text string) (string, error) {
	_, err := cacheSize(text)
	return text, err
}

// cacheSize reads how large a cache is.
func cacheSize(text string) (int64, error) {
	n, err := parseSize(text, func() int64 { return 0 })
	if err == nil && strings.HasSuffix(text, "%") {
		err = fmt.Errorf("size %q: expected a number of bytes, such as 10GiB", text)
	}
	return n, err
}

// usualCacheSize is the size of a cache if only its folder is named.
const usualCacheSize = 10 << 30

// cacheAsked returns the folder and size of the cache that flags or environment ask for; "" if they
// ask for none.
func cacheAsked() (dir string, size int64, err error) {
	dir, text := os.Getenv(cacheDirEnv), os.Getenv(cacheDiskEnv)
	if size = usualCacheSize; text != "" {
		if size, err = cacheSize(text); err != nil {
			return "", 0, usageError{fmt.Errorf("--cache-disk (%s): %w", cacheDiskEnv, err)}
		}
	}
	if size == 0 || dir == "" && text == "" {
		return "", 0, nil
	}
	if dir == "" {
		usual, err := os.UserCacheDir()
		if err != nil {
			err = fmt.Errorf("--cache-disk: %w; name a folder by --cache-dir", err)
			return "", 0, usageError{err}
		}
		dir = filepath.Join(usual, "zarrfs")
	}
	dir, err = filepath.Abs(dir)
	return dir, size, err
}

// cached returns the driver that dial opens for the store at a URL. If a cache on disk is
// requested, reads go through that cache.
func cached(
	url string, o *openOptions, dial func(context.Context) (store.Driver, error),
) (store.Driver, error) {
	dir, size, err := cacheAsked()
	switch {
	case err != nil:
		return nil, err
	case dir == "":
		return dial(context.Background())
	}
	c := diskcache.Options{Dir: dir, Size: size, Identity: identityOf(url)}
	if o != nil {
		c.Fresh, c.Log = o.fresh, o.log
	}
	return diskcache.Open(context.Background(), c, dial)
}

// asksBy are the prefixes of environment variables that choose the server, the requests or the
// credentials.
var asksBy = []string{"AWS_", "AZURE_", "GOOGLE_", "CLOUDSDK_", "STORAGE_EMULATOR_HOST", "NETRC",
	"ZARRFS_HTTP_", anonymousEnv, missingEnv}

// credentialFiles are where credentials are without a variable that says so, below the home folder.
var credentialFiles = []string{".aws/credentials", ".aws/config", ".netrc",
	".azure/azureProfile.json", ".config/gcloud/application_default_credentials.json"}

// identityOf returns a text that differs for stores at other URLs, and for other credentials: what
// is read by some credentials is not shown to users of others. The text is a secret.
func identityOf(url string) string {
	lines := []string{url}
	for _, v := range os.Environ() {
		name, value, _ := strings.Cut(v, "=")
		isOne := func(begin string) bool { return strings.HasPrefix(name, begin) }
		if !slices.ContainsFunc(asksBy, isOne) {
			continue
		}
		lines = append(lines, v)
		if !strings.HasSuffix(name, "_TOKEN_FILE") { // their content changes each hour
			lines = append(lines, contents(value))
		}
	}
	slices.Sort(lines[1:])
	if home, err := os.UserHomeDir(); err == nil {
		for _, name := range credentialFiles {
			lines = append(lines, contents(filepath.Join(home, name)))
		}
	}
	return fmt.Sprintf("%q", lines)
}

// contents returns a text that changes with the contents of a file, or "" if it cannot be read.
func contents(path string) string {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return ""
	}
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, io.LimitReader(f, 1<<20)); err != nil {
		return ""
	}
	return fmt.Sprintf("%x", sum.Sum(nil))
}
