package errno

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	iofs "io/fs"
	"log/slog"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/zarrfs/zarrfs/compress"
	"github.com/zarrfs/zarrfs/layout/npy"
	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/meta"
	"github.com/zarrfs/zarrfs/zarrcore/store"
)

func TestErrnoOf(t *testing.T) {
	wrap := func(err error) error {
		return &zarrcore.Error{Op: "read", Path: "a", Key: "a/c/0",
			Err: fmt.Errorf("chunk: %w", err)}
	}
	for _, tc := range []struct {
		err  error
		want syscall.Errno
	}{
		{iofs.ErrNotExist, syscall.ENOENT},
		{iofs.ErrPermission, syscall.EACCES},
		{iofs.ErrExist, syscall.EEXIST},
		{iofs.ErrInvalid, syscall.EINVAL},
		{iofs.ErrClosed, syscall.EBADF},
		{store.ErrReadOnly, syscall.EROFS},
		{store.ErrConflict, syscall.ESTALE},
		{store.ErrChanged, syscall.ESTALE},
		{store.ErrInvalidKey, syscall.ENOENT},
		{zarrcore.ErrNotArray, syscall.ENOENT},
		{errors.ErrUnsupported, syscall.EOPNOTSUPP},
		{context.DeadlineExceeded, syscall.ETIMEDOUT},
		{os.ErrDeadlineExceeded, syscall.ETIMEDOUT},
		{context.Canceled, syscall.EINTR},
		{ErrTooBig, syscall.EFBIG},
		{zarrcore.ErrFixedSize, syscall.EFBIG},
		{zarrcore.ErrFraction, syscall.EINVAL},
		{zarrcore.ErrNotEmpty, syscall.ENOTEMPTY},
		{zarrcore.ErrOtherFormat, syscall.EXDEV},
		{npy.ErrHeader, syscall.EINVAL},
		{syscall.EDQUOT, syscall.EDQUOT},
		{syscall.EROFS, syscall.EROFS},
		{syscall.ENOSPC, syscall.ENOSPC},
		{syscall.ESTALE, syscall.ESTALE},
		{&iofs.PathError{Op: "open", Path: "x", Err: syscall.EACCES}, syscall.EACCES},
		{&iofs.PathError{Op: "open", Path: "x", Err: syscall.ENOENT}, syscall.ENOENT},
		{syscall.ENOSYS, syscall.EOPNOTSUPP}, // the kernel would never ask again
		{syscall.EBADF, syscall.EIO},         // of the daemon's descriptor, not the program's
		{syscall.Errno(512), syscall.EIO},
		{compress.ErrCorrupt, syscall.EIO},
		{compress.ErrTooLarge, syscall.EIO},
		{meta.ErrInvalid, syscall.EIO},
		{io.ErrUnexpectedEOF, syscall.EIO},
		{errors.New("anything else"), syscall.EIO},
	} {
		for _, err := range []error{tc.err, wrap(tc.err)} {
			if got := Of(err); got != tc.want {
				t.Errorf("%v: %s, want %s", err, Name(got), Name(tc.want))
			}
		}
	}
	if Of(nil) != 0 {
		t.Error("nil is an error")
	}
}

func TestErrorLog(t *testing.T) {
	var out bytes.Buffer
	l := &Log{To: slog.New(slog.NewTextHandler(&out, nil))}
	bad := &zarrcore.Error{Op: "read", Path: "ocean/t", Key: "ocean/t/c/0/1",
		Err: compress.ErrCorrupt}
	for range 3 {
		if e := l.Errno("read", "ocean/t", bad); e != syscall.EIO {
			t.Fatalf("errno is %s", Name(e))
		}
	}
	l.Errno("lookup", "nothing", iofs.ErrNotExist)
	if n := strings.Count(out.String(), "\n"); n != 1 {
		t.Errorf("%d lines, want 1:\n%s", n, out.String())
	}
	for _, want := range []string{"path=ocean/t", "key=ocean/t/c/0/1", "errno=EIO",
		"corrupt data"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the line lacks %q: %s", want, out.String())
		}
	}
	if l.Count() != 3 {
		t.Errorf("%d errors counted, want 3", l.Count())
	}
	if last := l.Latest(); len(last) != 1 || last[0].Path != "ocean/t" || last[0].Errno != "EIO" ||
		!strings.Contains(last[0].Err, "corrupt data") {
		t.Errorf("remembered are %+v", last)
	}
	for i := range 2 * maxRecent {
		l.remember(Recent{Path: fmt.Sprint(i)})
	}
	if last := l.Latest(); len(last) != maxRecent ||
		last[maxRecent-1].Path != fmt.Sprint(2*maxRecent-1) {
		t.Errorf("remembered are %+v, want the last %d", last, maxRecent)
	}
	now := time.Now()
	if l.note("again", now); !l.note("again", now.Add(2*repeatAfter)) {
		t.Error("an error is not written again after a while")
	}
	for i := range 2 * maxSeen {
		l.note(fmt.Sprint(i), now)
	}
	if len(l.seen) > maxSeen {
		t.Errorf("%d errors are remembered, at most %d should be", len(l.seen), maxSeen)
	}
}
