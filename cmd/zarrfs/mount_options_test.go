package main

import (
	"testing"

	"github.com/spf13/pflag"
)

func TestApplyOptions(t *testing.T) {
	for _, tc := range []struct {
		options []string
		flag    string
		want    string
	}{
		{[]string{"rw,nosuid,nodev,noauto,_netdev,x-systemd.automount,user=bob"}, "io", "auto"},
		{[]string{"allow_other"}, "allow-other", "true"},
		{[]string{"ro", "cache-size=128MiB,io=direct"}, "io", "direct"},
		{[]string{"cache_size=128MiB"}, "cache-size", "128MiB"},
		{[]string{"views=npy:json"}, "views", "npy:json"},
		{[]string{"foreground,"}, "foreground", "true"},
	} {
		flags := pflag.NewFlagSet("mount", pflag.ContinueOnError)
		setupMount(flags)
		if err := applyOptions(flags, tc.options); err != nil {
			t.Errorf("%q: %v", tc.options, err)
		} else if got := flags.Lookup(tc.flag).Value.String(); got != tc.want {
			t.Errorf("%q: --%s is %q, want %q", tc.options, tc.flag, got, tc.want)
		}
	}
	for _, bad := range []string{"nonsense", "cache-size", "cache-size=much", "option=ro", "allow_other=perhaps"} {
		flags := pflag.NewFlagSet("mount", pflag.ContinueOnError)
		setupMount(flags)
		if err := applyOptions(flags, []string{bad}); err == nil || codeOf(err) != exitUsage {
			t.Errorf("-o %s: %v, want a usage error", bad, err)
		}
	}
}
