// Package statusfile says what a mount is, what it has done and what it takes, for its status.json.
package statusfile

import (
	"context"
	"encoding/json"
	"os"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/zarrfs/zarrfs/fs/adopt"
	"github.com/zarrfs/zarrfs/fs/errno"
	"github.com/zarrfs/zarrfs/fs/material"
	"github.com/zarrfs/zarrfs/fs/pagecache"
	"github.com/zarrfs/zarrfs/fs/terminal"
	"github.com/zarrfs/zarrfs/fs/texts"
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
	Mount    Mount           `json:"mount"`
	Memory   Memory          `json:"memory"`
	Core     zarrcore.Status `json:"core"`
	Traffic  *store.Traffic  `json:"traffic,omitempty"` // of a store behind a network

	// that programs were given, the newest last
	RecentErrors []errno.Recent `json:"recent_errors,omitempty"`
	// files that are not views; nil: none
	OtherFiles *transient.Kept `json:"other_files,omitempty"`
}

// Mount counts what the kernel asked for.
type Mount struct {
	Lookups  int64 `json:"lookups"`
	Listings int64 `json:"listings"`
	OpenCounts
	Reads      int64 `json:"reads"`
	ReadBytes  int64 `json:"read_bytes"`
	PagedReads int64 `json:"reads_paged"` // sent by the page cache
	// copied, because of more pieces than one writev takes well
	Gathered   int64  `json:"reads_gathered"`
	Writes     int64  `json:"writes"`
	WriteBytes int64  `json:"write_bytes"`
	Errors     uint64 `json:"errors"`
	Panics     int64  `json:"panics"`
	Material   int64  `json:"materialised_files"`
	// of scratch, also of those that are being written
	MaterialBytes int64 `json:"materialised_bytes"`
}

// OpenCounts counts opens of files.
type OpenCounts struct {
	Opens      int64 `json:"opens"`
	OpenDirect int64 `json:"opens_direct"` // past the page cache
	OpenKept   int64 `json:"opens_kept"`   // with the pages of an earlier open
	// of materialised files: their READs do not arrive here
	OpenPass  int64 `json:"opens_passthrough"`
	OpenWrite int64 `json:"opens_writable"`
	OpenFiles int64 `json:"open_files"` // now
}

// Memory describes the daemon's own memory, in bytes.
type Memory struct {
	Heap       uint64 `json:"heap"`
	System     uint64 `json:"system"`
	Goroutines int    `json:"goroutines"`
}

// Counters count what the kernel asked for.
type Counters struct {
	Opens, OpenDirect, OpenKept, OpenFiles atomic.Int64
	OpenThrough, OpenWrite                 atomic.Int64
	Writes, WriteBytes                     atomic.Int64
	Reads, ReadBytes, PagedReads           atomic.Int64
	Gathered, Lookups, Listings            atomic.Int64
}

// Wrote counts a WRITE of n bytes.
func (c *Counters) Wrote(n int) {
	c.Writes.Add(1)
	c.WriteBytes.Add(int64(n))
}

// mount returns what status.json shows of the counters.
func (c *Counters) mount() Mount {
	return Mount{
		Lookups: c.Lookups.Load(), Listings: c.Listings.Load(),
		OpenCounts: OpenCounts{Opens: c.Opens.Load(), OpenDirect: c.OpenDirect.Load(),
			OpenKept: c.OpenKept.Load(), OpenPass: c.OpenThrough.Load(),
			OpenWrite: c.OpenWrite.Load(),
			OpenFiles: c.OpenFiles.Load()},
		Reads: c.Reads.Load(), ReadBytes: c.ReadBytes.Load(), PagedReads: c.PagedReads.Load(),
		Gathered: c.Gathered.Load(), Writes: c.Writes.Load(), WriteBytes: c.WriteBytes.Load(),
	}
}

// Source is the mount whose status is asked for.
type Source struct {
	Is         Status // what it is, and stays
	Ctx        context.Context
	H          *zarrcore.Hierarchy
	Store      *store.Store // nil: unknown
	Count      *Counters
	Errors     *errno.Log
	Material   *material.Files
	Texts      *texts.Files
	Transients *transient.Files
	Adopting   *adopt.Files
}

// Now takes a snapshot of the mount's state.
func (f *Source) Now() Status {
	f.Adopting.EndCopiesSoon()
	s := f.Is
	s.Pid = os.Getpid()
	s.Mount = f.Count.mount()
	s.Mount.Errors, s.Mount.Panics = f.Errors.Count(), f.Errors.Panics()
	s.Mount.Material, s.Mount.MaterialBytes = f.Material.Status()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	s.Memory = Memory{Heap: m.HeapAlloc, System: m.Sys, Goroutines: runtime.NumGoroutine()}
	s.Core = f.H.Status()
	s.Core.Write.Errors = f.Texts.AddErrors(s.Core.Write.Errors)
	if f.Store != nil {
		s.Traffic = f.Store.Traffic()
	}
	s.RecentErrors, s.OtherFiles = f.Errors.Latest(), f.Transients.ToKeep()
	return s
}

// JSON returns the text of status.json.
func (f *Source) JSON() []byte {
	b, err := json.MarshalIndent(f.Now(), "", "  ")
	if err != nil {
		b = []byte(`{"error": "cannot be shown"}`)
	}
	return []byte(terminal.JSON(string(b)) + "\n") // people print it, too
}
