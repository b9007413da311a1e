//go:build amd64 && !purego

package zstd

import "testing"

// variants runs a test with and without assembly.
func variants(t *testing.T, test func(t *testing.T)) {
	had := useBMI2
	defer func() { useBMI2 = had }()
	for _, use := range []bool{false, true} {
		if use && !had {
			t.Log("no BMI2: the assembly is not tested")
			continue
		}
		useBMI2 = use
		t.Run(map[bool]string{false: "portable", true: "assembly"}[use], test)
	}
}

// portably calls f without assembly.
func portably(f func()) {
	had := useBMI2
	defer func() { useBMI2 = had }()
	useBMI2 = false
	f()
}
