package socket_test

import (
	"errors"
	"io"
	"net"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
	"github.com/netco-go/netco/socket"
)

// TestListenReusePort: several listeners on one port, one for each Processor,
// serve all connections between them; when one is closed the others go on.
func TestListenReusePort(t *testing.T) {
	start(t, 2)
	all := testenv.Must(socket.ListenReusePort("tcp", "127.0.0.1:0", 2))
	if len(all) != 2 || all[0].Addr().String() != all[1].Addr().String() {
		t.Fatalf("listeners on %v", all)
	}
	var served [2]atomic.Int32
	var tasks []*testrun.Task
	for i, l := range all {
		tasks = append(tasks, testrun.Places[i].Go(func() {
			for {
				c, err := l.AcceptTCP()
				if err != nil {
					checkClosed(t, "accept", err)
					return
				}
				served[i].Add(1)
				testrun.Places[i].Run(func() { echo(c) })
			}
		}))
	}
	call := func() {
		c := testenv.Closing(t, testenv.Must(net.Dial("tcp", all[0].Addr().String())))
		b := []byte("x")
		if _, err := c.Write(b); err != nil {
			t.Error(err)
		}
		if _, err := io.ReadFull(c, b); err != nil {
			t.Error(err)
		}
	}
	const calls = 64
	for range calls {
		call()
	}
	a, b := served[0].Load(), served[1].Load()
	if a+b != calls || a == 0 || b == 0 {
		t.Errorf("the listeners served %d and %d of %d", a, b, calls)
	}
	all[1].Close()
	tasks[1].Wait(t)
	for range 10 {
		call()
	}
	if n := served[0].Load(); n != a+10 {
		t.Errorf("the one left served %d of 10", n-a)
	}
	all[0].Close()
	tasks[0].Wait(t)
}

func TestListenReusePortErrors(t *testing.T) {
	start(t, 1)
	for _, n := range []int{0, -1} {
		if l, err := socket.ListenReusePort("tcp", "127.0.0.1:0", n); l != nil || !errors.Is(err, unix.EINVAL) {
			t.Errorf("%d listeners: %v, %v", n, l, err)
		}
	}
	if l, err := socket.ListenReusePort("udp", "127.0.0.1:0", 1); l != nil || err == nil {
		t.Errorf("network udp: %v, %v", l, err)
	}
	plain := listen(t) // without the option, so that others cannot join
	if l, err := socket.ListenReusePort("tcp", plain.Addr().String(), 2); l != nil || !errors.Is(err, unix.EADDRINUSE) {
		t.Errorf("a port in use: %v, %v", l, err)
	}
}
