package fs

import (
	"errors"
	"time"

	"github.com/zarrfs/zarrfs/fs/view"
)

// errKeptByKernel says that what programs have written in mappings has not all come.
var errKeptByKernel = errors.New("the kernel has not handed over all that programs wrote in " +
	"mappings")

// TakeMapped makes the kernel write the pages that programs have changed in shared mappings. They
// are then as bytes of any WRITE, and Flush stores them. It fails if that takes longer than most.
// The notices go on then, and keep this process from ending until their WRITEs are answered.
func (m *Mount) TakeMapped(most time.Duration) error {
	if m.fs.o.Rights.ReadOnly {
		return nil
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for _, n := range m.fs.ids.Open() {
			if file, ok := n.Operations().(*fileNode); !ok || mayBeMapped(file) {
				n.NotifyContent(0, 0)
			}
		}
	}()
	select {
	case <-done:
		return nil
	case <-m.gone: // without a mapping
		return nil
	case <-time.After(most):
		return errKeptByKernel
	}
}

// mayBeMapped reports whether a program may have changed pages of a file that it has open. Pages of
// files that are only read might have to wait for the store.
func mayBeMapped(n *fileNode) bool {
	_, isArray := n.view.(view.ArrayView)
	_, isText := n.view.(view.TextView)
	return !isArray || isText || n.IsWritten()
}
