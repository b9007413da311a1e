package fs

import (
	"time"
)

// awaitEmptied waits until an empty text is taken whose program has just closed it. The RELEASE of a
// file comes some time after its close.
func (n *fileNode) awaitEmptied() {
	for end := time.Now().Add(releaseWait); time.Now().Before(end); time.Sleep(releaseGrain) {
		w := n.fs.wholes.FindAt(n.path, n.view)
		if w == nil || !w.IsCut() {
			return
		}
	}
}
