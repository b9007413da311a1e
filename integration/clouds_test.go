package integration

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

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

// TestZipInBucket: a zip file in a bucket is mounted as the folder that was packed, whatever its
// name. A zip file that is not there is an error.
func TestZipInBucket(t *testing.T) {
	need(t, "zip")
	store, want := treeInFolder(t)
	dir := filepath.Join(t.TempDir(), "packed")
	run(t, "sh", "-ec", "mkdir "+dir+"; cd "+store+"; zip -q -0 -r "+dir+"/s.zarr.zip .; cp "+
		dir+"/s.zarr.zip "+dir+"/packed")
	eachCloud(t, func(t *testing.T, s *cloud.Server, url func(string) string) {
		s.FillFolder(t, "deep/", dir)
		for _, place := range []string{url("deep/s.zarr.zip"), "zip+" + url("deep/packed")} {
			sameTree(t, mountedTree(t, place), want)
		}
		out, err := command(zarrfs(t), "info", url("deep/none.zip"))
		if err == nil || !strings.Contains(string(out), url("deep/none.zip")) {
			t.Errorf("a zip file that is not there: %v, %s", err, out)
		}
	})
}

// TestURLInFstab: a line of fstab with a URL mounts it, with the options that are usual for a
// network. mount(8) calls the program with them. The line has the path of the program, which need
// not be installed.
func TestURLInFstab(t *testing.T) {
	needRoot(t, "mount", "mount.fuse3")
	store, want := treeInFolder(t)
	server := httptest.NewServer(http.FileServer(http.Dir(filepath.Dir(store))))
	t.Cleanup(server.Close)
	dir, url := t.TempDir(), server.URL+"/s.zarr"
	fstab := filepath.Join(t.TempDir(), "fstab")
	line := absolute(t, zarrfs(t)) + "#" + url + " " + dir +
		" fuse ro,_netdev,nofail,x-systemd.automount,meta-ttl=30s 0 0\n"
	if err := os.WriteFile(fstab, []byte(line), 0o644); err != nil {
		t.Fatal(err)
	}
	run(t, "mount", "--fstab", fstab, dir)
	t.Cleanup(func() { command("umount", dir) })
	d := newDaemon(t, url)
	d.dir = dir
	sameTree(t, d.tree(t), want)
	run(t, "umount", dir)
	if out, _ := command("findmnt", dir); len(out) > 0 {
		t.Errorf("it is still mounted: %s", out)
	}
}

// shown returns what others can see of a mount, by where they see it.
func shown(t *testing.T, d *daemon) map[string]string {
	said := map[string]string{"mounts": string(read(t, "/proc/self/mounts"))}
	for _, name := range []string{"g/b.json", ".zarrfs/status.json"} {
		said[name] = string(read(t, d.path(name)))
	}
	for where, args := range map[string][]string{
		"attributes": {"getfattr", "-d", "-m", "-", "--absolute-names", d.dir, d.path("g/b.npy")},
		"processes":  {"ps", "-eo", "args"}, "status": {zarrfs(t), "status", d.dir},
		"errors": {zarrfs(t), "errors", d.dir},
	} {
		out, _ := command(args[0], args[1:]...)
		said[where] = string(out)
	}
	return said
}

// TestSecretsStayHidden: other users cannot read the credentials for a bucket anywhere in a mount,
// nor in its errors when the credentials are refused.
func TestSecretsStayHidden(t *testing.T) {
	store := treeStore(t)
	eachCloud(t, func(t *testing.T, s *cloud.Server, url func(string) string) {
		s.FillFolder(t, "s.zarr/", store)
		d := started(t, url("s.zarr"), "--log-level", "debug")
		said := shown(t, d)
		if err := d.stop(); err != nil {
			t.Error(err)
		}
		said["log"] = d.logged()
		wrong := strings.Repeat("c2VjcmV0", 11)
		t.Setenv("AWS_SECRET_ACCESS_KEY", wrong)
		t.Setenv("AZURE_STORAGE_KEY", wrong)
		out, _ := command(zarrfs(t), "info", url("s.zarr"))
		said["refused"] = string(out)
		hides(t, said, cloud.S3Secret, cloud.AzureKey, wrong)
		isAsked := !strings.HasPrefix(url(""), "gs:") // the emulator does not check credentials
		if isAsked && !strings.Contains(said["refused"], "were sent") &&
			!strings.Contains(said["refused"], "was sent") {
			t.Errorf("wrong credentials: %s; want where they are from", said["refused"])
		}
	})
}

// hides fails the test if a text has a secret in it.
func hides(t *testing.T, said map[string]string, secrets ...string) {
	t.Helper()
	for where, text := range said {
		for _, secret := range secrets {
			if strings.Contains(text, secret) {
				t.Errorf("%s: there is a secret: %s", where, text)
			}
		}
	}
}

// TestSignatureStaysHidden: a shared access signature of Azure, given as the query of the URL,
// opens the store, and is shown nowhere. Once it has expired, an error says so.
func TestSignatureStaysHidden(t *testing.T) {
	store, want := treeInFolder(t)
	s := cloud.Azurite(t)
	s.FillFolder(t, "s.zarr/", store)
	t.Setenv("AZURE_STORAGE_BLOB_ENDPOINT", s.URL+"/"+cloud.AzureAccount)
	place := "az://" + s.Bucket + "/s.zarr"
	query := s.AzureSignature(time.Now().Add(time.Hour))
	_, secret, _ := strings.Cut(query, "sig=")
	secret, _, _ = strings.Cut(secret, "&")
	d := started(t, place+"?"+query, "--log-level", "debug")
	d.store = place // as documents in the mount have it
	sameTree(t, d.tree(t), want)
	said := shown(t, d)
	if err := d.stop(); err != nil {
		t.Error(err)
	}
	said["log"] = d.logged()
	hides(t, said, secret)
	out, err := command(zarrfs(t), "info", place+"?"+s.AzureSignature(time.Now().Add(-time.Hour)))
	if err == nil || !strings.Contains(string(out), "it may have expired") ||
		strings.Contains(string(out), "sig=") {
		t.Errorf("an expired signature: %v, %s", err, out)
	}
}
