package parallel

// A Line is a number of calls whose results are taken in the order of the calls, while later ones
// are under way. One goroutine uses it.
type Line[T any] struct {
	call  func(i int) T
	n     int
	begun int
	taken int
	ahead []chan T // of each call that has begun and was not taken
}

// NewLine returns the calls f(i) for 0 <= i < n. While one result is in use, up to ahead others are
// made, or wait. With ahead of 0 the caller of Next makes them, and so it does if n is 1.
func NewLine[T any](ahead, n int, f func(i int) T) *Line[T] {
	if n == 1 {
		ahead = 0
	}
	l := &Line[T]{call: f, n: n, ahead: make([]chan T, min(ahead, n))}
	for i := range l.ahead {
		l.ahead[i] = make(chan T, 1)
	}
	return l
}

// Next returns the next result. There are n of them.
func (l *Line[T]) Next() T {
	if len(l.ahead) == 0 {
		l.begun++
		l.taken++
		return l.call(l.taken - 1)
	}
	l.begin()
	result := l.take()
	l.begin()
	return result
}

// begin begins as many calls as may be under way.
func (l *Line[T]) begin() {
	for ; l.begun < min(l.n, l.taken+len(l.ahead)); l.begun++ {
		i, result := l.begun, l.ahead[l.begun%len(l.ahead)]
		go func() { result <- l.call(i) }()
	}
}

func (l *Line[T]) take() T {
	result := <-l.ahead[l.taken%len(l.ahead)]
	l.taken++
	return result
}

// End waits for the calls under way, and drops the results that nobody has taken.
func (l *Line[T]) End(drop func(T)) {
	for l.taken < l.begun {
		drop(l.take())
	}
}
