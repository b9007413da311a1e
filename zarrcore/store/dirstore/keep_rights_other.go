//go:build !linux

package dirstore

func (p place) keepXattrs(int) {}

func hasACL(int) bool { return false }
