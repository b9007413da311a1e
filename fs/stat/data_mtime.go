package stat

import (
	"context"
	"time"

	"github.com/zarrfs/zarrfs/fs/names"
	"github.com/zarrfs/zarrfs/zarrcore"
)

// This file is about the time of an array's data. Programs that copy only changes compare this time
// with its former value. So each change of the data must change the time. The time may lag behind
// the objects: those of a large array are too many to look at. Their directories say most of it.

// times are what is known of the time of an array's data.
type times struct {
	said  time.Time // the latest that a program was told
	found time.Time // what the store told when all objects were last counted
}

// later returns the later of two times.
func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// DataTime returns when the data of an array last changed, of which s was counted, all of it if
// isWhole is set.
func (c *Cache) DataTime(ctx context.Context, n *zarrcore.Node, s Taken, isWhole bool) time.Time {
	at := later(s.ModTime, c.dirTime(ctx, n))
	if isWhole && c.isEarlier(n.Path, at) { // n may have been read before the last change
		if now, err := c.reader.Node(ctx, n.Path); err == nil {
			at = later(at, now.DataTime())
		}
	}
	return c.say(n.Path, at, isWhole)
}

// dirTime returns the time of the array's directory, and of the one in it that holds the objects of
// format 3.
func (c *Cache) dirTime(ctx context.Context, n *zarrcore.Node) time.Time {
	at := n.DataTime()
	if n.Format != 3 || c.store == nil || n.FolderModTime.IsZero() {
		return at
	}
	info, err := c.store.Stat(ctx, names.Join(n.Path, "c"))
	if err != nil || !info.Dir { // another encoding of keys has no such directory
		return at
	}
	return later(at, info.ModTime)
}

// isEarlier reports whether at is earlier than what the store told when all objects were counted.
func (c *Cache) isEarlier(path string, at time.Time) bool {
	e := c.taken.Shared(path)
	return e != nil && at.Before(e.times.found)
}

// say returns what a program is to be told where the store tells the time at. It is never earlier
// than what one was told before. If the store told a later time before, the array was replaced by
// an older one, times and all: that is a change of now.
func (c *Cache) say(path string, at time.Time, isWhole bool) (said time.Time) {
	if e := c.taken.Shared(path); e != nil && at.Equal(e.times.said) &&
		(!isWhole || at.Equal(e.times.found)) {
		return at
	}
	c.taken.Edit(path, func(e *TakenPart) *TakenPart {
		now := e.clone()
		now.times = now.times.with(at, isWhole)
		said = now.times.said
		return now
	})
	return said
}

func (t times) with(at time.Time, isWhole bool) times {
	if isWhole && at.Before(t.found) {
		t.said = later(t.said, time.Now())
	}
	if isWhole {
		t.found = at
	}
	t.said = later(t.said, at)
	return t
}
