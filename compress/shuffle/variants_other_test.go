//go:build !amd64 || purego

package shuffle

import "testing"

func variants(testing.TB) []string { return []string{"portable"} }

func useVariant(testing.TB, string) {}
