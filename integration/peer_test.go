package integration

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"testing"
)

// peer is a Python with the libraries that people use. It answers one request at a time; see
// interop/serve.py.
type peer struct {
	mu  sync.Mutex
	in  io.WriteCloser
	out *bufio.Reader
}

// request is a request to a peer, by the names of serve.py's arguments.
type request map[string]any

// startPeer starts a peer with that interpreter; see python.
func startPeer(t *testing.T, python string) *peer {
	t.Helper()
	cmd := exec.Command(python, "interop/serve.py")
	in, err := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	cmd.Stderr = os.Stderr
	if err := errors.Join(err, err2, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		cmd.Wait()
	})
	return &peer{in: in, out: bufio.NewReader(out)}
}

// ask sends a request and decodes what the answer holds into result.
func (p *peer) ask(r request, result any) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := json.NewEncoder(p.in).Encode(r); err != nil {
		return err
	}
	line, err := p.out.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("%v: no answer: %w", r, err)
	}
	var answer struct {
		OK    json.RawMessage
		Error string
	}
	if err := json.Unmarshal(line, &answer); err != nil {
		return err
	}
	if answer.Error != "" {
		return fmt.Errorf("%v: %s", r, answer.Error)
	}
	return json.Unmarshal(answer.OK, result)
}

// check compares a stored array, as the libraries read it that know it, with expected bytes.
func (p *peer) check(path string, s arraySpec, expected []byte, scratch string) error {
	if err := os.WriteFile(scratch, expected, 0o666); err != nil {
		return err
	}
	var wrong string
	err := p.ask(request{"do": "check", "path": path, "dtype": s.Type.V2, "expected": scratch,
		"libraries": s.readers()}, &wrong)
	if err != nil {
		return err
	}
	if wrong != "" {
		return errors.New(wrong)
	}
	return nil
}
