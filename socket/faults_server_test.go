package socket_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/sysx"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
	"github.com/netco-go/netco/socket"
)

// nth returns an Injector for one kind of call that lets some pass and then
// fails so many.
func nth(op sysx.Op, pass, failures int, errno syscall.Errno) (inject sysx.Injector, asked *atomic.Int32) {
	asked = new(atomic.Int32)
	return func(o sysx.Op, _, n int) (int, syscall.Errno) {
		if o == op {
			if i := int(asked.Add(1)) - 1; i >= pass && i < pass+failures {
				return n, errno
			}
		}
		return n, 0
	}, asked
}

// untilRest waits until the one listener is waited for, and so many connections
// of a Server are idle: all are registered, and none is about to be read.
func untilRest(t *testing.T, conns int) {
	t.Helper()
	s := testenv.Must(netco.Default())
	testenv.Until(t, "rest", func() bool {
		listeners, idle := 0, 0
		for _, p := range s.Processors() {
			socket.Inspect(p, func(i socket.Info) bool {
				if i.Listener && i.ReadWaiter != 0 {
					listeners++
				}
				if i.Idle {
					idle++
				}
				return true
			})
		}
		return listeners == 1 && idle == conns
	})
}

// TestServerReadFault: an error of one connection ends that one, is told of
// once, by Handle's Read and by Closed, in net's form, and leaves no fd. Others
// go on.
func TestServerReadFault(t *testing.T) {
	for _, errno := range []syscall.Errno{unix.ECONNRESET, unix.ETIMEDOUT, unix.ENOBUFS, unix.EHOSTUNREACH} {
		t.Run(unix.ErrnoName(errno), func(t *testing.T) {
			start(t, 2)
			address, ends := serving(t, &socket.Server{Handle: echoOnce})
			other := dialNet(t, address)
			exchange(t, other, "before")
			untilRest(t, 1)
			fds := testenv.Files()
			victim := dialNet(t, address)
			local := victim.LocalAddr().String()
			inject, _ := nth(sysx.Recv, 0, 1, errno)
			remove := sysx.Inject(inject)
			defer remove()
			victim.Write([]byte("x"))
			err := testenv.Await(t, ends, "the end")
			remove()
			want := fmt.Sprintf("read tcp %s->%s: read: %v", address, local, errno)
			var op *net.OpError
			if err == nil || err.Error() != want || !errors.Is(err, errno) || !errors.As(err, &op) {
				t.Errorf("%v, want %s", err, want)
			}
			// it had not been read
			if _, err := io.ReadAll(victim); err != nil && !errors.Is(err, unix.ECONNRESET) {
				t.Errorf("the victim: %v", err)
			}
			victim.Close()
			exchange(t, other, "after")
			testenv.Until(t, "the victim's fds to be closed", func() bool { return testenv.Files() <= fds })
			select {
			case err := <-ends:
				t.Errorf("told of once more: %v", err)
			default:
			}
		})
	}
}

// TestServerRegisterFault: a connection cannot be registered with epoll. It is
// closed, Closed has the reason, once; the others and the listener go on.
func TestServerRegisterFault(t *testing.T) {
	for _, errno := range []syscall.Errno{unix.ENOSPC, unix.ENOMEM} {
		for _, timeout := range []time.Duration{0, time.Hour} {
			t.Run(fmt.Sprint(unix.ErrnoName(errno), timeout), func(t *testing.T) {
				start(t, 2)
				address, ends := serving(t, &socket.Server{Handle: echoOnce, IdleTimeout: timeout})
				other := dialNet(t, address)
				exchange(t, other, "before")
				untilRest(t, 1)
				fds := testenv.Files()
				inject, _ := nth(sysx.EpollCtl, 0, 3, errno)
				remove := sysx.Inject(inject)
				defer remove()
				for range 3 {
					victim := dialNet(t, address)
					if err := testenv.Await(t, ends, "the end"); !errors.Is(err, errno) || err.Error() != "epoll_ctl: "+errno.Error() {
						t.Errorf("ended by %v", err)
					}
					if _, err := victim.Read(make([]byte, 1)); err != io.EOF {
						t.Errorf("the victim: %v", err)
					}
					victim.Close()
				}
				exchange(t, dialNet(t, address), "the next")
				exchange(t, other, "after")
				testenv.Until(t, "the victims' fds to be closed", func() bool { return testenv.Files() <= fds+2 })
				if n := len(ends); n != 0 {
					t.Errorf("%d ends too many", n)
				}
			})
		}
	}
}

// TestListenerRegisterFault: the listener itself cannot be registered. Serve
// returns that, in net's form, and has closed it.
func TestListenerRegisterFault(t *testing.T) {
	for _, errno := range []syscall.Errno{unix.ENOSPC, unix.ENOMEM} {
		for _, network := range []string{"tcp", "unix"} {
			t.Run(unix.ErrnoName(errno)+"/"+network, func(t *testing.T) {
				start(t, 2)
				fds := testenv.Files()
				l := listenAny(t, network)
				inject, _ := nth(sysx.EpollCtl, 0, 1, errno)
				defer sysx.Inject(inject)()
				testrun.First.Do(t, func() {
					err := (&socket.Server{Handle: echoOnce}).Serve(l)
					want := fmt.Sprintf("accept %s %s: epoll_ctl: %v", network, l.Addr(), errno)
					var op *net.OpError
					if err == nil || err.Error() != want || !errors.Is(err, errno) || !errors.As(err, &op) {
						t.Errorf("%v, want %s", err, want)
					}
				})
				if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
					t.Errorf("the listener is not closed: %v", err)
				}
				if n := testenv.Files(); n > fds {
					t.Errorf("%d fds, before %d", n, fds)
				}
			})
		}
	}
}

// TestAcceptBacksOff: for want of an fd or of memory accept is tried after 1
// ms, 2, 4 and so on up to 100, counted anew after a success; it does not spin,
// and the connections that are there are served meanwhile.
func TestAcceptBacksOff(t *testing.T) {
	for k, errno := range []syscall.Errno{unix.EMFILE, unix.ENFILE, unix.ENOBUFS, unix.ENOMEM} {
		tries, least := 9, (1+2+4+8+16+32+64+100+100)*time.Millisecond
		if k > 0 { // they are treated alike
			tries, least = 5, (1+2+4+8+16)*time.Millisecond
		}
		t.Run(unix.ErrnoName(errno), func(t *testing.T) {
			start(t, 1)
			address, _ := serving(t, &socket.Server{Handle: echoOnce})
			first := dialNet(t, address)
			exchange(t, first, "before")
			for round := range 2 {
				inject, tried := nth(sysx.Accept, 0, tries, errno)
				remove := sysx.Inject(inject)
				began := time.Now()
				next := dialNet(t, address)
				for int(tried.Load()) < tries {
					exchange(t, first, "meanwhile")
				}
				exchange(t, next, "at last")
				took := time.Since(began)
				remove()
				if took < least {
					t.Errorf("round %d: %d tries in %v, want them to take %v", round, tries+1, took, least)
				}
			}
		})
	}
}

// TestHangupWithData: the end of the connection, or its reset, comes in the
// same event as the last data, because the Processor was busy. All of the data
// is read first, in whatever pieces, then the end is told of, once for what is
// not EOF.
func TestHangupWithData(t *testing.T) {
	const total = 5000
	for _, network := range []string{"tcp", "unix"} {
		for _, reset := range []bool{false, true} {
			for _, most := range []int{1 << 20, 7} { // by one call
				for _, size := range []int{1 << 20, 100, 1} { // of the reader's buffer
					t.Run(fmt.Sprint(network, " reset ", reset, " ", most, " ", size), func(t *testing.T) {
						startLocked(t, 1)
						c, peer := netcoPair(t, network)
						fd := socket.FDOf(c.(socket.Stream))
						reader := testrun.First.Go(func() {
							got := make([]byte, 0, 2*total)
							buf := make([]byte, size)
							for {
								n, err := c.Read(buf)
								got = append(got, buf[:n]...)
								if err != nil {
									if end := errors.Is(err, unix.ECONNRESET); end != reset || !end && err != io.EOF {
										t.Errorf("the end is %v", err)
									}
									break
								}
							}
							if d := differs(got, 0); len(got) != total || d != "" {
								t.Errorf("%d bytes of %d %s", len(got), total, d)
							}
							if _, err := c.Read(buf); err != io.EOF {
								t.Errorf("after the end: %v", err)
							}
						})
						reader.UntilParked(t, coroutine.ReasonRead)
						defer sysx.Inject(func(op sysx.Op, at, asked int) (int, syscall.Errno) {
							if op == sysx.Recv && at == fd {
								return min(asked, most), 0
							}
							return asked, 0
						})()
						release := hog(t, 0)
						testenv.Must(unix.Write(socket.FDOf(peer.(socket.Stream)), pattern(total)))
						testenv.Until(t, "the data", func() bool { return queuedOr0(fd) == total })
						switch {
						case reset && network == "tcp":
							peer.(diffTCP).SetLinger(0)
						case reset: // so it is one that has not read everything
							unix.Write(fd, []byte("unread"))
						}
						peer.Close()
						testenv.Until(t, "the end", func() bool { return hungUp(fd) })
						release()
						reader.Wait(t)
					})
				}
			}
		}
	}
}

func hungUp(fd int) bool {
	p := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLRDHUP}}
	n, _ := unix.Poll(p, 0)
	return n > 0
}
