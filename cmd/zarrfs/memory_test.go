package main

import (
	"math"
	"os"
	"strconv"
	"testing"
	"testing/fstest"
)

// TestGroupLimit asks for the memory limit of a process in control groups as several systems lay
// them out.
func TestGroupLimit(t *testing.T) {
	const (
		v1 = "35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n33 31 " +
			"0:30 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"
		v2 = "30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n"
	)
	for _, tc := range []struct {
		name, mountinfo, groups string
		files                   map[string]string
		want                    int64
	}{
		{"no control groups", "", "", nil, math.MaxInt64},
		{"a container of version 2, which sees its own group as the root", v2, "0::/\n",
			map[string]string{"sys/fs/cgroup/memory.max": "268435456\n"}, 256 << 20},
		{"a systemd unit", v2, "0::/system.slice/x.service\n",
			map[string]string{"sys/fs/cgroup/system.slice/x.service/memory.max": "536870912\n"},
			512 << 20},
		{"memory.high", v2, "0::/a\n", map[string]string{"sys/fs/cgroup/a/memory.max": "max\n",
			"sys/fs/cgroup/a/memory.high": "1048576\n"}, 1 << 20},
		{"the limit is an ancestor's", v2, "0::/slurm/job_1/step_0\n", map[string]string{
			"sys/fs/cgroup/slurm/job_1/step_0/memory.max": "max\n",
			"sys/fs/cgroup/slurm/job_1/memory.max":        "268435456\n",
			"sys/fs/cgroup/slurm/memory.max":              "536870912\n"}, 256 << 20},
		{"SLURM with version 1", v1, "4:memory:/slurm/uid_0/job_1\n1:cpu:/other\n0::/\n",
			map[string]string{
				"sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",

				"sys/fs/cgroup/memory/slurm/uid_0/job_1/memory.limit_in_bytes": "268435456\n",
			}, 256 << 20},
		{"several controllers", "35 31 0:32 / /cg rw - cgroup cgroup rw,cpuset,memory\n",
			"4:cpuset,memory:/a\n", map[string]string{"cg/a/memory.limit_in_bytes": "1048576"},
			1 << 20},
		{"a container of version 1, which is shown its own group",
			"35 31 0:32 /docker/1 /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n",
			"4:memory:/docker/1\n",
			map[string]string{"sys/fs/cgroup/memory/memory.limit_in_bytes": "268435456\n"},
			256 << 20},
		{"a group below the one that is mounted", "35 31 0:32 /docker/1 /cg ro - cgroup cgroup " +
			"rw,memory\n", "4:memory:/docker/1/sub\n",
			map[string]string{"cg/memory.limit_in_bytes": "268435456\n",
				"cg/sub/memory.limit_in_bytes": "1048576\n"}, 1 << 20},
		{"a group outside of the namespace", v2, "0::/../other\n",
			map[string]string{"sys/fs/cgroup/memory.max": "268435456\n", "other/memory.max": "1\n"},
			256 << 20},
		{"another controller's group", v1, "1:cpu:/x\n",
			map[string]string{"sys/fs/cgroup/memory/x/memory.limit_in_bytes": "1\n"},
			math.MaxInt64},
	} {
		root := fstest.MapFS{"proc/self/mountinfo": {Data: []byte(tc.mountinfo)},
			"proc/self/cgroup": {Data: []byte(tc.groups)}}
		for name, text := range tc.files {
			root[name] = &fstest.MapFile{Data: []byte(text)}
		}
		if got, left := groupLimit(root); got != tc.want || left != tc.want {
			t.Errorf("%s: %d, %d left, expected %d", tc.name, got, left, tc.want)
		}
	}
}

// TestGroupLeft asks how much memory control groups leave that other processes use, in MiB.
func TestGroupLeft(t *testing.T) {
	const (
		v1 = "35 31 0:32 / /cg rw - cgroup cgroup rw,memory\n"
		v2 = "30 23 0:26 / /cg rw - cgroup2 cgroup2 rw\n"
	)
	mib := func(n int64) string { return strconv.FormatInt(n<<20, 10) + "\n" }
	for _, tc := range []struct {
		name, mountinfo, groups string
		files                   map[string]string
		want                    int64
	}{
		{"version 2", v2, "0::/job\n",
			map[string]string{"job/memory.max": mib(256), "job/memory.current": mib(150)}, 106},
		{"pages of files are dropped", v2, "0::/job\n",
			map[string]string{"job/memory.max": mib(256), "job/memory.current": mib(150),
				"job/memory.stat": "anon 1\ninactive_file " + mib(40) + "active_file " + mib(10) +
					"total_inactive_file " + mib(7)}, 156},
		{"version 1", v1, "4:memory:/job\n",
			map[string]string{"job/memory.limit_in_bytes": mib(256),
				"job/memory.usage_in_bytes": mib(150),
				"job/memory.stat": "inactive_file 7\ntotal_inactive_file " + mib(40) +
					"total_active_file " + mib(10)}, 156},
		{"the job has used most of it, not the step", v2, "0::/job/step\n",
			map[string]string{"job/memory.max": mib(256), "job/memory.current": mib(200),
				"job/step/memory.max": mib(128), "job/step/memory.current": mib(8)}, 56},
		{"nothing is left", v2, "0::/job\n",
			map[string]string{"job/memory.max": mib(256), "job/memory.current": mib(256)}, 32},
		{"more pages than are used", v2, "0::/job\n",
			map[string]string{"job/memory.max": mib(256), "job/memory.current": mib(10),
				"job/memory.stat": "inactive_file " + mib(40)}, 256},
	} {
		root := fstest.MapFS{"proc/self/mountinfo": {Data: []byte(tc.mountinfo)},
			"proc/self/cgroup": {Data: []byte(tc.groups)}}
		for name, text := range tc.files {
			root["cg/"+name] = &fstest.MapFile{Data: []byte(text)}
		}
		if _, left := groupLimit(root); left != tc.want<<20 {
			t.Errorf("%s: %d, expected %d", tc.name, left, tc.want<<20)
		}
	}
}

// TestMemoryDefaults derives the sizes of buffers from limits, in MiB.
func TestMemoryDefaults(t *testing.T) {
	for _, tc := range []struct{ total, left, available, cache, dirty int64 }{
		{256, 256, 256, 64, 32}, {256, 256, 100, 64, 32}, {1024, 1024, 900, 256, 128},
		{16384, 16384, 8192, 2048, 2048}, {262144, 262144, 200000, 4096, 2048},
		{256, 64, 64, 16, 8}, {4096, 512, 512, 128, 64},
	} {
		m := memoryLimits{tc.total << 20, tc.left << 20, tc.available << 20}
		if m.cache() != tc.cache<<20 || m.dirty() != tc.dirty<<20 {
			t.Errorf("%d MiB, %d left, %d available: cache %d, dirty %d bytes", tc.total, tc.left,
				tc.available, m.cache(), m.dirty())
		}
	}
	if m := memory(); m.total <= 0 || m.left > m.total || m.available > m.left {
		t.Errorf("this machine's memory: %+v", m)
	}
	if root := os.DirFS("/"); memInfo(root, "MemTotal:") == memInfo(root, "nothing:") {
		if _, err := os.Stat("/proc/meminfo"); err == nil {
			t.Error("/proc/meminfo is not read")
		}
	}
}
