package store

// Hint is an object that is about to be opened for some of its bytes.
type Hint struct {
	Key   string
	Want  Want
	Opens int // how often; 0 is once
}

// Prefetcher is a Driver that fetches ahead what is about to be read. It is optional. Package ahead
// is one for any driver that is an Opener; a backend leaves it out.
type Prefetcher interface {
	// Prefetch begins to fetch what hints name, in their order, and returns at once. It returns how
	// many of them it took: the others had no room. OpenFor of the same key and bytes then waits
	// for what is under way. What nobody opens is dropped after a time.
	Prefetch(hints []Hint) (taken int)

	// ForgetAhead drops what was fetched of objects below dir and is not opened yet, because they
	// may have changed.
	ForgetAhead(dir string)
}

// Ahead is what a store fetches ahead of its readers; see Prefetcher.
type Ahead struct{ at keyspace }

// Ahead returns what the store fetches ahead.
func (s *Store) Ahead() Ahead { return Ahead{s.keyspace} }

// Fetch begins to fetch what hints name; see Prefetcher. A store that cannot takes no hints.
func (a Ahead) Fetch(hints []Hint) (taken int) {
	p, ok := a.at.driver.(Prefetcher)
	if !ok {
		return 0
	}
	rel := make([]Hint, len(hints))
	for i, h := range hints {
		key, err := a.at.object(h.Key)
		if err != nil {
			rel = rel[:i]
			break
		}
		rel[i] = Hint{Key: key, Want: h.Want, Opens: h.Opens}
	}
	return p.Prefetch(rel)
}

// Forget drops what was fetched of objects below dir; see Prefetcher.
func (a Ahead) Forget(dir string) {
	p, ok := a.at.driver.(Prefetcher)
	if rel, err := a.at.dir(dir); ok && err == nil {
		p.ForgetAhead(rel)
	}
}
