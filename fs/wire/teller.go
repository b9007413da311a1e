package wire

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// Once a mount has begun a request, the process that waits for it cannot end, even by SIGKILL. A
// daemon that asked its own mount would then wait for itself, for ever. So another process asks,
// and ends with the daemon.

// Teller makes the kernel ask a daemon for the sizes of files, by a process of its own.
type Teller struct {
	command func() *exec.Cmd
	pid     atomic.Int64 // of the process; 0: none was started

	mu      sync.Mutex // held while the process is asked
	closed  bool
	process *asker // nil: none is running
}

// asker is a running process: questions go into it, and an answer to each comes out.
type asker struct{ questions, answers *os.File }

// NewTeller returns a Teller whose process is started when it is first needed. command returns a
// process that calls ServeTeller on its standard input and output.
func NewTeller(command func() *exec.Cmd) *Teller { return &Teller{command: command} }

// tellMost is for how long the process may work on one question.
const tellMost = 2 * time.Second

// Tell makes the kernel ask for the size of the file at path, which has that inode number. It goes
// on until the kernel believes that the file reaches to end, or cannot be asked.
func (t *Teller) Tell(path string, number uint64, end int64) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return os.ErrClosed
	}
	if t.process == nil {
		cmd := t.command()
		process, err := startAsker(cmd)
		if err != nil {
			return fmt.Errorf("the process that asks for sizes cannot be started: %w", err)
		}
		t.process = process
		t.pid.Store(int64(cmd.Process.Pid))
	}
	err := t.process.ask(path, number, end)
	if err != nil {
		t.process.end()
		t.process = nil
	}
	return err
}

// PID returns the number of the process; 0 if none was started.
func (t *Teller) PID() int { return int(t.pid.Load()) }

// Close ends the process, and no other one is started.
func (t *Teller) Close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.process != nil {
		t.process.end()
	}
	t.process, t.closed = nil, true
}

func startAsker(cmd *exec.Cmd) (*asker, error) {
	theirIn, questions, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer theirIn.Close()
	answers, theirOut, err := os.Pipe()
	if err != nil {
		questions.Close()
		return nil, err
	}
	defer theirOut.Close()
	a := &asker{questions, answers}
	cmd.Stdin, cmd.Stdout = theirIn, theirOut
	cmd.SysProcAttr = &unix.SysProcAttr{Setsid: true} // Ctrl-C is for the daemon
	if err := cmd.Start(); err != nil {
		a.end()
		return nil, err
	}
	go cmd.Wait()
	return a, nil
}

// ask asks one question and waits for its answer.
func (a *asker) ask(path string, number uint64, end int64) error {
	if err := a.answers.SetReadDeadline(time.Now().Add(tellMost)); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(a.questions, questionForm, number, end, path); err != nil {
		return err
	}
	_, err := a.answers.Read(make([]byte, 1))
	return err
}

// questionForm is a line that asks: the inode number of a file, its end in bytes, and its path.
const questionForm = "%d %d %q\n"

// end lets the process end as soon as it does not wait for the kernel.
func (a *asker) end() {
	a.questions.Close()
	a.answers.Close()
}

// ServeTeller is what the process of a Teller does, until its input ends.
func ServeTeller(in io.Reader, out io.Writer) error {
	for lines := bufio.NewReader(in); ; {
		line, err := lines.ReadString('\n')
		if errors.Is(err, io.EOF) {
			return nil
		}
		var path string
		var number uint64
		var end int64
		if err == nil {
			_, err = fmt.Sscanf(line, questionForm, &number, &end, &path)
		}
		if err != nil {
			return err
		}
		tellSize(path, number, end)
		if _, err := out.Write([]byte{'\n'}); err != nil {
			return err
		}
	}
}
