package identity

import (
	"math/bits"
	"strings"

	"github.com/zarrfs/zarrfs/fs/names"
	"github.com/zarrfs/zarrfs/fs/view"
)

// Number returns the number that readdir and stat show: FNV-1a of the path, spread, and kept off
// the reserved numbers. Its lowest bits are the view's, in the order in which views are listed:
// programs that copy trees in the order of inode numbers, as cp does, must come to an array's
// document first.
func (k Key) Number() uint64 {
	sum := uint64(14695981039346656037)
	for i := 0; i < len(k.Path); i++ {
		sum = (sum ^ uint64(k.Path[i])) * 1099511628211
	}
	name, link := strings.CutPrefix(k.View, linkView)
	if link { // another number than that of what else may be there
		sum = (sum ^ '@') * 1099511628211
	}
	last := uint64(len(view.All())) // what is not among the views
	for i, v := range view.All() {
		if v.Name() == name {
			last = uint64(i)
		}
	}
	if k.isPart() {
		for i := 0; i < len(k.View); i++ {
			sum = (sum ^ uint64(k.View[i])) * 1099511628211
		}
	}
	return spread(sum)&^(1<<bits.Len(uint(len(view.All())))-1) | last
}

// isPart reports whether the node shows a part of an array, of which there are any number of views.
func (k Key) isPart() bool { return k.View != "" && names.File("", k.View) == k.View }

func spread(sum uint64) uint64 {
	sum ^= sum >> 32
	sum *= 0x9E3779B97F4A7C15
	return sum&^(3<<62) | 1<<60
}
