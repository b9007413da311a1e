//go:build !amd64 || purego

package zstd

import "testing"

// variants runs a test: there is one variant.
func variants(t *testing.T, test func(t *testing.T)) { test(t) }

// portably calls f without assembly.
func portably(f func()) { f() }
