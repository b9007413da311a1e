package cloud

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"github.com/zarrfs/zarrfs/zarrcore/store/remote"
)

// The credentials of the servers that speak S3.
const (
	S3Key    = "zarrfstestkey"
	S3Secret = "zarrfs-test-secret-that-must-not-be-seen"
)

// VersityGW starts a versitygw over a new folder.
func VersityGW(t testing.TB) *Server {
	t.Helper()
	program, s := find(t, "versitygw"), newS3(t)
	s.run(t, []string{"ROOT_ACCESS_KEY=" + S3Key, "ROOT_SECRET_KEY=" + S3Secret},
		program, "--port", s.URL[len("http://"):], "--keep-alive", "posix", t.TempDir())
	s.makeBucket(t)
	return s
}

// MinIO starts a MinIO over a new folder.
func MinIO(t testing.TB) *Server {
	t.Helper()
	program, s := find(t, "minio"), newS3(t)
	s.run(t, []string{"MINIO_ROOT_USER=" + S3Key, "MINIO_ROOT_PASSWORD=" + S3Secret,
		"MINIO_BROWSER=off", "MINIO_UPDATE=off"},
		program, "server", "--address", s.URL[len("http://"):],
		"--certs-dir", filepath.Join(t.TempDir(), "certs"), t.TempDir())
	s.makeBucket(t)
	return s
}

// newS3 returns a server of S3 that is to be started.
func newS3(t testing.TB) *Server {
	s := &Server{URL: fmt.Sprintf("http://127.0.0.1:%d", freePort(t)), Bucket: "test-bucket"}
	s.Env = []string{
		"AWS_ENDPOINT_URL_S3=" + s.URL, "AWS_ACCESS_KEY_ID=" + S3Key,
		"AWS_SECRET_ACCESS_KEY=" + S3Secret, "AWS_REGION=us-east-1",
		"AWS_CONFIG_FILE=/dev/null", "AWS_SHARED_CREDENTIALS_FILE=/dev/null",
	}
	s.put = s.putS3
	return s
}

// makeBucket makes the bucket. A server that has just begun to listen may say that it is not ready.
func (s *Server) makeBucket(t testing.TB) {
	t.Helper()
	var err error
	for range 100 {
		var r *http.Request
		if r, err = s.putS3("", nil); err == nil {
			err = send(r)
		}
		if err == nil {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	s.fatal(t, err)
}

// putS3 builds the request that stores an object, or with key "" makes the bucket.
func (s *Server) putS3(key string, data []byte) (*http.Request, error) {
	u, err := url.Parse(s.URL)
	if err != nil {
		return nil, err
	}
	u.Path = "/" + s.Bucket
	if key != "" {
		u.Path += "/" + key
	}
	u.RawPath = remote.Escape(u.Path)
	sum := sha256.Sum256(data)
	hash := hex.EncodeToString(sum[:])
	r := &http.Request{Method: http.MethodPut, URL: u, Host: u.Host, Header: http.Header{}}
	r.Header.Set("X-Amz-Content-Sha256", hash)
	r.ContentLength = int64(len(data))
	signer := v4.NewSigner(func(o *v4.SignerOptions) { o.DisableURIPathEscaping = true })
	keys := aws.Credentials{AccessKeyID: S3Key, SecretAccessKey: S3Secret}
	return r, signer.SignHTTP(context.Background(), keys, r, hash, "s3", "us-east-1", time.Now())
}
