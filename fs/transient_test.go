package fs

import "testing"

// TestAnnouncedFileIsHeld opens a file that is to become an array twice. If one of the openings is
// refused, or both, the file ends with the last close. What is announced under its name then is
// another file.
func TestAnnouncedFileIsHeld(t *testing.T) {
	for _, refused := range [][2]bool{{true, false}, {false, true}, {true, true}, {false, false}} {
		all := transients{states: new(states)}
		announce := func() bool {
			return all.announce(func() string { return "g" }, "a.npy", func() bool { return true })
		}
		announce()
		first := all.find("g", "a.npy")
		announce()
		if x := all.find("g", "a.npy"); x != first {
			t.Fatal("another one has its name, and it was not gone")
		}
		for range 2 {
			if !all.hold(first) {
				t.Fatal("it is not there")
			}
		}
		if all.letGo(first, refused[0]) {
			t.Errorf("refused %v: it went with the first, and is open still", refused)
		}
		if gone, want := all.letGo(first, refused[1]), refused != [2]bool{}; gone != want || (all.find("g", "a.npy") == nil) != want {
			t.Errorf("refused %v: it went with the last: %t", refused, gone)
		}
		all.drop(first)
		announce()
		if all.hold(first) {
			t.Errorf("refused %v: another one's name was taken for its own", refused)
		}
	}
}
