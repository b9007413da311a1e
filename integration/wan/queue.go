package main

import (
	"io"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// mtu is the most bytes of a packet, as on Ethernet.
	mtu = 1500
	// mostQueued bounds the packets on their way, in one direction.
	mostQueued = 1 << 14
)

// A packet is to arrive at a time.
type packet struct {
	data []byte
	at   time.Time
}

// A shaper says when packets leave and arrive, in one direction of a link.
type shaper struct {
	link
	free time.Time // when the last packet has left
}

// admit returns when a packet of n bytes that comes now arrives. It is dropped if those before it
// take longer to leave than a round trip.
func (s *shaper) admit(n int, now time.Time) (at time.Time, ok bool) {
	if s.free.Before(now) {
		s.free = now
	}
	if s.free.Sub(now) > s.delay {
		return time.Time{}, false
	}
	s.free = s.free.Add(time.Duration(float64(n) / s.rate * float64(time.Second)))
	return s.free.Add(s.delay / 2), true
}

// carry carries packets in one direction, until one of the devices is closed.
func carry(l link, from io.Reader, to io.Writer) {
	packets, unused := make(chan packet, mostQueued), make(chan []byte, mostQueued)
	go deliver(to, packets, unused)
	defer close(packets)
	hurry()
	s := shaper{link: l}
	for {
		buffer := take(unused)
		n, err := from.Read(buffer)
		if err != nil {
			return
		}
		if at, ok := s.admit(n, time.Now()); ok {
			select {
			case packets <- packet{buffer[:n], at}:
			default: // dropped
			}
		}
	}
}

// hurry gives the calling goroutine a thread that other programs hold up little: a real link takes
// no processor from them.
func hurry() {
	runtime.LockOSThread()
	unix.Setpriority(unix.PRIO_PROCESS, 0, -15) // of this thread; it works without, too
}

// take returns memory for a packet.
func take(unused <-chan []byte) []byte {
	select {
	case b := <-unused:
		return b[:mtu]
	default:
		return make([]byte, mtu)
	}
}

// deliver writes each packet when it is to arrive.
func deliver(to io.Writer, packets <-chan packet, unused chan<- []byte) {
	hurry()
	for p := range packets {
		if wait := time.Until(p.at); wait > 0 {
			time.Sleep(wait)
		}
		if _, err := to.Write(p.data); err != nil {
			continue // the kernel refuses the packet, which is lost
		}
		select {
		case unused <- p.data[:cap(p.data)]:
		default:
		}
	}
}
