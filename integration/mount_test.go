package integration

import (
	"os"
	"testing"

	"github.com/zarrfs/zarrfs/integration/mounttest"
)

// program is zarrfs, as the tests of this package run it.
var program = mounttest.Built()

// The harness, by short names.
var (
	mount    = program.Mount
	unmount  = program.Unmount
	command  = mounttest.Output
	limited  = mounttest.Command
	needRoot = mounttest.NeedRoot
	cannot   = mounttest.Cannot
)

// patience bounds what a test waits for, as each program that it runs.
const patience = mounttest.Patience

func TestMain(m *testing.M) {
	if os.Getenv(filtered) != "" {
		panic(becomeFiltered())
	}
	if dir := os.Getenv(mapping); dir != "" {
		panic(writeThroughMapping(dir))
	}
	code := mounttest.Main(m)
	races.printIfAsked()
	os.Exit(code)
}

// zarrfs returns the path of the program, for tests that mount.
func zarrfs(t *testing.T) string {
	t.Helper()
	mounttest.NeedFuse(t)
	return program.Path(t)
}
