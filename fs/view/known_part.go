package view

import (
	"github.com/zarrfs/zarrfs/fs/view/axes"
	"github.com/zarrfs/zarrfs/layout"
	"github.com/zarrfs/zarrfs/layout/volume"
	"github.com/zarrfs/zarrfs/zarrcore"
)

// describePart returns the part of an array as headers describe it, from what they say of all of
// the array.
func describePart(whole volume.Volume, part zarrcore.Slice) (volume.Volume, error) {
	v, ok := axes.Of(axes.Known{Array: part.Meta})
	if !ok {
		return v, volume.ErrNot
	}
	shown := v.Axes
	v.Axes = nil
	for i, x := range part.Along {
		if part.Dropped[i] {
			continue
		}
		now := shown[len(v.Axes)]
		if now.Length == x.Count { // otherwise its bytes are other elements
			now = along(whole.Axes[i], x)
		}
		v.Axes = append(v.Axes, now)
	}
	v.IsPacked = v.IsPacked && v.Type == whole.Type
	v.HasBlank = v.HasBlank && v.Type == whole.Type
	return v, nil
}

// along returns some indexes of an axis as an axis.
func along(a volume.Axis, x layout.Indexes) volume.Axis {
	labels := a.Labels
	a.Length, a.Labels = x.Count, nil
	for i := range x.Count {
		if labels == nil {
			break
		}
		a.Labels = append(a.Labels, labels[x.Start+i*x.Step])
	}
	if a.HasStart = a.HasStart && (a.HasStep || x.Start == 0); a.HasStart {
		a.Start += float64(x.Start) * a.Step
	}
	a.Step *= float64(x.Step)
	return a
}
