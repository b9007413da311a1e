// Command wan runs a program at one end of an emulated link over a long distance.
//
// Usage: wan [-delay 50ms] [-rate 500] [-limit 30m] PROGRAM [ARGUMENT ...]
//
// The link joins two network namespaces that exist only while it runs. Each has a TUN device, and
// this program carries packets between them: it sends them at a rate, and late. So handshakes, slow
// starts and lost packets are those of the kernel. All connections share one queue in each
// direction, which drops what does not fit. It needs root, and changes nothing outside of its
// namespaces.
//
// PROGRAM runs at the near end. Its environment says how to reach the far end:
//
//	WAN_FAR     the address of the far end
//	WAN_NET     its namespace, for nsenter --net=, to start servers there
//	WAN_SOURCE  a port there. A program that sends it a number in 8 bytes, big endian, gets
//	            as many bytes
//
// What comes from WAN_SOURCE shows how much the link itself carries.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"
)

// A link is what lies between the two ends.
type link struct {
	delay time.Duration // of a round trip
	rate  float64       // bytes in a second, each way
}

func main() {
	delay := flag.Duration("delay", 50*time.Millisecond, "round trip")
	rate := flag.Float64("rate", 500, "Mbit in a second, each way")
	limit := flag.Duration("limit", 30*time.Minute, "the program is killed after that")
	flag.Parse()
	if flag.NArg() == 0 {
		flag.Usage()
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, end := context.WithTimeout(ctx, *limit)
	defer end()
	err := run(ctx, link{*delay, *rate * 1e6 / 8}, flag.Args())
	if exit := new(exec.ExitError); errors.As(err, &exit) && exit.ExitCode() > 0 {
		os.Exit(exit.ExitCode())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "wan:", err)
		os.Exit(1)
	}
}

// run runs a program at the near end of a link.
func run(ctx context.Context, l link, args []string) error {
	near, err := newEnd(nearAddress)
	if err != nil {
		return err
	}
	defer near.close()
	far, err := newEnd(farAddress)
	if err != nil {
		return err
	}
	defer far.close()
	go carry(l, near.device, far.device)
	go carry(l, far.device, near.device)
	port, err := far.serveSource()
	if err != nil {
		return err
	}
	env := append(os.Environ(), "WAN_FAR="+farAddress, "WAN_NET="+far.path(),
		fmt.Sprintf("WAN_SOURCE=%d", port))
	return near.run(ctx, env, args)
}
