package integration

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zarrfs/zarrfs/integration/mounttest"
)

// daemon is a mount whose process belongs to the test, so that it can be killed and has an exit
// status.
type daemon struct {
	store, dir string
	flags      []string
	// starts the process; nil: as any other
	launch func(*exec.Cmd) (ended <-chan error, err error)

	bin     string
	log     string // the file that it logs to
	process *exec.Cmd
	ended   <-chan error // gets its exit status
}

// newDaemon prepares a mount of the store on a fresh folder. Whatever is left of it goes when the
// test ends.
func newDaemon(t *testing.T, store string, flags ...string) *daemon {
	t.Helper()
	base := t.TempDir()
	d := &daemon{store: store, dir: filepath.Join(base, "m"), flags: flags, bin: zarrfs(t),
		log: filepath.Join(base, "log")}
	if err := os.Mkdir(d.dir, 0o777); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		d.end()
		if t.Failed() {
			t.Logf("the daemon's log:\n%s", d.logged())
		}
	})
	return d
}

// end kills the daemon if it still runs.
func (d *daemon) end() {
	if d.process != nil {
		d.kill()
	}
}

// started is newDaemon and start.
func started(t *testing.T, store string, flags ...string) *daemon {
	t.Helper()
	d := newDaemon(t, store, flags...)
	if err := d.start(); err != nil {
		t.Fatal(err)
	}
	return d
}

// start mounts, and returns when the mount can be used.
func (d *daemon) start() error {
	log, err := os.OpenFile(d.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o666)
	if err != nil {
		return err
	}
	defer log.Close()
	before := len(d.logged())
	args := append(append([]string{"mount", "--foreground", "--log", "stderr"}, d.flags...),
		d.store, d.dir)
	cmd := exec.Command(d.bin, args...)
	cmd.Stdout, cmd.Stderr = log, log
	launch := d.launch
	if launch == nil {
		launch = startAndWait
	}
	if d.ended, err = launch(cmd); err != nil {
		return err
	}
	d.process = cmd
	return d.awaitMount(before)
}

func startAndWait(cmd *exec.Cmd) (<-chan error, error) {
	ended := make(chan error, 1)
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	go func() { ended <- cmd.Wait() }()
	return ended, nil
}

// awaitMount waits for the daemon to say that it is mounted. (To see the mount is not enough: a
// daemon that is killed while it still starts may hang, because it then has a file of its own mount
// open.)
func (d *daemon) awaitMount(before int) error {
	deadline := time.Now().Add(patience)
	for ; time.Now().Before(deadline); time.Sleep(2 * time.Millisecond) {
		if strings.Contains(d.logged()[before:], "msg=mounted") {
			return nil
		}
		select {
		case err := <-d.ended:
			d.process = nil
			return fmt.Errorf("zarrfs mount ended: %v\n%s", err, d.logged())
		default:
		}
	}
	return errors.New("zarrfs mount did not mount")
}

func (d *daemon) mounted() bool { return mounttest.IsMounted(d.dir) }

// stop unmounts in order. It is an error if `zarrfs umount` or the daemon reports one.
func (d *daemon) stop() error {
	if out, err := command(d.bin, "umount", d.dir); err != nil {
		return fmt.Errorf("zarrfs umount: %w\n%s", err, out)
	}
	err := d.wait()
	d.process = nil
	if err != nil {
		return fmt.Errorf("the daemon ended: %w\n%s", err, d.logged())
	}
	return nil
}

// unmountKilled unmounts after the process was killed, and returns what umount says. umount fails,
// because something may be lost.
func (d *daemon) unmountKilled(t *testing.T) string {
	t.Helper()
	out, err := command(d.bin, "umount", d.dir)
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 4 {
		t.Errorf("umount after a kill: %v\n%s", err, out)
	}
	return string(out)
}

// wait waits for the process to end and returns its exit status.
func (d *daemon) wait() error {
	select {
	case err := <-d.ended:
		return err
	case <-time.After(patience):
		return errors.New("it has not ended")
	}
}

// kill ends the daemon at once, and removes what is left of the mount. It reports whether the
// daemon ended without help.
func (d *daemon) kill() (alone bool) {
	syscall.Kill(d.process.Process.Pid, syscall.SIGKILL)
	select {
	case <-d.ended:
		alone = true
	case <-time.After(killPatience):
		// No other program can be started if this one has files of the mount open.
		unix.Unmount(d.dir, unix.MNT_FORCE)
		command(d.bin, "umount", "--force", d.dir)
		d.wait()
	}
	d.process = nil
	d.clear()
	return alone
}

// killPatience is how long a killed daemon may take to end. One of its threads may wait for an
// answer of the daemon itself, as in TestKilledWhileItDropsPages. It then waits for ever.
const killPatience = 10 * time.Second

// clear removes the mount of a process that has ended.
func (d *daemon) clear() {
	for unix.Unmount(d.dir, unix.MNT_DETACH) == nil {
	}
	if d.mounted() {
		command("fusermount3", "-u", "-z", d.dir)
	}
}

func (d *daemon) logged() string {
	text, _ := os.ReadFile(d.log)
	return string(text)
}

// path returns the path of a name in the mount.
func (d *daemon) path(name string) string { return filepath.Join(d.dir, name) }
