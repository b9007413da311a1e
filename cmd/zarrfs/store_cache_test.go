package main

import (
	"os"
	"path/filepath"
	"testing"
)

// TestCacheIdentity: another URL, other variables that name a server or credentials, and other
// files with these, have another identity. What has nothing to do with that changes nothing.
func TestCacheIdentity(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	write := func(name, text string) {
		path := filepath.Join(home, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	seen := map[string]string{}
	differs := func(what, url string) {
		t.Helper()
		id := identityOf(url)
		if other, ok := seen[id]; ok {
			t.Errorf("%s has the identity of %s", what, other)
		}
		seen[id] = what
	}
	differs("a URL", "s3://bucket/a")
	differs("another URL", "s3://bucket/b")
	for _, name := range []string{"AWS_PROFILE", "AWS_ACCESS_KEY_ID", "AWS_ENDPOINT_URL_S3",
		"ZARRFS_HTTP_QUERY", "ZARRFS_HTTP_TOKEN", "ZARRFS_ANONYMOUS", "ZARRFS_MISSING",
		"AZURE_STORAGE_SAS_TOKEN", "GOOGLE_APPLICATION_CREDENTIALS"} {
		t.Setenv(name, "1")
		differs(name, "s3://bucket/a")
	}
	for _, name := range []string{".aws/credentials", ".netrc"} {
		for _, text := range []string{"one", "two"} {
			write(name, text)
			differs(name+" "+text, "s3://bucket/a")
		}
	}
	write("headers", "Authorization: Bearer one")
	t.Setenv("ZARRFS_HTTP_HEADERS", filepath.Join(home, "headers"))
	differs("a header file", "s3://bucket/a")
	write("headers", "Authorization: Bearer two")
	differs("another header file", "s3://bucket/a")
	t.Setenv("LANG", "C.UTF-8")
	if _, ok := seen[identityOf("s3://bucket/a")]; !ok {
		t.Error("the language changes the identity")
	}
}
