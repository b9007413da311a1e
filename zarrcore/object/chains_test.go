package object

import (
	"errors"
	"fmt"
	"testing"

	"github.com/zarrfs/zarrfs/layout"
	"github.com/zarrfs/zarrfs/zarrcore/meta"
)

// TestChains counts what is bound: one chain where all objects have one shape, otherwise
// one for each shape, once.
func TestChains(t *testing.T) {
	bound := 0
	bind := func(m *meta.Array) (string, error) {
		bound++
		if m.Chunk[0] == 5 {
			return "", errors.New("five is odd")
		}
		return fmt.Sprint(m.Chunk), nil
	}
	regular := described([]int64{10, 9}, []int64{4, 6})
	differ := described([]int64{10, 9}, []int64{6, 6})
	differ.Cuts = [][]layout.Cut{
		{{Length: 6, Count: 1}, {Length: 4, Count: 1}},
		{{Length: 3, Count: 1}, {Length: 6, Count: 1}},
	}
	for _, c := range []struct {
		m      *meta.Array
		object int64
		chain  string
		bound  int
	}{
		{regular, 3, "[4 6]", 1},
		{differ, 2, "[4 3]", 5},
	} {
		bound = 0
		k, err := NewKeys(c.m, "a")
		if err != nil {
			t.Fatal(err)
		}
		chains, _, err := NewChains(c.m, bind)
		if err != nil {
			t.Fatal(err)
		}
		if err := chains.BindAll(k); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			chain, err := chains.Of(k, c.object, k.Length(c.object))
			if err != nil || chain != c.chain {
				t.Errorf("object %d has chain %q, %v, expected %q", c.object, chain, err, c.chain)
			}
		}
		if bound != c.bound {
			t.Errorf("%d chains were bound, expected %d", bound, c.bound)
		}
	}
	differ.Cuts[0][1].Length = 5
	differ.Shape[0] = 11
	k, err := NewKeys(differ, "a")
	if err != nil {
		t.Fatal(err)
	}
	chains, _, err := NewChains(differ, bind)
	if err != nil {
		t.Fatal(err)
	}
	if err := chains.BindAll(k); err == nil {
		t.Error("an array whose codecs do not fit one of its objects was taken")
	}
}
