// Command poll is libco's example of that name: it connects to many addresses
// at once and waits for all of the fds in one call, socket.Poll, until each has
// connected, has been refused, or -timeout has gone by without news. It does so
// once on the main goroutine, where Poll blocks, and then in -coroutines
// coroutines side by side, where it parks.
//
//	go run . 127.0.0.1:7000 127.0.0.1:7001 '[::1]:7000'
//
// For a connection or two netco.Dial is the way; Poll is for code that has fds,
// as that of C libraries does.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"net/netip"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/socket"
)

func main() {
	timeout := flag.Duration("timeout", time.Second, "how long to wait for the next event")
	coroutines := flag.Int("coroutines", 10, "how many poll side by side")
	flag.Parse()
	if err := run(os.Stdout, flag.Args(), *timeout, *coroutines); err != nil {
		log.Fatal("poll: ", err)
	}
}

func run(w io.Writer, args []string, timeout time.Duration, coroutines int) error {
	var to []netip.AddrPort
	for _, arg := range args {
		a, err := netip.ParseAddrPort(arg)
		if err != nil {
			return err
		}
		to = append(to, a)
	}
	if err := netco.Start(netco.Options{}); err != nil {
		return err
	}
	defer netco.Shutdown(context.Background())
	fmt.Fprintln(w, "main:", connectAll(to, timeout))
	results := make([]string, coroutines)
	err := netco.Run(func() {
		for i := range results {
			if _, err := netco.Go(func() { results[i] = connectAll(to, timeout) }); err != nil {
				results[i] = err.Error()
			}
		}
	})
	for i, r := range results {
		fmt.Fprintf(w, "coroutine %d: %s\n", i, r)
	}
	return err
}

// connectAll connects to all, waits until nothing is left to wait for, and says
// what became of them.
func connectAll(to []netip.AddrPort, timeout time.Duration) string {
	var fds []socket.PollFd
	defer func() {
		for _, f := range fds {
			unix.Close(int(f.Fd))
		}
	}()
	for _, a := range to {
		fd, err := connect(a)
		if err != nil {
			return err.Error()
		}
		fds = append(fds, socket.PollFd{Fd: int32(fd), Events: unix.POLLOUT})
	}
	open, refused := 0, 0
	for waiting := slices.Clone(fds); len(waiting) > 0; {
		n, err := socket.Poll(waiting, timeout)
		if err != nil {
			return err.Error()
		}
		if n == 0 {
			break
		}
		waiting = slices.DeleteFunc(waiting, func(f socket.PollFd) bool {
			switch {
			case f.Revents&(unix.POLLERR|unix.POLLHUP) != 0:
				refused++
			case f.Revents != 0:
				open++
			}
			return f.Revents != 0
		})
	}
	return fmt.Sprintf("%d connected, %d refused, %d silent", open, refused, len(fds)-open-refused)
}

// connect begins to connect. Whether that succeeds, or has failed at once, is
// for Poll to report.
func connect(to netip.AddrPort) (fd int, err error) {
	domain, at := unix.AF_INET6,
		unix.Sockaddr(&unix.SockaddrInet6{Addr: to.Addr().As16(), Port: int(to.Port())})
	if to.Addr().Is4() {
		domain, at = unix.AF_INET, &unix.SockaddrInet4{Addr: to.Addr().As4(), Port: int(to.Port())}
	}
	fd, err = unix.Socket(domain, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, os.NewSyscallError("socket", err)
	}
	unix.Connect(fd, at)
	return fd, nil
}
