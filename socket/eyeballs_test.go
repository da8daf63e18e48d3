package socket_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"runtime"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/goruntime"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
	"github.com/netco-go/netco/processor"
	"github.com/netco-go/netco/socket"
)

// manner is how an address of a host behaves.
type manner int

const (
	refuses manner = iota
	accepts
	ignores // a connect neither succeeds nor fails
	serves  // sends one byte to all who connect
)

// twoFaced makes a host, both.test., that has an address of either family, and
// returns a port on which they behave so. ::1 comes first: RFC 6724.
func twoFaced(t testing.TB, v6, v4 manner) (port string) {
	t.Helper()
	for range 100 {
		probe, err := net.Listen("tcp6", "[::1]:0")
		if err != nil {
			t.Skip("no IPv6 here: ", err)
		}
		n := probe.Addr().(*net.TCPAddr).Port
		probe.Close()
		if behave(t, unix.AF_INET6, n, v6) && behave(t, unix.AF_INET, n, v4) {
			return strconv.Itoa(n)
		}
	}
	t.Fatal("no port that both families have free")
	return ""
}

// behave sees to it that a port of ::1 or 127.0.0.1 behaves so until the test's
// end, also one that refuses: no other process can have it. It returns false if
// the port is taken.
func behave(t testing.TB, family, port int, m manner) bool {
	t.Helper()
	fd := testenv.Must(unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0))
	t.Cleanup(func() { unix.Close(fd) })
	address := fmt.Sprintf("127.0.0.1:%d", port)
	var sa unix.Sockaddr = &unix.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}}
	if family == unix.AF_INET6 {
		unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_V6ONLY, 1)
		address = fmt.Sprintf("[::1]:%d", port)
		sa = &unix.SockaddrInet6{Port: port, Addr: [16]byte{15: 1}}
	}
	if m == refuses {
		return unix.Bind(fd, sa) == nil
	}
	unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1)
	backlog := 1000
	if m == ignores {
		backlog = 0
	}
	if unix.Bind(fd, sa) != nil || unix.Listen(fd, backlog) != nil {
		return false
	}
	switch m {
	case ignores:
		testenv.FillQueue(t, fd, address)
	case serves:
		serveOne(t, fd)
	}
	return true
}

var both = map[string][]record{"both.test.": addresses("::1", "127.0.0.1"),
	"four.test.": addresses("127.0.0.1"), "six.test.": addresses("::1")}

// racing runs f in all places, with an address of a host of two families that
// behave so, and waits for the losers to be closed.
func racing(t *testing.T, v6, v4 manner,
	f func(p testrun.Place, r *socket.Resolver, address string)) {
	t.Helper()
	start(t, 2)
	address := "both.test.:" + twoFaced(t, v6, v4)
	s := serveNames(t, both)
	before := socket.OpenCount()
	everywhere(t, func(p testrun.Place) { f(p, s.resolver(), address) })
	untilOpen(t, before)
}

// TestRace: with two families, whichever can be reached is; the other costs no
// more time than it must.
func TestRace(t *testing.T) {
	const never = time.Hour
	for _, c := range []struct {
		name   string
		v6, v4 manner
		delay  time.Duration
		v4wins bool
	}{
		{"both accept, later", accepts, accepts, never, false},
		{"both accept", accepts, accepts, 0, false},
		{"only the first accepts", accepts, refuses, never, false},
		{"the first refuses", refuses, accepts, never, true}, // does not wait out the delay
		{"the first does not answer", ignores, accepts, time.Millisecond, true},
		{"the other does not answer", accepts, ignores, never, false},
		{"one after the other", refuses, accepts, -1, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			racing(t, c.v6, c.v4, func(p testrun.Place, r *socket.Resolver, address string) {
				d := socket.Dialer{Resolver: r, FallbackDelay: c.delay}
				began := time.Now()
				conn, err := d.Dial("tcp", address)
				if err != nil {
					t.Errorf("%s: %v", p.Name, err)
					return
				}
				// so the other family may have won
				late := c.delay == 0 && time.Since(began) >= 300*time.Millisecond
				if v4 := conn.RemoteAddr().(*net.TCPAddr).IP.To4() != nil; v4 != c.v4wins && !late {
					t.Errorf("%s: connected to %v", p.Name, conn.RemoteAddr())
				}
				if home := conn.(*socket.TCPConn).Home(); home != processor.Current() &&
					processor.Current() != nil {
					t.Errorf("%s: registered with another Processor", p.Name)
				}
				conn.SetReadDeadline(past)
				failsIn(t, "read", testenv.Err(conn.Read(make([]byte, 1))), os.ErrDeadlineExceeded)
				testenv.Gives(t, 1, nil, p.Name)(conn.Write([]byte("x")))
				conn.Close()
			})
		})
	}
}

func isTimeout(err error) bool {
	var ne net.Error
	return errors.As(err, &ne) && ne.Timeout()
}

// TestRaceErrors: if no address can be reached, the error is that of the first
// family's first, as net's is.
func TestRaceErrors(t *testing.T) {
	for _, c := range []struct {
		name    string
		v6, v4  manner
		timeout time.Duration
		delay   time.Duration
	}{
		{"both refuse", refuses, refuses, 0, 0},
		{"both refuse, one after the other", refuses, refuses, 0, -1},
		{"the first does not answer", ignores, refuses, 20 * time.Millisecond, time.Millisecond},
		{"the other does not answer", refuses, ignores, 20 * time.Millisecond, time.Millisecond},
		{"none answers", ignores, ignores, 20 * time.Millisecond, time.Millisecond},
		{"none answers, later", ignores, ignores, 20 * time.Millisecond, time.Hour},
	} {
		t.Run(c.name, func(t *testing.T) {
			racing(t, c.v6, c.v4, func(p testrun.Place, r *socket.Resolver, address string) {
				d := &socket.Dialer{Resolver: r, FallbackDelay: c.delay, Timeout: c.timeout}
				for _, network := range []string{"tcp", "tcp4", "tcp6"} {
					sameDialInTime(t, p.Name, *d, network, address)
				}
			})
		})
	}
}

// sameDialInTime is sameDial for a Dialer whose timeout may be over before this
// machine has come as far as the connect, in which case the two have no reason
// to agree: it tries again with twice the time.
func sameDialInTime(t *testing.T, what string, d socket.Dialer, network, address string) {
	t.Helper()
	for ; ; d.Timeout *= 2 {
		got, want := dialBoth(&d, context.Background(), network, address)
		var name *net.DNSError
		if agree := describeError(got) == describeError(want) && !errors.As(got, &name); agree ||
			d.Timeout == 0 || d.Timeout > 5*time.Second {
			testenv.True(t, name == nil, "%s: %v: the look-up has not ended", what, got)
			same(t, fmt.Sprintf("%s: Dial(%q, %q)", what, network, address), got, want)
			return
		}
	}
}

// TestRaceCancelled: both racers end when the context does.
func TestRaceCancelled(t *testing.T) {
	inPlaces(t, func(t *testing.T, p testrun.Place) {
		port := twoFaced(t, ignores, ignores)
		s := serveNames(t, both)
		before := socket.OpenCount()
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		k := p.Go(func() {
			d := socket.Dialer{Resolver: s.resolver(), FallbackDelay: time.Nanosecond}
			testenv.Fails(t, shut(d.DialContext(ctx, "tcp", "both.test.:"+port)), context.Canceled)
		})
		untilOpen(t, before+2)
		cancel()
		k.Wait(t)
		untilOpen(t, before)
	})
}

// TestRaceShutdown: neither holds up the end of the scheduler, whatever stage
// they are in.
func TestRaceShutdown(t *testing.T) {
	for _, delay := range []time.Duration{time.Nanosecond, time.Hour} {
		port := twoFaced(t, ignores, ignores)
		s := serveNames(t, both)
		start(t, 1)
		k := testrun.First.Go(func() {
			d := socket.Dialer{Resolver: s.resolver(), FallbackDelay: delay}
			testenv.Fails(t, shut(d.Dial("tcp", "both.test.:"+port)), coroutine.ErrShutdown)
		})
		untilOpen(t, map[time.Duration]int{1: 2, time.Hour: 1}[delay])
		force(t)
		k.Wait(t)
		untilOpen(t, 0)
	}
}

// TestNoRace: to one family there is nothing but the caller: no coroutine and
// no goroutine helps.
func TestNoRace(t *testing.T) {
	inPlaces(t, func(t *testing.T, p testrun.Place) {
		address, _ := testenv.Deaf(t)
		_, port, _ := net.SplitHostPort(address)
		s := serveNames(t, both)
		r := s.resolver()
		d := socket.Dialer{Resolver: r, FallbackDelay: time.Nanosecond, Timeout: time.Hour}
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		settled := func() (n int) {
			socket.CloseIdle() // where the look-up read its files
			n = runtime.NumGoroutine()
			for same := 0; same < 1000; same++ {
				runtime.Gosched()
				if now := runtime.NumGoroutine(); now != n {
					n, same = now, 0
				}
			}
			return n
		}
		p.Do(t, yield) // so that there is a goroutine for a coroutine to run on
		before, open := settled(), socket.OpenCount()
		k := p.Go(func() {
			testenv.Fails(t, shut(d.DialContext(ctx, "tcp", "four.test.:"+port)), context.Canceled)
		})
		untilOpen(t, open+1)
		k.UntilParked(t, coroutine.ReasonConnect)
		more := 0
		if p.Name == testrun.Goroutine.Name {
			// the task itself, and the goroutine poller, which begins with
			// a goroutine's first wait
			more = 2
		}
		testenv.Until(t, "the look-up's goroutines to end, and no others to stay", func() bool {
			return settled() <= before+more
		})
		cancel()
		k.Wait(t)
	})
}

// TestRaceBoth: two connections made at the same moment are one too many, which
// is closed.
func TestRaceBoth(t *testing.T) {
	rounds := testenv.Rounds(5000)
	start(t, 2)
	port := twoFaced(t, serves, serves)
	s := serveNames(t, both)
	r := s.resolver()
	before := socket.OpenCount()
	var families [2]int
	testrun.Goroutine.Do(t, func() {
		for range rounds {
			var met atomic.Int32
			d := socket.Dialer{Resolver: r, FallbackDelay: 1,
				Control: func(string, string, syscall.RawConn) error {
					met.Add(1)
					for spins := 0; met.Load() < 2 && spins < 1000; spins++ {
						runtime.Gosched()
					}
					return nil
				}}
			c := testenv.Must(d.Dial("tcp", "both.test.:"+port))
			testenv.NoError(t, testenv.Err(c.Read(make([]byte, 1))))
			families[len(c.RemoteAddr().(*net.TCPAddr).IP)/16]++
			c.Close()
		}
	})
	t.Log("connected by family: ", families)
	untilOpen(t, before)
}

// TestRaceHammer: both families accept, at about the same time, and many dials
// are cancelled at random. Each gives one connection that works or an error,
// and nothing is left over.
func TestRaceHammer(t *testing.T) {
	dials := 600
	if goruntime.RaceEnabled {
		dials = 200
	}
	start(t, 2)
	port := twoFaced(t, serves, serves)
	s := serveNames(t, both)
	r := s.resolver()
	seed := diffSeed(t)
	before := socket.OpenCount()
	var tasks []*testrun.Task
	const each = 10
	for i := range dials / each {
		rnd := rand.New(rand.NewPCG(seed, uint64(i)))
		tasks = append(tasks, testrun.Places[i%len(testrun.Places)].Go(func() {
			for range each {
				dialAtRandom(t, rnd, r, port)
			}
		}))
	}
	testrun.WaitAll(t, tasks...)
	untilOpen(t, before)
	idle(t)
}

// serveOne sends one byte to all who connect to a listening fd.
func serveOne(t testing.TB, fd int) {
	t.Helper()
	f := os.NewFile(uintptr(dupFD(t, fd)), "listener")
	l := testenv.Must(net.FileListener(f))
	f.Close()
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			c.Write([]byte("x"))
			c.Close()
		}
	}()
	t.Cleanup(func() { l.Close(); <-done })
}

// dialAtRandom dials once and looks whether what it got can be used.
func dialAtRandom(t *testing.T, rnd *rand.Rand, r *socket.Resolver, port string) {
	d := socket.Dialer{Resolver: r, FallbackDelay: time.Duration(1 + rnd.IntN(300_000))}
	ctx, cancel := context.WithCancel(context.Background())
	switch rnd.IntN(3) {
	case 0:
		time.AfterFunc(time.Duration(rnd.IntN(2_000_000)), cancel)
	case 1:
		d.Timeout = time.Duration(1 + rnd.IntN(3_000_000))
	}
	if rnd.IntN(4) == 0 {
		d.Control = func(string, string, syscall.RawConn) error { yield(); return nil }
	}
	defer cancel()
	host := []string{"both.test.", "four.test.", "six.test.", "[::1]", "127.0.0.1"}[rnd.IntN(5)]
	c, err := d.DialContext(ctx, "tcp", host+":"+port)
	if err != nil {
		testenv.True(t, errors.Is(err, context.Canceled) || errors.Is(err,
			context.DeadlineExceeded), "%s: %v", host, err)
		return
	}
	cancel()
	b := make([]byte, 2)
	testenv.Gives(t, 1, nil, host)(c.Read(b))
	if _, err := c.Write(b); err != nil && !errors.Is(err, unix.ECONNRESET) &&
		!errors.Is(err, unix.EPIPE) {
		t.Errorf("%s: Write: %v", host, err)
	}
	testenv.Fails(t, c.Close(), nil, host)
}
