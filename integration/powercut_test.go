package integration

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestPowerCut cuts the power of the disk that holds the store: what fsync acknowledged is there,
// and every object is whole.
func TestPowerCut(t *testing.T) {
	cuts := count("ZARRFS_POWER_CUTS", 5)
	p := newPowerCut(t)
	for i := range cuts {
		if err := p.cut(); err != nil {
			t.Fatalf("cut %d: %v", i, err)
		}
	}
	fmt.Printf("%s: %d cuts, lost: 0, empty objects: 0\n", t.Name(), cuts)
}

// TestPowerCutLoses: without syncing (--no-sync) something is lost, so the test above would see it.
func TestPowerCutLoses(t *testing.T) {
	p := newPowerCut(t, "--no-sync")
	for range 5 {
		if err := p.cut(); err != nil {
			t.Log("as it should be: ", err)
			return
		}
	}
	t.Error("nothing is lost without syncing: the test of power cuts shows nothing")
}

// TestPowerCutOfFiles: the way in which the power is cut here keeps what was synced, and nothing
// else. So it does while a program with mounts of its own has a copy of the disk's.
func TestPowerCutOfFiles(t *testing.T) {
	needRoot(t, "mkfs.ext4", "unshare")
	disk := newLoopDisk(t, 16<<20)
	holder := exec.Command("unshare", "-m", "sleep", "1")
	if err := holder.Start(); err != nil {
		t.Fatal(err)
	}
	defer holder.Wait()
	time.Sleep(200 * time.Millisecond)
	put(t, disk.dir, "synced", "text")
	run(t, "sync", "-f", disk.dir)
	put(t, disk.dir, "stored", "text")
	err := disk.cutPower()
	_, err2 := disk.unmount()
	_, err3 := disk.mount()
	if err := errors.Join(err, err2, err3); err != nil {
		t.Fatal(err)
	}
	synced, err := os.ReadFile(filepath.Join(disk.dir, "synced"))
	if string(synced) != "text" {
		t.Errorf("what was synced is %q, %v", synced, err)
	}
	if stored, _ := os.ReadFile(filepath.Join(disk.dir, "stored")); len(stored) > 0 {
		t.Errorf("what was not synced is %q", stored)
	}
}

// powerCut is an array on a disk of which the power is cut.
type powerCut struct {
	*daemon
	disk *loopDisk
	spec arraySpec
	want expected
	rng  *rand.Rand
}

func newPowerCut(t *testing.T, flags ...string) *powerCut {
	needRoot(t, "mkfs.ext4")
	disk := newLoopDisk(t, 64<<20)
	spec := killed[0]
	store := filepath.Join(disk.dir, "s.zarr")
	spec.write(t, store)
	run(t, "sync", "-f", disk.dir)
	p := &powerCut{newDaemon(t, store, flags...), disk, spec,
		expected{fill: spec.fill, now: spec.fill(spec.Shape[0] * spec.rowBytes())},
		rand.New(rand.NewPCG(1, 4))}
	p.want.ack()
	return p
}

// cut writes and syncs, goes on writing, cuts the power, and compares.
func (p *powerCut) cut() error {
	if err := p.start(); err != nil {
		return err
	}
	f, err := os.OpenFile(p.path("a.raw"), os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer func() { f.Close() }()
	for i := range 30 {
		if err := p.write(f); err != nil {
			return err
		}
		switch {
		case i%10 == 9 && i < 29:
			if err := f.Sync(); err != nil {
				return err
			}
			p.want.ack()
		case i%7 == 6: // stored without a sync: it need not survive, but must be whole
			if err := f.Close(); err != nil {
				return err
			}
			if f, err = os.OpenFile(p.path("a.raw"), os.O_RDWR, 0); err != nil {
				return err
			}
		}
	}
	if err := p.disk.cutPower(); err != nil {
		return err
	}
	p.kill()
	if out, err := p.disk.unmount(); err != nil {
		return fmt.Errorf("umount: %w\n%s", err, out)
	}
	if out, err := p.disk.mount(); err != nil {
		return fmt.Errorf("mount: %w\n%s", err, out)
	}
	return p.compare()
}

func (p *powerCut) write(f *os.File) error {
	at, data := p.rng.Int64N(int64(len(p.want.now))), make([]byte, 1+p.rng.IntN(5000))
	if data = data[:min(len(data), len(p.want.now)-int(at))]; p.rng.IntN(8) == 0 {
		at, data = int64(len(p.want.now)), make([]byte, p.spec.rowBytes())
	}
	for i := range data {
		data[i] = byte(1 + p.rng.IntN(200))
	}
	p.want.write(at, data)
	_, err := f.WriteAt(data, at)
	return err
}

// compare looks at the store, and mounts it again.
func (p *powerCut) compare() error {
	empty := ""
	array := filepath.Join(p.store, "a")
	filepath.WalkDir(array, func(path string, d os.DirEntry, err error) error {
		if info, err := d.Info(); err == nil && !d.IsDir() && info.Size() == 0 &&
			!strings.HasSuffix(path, ".__lock") {
			empty += " " + path
		}
		return nil
	})
	if empty != "" {
		return fmt.Errorf("empty objects:%s", empty)
	}
	if err := p.start(); err != nil {
		return err
	}
	found, err := os.ReadFile(p.path("a.raw"))
	if err != nil {
		return err
	}
	if err := p.want.survive(found); err != nil {
		return err
	}
	if err := p.stop(); err != nil {
		return err
	}
	if names := p.spec.leftovers(p.store); names != nil {
		return fmt.Errorf("left over: %v", names)
	}
	return nil
}
