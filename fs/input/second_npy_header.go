package input

import (
	"context"
	"errors"
	"fmt"
	iofs "io/fs"
	"strings"
	"sync"

	"github.com/zarrfs/zarrfs/layout/npy"
)

// OneArray passes on what is written to the array of a .npy file, but no second .npy file behind
// its end. A plain file may hold several arrays, one after the other. Here the next header would
// become rows.
type OneArray struct {
	Array interface {
		ArrayWriter
		Size() int64
		SetSize(ctx context.Context, size int64) error
	}
	Seam *Seam // of the file
}

// Seam is where a second .npy file may have begun behind the first one. Its first bytes may come in
// several writes, and are rows until all of them are there.
type Seam struct {
	mu    sync.Mutex // held while the array is written
	begun bool
	at    int64 // the array's size when the first of them came
}

// WriteAt implements ArrayWriter. It writes what comes before a second header.
func (o OneArray) WriteAt(ctx context.Context, p []byte, off int64) (n int, err error) {
	o.Seam.mu.Lock()
	defer o.Seam.mu.Unlock()
	size := o.Array.Size()
	if o.Seam.completes(p, off, size) {
		return 0, errors.Join(errSecond, o.Array.SetSize(ctx, o.Seam.at))
	}
	at := size - off
	if at < 0 || at >= int64(len(p)) || !npy.Begins(p[at:]) {
		return o.Array.WriteAt(ctx, p, off)
	}
	if at > 0 {
		if n, err = o.Array.WriteAt(ctx, p[:at], off); err != nil {
			return n, err
		}
	}
	return n, errSecond
}

// errSecond is the error for a second header.
var errSecond = fmt.Errorf("%w: expected one array, found the header of a second one after it; "+
	"save each array to a file of its own", iofs.ErrInvalid)

// completes reports whether p, which is written at off of an array of that size, completes the
// first bytes of a second header. It notes where p begins them. The caller holds mu.
func (s *Seam) completes(p []byte, off, size int64) bool {
	if s.begun && off == size && s.at < off && off-s.at < int64(len(npy.Magic)) {
		rest := npy.Magic[off-s.at:]
		s.begun = strings.HasPrefix(rest, string(p[:min(len(p), len(rest))]))
		return s.begun && len(p) >= len(rest)
	}
	s.begun, s.at = false, size
	if at := size - off; at >= 0 && at < int64(len(p)) && int64(len(p))-at < int64(len(npy.Magic)) {
		s.begun = strings.HasPrefix(npy.Magic, string(p[at:]))
	}
	return false
}
