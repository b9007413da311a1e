package zarrcore

import (
	"slices"
	"strings"
	"sync"
)

// A standstill keeps those who use arrays apart from those who change what is at a
// path, and below it: move it, remove it, give its objects another length. Other
// paths are not concerned, for a store may hang on one array. The zero standstill
// is ready to use.
type standstill struct {
	mu      sync.Mutex
	changed sync.Cond
	using   map[string]int // by path
	stopped map[string]int // also paths whose users are still waited for
}

// use waits until nothing is changed at path, and returns what ends the use.
func (s *standstill) use(path string) (end func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wait(func() bool {
		for stopped := range s.stopped {
			if within(path, stopped) {
				return true
			}
		}
		return false
	})
	return s.count(&s.using, path)
}

// stop lets nobody begin to use the paths, and what is below them, until it is
// ended, and waits for those who do. Two of the same path do not wait for each
// other.
func (s *standstill) stop(paths ...string) (end func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	end = s.count(&s.stopped, paths...)
	s.wait(func() bool {
		for using := range s.using {
			if slices.ContainsFunc(paths, func(path string) bool { return within(using, path) }) {
				return true
			}
		}
		return false
	})
	return end
}

// wait waits as long as something is in the way. The caller holds mu.
func (s *standstill) wait(blocked func() bool) {
	s.changed.L = &s.mu
	for blocked() {
		s.changed.Wait()
	}
}

// count enters paths in a table, and returns what takes them out. The caller holds
// mu.
func (s *standstill) count(table *map[string]int, paths ...string) (end func()) {
	if *table == nil {
		*table = map[string]int{}
	}
	for _, path := range paths {
		(*table)[path]++
	}
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, path := range paths {
			if (*table)[path]--; (*table)[path] == 0 {
				delete(*table, path)
			}
		}
		s.changed.Broadcast()
	}
}

// within reports whether path is dir, or lies below it.
func within(path, dir string) bool {
	return path == dir || dir == "" || strings.HasPrefix(path, dir+"/")
}
