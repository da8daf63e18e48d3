package socket_test

import (
	"bytes"
	"fmt"
	"net"
	"path/filepath"
	"runtime/pprof"
	"strings"
	"testing"
	"time"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
	"github.com/netco-go/netco/profile"
	"github.com/netco-go/netco/socket"
)

// TestServerNames: who looks at a Server's coroutines sees what they are: a
// name, where Handle stands, a profiler label; and what else runs on their
// goroutines has none of it.
func TestServerNames(t *testing.T) {
	start(t, 1)
	defer profile.Labels()()
	for _, c := range []struct{ name, want string }{{"", "serve"}, {"answers", "answers"}} {
		seen := make(chan string, 8)
		see := func(*socket.ServerConn) error {
			co := coroutine.Current()
			file, _ := co.Site()
			var b bytes.Buffer
			pprof.Lookup("goroutine").WriteTo(&b, 1)
			label := strings.Contains(b.String(), fmt.Sprintf("{%q:%q}", "coroutine", c.want))
			seen <- fmt.Sprintf("%s at %s, label %v", co.Name(), filepath.Base(file), label)
			return nil
		}
		s := &socket.Server{Name: c.name, Opened: see}
		s.Handle = func(sc *socket.ServerConn) error {
			see(sc)
			return echoOnce(sc)
		}
		address, _ := serving(t, s)
		conn := dialNet(t, address)
		for range 3 {
			exchange(t, conn, "hello")
		}
		want := c.want + " at serve_name_test.go, label true"
		for range 4 {
			if got := testenv.Await(t, seen, "a call"); got != want {
				t.Errorf("%s, want %s", got, want)
			}
		}
		conn.Close()
	}
	plain := make(chan string, 1)
	netco.Go(func() { plain <- coroutine.Current().Name() })
	if got := testenv.Await(t, plain, "a coroutine"); got != "" {
		t.Errorf("a coroutine without a name is called %q", got)
	}
}

// TestServerSpreads: connections that come at once are spread evenly, although
// none is registered when the next is placed.
func TestServerSpreads(t *testing.T) {
	start(t, 2)
	address, _ := serving(t, &socket.Server{Handle: echoOnce})
	s := testenv.Must(netco.Default())
	count := func() (a, b int) { return s.Processors()[0].Registered(), s.Processors()[1].Registered() }
	a, b := count()
	const n = 100
	before := a + b
	conns := make([]net.Conn, n)
	var dialled []*testrun.Task
	for i := range conns {
		dialled = append(dialled, testrun.Goroutine.Go(func() {
			c, err := net.DialTimeout("tcp", address, 10*time.Second)
			if err != nil {
				t.Error(err)
				return
			}
			conns[i] = c
		}))
	}
	testrun.WaitAll(t, dialled...)
	testenv.Until(t, "all to be registered", func() bool { a, b := count(); return a+b >= before+n })
	if a, b = count(); a-b > n/5 || b-a > n/5 {
		t.Errorf("%d and %d fds", a, b)
	}
	for _, c := range conns {
		if c != nil {
			exchange(t, c, "hello")
			c.Close()
		}
	}
}
