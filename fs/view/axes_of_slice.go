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
	v.Place = placeOfPart(whole.Place, part, v.Axes)
	v.IsPacked = v.IsPacked && v.Type == whole.Type
	v.HasBlank = v.HasBlank && v.Type == whole.Type
	return v, nil
}

// placeOfPart returns where the last two axes of a part lie on Earth, from where those of the whole
// array do. It is unknown if they are other axes, or if the elements are others.
func placeOfPart(p volume.Place, part zarrcore.Slice, shown []volume.Axis) volume.Place {
	n := len(part.Along)
	if !p.Known || part.Dropped[n-2] || part.Dropped[n-1] {
		return volume.Place{}
	}
	line, column := part.Along[n-2], part.Along[n-1]
	if shown[len(shown)-1].Length != column.Count {
		return volume.Place{}
	}
	for _, c := range []*[3]float64{&p.X, &p.Y} {
		c[0] += c[1]*float64(column.Start) + c[2]*float64(line.Start)
		c[1] *= float64(column.Step)
		c[2] *= float64(line.Step)
	}
	return p
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
