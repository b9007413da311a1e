package store

import (
	"fmt"
	"io/fs"
	"strings"
)

// A keyspace is what keys lead to: a driver, and the directory that is the driver's root.
type keyspace struct {
	driver Driver
	// keys lead below this directory, which is the driver's root; "" if it is not held
	within string
}

// object returns what the driver knows the key of an object as.
func (k *keyspace) object(key string) (rel string, err error) {
	if !IsValidKey(key) {
		return "", ErrInvalidKey
	}
	if k.within == "" {
		return key, nil
	}
	rest, ok := strings.CutPrefix(key, k.within)
	if !ok || len(rest) < 2 || rest[0] != '/' {
		return "", fmt.Errorf("%w: it is not below %q, which is held", ErrInvalidKey, k.within)
	}
	return rest[1:], nil
}

// dir is object, but key may also be that of the driver's root.
func (k *keyspace) dir(key string) (rel string, err error) {
	if !isValidDir(key) {
		return "", ErrInvalidKey
	}
	if key == k.within {
		return "", nil
	}
	return k.object(key)
}

// key returns the key that the driver knows as rel.
func (k *keyspace) key(rel string) string {
	if k.within == "" || rel == "" {
		return k.within + rel
	}
	return k.within + "/" + rel
}

// writer returns the driver if it can write, and what it knows key as.
func (k *keyspace) writer(key string) (w Writer, rel string, err error) {
	if rel, err = k.object(key); err != nil {
		return nil, "", err
	}
	w, ok := k.driver.(Writer)
	if !ok {
		return nil, "", ErrReadOnly
	}
	return w, rel, nil
}

// annotate names the operation and the key in err. No other function does.
func annotate(op, key string, err error) error {
	if err == nil {
		return nil
	}
	return &fs.PathError{Op: op, Path: key, Err: err}
}
