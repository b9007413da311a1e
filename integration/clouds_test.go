package integration

import (
	"strings"
	"testing"

	"github.com/zarrfs/zarrfs/zarrcore/store/storetest/cloud"
)

// clouds are servers of object stores, with the URL of what is below a prefix of the bucket.
var clouds = map[string]struct {
	start func(testing.TB) *cloud.Server
	url   func(s *cloud.Server, prefix string) string
}{
	"versitygw": {cloud.VersityGW, urlOf("s3")},
	"MinIO":     {cloud.MinIO, urlOf("s3")},
	"fake GCS":  {cloud.FakeGCS, urlOf("gs")},
	"Azurite":   {cloud.Azurite, urlOf("az")},
}

// urlOf returns what makes URLs of a scheme.
func urlOf(scheme string) func(s *cloud.Server, prefix string) string {
	return func(s *cloud.Server, prefix string) string {
		return scheme + "://" + s.Bucket + "/" + prefix
	}
}

// eachCloud runs a test on each server, with the environment that zarrfs needs for it.
func eachCloud(t *testing.T, test func(t *testing.T, s *cloud.Server, url func(string) string)) {
	for name, c := range clouds {
		t.Run(name, func(t *testing.T) {
			s := c.start(t)
			s.SetEnv(t)
			test(t, s, func(prefix string) string { return c.url(s, prefix) })
		})
	}
}

// TestBucketIsReadAsFolder: the mount of a store in a bucket has the same files with the same bytes
// as that of a folder.
func TestBucketIsReadAsFolder(t *testing.T) {
	store, want := treeInFolder(t)
	eachCloud(t, func(t *testing.T, s *cloud.Server, url func(string) string) {
		s.FillFolder(t, "deep/s.zarr/", store)
		sameTree(t, mountedTree(t, url("deep/s.zarr")), want)
	})
}

// TestSecretsStayHidden: the credentials for a bucket are in nothing that others can read of a
// mount, nor in what it says when they are refused.
func TestSecretsStayHidden(t *testing.T) {
	store := treeStore(t)
	eachCloud(t, func(t *testing.T, s *cloud.Server, url func(string) string) {
		s.FillFolder(t, "s.zarr/", store)
		d := started(t, url("s.zarr"), "--log-level", "debug")
		said := map[string]string{"mounts": string(read(t, "/proc/self/mounts"))}
		for _, name := range []string{"g/b.json", ".zarrfs/status.json"} {
			said[name] = string(read(t, d.path(name)))
		}
		say := func(where, program string, args ...string) {
			out, _ := command(program, args...)
			said[where] = string(out)
		}
		say("attributes", "getfattr", "-d", "-m", "-", "--absolute-names", d.dir, d.path("g/b.npy"))
		say("processes", "ps", "-eo", "args")
		if err := d.stop(); err != nil {
			t.Error(err)
		}
		said["log"] = d.logged()
		wrong := strings.Repeat("c2VjcmV0", 11)
		t.Setenv("AWS_SECRET_ACCESS_KEY", wrong)
		t.Setenv("AZURE_STORAGE_KEY", wrong)
		say("refused", zarrfs(t), "info", url("s.zarr"))
		for where, text := range said {
			for _, secret := range []string{cloud.S3Secret, cloud.AzureKey, wrong} {
				if strings.Contains(text, secret) {
					t.Errorf("%s: there is a secret: %s", where, text)
				}
			}
		}
		isAsked := !strings.HasPrefix(url(""), "gs:") // the emulator knows no credentials
		if isAsked && !strings.Contains(said["refused"], "were sent") &&
			!strings.Contains(said["refused"], "was sent") {
			t.Errorf("wrong credentials: %s; want where they are from", said["refused"])
		}
	})
}
