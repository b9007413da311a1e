package transient

import "testing"

// TestTemporary checks the names of files that may become views soon.
func TestTemporary(t *testing.T) {
	for _, name := range []string{
		".a.npy.Xy7z12", "a.json~", "4913", ".a.json.swp", "sedaB3xYz", "a.npy.part", "tmpab12_x9q",
		"aB3xYz9K", "XXOIPBAZ", "XXabcdef", "#a.json#", ".#a.json",
		"a.json.tmp.4711", "a.npy-1234", "a.json.bak", "a.json.orig", "x.tmp",
	} {
		if !isTemporary(name) {
			t.Errorf("%s is not temporary", name)
		}
	}
	for _, name := range []string{
		"notes.txt", "X.NPY", "f.raw", "a.npy", "info", "x.csv", "x.nc", "x.npz", "Makefile",
		"makefile", "READMEXY", "table", "notes", "image.tiff",
	} {
		if isTemporary(name) {
			t.Errorf("%s is one", name)
		}
	}
}
