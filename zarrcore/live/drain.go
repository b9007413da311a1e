package live

import (
	"context"

	"github.com/zarrfs/zarrfs/zarrcore/batch"
)

// drain stores objects that are completely dirty while their writer goes on.
func (d *draft) drain() {
	d.flushing.Lock()
	defer d.flushing.Unlock()
	s := d.storer()
	defer s.leaveHome()
	var p batch.Pipeline
	for {
		objects, last := d.takeReady(p.IsIdle())
		if last {
			return
		}
		if err := s.findHome(context.Background()); err != nil {
			s.conclude(context.Background(), err)
			continue
		}
		if len(objects) == 0 {
			p.End() // meanwhile others may be complete
		}
		s.writer().Feed(context.Background(), &p, objects)
		if p.HasFailed() {
			s.conclude(context.Background(), p.End())
			p = batch.Pipeline{}
		}
	}
}
