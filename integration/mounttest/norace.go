//go:build !race

package mounttest

// Race says that the tests run under the race detector, and so does the program.
const Race = false
