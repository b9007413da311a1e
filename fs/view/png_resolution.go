package view

import (
	"context"
	"path"
	"strings"

	"github.com/zarrfs/zarrfs/fs/picture"
	"github.com/zarrfs/zarrfs/layout"
	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/pyjson"
)

// drawnMost is how many bytes are decoded for a picture at most.
const drawnMost = 64 << 20

// drawnLevel returns the array of which a picture is drawn: arr, or the coarsest other resolution
// of it that has as many samples. It is nil if all decode too much.
func drawnLevel(
	ctx context.Context, h *zarrcore.Hierarchy, arr *zarrcore.Array, plan picture.Plan,
) (best *zarrcore.Array) {
	rows, cols := plan.Samples(plan.Along(arr.Meta().Shape))
	for _, name := range levels(ctx, h, arr) {
		level := arr
		if name != arr.Path() {
			var err error
			if level, err = h.OpenArray(ctx, name); err != nil {
				continue
			}
		}
		if len(level.Meta().Shape) != len(arr.Meta().Shape) || !isDrawable(level.Meta()) {
			continue
		}
		along := plan.Along(level.Meta().Shape)
		if decodes(level, along) > drawnMost {
			break
		}
		best = level
		if r, c := plan.Samples(along); r >= rows && c >= cols {
			break
		}
	}
	return best
}

// decodes returns how many bytes of chunks have one of these indexes.
func decodes(a *zarrcore.Array, along []layout.Indexes) int64 {
	total := float64(a.Meta().Type.Size)
	for i, n := range a.Chunk() {
		x, n := along[i], max(1, n)
		end := x.Start + (x.Count-1)*x.Step
		first, last := min(x.Start, end), max(x.Start, end)
		total *= float64(n) * float64(min(x.Count, last/n-first/n+1))
	}
	return int64(min(total, 1<<62))
}

// levels returns the paths of an array's resolutions as its group lists them, the coarsest first:
// OME has them from fine to coarse. Without a list that is the array alone.
func levels(ctx context.Context, h *zarrcore.Hierarchy, arr *zarrcore.Array) (paths []string) {
	dir := strings.TrimPrefix(path.Dir(arr.Path()), ".")
	group, err := h.Node(ctx, dir)
	if err != nil || arr.Path() == "" {
		return []string{arr.Path()}
	}
	for _, of := range []pyjson.Value{group.Attributes, group.Attributes.Get("ome")} {
		for scales := range of.Get("multiscales").Elements() {
			var all []string
			isOne := false
			for level := range scales.Get("datasets").Elements() {
				at := path.Join(dir, level.Get("path").Text())
				isOne = isOne || at == arr.Path()
				all = append([]string{at}, all...)
			}
			if isOne {
				return all
			}
		}
	}
	return []string{arr.Path()}
}
