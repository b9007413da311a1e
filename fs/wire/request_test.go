package wire

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
)

func TestRequestOutlastsInterrupt(t *testing.T) {
	interrupt := make(chan struct{})
	r := NewRequest(context.Background(), &fuse.Context{Cancel: interrupt})
	defer r.End()
	done := r.Done()
	close(interrupt)
	select {
	case <-done:
		t.Error("given up at once")
	case <-time.After(50 * time.Millisecond):
	}
	if r.Err() != nil {
		t.Errorf("Err is %v", r.Err())
	}
	if testing.Short() {
		return
	}
	select {
	case <-done:
	case <-time.After(2 * patience):
		t.Error("not given up")
	}
	if !errors.Is(r.Err(), context.Canceled) {
		t.Errorf("Err is %v", r.Err())
	}
}

func TestRequestEndsWithMount(t *testing.T) {
	mount, cancel := context.WithCancel(context.Background())
	r := NewRequest(mount, &fuse.Context{Cancel: make(chan struct{})})
	defer r.End()
	cancel()
	<-r.Done()
	if !errors.Is(r.Err(), context.Canceled) {
		t.Errorf("Err is %v", r.Err())
	}
}

func TestRequestWithoutWaiters(t *testing.T) {
	r := NewRequest(context.Background(), &fuse.Context{Cancel: make(chan struct{})})
	r.End()
	if r.Err() != nil || r.done != nil {
		t.Error("something runs for a request that nobody waits for")
	}
}
