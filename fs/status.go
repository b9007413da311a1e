package fs

import (
	"encoding/json"
	"os"
	"runtime"
	"time"

	"github.com/zarrfs/zarrfs/fs/errno"
	"github.com/zarrfs/zarrfs/fs/pagecache"
	"github.com/zarrfs/zarrfs/fs/terminal"
	"github.com/zarrfs/zarrfs/fs/transient"
	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// Status is what .zarrfs/status.json shows.
type Status struct {
	Version  string          `json:"version"`
	Store    string          `json:"store"`
	Dir      string          `json:"dir"` // the mountpoint
	Pid      int             `json:"pid"`
	Started  time.Time       `json:"started"`
	ReadOnly bool            `json:"read_only"`
	IO       pagecache.IO    `json:"io"`
	Log      string          `json:"log"` // where the log is: a file, syslog, stderr or none
	Scratch  string          `json:"scratch_dir"`
	Mount    MountStatus     `json:"mount"`
	Memory   MemoryStatus    `json:"memory"`
	Core     zarrcore.Status `json:"core"`
	Traffic  *store.Traffic  `json:"traffic,omitempty"` // of a store behind a network

	RecentErrors []errno.Recent  `json:"recent_errors,omitempty"` // that programs were given, the newest last
	OtherFiles   *transient.Kept `json:"other_files,omitempty"`   // files that are not views; nil: none
}

// MountStatus counts what the kernel asked for.
type MountStatus struct {
	Lookups       int64  `json:"lookups"`
	Listings      int64  `json:"listings"`
	Opens         int64  `json:"opens"`
	OpenDirect    int64  `json:"opens_direct"`      // past the page cache
	OpenKept      int64  `json:"opens_kept"`        // with the pages of an earlier open
	OpenPass      int64  `json:"opens_passthrough"` // of materialised files: their READs do not arrive here
	OpenWrite     int64  `json:"opens_writable"`
	OpenFiles     int64  `json:"open_files"` // now
	Reads         int64  `json:"reads"`
	ReadBytes     int64  `json:"read_bytes"`
	PagedReads    int64  `json:"reads_paged"`    // sent by the page cache
	Gathered      int64  `json:"reads_gathered"` // copied, because of more pieces than one writev takes well
	Writes        int64  `json:"writes"`
	WriteBytes    int64  `json:"write_bytes"`
	Errors        uint64 `json:"errors"`
	Panics        int64  `json:"panics"`
	Material      int64  `json:"materialised_files"`
	MaterialBytes int64  `json:"materialised_bytes"` // of scratch, also of those that are being written
}

// MemoryStatus describes the daemon's own memory, in bytes.
type MemoryStatus struct {
	Heap       uint64 `json:"heap"`
	System     uint64 `json:"system"`
	Goroutines int    `json:"goroutines"`
}

// status takes a snapshot of the mount's state.
func (f *filesystem) status() Status {
	f.adopting.EndCopiesOfGroups(f.ctx)
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	c := &f.count
	materialFiles, materialBytes := f.material.Status()
	core := f.h.Status()
	core.Write.Errors = f.wholes.AddErrors(core.Write.Errors)
	return Status{
		Version: f.o.Version, Store: f.o.Source, Dir: f.mount, Pid: os.Getpid(), Started: f.started, ReadOnly: f.o.ReadOnly, IO: f.o.IO, Log: f.o.LogName, Scratch: f.o.ScratchDir,
		Mount: MountStatus{
			Lookups: c.lookups.Load(), Listings: c.listings.Load(),
			Opens: c.opens.Load(), OpenDirect: c.openDirect.Load(), OpenKept: c.openKept.Load(), OpenPass: c.openThrough.Load(), OpenWrite: c.openWrite.Load(), OpenFiles: c.openFiles.Load(),
			Reads: c.reads.Load(), ReadBytes: c.readBytes.Load(), PagedReads: c.pagedReads.Load(), Gathered: c.gathered.Load(),
			Writes: c.writes.Load(), WriteBytes: c.writeBytes.Load(),
			Errors: f.Errors.Count(), Panics: f.Errors.Panics(),
			Material: materialFiles, MaterialBytes: materialBytes,
		},
		Memory: MemoryStatus{Heap: m.HeapAlloc, System: m.Sys, Goroutines: runtime.NumGoroutine()},
		Core:   core, Traffic: f.traffic(),

		RecentErrors: f.Errors.Latest(), OtherFiles: f.transients.ToKeep(),
	}
}

// traffic returns what the store has cost, nil if it does not count.
func (f *filesystem) traffic() *store.Traffic {
	if f.o.Store == nil {
		return nil
	}
	return f.o.Store.Traffic()
}

func (f *filesystem) statusJSON() []byte {
	b, err := json.MarshalIndent(f.status(), "", "  ")
	if err != nil {
		b = []byte(`{"error": "cannot be shown"}`)
	}
	return []byte(terminal.JSON(string(b)) + "\n") // people print it, too
}
