package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestShaped: packets arrive after half a round trip, one after the other at the link's rate, and
// what comes too fast is dropped.
func TestShaped(t *testing.T) {
	began := time.Unix(0, 0)
	s := shaper{link: link{delay: 50 * time.Millisecond, rate: 1000 * mtu}} // 1 ms for each packet
	for i := range 100 {
		at, ok := s.admit(mtu, began)
		want := 25*time.Millisecond + time.Duration(i+1)*time.Millisecond
		switch {
		case i <= 50 && (!ok || at.Sub(began) != want):
			t.Errorf("packet %d: %v, %v, want %v", i, at.Sub(began), ok, want)
		case i > 50 && ok:
			t.Errorf("packet %d fits, and a round trip is waiting already", i)
		}
	}
	later := began.Add(time.Second)
	if at, ok := s.admit(mtu, later); !ok || at.Sub(later) != 26*time.Millisecond {
		t.Errorf("on an idle link: %v, %v, want 26 ms", at.Sub(later), ok)
	}
}

// packets is a device from which some packets come at once.
type packets struct{ left int }

func (p *packets) Read(b []byte) (int, error) {
	if p.left == 0 {
		return 0, io.EOF
	}
	p.left--
	b[0] = byte(p.left)
	return 100, nil
}

// TestDelivered: all packets arrive in their order.
func TestDelivered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, w := io.Pipe()
		go carry(link{delay: time.Second, rate: 1e6}, &packets{left: 5}, w)
		var got []string
		for range 5 {
			b := make([]byte, mtu)
			n, err := r.Read(b)
			if err != nil || n != 100 {
				t.Fatal(n, err)
			}
			got = append(got, fmt.Sprint(b[0]))
		}
		if text := strings.Join(got, " "); text != "4 3 2 1 0" {
			t.Errorf("the packets are %s", text)
		}
	})
}

// TestMain is what this program does at the near end of a link, where TestLink runs it.
func TestMain(m *testing.M) {
	if port := os.Getenv("WAN_SOURCE"); port != "" {
		if err := atNearEnd(os.Getenv("WAN_FAR"), port); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// asked is how many bytes come from the source.
const asked = 300_000

// atNearEnd prints the addresses there, and how many bytes have come from the far end.
func atNearEnd(far, port string) error {
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		return err
	}
	fmt.Println(addresses)
	c, err := net.Dial("tcp", net.JoinHostPort(far, port))
	if err != nil {
		return err
	}
	defer c.Close()
	if err := binary.Write(c, binary.BigEndian, uint64(asked)); err != nil {
		return err
	}
	n, err := io.CopyN(io.Discard, c, asked)
	fmt.Println(n, "bytes")
	return err
}

// TestLink: a program at the near end reaches the far end. This machine's own devices are not
// there.
func TestLink(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out")
	out, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	stdout := os.Stdout
	os.Stdout = out
	err = run(context.Background(), link{10 * time.Millisecond, 1e7}, os.Args[:1])
	os.Stdout = stdout
	out.Close()
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrNotExist) {
		t.Skip("SKIPPED: this test needs root's rights and /dev/net/tun: ", err)
	}
	text, _ := os.ReadFile(path)
	want := fmt.Sprintf("[127.0.0.1/8 %s/30 ::1/128]\n%d bytes\n", nearAddress, asked)
	if err != nil || !strings.HasPrefix(withoutLinkLocal(string(text)), want) {
		t.Errorf("%v, %q, want %q", err, text, want)
	}
}

// withoutLinkLocal leaves out what the kernel gives a device by itself, where it knows IPv6.
func withoutLinkLocal(text string) string {
	text = regexp.MustCompile(` fe80:[^ \]]*`).ReplaceAllString(text, "")
	if !strings.Contains(text, "::1/128") {
		text = strings.Replace(text, "/30]", "/30 ::1/128]", 1)
	}
	return text
}
