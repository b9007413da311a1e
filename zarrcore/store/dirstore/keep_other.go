//go:build !linux

package dirstore

func (p place) keepXattrs(int) {}
