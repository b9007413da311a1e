package errno

import (
	"errors"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/zarrfs/zarrfs/zarrcore"
)

// Log writes each error once. The same error of the same array again within a minute is only
// counted. That is also so if another operation meets it, as a close does after a write.
type Log struct {
	To *slog.Logger

	panics atomic.Int64

	mu   sync.Mutex
	seen map[string]time.Time // by path and text; forgotten whole when it has grown to maxSeen
	all  uint64
	last []Recent // at most maxRecent
}

// A Recent is why a program got an error, for users who cannot see the log.
type Recent struct {
	Time  time.Time `json:"time"`
	Op    string    `json:"op"` // what the program did
	Path  string    `json:"path"`
	Errno string    `json:"errno"`
	Err   string    `json:"err"`
}

const (
	maxSeen     = 4096
	maxRecent   = 64
	repeatAfter = time.Minute
)

// Errno returns the number for err and logs it, unless it is expected.
func (l *Log) Errno(op, path string, err error) syscall.Errno {
	e := Of(err)
	if IsExpected(op, err) {
		return e
	}
	r := Recent{time.Now(), op, path, Name(e), Reason(err)}
	if !l.note(path+"\x00"+r.Err, r.Time) {
		return e
	}
	l.remember(r)
	var z *zarrcore.Error
	if errors.As(err, &z) && z.Key != "" {
		l.To.Error(op, "path", path, "key", z.Key, "errno", Name(e), "err", r.Err)
		return e
	}
	l.To.Error(op, "path", path, "errno", Name(e), "err", r.Err)
	return e
}

// note notes an error and reports whether it should be written.
func (l *Log) note(key string, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all++
	if at, ok := l.seen[key]; ok && now.Sub(at) < repeatAfter {
		return false
	}
	if l.seen == nil || len(l.seen) >= maxSeen {
		l.seen = make(map[string]time.Time)
	}
	l.seen[key] = now
	return true
}

// remember keeps an error among the latest.
func (l *Log) remember(e Recent) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.last) == maxRecent {
		l.last = slices.Delete(l.last, 0, 1)
	}
	l.last = append(l.last, e)
}

// Latest returns the errors that were written last, oldest first.
func (l *Log) Latest() []Recent {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.last)
}

// Count returns how many errors programs got.
func (l *Log) Count() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all
}
