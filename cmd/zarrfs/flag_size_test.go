package main

import "testing"

func TestParseSize(t *testing.T) {
	total := func() int64 { return 8 << 30 }
	for _, tc := range []struct {
		text string
		want int64
	}{
		{"0", 0}, {"4096", 4096}, {"128MiB", 128 << 20}, {"128mib", 128 << 20}, {"4G", 4 << 30},
		{"1.5GiB", 3 << 29},
		{"2GB", 2e9}, {"25%", 2 << 30}, {"1 KiB", 1024}, {"7B", 7},
	} {
		if got, err := parseSize(tc.text, total); got != tc.want || err != nil {
			t.Errorf("parseSize(%q) = %d, %v, want %d", tc.text, got, err, tc.want)
		}
	}
	for _, text := range []string{"", "GiB", "-1", "4X", "1e400", "99999999TiB", "4 4", "%",
		"NaN"} {
		if got, err := parseSize(text, total); err == nil {
			t.Errorf("parseSize(%q) = %d, want an error", text, got)
		}
	}
}

func TestSizeFlagString(t *testing.T) {
	for want, n := range map[string]sizeFlag{"0": 0, "1000": 1000, "1KiB": 1024,
		"256MiB": 256 << 20, "3GiB": 3 << 30} {
		if got := n.String(); got != want {
			t.Errorf("%d is written %q, want %q", int64(n), got, want)
		}
	}
}
