package main

import (
	"fmt"
	"os/user"
	"strconv"
)

// idFlag is a user or group on the command line: a number or a name. It is not set as long as it is
// nil.
type idFlag struct {
	id   *uint32
	find func(name string) (id string, err error)
	kind string
}

func findUser(name string) (string, error) {
	u, err := user.Lookup(name)
	if err != nil {
		return "", err
	}
	return u.Uid, nil
}

func findGroup(name string) (string, error) {
	g, err := user.LookupGroup(name)
	if err != nil {
		return "", err
	}
	return g.Gid, nil
}

// String writes the number.
func (f *idFlag) String() string {
	if f.id == nil {
		return ""
	}
	return strconv.FormatUint(uint64(*f.id), 10)
}

// Set reads a number or a name.
func (f *idFlag) Set(text string) error {
	n, err := strconv.ParseUint(text, 10, 32)
	if err != nil {
		if found, findErr := f.find(text); findErr == nil {
			n, err = strconv.ParseUint(found, 10, 32)
		}
	}
	if err != nil {
		return fmt.Errorf("%q: expected the number or name of a %s", text, f.kind)
	}
	id := uint32(n)
	f.id = &id
	return nil
}

// Type names the kind of value in help texts.
func (f *idFlag) Type() string { return "ID" }

// maskFlag is a umask on the command line, in octal. It is not set as long as it is nil.
type maskFlag struct{ mask *uint32 }

// String writes the mask in octal.
func (f *maskFlag) String() string {
	if f.mask == nil {
		return ""
	}
	return fmt.Sprintf("%03o", *f.mask)
}

// Set reads the mask.
func (f *maskFlag) Set(text string) error {
	n, err := strconv.ParseUint(text, 8, 32)
	if err != nil || n > 0o777 {
		return fmt.Errorf("%q: expected an octal number, such as 022 or 077", text)
	}
	mask := uint32(n)
	f.mask = &mask
	return nil
}

// Type names the kind of value in help texts.
func (f *maskFlag) Type() string { return "MASK" }
