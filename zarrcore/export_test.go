package zarrcore

import "time"

// ExpireScan makes the last scan of a's objects an hour old.
func ExpireScan(a *Array) {
	a.mu.Lock()
	defer a.mu.Unlock()
	old := *a.scan
	old.at = old.at.Add(-time.Hour)
	a.scan = &old
}
