package cloud

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
)

// FakeGCS starts a fake-gcs-server, which keeps objects in memory.
func FakeGCS(t testing.TB) *Server {
	t.Helper()
	program, port := find(t, "fake-gcs-server"), freePort(t)
	host := fmt.Sprintf("127.0.0.1:%d", port)
	s := &Server{URL: "http://" + host, Bucket: "test-bucket"}
	s.Env = []string{"STORAGE_EMULATOR_HOST=" + host}
	s.put = s.putGCS
	s.run(t, nil, program, "-scheme", "http", "-host", "127.0.0.1", "-port", strconv.Itoa(port),
		"-public-host", host, "-backend", "memory", "-log-level", "warn")
	body := strings.NewReader(`{"name": "` + s.Bucket + `"}`)
	r, err := http.NewRequest(http.MethodPost, s.URL+"/storage/v1/b?project=test", body)
	if err == nil {
		r.Header.Set("Content-Type", "application/json")
		err = send(r)
	}
	if err != nil {
		s.fatal(t, err)
	}
	return s
}

// putGCS builds the request that stores an object.
func (s *Server) putGCS(key string, _ []byte) (*http.Request, error) {
	q := url.Values{"uploadType": {"media"}, "name": {key}}
	where := s.URL + "/upload/storage/v1/b/" + s.Bucket + "/o?" + q.Encode()
	r, err := http.NewRequest(http.MethodPost, where, nil)
	if err == nil {
		r.Header.Set("Content-Type", "application/octet-stream")
	}
	return r, err
}
