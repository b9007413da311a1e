package fs

import (
	"context"
	"sync"
	"syscall"
	"time"

	"github.com/zarrfs/zarrfs/fs/view"
	"github.com/zarrfs/zarrfs/fs/wire"
)

// secondLooks are the threads that were told lately to look a name up again. At ESTALE the kernel
// does so once for an open or a stat, and at a second one the program gets it. A file that others
// rename to and fro may be away both times, under another path each. Then it is not there. A file
// that was removed twice may be one that the program is about to create: that must not be ENOENT.
type secondLooks struct {
	mu      sync.Mutex
	told    [16]firstLook // a ring
	next    int
	renamed time.Time // when this mount renamed something last
}

type firstLook struct {
	thread int
	view   view.View
	at     time.Time
}

// lookTime is how long the kernel may take to look a name up again.
const lookTime = 200 * time.Millisecond

// noteRename notes that this mount renames something now.
func (s *secondLooks) noteRename() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.renamed = time.Now()
}

// answer is the answer to a request for a view of an array that is gone: ESTALE. It is ENOENT for a
// thread that got ESTALE just now, if something was renamed meanwhile.
func (s *secondLooks) answer(ctx context.Context, v view.View) syscall.Errno {
	thread, now := wire.Thread(ctx), time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, l := range s.told {
		if l.thread == thread && l.view == v && now.Sub(l.at) < lookTime && thread != 0 &&
			now.Sub(s.renamed) < lookTime {
			s.told[i] = firstLook{}
			return syscall.ENOENT
		}
	}
	s.told[s.next%len(s.told)] = firstLook{thread, v, now}
	s.next++
	return syscall.ESTALE
}
