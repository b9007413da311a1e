package dirstore

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// children are what the test binary does when it is started again as another process:
// ZARRFS_TEST_CHILD names it, and the arguments are its own.
var children = map[string]func(args []string) error{}

func TestMain(m *testing.M) {
	name := os.Getenv("ZARRFS_TEST_CHILD")
	if name == "" {
		os.Exit(m.Run())
	}
	if err := children[name](os.Args[1:]); err != nil {
		os.Stderr.WriteString(err.Error() + "\n")
		os.Exit(1)
	}
	os.Exit(0)
}

// child returns the command that runs a child, by way of wrapper if there is one.
func child(t *testing.T, wrapper []string, name string, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	line := append(append(wrapper[:len(wrapper):len(wrapper)], self), args...)
	cmd := exec.CommandContext(t.Context(), line[0], line[1:]...)
	cmd.Env = append(os.Environ(), "ZARRFS_TEST_CHILD="+name)
	return cmd
}

// A peer is a process that says "ready" and begins when it is told to.
type peer struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stderr strings.Builder
}

// startPeer starts cmd and returns when it is ready.
func startPeer(t *testing.T, cmd *exec.Cmd) *peer {
	t.Helper()
	p := &peer{cmd: cmd}
	cmd.Stderr = &p.stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if p.stdin, err = cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
		cmd.Wait()
		t.Fatalf("%s: %q, %v\n%s", cmd, line, err, p.stderr.String())
	}
	return p
}

// begin lets the peer begin; the channel is closed when it has ended, well or not.
func (p *peer) begin(t *testing.T) <-chan struct{} {
	io.WriteString(p.stdin, "\n")
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := p.cmd.Wait(); err != nil {
			t.Errorf("%s: %v\n%s", p.cmd, err, p.stderr.String())
		}
	}()
	return done
}
