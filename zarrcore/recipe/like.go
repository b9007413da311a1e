package recipe

import (
	"slices"

	"github.com/zarrfs/zarrfs/zarrcore/meta"
)

// Like returns the recipe of arrays with the chunks of another array, which has another format: the
// inner ones where it is sharded, for format 2 has no shards. Where its chunks differ in shape the
// recipe's own stay.
func (r Recipe) Like(a *meta.Array) Recipe {
	if !a.IsRegular() {
		return r
	}
	chunk, _, err := innermost(a)
	if err != nil || len(chunk) != len(a.Shape) {
		return r
	}
	r.chunks, r.shards = cutting{manner: explicit}, cutting{}
	for _, n := range chunk {
		r.chunks.lengths = append(r.chunks.lengths, max(n, 1))
	}
	return r
}

// WithCodecsOf returns the recipe of arrays with the codecs of another array, which has another
// format, if this format has those too.
func (r Recipe) WithCodecsOf(a *meta.Array) Recipe {
	codecs, err := a.CodecsV3()
	if a.Format == 3 {
		_, codecs, err = innermost(a)
	}
	// which the order says
	codecs = slices.DeleteFunc(slices.Clone(codecs), func(c meta.Codec) bool {
		return c.Name == "transpose"
	})
	if err == nil && (r.Format == 3 || !slices.ContainsFunc(codecs, isOnlyV3)) {
		r.codecs = append([]meta.Codec{}, codecs...)
	}
	return r
}

// isOnlyV3 reports whether format 2 has no such codec.
func isOnlyV3(c meta.Codec) bool { return !c.IsInV2() }

// innermost returns the shape and the codecs of the smallest block of an array of regular chunks.
func innermost(a *meta.Array) (chunk []int64, codecs []meta.Codec, err error) {
	shards, err := a.Shards()
	if err != nil || len(shards) == 0 {
		return a.Chunk, a.Codecs, err
	}
	last := shards[len(shards)-1]
	return last.Chunk, last.Codecs, nil
}
