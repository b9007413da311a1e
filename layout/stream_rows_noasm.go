//go:build !amd64 || purego

package layout

// canStream is false: there is no streamLines.
const canStream = false

func streamLines(_, _ *byte, _, _, _, _ int64) { panic("layout: no assembly") }

func settle() {}
