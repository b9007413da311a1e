package store

// Traffic counts what a store behind a network has cost since it was opened.
type Traffic struct {
	Requests  int64   `json:"requests"`
	Retries   int64   `json:"retries"` // requests that took the place of failed ones
	Failed    int64   `json:"failed"`  // what could not be had in the end
	Bytes     int64   `json:"bytes"`   // of the objects and listings that came
	InFlight  int64   `json:"in_flight"`
	RoundTrip float64 `json:"round_trip_ms"` // the shortest of the last minute; 0: unknown

	// Carries is how many bytes the answer to one request brings in the time of a round trip. It
	// is less where many requests are under way. 0: unknown.
	Carries int64 `json:"-"`

	Disk *DiskTraffic `json:"disk_cache,omitempty"` // nil: there is no cache on disk
}

// DiskTraffic counts what a cache on disk has saved since it was opened.
type DiskTraffic struct {
	Hits    int64  `json:"hits"`              // what was answered without data from the network
	Misses  int64  `json:"misses"`            // what the disk did not have
	Bytes   int64  `json:"bytes"`             // that came from the disk
	Skipped int64  `json:"skipped"`           // what came faster than the disk can keep it
	Limit   int64  `json:"limit"`             // bytes of all files, at most
	Refused string `json:"refused,omitempty"` // why nothing is kept at present
}

// Meter is a Driver that counts what it costs. It is optional.
type Meter interface {
	// Traffic returns the counts as they are now, nil where nothing is counted.
	Traffic() *Traffic
}

// Traffic returns what the store has cost, nil if it does not count; see Meter.
func (s *Store) Traffic() *Traffic {
	if m, ok := s.driver.(Meter); ok {
		return m.Traffic()
	}
	return nil
}

// Carries returns Traffic.Carries, 0 if the store does not count.
func (s *Store) Carries() int64 {
	if t := s.Traffic(); t != nil {
		return t.Carries
	}
	return 0
}
