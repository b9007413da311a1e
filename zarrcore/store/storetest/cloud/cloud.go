// Package cloud runs the servers of object stores that tests read: versitygw and MinIO, which speak
// S3, fake-gcs-server and Azurite. `make servers` installs them into .servers, or into the folder
// that ZARRFS_SERVERS names. Each test has a server of its own, which begins empty.
package cloud

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// A Server is one that runs, with one bucket.
type Server struct {
	URL    string // scheme, host and port
	Bucket string
	Env    []string // what programs that use it need in their environment
	Log    string   // the file with what it prints

	put func(key string, data []byte) (*http.Request, error)
}

// find returns the path of a server's program. Without it the test is skipped, or fails if
// ZARRFS_REQUIRE_PEERS says that it may not be skipped.
func find(t testing.TB, name string) string {
	t.Helper()
	folder := os.Getenv("ZARRFS_SERVERS")
	if folder == "" {
		folder = filepath.Join(top(), ".servers")
	}
	for _, path := range []string{"bin/" + name, "node_modules/.bin/" + name} {
		if _, err := os.Stat(filepath.Join(folder, path)); err == nil {
			return filepath.Join(folder, path)
		}
	}
	text := fmt.Sprintf("there is no %s in %s; `make servers` installs it", name, folder)
	if os.Getenv("ZARRFS_REQUIRE_PEERS") != "" {
		t.Fatal(text)
	}
	t.Skip(text)
	return ""
}

// top returns the folder of the repository.
func top() string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Join(filepath.Dir(file), "../../../..")
}

// freePort returns a port that nobody uses, most likely.
func freePort(t testing.TB) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// run starts a server's program, and waits until it listens.
func (s *Server) run(t testing.TB, env []string, program string, args ...string) {
	t.Helper()
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	s.Log = log.Name()
	cmd := exec.Command(program, args...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdout, cmd.Stderr, cmd.Dir = log, log, t.TempDir()
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	ended, err := startHere(cmd)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		<-ended
	})
	s.await(t, ended)
}

// startHere starts a program on a thread that lives as long as the program does: the program ends
// with this thread, and so also with a test that is killed.
func startHere(cmd *exec.Cmd) (ended <-chan struct{}, err error) {
	started, end := make(chan error), make(chan struct{})
	go func() {
		runtime.LockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			cmd.Wait()
		}
		close(end)
	}()
	return end, <-started
}

// await waits until the server listens.
func (s *Server) await(t testing.TB, ended <-chan struct{}) {
	t.Helper()
	for range 600 {
		c, err := net.Dial("tcp", s.URL[len("http://"):])
		if err == nil {
			c.Close()
			return
		}
		select {
		case <-ended:
			s.fatal(t, errors.New("the server has ended"))
		case <-time.After(50 * time.Millisecond):
		}
	}
	s.fatal(t, errors.New("the server does not listen"))
}

// fatal ends the test with what the server has printed.
func (s *Server) fatal(t testing.TB, err error) {
	t.Helper()
	log, _ := os.ReadFile(s.Log)
	t.Fatalf("%v\n%s", err, log[max(0, len(log)-2000):])
}

// Put stores an object in the bucket.
func (s *Server) Put(t testing.TB, key string, data []byte) {
	t.Helper()
	r, err := s.put(key, data)
	if err == nil {
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(data)), int64(len(data))
		if len(data) == 0 {
			r.Body = http.NoBody
		}
		err = send(r)
	}
	if err != nil {
		s.fatal(t, fmt.Errorf("store %q: %w", key, err))
	}
}

// send sends a request that must succeed.
func send(r *http.Request) error {
	resp, err := client.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode >= 300 {
		err = fmt.Errorf("%s %s: %s: %s", r.Method, r.URL, resp.Status, text)
	}
	return err
}

// client keeps as many connections as Fill uses.
var client = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: fillers}}

// fillers is how many objects Fill stores at once.
const fillers = 16

// SetEnv sets the environment of programs that use the server, until the test ends.
func (s *Server) SetEnv(t *testing.T) {
	t.Helper()
	for _, e := range s.Env {
		name, value, _ := strings.Cut(e, "=")
		t.Setenv(name, value)
	}
}

// Fill stores objects below a prefix, which is "" or ends in a slash.
func (s *Server) Fill(t testing.TB, prefix string, objects map[string][]byte) {
	t.Helper()
	keys := make(chan string)
	var wg sync.WaitGroup
	for range fillers {
		wg.Go(func() {
			for key := range keys {
				s.Put(t, prefix+key, objects[key])
			}
		})
	}
	for key := range objects {
		keys <- key
	}
	close(keys)
	wg.Wait()
	if t.Failed() {
		t.FailNow()
	}
}

// FillFolder stores the files of a folder below a prefix.
func (s *Server) FillFolder(t testing.TB, prefix, folder string) {
	t.Helper()
	objects := map[string][]byte{}
	err := filepath.WalkDir(folder, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		name, err := filepath.Rel(folder, path)
		if err != nil {
			return err
		}
		objects[filepath.ToSlash(name)], err = os.ReadFile(path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	s.Fill(t, prefix, objects)
}
