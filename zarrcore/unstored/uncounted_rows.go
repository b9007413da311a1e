package unstored

import (
	"maps"
	"sync/atomic"
)

// Ahead is what is stored of rows that the document does not count yet.
type Ahead struct {
	objects map[int64]AheadObject // by number

	// IsDoubtful says that another program has replaced the document since the objects were looked
	// for. It may have made the array longer, and truncated it again. No lock guards it.
	IsDoubtful atomic.Bool
}

// An AheadObject is an object with rows [From, End) that the document does not count.
type AheadObject struct {
	Version   string
	From, End int64
	Dirty     bool // its bytes are dirty too
}

// Init makes s the Ahead of an array of which nothing is stored ahead.
func (s *Ahead) Init() { s.objects = map[int64]AheadObject{} }

// IsEmpty reports whether there are no such objects.
func (s *Ahead) IsEmpty() bool { return len(s.objects) == 0 }

// Objects returns the objects.
func (s *Ahead) Objects() map[int64]AheadObject { return maps.Clone(s.objects) }

// Note notes object n, which takes the place of the one before. If the one before has bytes that
// are not dirty, o has them too.
func (s *Ahead) Note(n int64, o AheadObject) {
	before, ok := s.objects[n]
	o.Dirty = o.Dirty && (!ok || before.Dirty)
	s.objects[n] = o
}

// Forget forgets object n.
func (s *Ahead) Forget(n int64) { delete(s.objects, n) }

// Count notes that the document counts so many rows.
func (s *Ahead) Count(rows int64) {
	for n, o := range s.objects {
		if o.From = max(o.From, rows); o.From < o.End {
			s.objects[n] = o
		} else {
			delete(s.objects, n)
		}
	}
}

// Truncate notes that rows from there on do not count any more.
func (s *Ahead) Truncate(rows int64) {
	for n, o := range s.objects {
		o.End = min(o.End, rows)
		s.objects[n] = o
	}
}
