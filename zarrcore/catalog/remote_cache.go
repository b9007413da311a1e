package catalog

import (
	"container/list"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// shelfBytes is about how many bytes the answers on a shelf take at most.
const shelfBytes = 128 << 20

// A shelf keeps what a remote store has answered: documents, and that there are none. It is for
// stores that nobody changes through this catalog. All methods may be called concurrently.
type shelf struct {
	store *store.Store
	fresh store.Freshness

	mu    sync.Mutex
	byKey map[string]*list.Element
	order *list.List // of *answer, the one used last in front
	bytes int64
}

// An answer is what the store has said of one key. It never changes, except asking.
type answer struct {
	key     string
	data    []byte
	info    store.Info
	missing error     // why there is nothing; nil: there is
	at      time.Time // when it was asked for

	children []Child             // of a listing
	names    map[string]struct{} // of these

	// closed when the next answer is there; nil: nobody asks. Guarded by shelf.mu
	asking chan struct{}
}

func newShelf(st *store.Store, fresh store.Freshness) *shelf {
	return &shelf{store: st, fresh: fresh, byKey: map[string]*list.Element{}, order: list.New()}
}

// document returns the document of a key, which was asked for at most age ago. A missing one is an
// answer too. Several callers ask once.
func (s *shelf) document(ctx context.Context, key string, age time.Duration) (*answer, error) {
	return s.get(ctx, key, age, func(known *answer) (*answer, error) {
		version := ""
		if known != nil && known.missing == nil {
			version = known.info.Version
		}
		data, info, err := s.store.GetIf(ctx, key, version, DocumentLimit)
		if errors.Is(err, store.ErrUnchanged) {
			return &answer{data: known.data, info: known.info}, nil
		}
		return &answer{data: data, info: info}, err
	})
}

// get returns the answer to a key that began to be asked for at most age ago, or asks. A missing
// one counts for a time of its own.
func (s *shelf) get(
	ctx context.Context, key string, age time.Duration, ask func(known *answer) (*answer, error),
) (*answer, error) {
	began := time.Now()
	for {
		a, wait := s.claim(key, began, age)
		switch {
		case wait == nil && a != nil:
			return a, nil
		case wait == nil:
			return s.ask(key, ask)
		}
		select {
		case <-wait:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// claim returns an answer that is new enough. Otherwise it returns what to wait for, or nothing:
// then the caller has to ask.
func (s *shelf) claim(key string, now time.Time, age time.Duration) (*answer, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.find(key)
	switch {
	case a == nil:
		a = &answer{key: key, missing: errUnasked}
		s.put(a)
	case s.isFresh(a, now, age):
		return a, nil
	case a.asking != nil:
		return nil, a.asking
	}
	a.asking = make(chan struct{})
	return nil, nil
}

// errUnasked stands in the place of a first answer.
var errUnasked = errors.New("not asked for yet")

// isFresh reports whether an answer is not older than age, or than what is missing may be.
func (s *shelf) isFresh(a *answer, now time.Time, age time.Duration) bool {
	if a.missing != nil {
		age = s.fresh.Missed()
	}
	return a.missing != errUnasked && !a.at.Before(now.Add(-age))
}

// ask asks for a key that the caller has claimed. An error that is not about a missing object is
// not kept.
func (s *shelf) ask(key string, ask func(known *answer) (*answer, error)) (*answer, error) {
	known := s.known(key)
	began := time.Now()
	a, err := ask(known)
	if err != nil && IsMissing(err) {
		a, err = &answer{missing: err}, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if old := s.find(key); old != nil {
		if old.asking != nil {
			close(old.asking)
			old.asking = nil
		}
		if err == nil || old.missing == errUnasked {
			s.remove(old)
		}
	}
	if err != nil {
		return nil, err
	}
	a.key, a.at = key, began
	s.put(a)
	return a, nil
}

// known returns the answer to a key, however old; nil if there is none.
func (s *shelf) known(key string) *answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	if a := s.find(key); a != nil && a.missing != errUnasked {
		return a
	}
	return nil
}

// has reports whether the store is known to have a document, however long ago that was.
func (s *shelf) has(key string) bool {
	a := s.known(key)
	return a != nil && a.missing == nil
}

// recent returns what is known of a key if it is there and not too old for a look; otherwise nil.
func (s *shelf) recent(key string) *answer {
	if a := s.known(key); a != nil && a.missing == nil && s.isFresh(a, time.Now(),
		s.fresh.Found()) {
		return a
	}
	return nil
}

// isKnown reports whether the answer to a key is known, and not too old for a look.
func (s *shelf) isKnown(key string) bool {
	a := s.known(key)
	return a != nil && s.isFresh(a, time.Now(), s.fresh.Found())
}

// find returns the answer to a key. The caller holds mu.
func (s *shelf) find(key string) *answer {
	el := s.byKey[key]
	if el == nil {
		return nil
	}
	s.order.MoveToFront(el)
	return el.Value.(*answer)
}

// put keeps an answer, and forgets the oldest ones that are too much. The caller holds mu.
func (s *shelf) put(a *answer) {
	s.byKey[a.key] = s.order.PushFront(a)
	s.bytes += a.size()
	for el := s.order.Back(); el != nil && s.bytes > shelfBytes; {
		old := el.Value.(*answer)
		el = el.Prev()
		if old != a && old.asking == nil {
			s.remove(old)
		}
	}
}

// remove forgets an answer. The caller holds mu.
func (s *shelf) remove(a *answer) {
	if el := s.byKey[a.key]; el != nil && el.Value == a {
		s.order.Remove(el)
		delete(s.byKey, a.key)
		s.bytes -= a.size()
	}
}

// size is about how many bytes an answer takes.
func (a *answer) size() int64 {
	return 256 + int64(len(a.key)+len(a.data)) + childBytes*int64(len(a.children))
}

// childBytes is about how many bytes a child of a listing takes, its name included.
const childBytes = 128

// mostListed is how many children a kept listing has at most.
const mostListed = shelfBytes / 4 / childBytes

// listed returns the children of the group at path, if they were listed not long ago.
func (s *shelf) listed(path string) *answer { return s.recent(listingKey(path)) }

// list keeps the children of the group at path, whose listing began at a time.
func (s *shelf) list(path string, children []Child, began time.Time) {
	if len(children) > mostListed {
		return
	}
	a := &answer{key: listingKey(path), at: began, children: children,
		names: make(map[string]struct{}, len(children))}
	for _, c := range children {
		a.names[c.Name] = struct{}{}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if old := s.find(a.key); old != nil {
		s.remove(old)
	}
	s.put(a)
}

// listingKey is where a listing is kept: no document has such a key.
func listingKey(path string) string { return path + "//" }
