package pieces

import "testing"

// TestFollow: a reader in order has chunks loaded that it has not asked for, each once. There are
// more of them the further it has come. Readers here and there, and those that leave out a part,
// have none.
func TestFollow(t *testing.T) {
	const size, most = 8 << 20, 3
	of := stacked{1000, size}
	type read struct{ off, n, first, end int64 }
	for name, reads := range map[string][]read{
		"in order": {{0, size, 1, 1}, {size, size, 2, 3}, {2 * size, size, 3, 4},
			{3 * size, size, 4, 6}, {4 * size, size, 6, 7}, {5 * size, size, 7, 9}},
		"parts of chunks": {{0, size, 1, 1}, {size, size - 1, 2, 2}, {2*size - 1, 1, 2, 3},
			{2 * size, 1 << 20, 3, 4}, {2*size + 1<<20, size, 4, 5}},
		"out of order":   {{1 << 20, size, 2, 2}, {0, 1 << 20, 1, 1}, {size + 1<<20, size, 3, 4}},
		"here and there": {{0, size, 1, 1}, {5 * size, size, 6, 6}, {9 * size, size, 10, 10}},
		"two readers": {{0, size, 1, 1}, {50 * size, size, 51, 51}, {size, size, 2, 3},
			{51 * size, size, 52, 53}, {2 * size, size, 3, 4}},
		"many chunks at once": {{0, 4 * size, 4, 6}, {4 * size, 4 * size, 8, 11}},
		"to the end":          {{994 * size, 4 * size, 998, 1000}, {998 * size, size, 1000, 1000}},
	} {
		var s stack
		for i, r := range reads {
			first, end := s.follow(of, r.off, r.n, most, always)
			if first != r.first || end != r.end {
				t.Errorf("%s, read %d: chunks %d to %d, expected %d to %d", name, i, first, end,
					r.first, r.end)
			}
		}
	}
	var s stack
	for at := int64(0); at < 100*size; at += 1 << 20 {
		if first, end := s.follow(of, at, 100<<10, most, always); first != end {
			t.Fatalf("one that leaves out a part at %d: chunks %d to %d", at, first, end)
		}
	}
	s = stack{}
	for i := range int64(300) { // 100 chunks in order, then each second one, twice
		at := i
		if i > 100 {
			at = 100 + (i-100)/2*2
		}
		first, end := s.follow(stacked{1000, 1 << 20}, at<<20, 1<<20, most, always)
		if i > 120 && first != end {
			t.Fatalf("read %d, of each second chunk: chunks %d to %d", i, first, end)
		}
	}
}

// TestFollowWithoutRoom: chunks for which there was no room are returned again.
func TestFollowWithoutRoom(t *testing.T) {
	const size, most = 8 << 20, 3
	of := stacked{1000, size}
	var s stack
	for n := range int64(6) {
		first, end := s.follow(of, n*size, size, most, func(chunks int64) bool { return n < 2 })
		if n >= 2 && first != end {
			t.Errorf("read %d: chunks %d to %d, without room", n, first, end)
		}
	}
	if first, end := s.follow(of, 6*size, size, most, always); first != 7 || end != 10 {
		t.Errorf("chunks %d to %d, expected 7 to 10", first, end)
	}
}

// always says that there is room for chunks.
func always(int64) bool { return true }
