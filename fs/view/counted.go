package view

import (
	"context"
	"errors"
)

// errUncounted says that the size of a file is known only after counting the array, which decodes
// all of it.
var errUncounted = errors.New("the array has not been counted")

// uncounted is a content whose size is known only after counting.
type uncounted interface {
	count(ctx context.Context) error
}
