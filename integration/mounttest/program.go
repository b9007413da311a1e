package mounttest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// Patience bounds every program that a test runs. A mount that hangs makes the test fail, and does
// not hang it.
const Patience = 5 * time.Minute

// A Program is zarrfs, as the tests of a package run it.
type Program struct {
	path        func() (string, error)
	environment []string // beside that of the tests
}

// Built returns the program that $ZARRFS_BINARY names. Without that variable it is built when the
// first test asks for it, with the race detector if the tests have it.
func Built() *Program { return &Program{path: sync.OnceValues(build)} }

// Itself returns the test binary as the program. Its TestMain has to run the program's main
// function if the environment has that variable.
func Itself(variable string) *Program {
	return &Program{path: os.Executable, environment: []string{variable + "=1"}}
}

func build() (string, error) {
	if path := os.Getenv("ZARRFS_BINARY"); path != "" {
		return filepath.Abs(path)
	}
	path := filepath.Join(work, "zarrfs")
	args, cgo := []string{"build", "-o", path}, "CGO_ENABLED=0" // as make build has it
	if Race {
		args, cgo = append(args, "-race"), "CGO_ENABLED=1"
	}
	cmd := exec.Command("go", append(args, "github.com/zarrfs/zarrfs/cmd/zarrfs")...)
	cmd.Env = append(os.Environ(), cgo)
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return path, nil
}

// Path returns the path of the program, an absolute one.
func (p *Program) Path(t *testing.T) string {
	t.Helper()
	path, err := p.path()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// Command prepares a run of the program. It is killed at the end of [Patience], or of the test.
func (p *Program) Command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	cmd := Command(t, p.Path(t), args...)
	cmd.Env = append(os.Environ(), p.environment...)
	return cmd
}

// Run runs the program to its end, and returns its exit code and all that it printed.
func (p *Program) Run(t *testing.T, args ...string) (code int, out string) {
	t.Helper()
	cmd := p.Command(t, args...)
	b, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(b)
}

// Command prepares a run of any program. It is killed at the end of [Patience], or of the test.
func Command(t *testing.T, name string, args ...string) *exec.Cmd {
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	t.Cleanup(cancel)
	return command(ctx, name, args...)
}

// Output runs any program to its end, but not longer than [Patience]. It returns all that the
// program printed.
func Output(name string, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	return command(ctx, name, args...).CombinedOutput()
}

func command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.WaitDelay = time.Minute // for programs that it has started, and that have its output
	return cmd
}
