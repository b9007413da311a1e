//go:build !linux

package zstd

import "testing"

// guarded returns memory of n bytes, without any guard here.
func guarded(_ testing.TB, n int) []byte { return make([]byte, n) }
