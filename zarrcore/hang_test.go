package zarrcore_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/store/storetest"
)

// TestChangesHang: the store hangs while a group is created. Other nodes are renamed, created and
// removed meanwhile. A node is not created below the group, and waits only as long as its request.
func TestChangesHang(t *testing.T) {
	d := group(t)
	hung, goOn := make(chan struct{}), make(chan struct{})
	once := sync.OnceFunc(func() { close(hung) })
	h := open(t, storetest.Faulty(d, storetest.InjectorFunc(func(op storetest.Op) storetest.Fault {
		if op.Kind >= storetest.OpStage && strings.HasPrefix(op.Key, "new") {
			once()
			<-goOn
		}
		return storetest.Fault{}
	})), &zarrcore.Options{})
	must(t, h.CreateGroup(t.Context(), "a"))
	done := make(chan error)
	go func() { done <- h.CreateGroup(context.Background(), "new") }()
	<-hung
	others := make(chan error)
	go func() {
		for _, change := range []func(context.Context) error{
			func(ctx context.Context) error { return h.Rename(ctx, "a", "b", false) },
			func(ctx context.Context) error { return h.CreateGroup(ctx, "b/c") },
			func(ctx context.Context) error { return h.Remove(ctx, "b/c") },
			func(ctx context.Context) error { return h.CreateGroup(ctx, "a") },
		} {
			others <- change(context.Background())
		}
		close(others)
	}()
	for n := range 4 {
		select {
		case err := <-others:
			must(t, err)
		case <-time.After(10 * time.Second):
			t.Fatalf("%d of 4 changes are done", n)
		}
	}
	close(goOn)
	must(t, <-done)
}

// TestChangesBelowRename: nothing is created below a group while it is renamed. A request that is
// interrupted does not wait for it.
func TestChangesBelowRename(t *testing.T) {
	d := group(t)
	hung, goOn := make(chan struct{}), make(chan struct{})
	h := open(t, storetest.Faulty(d, storetest.InjectorFunc(func(op storetest.Op) storetest.Fault {
		if op.Kind == storetest.OpRename && op.Key == "g" {
			close(hung)
			<-goOn
		}
		return storetest.Fault{}
	})), &zarrcore.Options{})
	must(t, h.CreateGroup(t.Context(), "g"))
	done := make(chan error)
	go func() { done <- h.Rename(context.Background(), "g", "moved", false) }()
	<-hung
	interrupted, end := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer end()
	for _, path := range []string{"g/a", "moved/a"} {
		if err := h.CreateGroup(interrupted, path); err == nil || interrupted.Err() == nil {
			t.Errorf("%s: found %v, expected that it waits until it is interrupted", path, err)
		}
	}
	close(goOn)
	must(t, <-done)
	must(t, h.CreateGroup(t.Context(), "moved/a"))
}
