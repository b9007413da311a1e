package pagecache

import (
	"testing"
	"time"
)

func TestAfterResize(t *testing.T) {
	for _, tc := range []struct {
		io   IO
		ago  time.Duration
		want IO
	}{
		{IOCached, 0, IODirect},
		{IOAuto, SettleTime - 1, IODirect},
		{IOCached, SettleTime, IOCached},
		{IOAuto, time.Hour, IOAuto},
		{IODirect, time.Hour, IODirect},
	} {
		if got := tc.io.AfterResize(tc.ago); got != tc.want {
			t.Errorf("%s, resized %v ago: %s, want %s", tc.io, tc.ago, got, tc.want)
		}
	}
}
