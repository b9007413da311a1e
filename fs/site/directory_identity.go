package site

import (
	"fmt"
	iofs "io/fs"
	"sync/atomic"

	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// Another program may remove an array or group, and recreate it under the same name. A text that
// was open before belongs to the old one. So it knows the identity of the directory that it was
// opened in. A text of another directory gets ESTALE, and nothing of the new one changes.

// errRecreated says that the name of an array or group is that of another one by now.
var errRecreated = fmt.Errorf("%w: something else has its name by now", iofs.ErrNotExist)

// Home is the directory in which the array or group of an open text is.
type Home struct {
	identity atomic.Pointer[string] // nil: not known
}

// Note notes that it is the directory of that identity.
func (h *Home) Note(identity string) { h.identity.Store(&identity) }

// IsOther reports whether the directory is certain to be another one than that of the identity now.
func (h *Home) IsOther(now string) bool {
	known := h.identity.Load()
	return known != nil && store.AreDifferent(*known, now)
}

// Is reports whether it is that directory.
func (h *Home) Is(identity string) bool {
	known := h.identity.Load()
	return known != nil && *known == identity
}

// Identity returns the identity of the directory at path, "" if that is not known.
func (s *Paths) Identity(path string) string {
	identity, err := s.h.Identity(s.ctx, path)
	if err != nil { // what is not there is found out when it is opened
		return ""
	}
	return identity
}

// Check returns an error if what is at path is not what was there when a text was opened.
func (s *Paths) Check(path string, h *Home) error {
	if h.IsOther(s.Identity(path)) {
		return errRecreated
	}
	return nil
}
