package view

import "github.com/zarrfs/zarrfs/zarrcore"

// Extent is what the file of an array's view is made of at some time. The zero value stands for
// one whose array does not exist yet.
type Extent struct {
	Array *zarrcore.Array
	Head  int64 // bytes before those of the array, as the file's writers see them
	Data  int64 // bytes of the array
	Tail  int64 // zero bytes behind them

	Reversed bool // they lie in the order of the array with its axes reversed

	Sliced bool  // they are those of a part of the array
	At     int64 // where that begins in the array, if its bytes lie there as in the file
}

// ExtentOf returns what a file of the array is made of.
func ExtentOf(v ArrayView, arr *zarrcore.Array) (Extent, error) {
	head, data, err := v.Parts(arr)
	if err != nil {
		return Extent{}, err
	}
	e := Extent{Array: arr, Head: head, Data: data.Size(), Sliced: data.IsSlice()}
	e.Tail = v.Tail(e.Data)
	e.Reversed = data != arr && !e.Sliced
	e.At, _ = data.Stretch()
	return e, nil
}

// Size returns the size of the file.
func (e Extent) Size() int64 { return e.Head + e.Data + e.Tail }

// Stretch returns the part of the array that lies in [off, off+n) of the file.
func (e Extent) Stretch(off, n int64) Stretch {
	off -= e.Head
	if off < 0 {
		off, n = 0, max(0, n+off)
	}
	return Stretch{e.At + off, n, e.Reversed}
}

// Stretch is N bytes at Off of an array's file, after its header; N < 0: all that follow.
type Stretch struct {
	Off, N   int64
	Reversed bool // of a file that shows the array with its axes reversed
}

// Everything is all of a file, its header included.
var Everything = Stretch{N: -1}

// In returns where the stretch lies in a file of that extent: where the one is in C order and the
// other in Fortran order, or a part of the array, anywhere.
func (s Stretch) In(e Extent) Stretch {
	if s != Everything && (s.Reversed != e.Reversed || e.Sliced) {
		return Everything
	}
	return s
}
