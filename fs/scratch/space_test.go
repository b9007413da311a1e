package scratch

import (
	"sync"
	"testing"
)

// TestSpaceWhileFilesClose looks at files while they are closed, which the race detector must not
// mind: what is closed takes nothing.
func TestSpaceWhileFilesClose(t *testing.T) {
	var s Space
	var files []*File
	made := NewFiles(t.TempDir(), func() []byte { return nil })
	for range 20 {
		file, err := made.Make()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := file.WriteAt(make([]byte, 1<<16), 0); err != nil {
			t.Fatal(err)
		}
		s.Add(file)
		files = append(files, file)
	}
	var closing sync.WaitGroup
	closing.Go(func() {
		for _, file := range files {
			file.Close()
		}
	})
	for range 100 {
		s.Take(1) // there is no space, so it looks at all files
	}
	closing.Wait()
	if used := s.used(); used != 0 || len(s.files) != 0 {
		t.Errorf("%d closed files take %d bytes", len(s.files), used)
	}
}
