package zarrcore_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/store/memstore"
	"github.com/zarrfs/zarrfs/zarrcore/store/storetest"
)

// TestInterruptedWhileMoving: the store hangs while it renames an array. A reader that finds an
// object missing waits for that, and no longer once it is interrupted.
func TestInterruptedWhileMoving(t *testing.T) {
	type opening func(ctx context.Context, h *zarrcore.Hierarchy) (read func() error, err error)
	lines := words{shape: []int64{600}, chunk: []int64{20}}
	for name, c := range map[string]struct {
		document []byte
		open     opening
	}{
		"numbers": {numbers("[4]", "[2]", plainBytes), func(
			ctx context.Context, h *zarrcore.Hierarchy) (
			func() error, error) {
			a, err := h.OpenArray(ctx, "a")
			return func() error {
				_, err := a.ReadAt(ctx, make([]byte, 4), 0)
				return err
			}, err
		}},
		"strings": {[]byte(lines.document()), func(ctx context.Context, h *zarrcore.Hierarchy) (
			func() error, error) {
			v, err := h.OpenVlen(ctx, "a")
			return func() error {
				_, err := v.Lines().ReadAt(ctx, make([]byte, 4), 0)
				return err
			}, err
		}},
	} {
		t.Run(name, func(t *testing.T) {
			k := &hook{}
			h := writable(t, 3, storetest.Faulty(memstore.New(), k))
			must(t, h.CreateFromDocument(t.Context(), "a", c.document))
			ctx, interrupt := context.WithCancel(t.Context())
			defer interrupt()
			read, err := c.open(ctx, h)
			must(t, err)
			hangs, release := make(chan struct{}), make(chan struct{})
			k.once(storetest.OpRename, "a", func() error {
				close(hangs)
				<-release
				return nil
			})
			renamed := make(chan error, 1)
			go func() { renamed <- h.Rename(context.Background(), "a", "b", false) }()
			<-hangs
			ended := make(chan error, 1)
			go func() { ended <- read() }()
			time.Sleep(50 * time.Millisecond)
			began := time.Now()
			interrupt()
			select {
			case err := <-ended:
				if !errors.Is(err, context.Canceled) {
					t.Errorf("interrupted: %v", err)
				}
				t.Logf("after %v", time.Since(began))
			case <-time.After(time.Minute):
				t.Error("a read waits for the store that hangs, though it was interrupted")
			}
			close(release)
			must(t, <-renamed)
		})
	}
}
