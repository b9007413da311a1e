package main

import (
	"errors"
	"fmt"
	iofs "io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/zarrfs/zarrfs/fs/attach"
	"github.com/zarrfs/zarrfs/fs/terminal"
)

// checkMountpoint returns what is wrong with the folder to mount at, or with FUSE. The kernel would
// say so in fewer words.
func checkMountpoint(c *mountConfig, storeFolder string) error {
	if m, ok := mountAt(c.dir); ok && strings.HasPrefix(m.kind, "fuse") {
		if _, health := stateOf(c.dir); health == gone {
			return fmt.Errorf("%s is a stale mount: the program that served it is gone; remove "+
				"it with `zarrfs umount %[1]s` or `fusermount3 -u %[1]s`", c.dir)
		}
		return fmt.Errorf("%s is already mounted (%s, %s); unmount it first with `zarrfs "+
			"umount %[1]s`",
			c.dir, terminal.Line(m.source), m.kind)
	}
	info, err := os.Stat(c.dir)
	switch {
	case errors.Is(err, syscall.ENOTCONN):
		return fmt.Errorf("%s is in a stale mount: the program that served it is gone; `zarrfs "+
			"status` lists it, and `zarrfs umount` removes it", c.dir)
	case errors.Is(err, iofs.ErrNotExist):
		return fmt.Errorf("the mountpoint %s does not exist; create it with `mkdir -p %[1]s`",
			c.dir)
	case err != nil:
		return fmt.Errorf("the mountpoint %s: %w", c.dir, bare(err))
	case !info.IsDir():
		return fmt.Errorf("the mountpoint %s is a file; it must be an empty folder", c.dir)
	}
	if storeFolder != "" && isWithin(c.dir, storeFolder) {
		return fmt.Errorf("the mountpoint %s lies inside the store %s, so the mount would "+
			"contain itself; choose a folder outside of it", c.dir, storeFolder)
	}
	if err := checkEmpty(c); err != nil {
		return err
	}
	return checkFuse(c)
}

func checkEmpty(c *mountConfig) error {
	if c.nonEmpty {
		return nil
	}
	f, err := os.Open(c.dir)
	if err != nil {
		return fmt.Errorf("the mountpoint %s: %w", c.dir, bare(err))
	}
	defer f.Close()
	if names, _ := f.Readdirnames(1); len(names) > 0 {
		return fmt.Errorf("the mountpoint %s is not empty (it holds %q); choose another, or hide "+
			"what is in it with --nonempty", c.dir, names[0])
	}
	return nil
}

// checkFuse reports what this user needs to mount and does not have.
func checkFuse(c *mountConfig) error {
	f, err := os.OpenFile("/dev/fuse", os.O_RDWR, 0)
	switch {
	case errors.Is(err, iofs.ErrNotExist), errors.Is(err, syscall.ENODEV),
		errors.Is(err, syscall.ENXIO):
		return errors.New("there is no /dev/fuse: load the kernel module with `modprobe fuse`, " +
			"or start the container with `--device /dev/fuse --cap-add SYS_ADMIN`")
	case err != nil && os.Getuid() == 0:
		return fmt.Errorf("cannot open /dev/fuse: %w; in a container, start it with `--device "+
			"/dev/fuse --cap-add SYS_ADMIN`", bare(err))
	case err != nil:
		return fmt.Errorf("you may not open /dev/fuse (%w); an administrator allows it with "+
			"`chmod 666 /dev/fuse`, and for good with a udev rule: KERNEL==\"fuse\", MODE=\"0666\"",
			bare(err))
	}
	f.Close()
	if os.Getuid() == 0 {
		return nil
	}
	if _, err := attach.FusermountPath(); err != nil {
		return fmt.Errorf("%w; without it only root can mount", err)
	}
	if unix.Access(c.dir, unix.W_OK) != nil {
		return fmt.Errorf("you may not mount at %s: you have no write permission there; choose a "+
			"folder of your own, or have it made yours: chown %d %[1]s", c.dir, os.Getuid())
	}
	if c.allowOther && !hasUserAllowOther() {
		return errors.New("--allow-other needs the line `user_allow_other` in /etc/fuse.conf; " +
			"let an administrator add it, or mount without --allow-other")
	}
	return nil
}

func hasUserAllowOther() bool {
	b, err := os.ReadFile("/etc/fuse.conf")
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(b)) {
		if strings.TrimSpace(line) == "user_allow_other" {
			return true
		}
	}
	return false
}

// explainMount adds advice to an error of mounting itself.
func explainMount(c *mountConfig, err error) error {
	switch {
	case errors.Is(err, syscall.EBUSY):
		return fmt.Errorf("%s is in use (%w); choose another folder, or end what uses it", c.dir,
			syscall.EBUSY)
	case errors.Is(err, syscall.EPERM) && os.Getuid() == 0:
		return fmt.Errorf("root may not mount here (%w): the capability SYS_ADMIN is missing; "+
			"start the container with `--device /dev/fuse --cap-add SYS_ADMIN`", syscall.EPERM)
	}
	return err
}

// isWithin reports whether path is folder or lies in it, after all links are followed.
func isWithin(path, folder string) bool {
	p, err1 := filepath.EvalSymlinks(path)
	f, err2 := filepath.EvalSymlinks(folder)
	if err1 != nil || err2 != nil {
		return false
	}
	return p == f || strings.HasPrefix(p, strings.TrimSuffix(f, "/")+"/")
}
