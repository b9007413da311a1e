package integration

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/zarrfs/zarrfs/integration/mounttest"
)

// TestMemoryGroupShared: another process has 150 MiB of a control group of 256 MiB, as in a job of
// SLURM. A mount with all defaults gets on with the rest, and the kernel ends neither of the two.
func TestMemoryGroupShared(t *testing.T) {
	needRoot(t)
	if mounttest.Race {
		t.Skip("SKIPPED: the race detector takes memory of its own")
	}
	const rows, columns, users = 256, 1 << 20, 68
	group := memoryGroup(t, 256<<20)
	hold := exec.Command("sh", "-c", fmt.Sprintf(
		"echo $$ > %s/cgroup.procs; (head -c 150M /dev/zero; sleep 600) | tail", group))
	hold.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := hold.Start(); err != nil {
		t.Fatal(err)
	}
	defer hold.Wait()
	defer syscall.Kill(-hold.Process.Pid, syscall.SIGKILL)
	time.Sleep(time.Second) // until it has them
	store, mnt := filepath.Join(t.TempDir(), "s.zarr"), t.TempDir()
	run(t, zarrfs(t), "create", store, "a", "--shape", fmt.Sprintf("%d,%d", rows, columns),
		"--chunks", "16,131072", "--dtype", "uint8")
	mountInGroup(t, group, store, mnt)
	defer unmount(t, mnt)
	f, err := os.OpenFile(filepath.Join(mnt, "a.raw"), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	bytes := rand.NewChaCha8([32]byte{})
	for r := range int64(rows) {
		row := make([]byte, columns)
		bytes.Read(row)
		if _, err := f.WriteAt(row, r*columns); err != nil {
			t.Fatalf("row %d: %v", r, err)
		}
	}
	var done sync.WaitGroup
	for i := range users {
		done.Go(func() {
			random, buf := rand.New(rand.NewPCG(3, uint64(i))), make([]byte, 64<<10)
			for range 100 {
				at, err := random.Int64N(rows*columns-int64(len(buf))), error(nil)
				if i%16 == 0 {
					_, err = f.WriteAt(buf, at)
				} else {
					_, err = f.ReadAt(buf, at)
				}
				if err != nil {
					t.Errorf("at byte %d: %v", at, err)
					return
				}
			}
		})
	}
	done.Wait()
	if kills := killsIn(group); kills != "0" {
		t.Errorf("the kernel has ended %s processes of the group", kills)
	}
}

// killsIn returns how many processes of a control group the kernel has ended for want of memory.
func killsIn(group string) string {
	for _, name := range []string{"memory.events", "memory.oom_control"} {
		text, _ := os.ReadFile(filepath.Join(group, name))
		if found := regexp.MustCompile(`oom_kill (\d+)`).FindSubmatch(text); found != nil {
			return string(found[1])
		}
	}
	return "unknown"
}
