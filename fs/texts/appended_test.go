package texts

import "testing"

// TestAppended: the name of a kept file says whether it has only what was appended to an array.
func TestAppended(t *testing.T) {
	for name, want := range map[string]string{
		"/tmp/zarrfs-unsaved-1-a" + appended + ".jsonl": "jsonl",
		"/tmp/zarrfs-unsaved-1-a.jsonl":                 "",
		"/tmp/zarrfs-unsaved-1-a" + appended + ".npy":   "",
		"/tmp/zarrfs-unsaved-1-a.unsaved":               "",
	} {
		got := ""
		if v := Appended(name); v != nil {
			got = v.Name()
		}
		if got != want {
			t.Errorf("%s: view %q, want %q", name, got, want)
		}
	}
}
