package chunk

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

const patience = time.Second

// taken takes n bytes of p, and returns how long that took.
func taken(t *testing.T, p *Patient, n int64) (from *Semaphore, took time.Duration) {
	t.Helper()
	began := time.Now()
	from, err := p.Acquire(t.Context(), n)
	if err != nil {
		t.Error(err)
	}
	return from, time.Since(began)
}

func expectTook(t *testing.T, what string, took, want time.Duration) {
	t.Helper()
	if took != want {
		t.Errorf("%s took %v, expected %v", what, took, want)
	}
}

// TestPatientHangs: if nobody gives back bytes for as long as a request waits, there are as many
// more, at once for those that follow. When the bytes that hung are given back, there are not.
func TestPatientHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewPatient(10, patience)
		hung, _ := taken(t, p, 10)
		more, took := taken(t, p, 10)
		expectTook(t, "the first that waits", took, patience)
		go func() {
			time.Sleep(patience / 2)
			more.Release(10)
		}()
		again, took := taken(t, p, 10)
		expectTook(t, "one that waits for that", took, patience/2)
		again.Release(10)
		for range 3 {
			from, took := taken(t, p, 10)
			expectTook(t, "one of those that follow", took, 0)
			from.Release(10)
		}
		hung.Release(10)
		if from, _ := taken(t, p, 10); from != p.Usual() {
			t.Error("there are still more bytes")
		}
	})
}

// TestPatientGoesOn: a request waits longer than its patience as long as others give back bytes. No
// more bytes are used than there are.
func TestPatientGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewPatient(10, patience)
		slow, _ := taken(t, p, 10)
		go func() {
			for range 10 {
				time.Sleep(patience / 2)
				slow.Release(1)
			}
		}()
		from, took := taken(t, p, 10)
		expectTook(t, "all", took, 5*patience)
		if from != p.Usual() || p.more.used != 0 {
			t.Error("it has others")
		}
	})
}

// TestPatientTwice: if the others hang, too, requests wait until they are interrupted.
func TestPatientTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewPatient(10, patience)
		taken(t, p, 10)
		taken(t, p, 10)
		ctx, end := context.WithTimeout(t.Context(), time.Hour)
		defer end()
		if _, err := p.Acquire(ctx, 1); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("found %v, expected that it waits until it is interrupted", err)
		}
	})
}
