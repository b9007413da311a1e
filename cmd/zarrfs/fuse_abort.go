package main

import "os"

// connection is the kernel's end of a mount.
type connection struct{ abort *os.File }

// connectionOf returns the connection of a mount. The user that mounted may end it where the file
// system fusectl is mounted and can be written to; otherwise it is not known. It stays that of this
// mount when another one gets the number of its device.
func connectionOf(m mountEntry) connection {
	f, err := os.OpenFile("/sys/fs/fuse/connections/"+m.minor()+"/abort", os.O_WRONLY, 0)
	if err != nil {
		return connection{}
	}
	return connection{f}
}

// end makes the kernel end all requests that wait for the mount's program, in all namespaces. The
// kernel then also ends all later requests.
func (c connection) end() error {
	if c.abort == nil {
		return os.ErrNotExist
	}
	_, err := c.abort.WriteString("1")
	return err
}

// close ends the use of c, not the connection.
func (c connection) close() {
	if c.abort != nil {
		c.abort.Close()
	}
}
