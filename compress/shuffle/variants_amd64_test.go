//go:build amd64 && !purego

package shuffle

import "testing"

// variants names the ways that this processor can do the work, best first.
func variants(testing.TB) []string {
	v := []string{"portable"}
	if useAVX2 {
		v = append([]string{"avx2"}, v...)
	}
	if useGFNI {
		v = append([]string{"gfni"}, v...)
	}
	return v
}

// useVariant makes the rest of the test use the named way.
func useVariant(t testing.TB, name string) {
	avx2, gfni := useAVX2, useGFNI
	t.Cleanup(func() { useAVX2, useGFNI = avx2, gfni })
	useAVX2 = name != "portable"
	useGFNI = name == "gfni"
}
