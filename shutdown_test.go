package netco_test

import (
	"bytes"
	"errors"
	"log"
	"net"
	"net/http"
	"os"
	"testing"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
)

// TestErrShutdownIsClosed: what libraries check for, to know that a server was
// ended, holds for the end of a Scheduler.
func TestErrShutdownIsClosed(t *testing.T) {
	in := &net.OpError{Op: "accept", Net: "tcp", Err: netco.ErrShutdown}
	for _, c := range []struct {
		err, target error
		want        bool
	}{
		{netco.ErrShutdown, net.ErrClosed, true},
		{in, net.ErrClosed, true},
		{in, netco.ErrShutdown, true},
		{netco.ErrShutdown, os.ErrClosed, false},
		{netco.ErrShutdown, os.ErrDeadlineExceeded, false},
		{net.ErrClosed, netco.ErrShutdown, false},
	} {
		testenv.Equal(t, errors.Is(c.err, c.target), c.want, c.err, c.target)
	}
}

// TestHTTPServerEnds: an http.Server on a listener of netco is ended by
// Shutdown as by a Close of its listener, and has nothing to say about it.
func TestHTTPServerEnds(t *testing.T) {
	testrun.Start(t, 1)
	ln := testenv.Must(netco.Listen("tcp", "127.0.0.1:0"))
	var text bytes.Buffer
	server := &http.Server{ErrorLog: log.New(&text, "", 0)}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(ln) }()
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	answer, err := client.Get("http://" + ln.Addr().String()) // its connection stays open
	testenv.OK(t, err)
	answer.Body.Close()
	testrun.Shutdown(t)
	err = testenv.Await(t, ended, "Serve")
	testenv.Fails(t, err, net.ErrClosed, "Serve")
	testenv.Fails(t, err, netco.ErrShutdown, "Serve")
	server.Close()
	if text.Len() > 0 {
		t.Errorf("it has logged %s", &text)
	}
}

// TestAfterShutdown: nothing that starts the default Scheduler by the way does
// so after its Shutdown: a goroutine that was late started threads that nothing
// would end. Start and Run, which ask for it, do.
func TestAfterShutdown(t *testing.T) {
	mustNot := func() { t.Error("it has run") }
	calls := map[string]func() error{
		"Go":      func() error { _, err := netco.Go(mustNot); return err },
		"GoWith":  func() error { _, err := netco.GoWith(netco.Spawn{Fn: mustNot}); return err },
		"Default": func() error { _, err := netco.Default(); return err },
		"coroutine.Start": func() error {
			_, err := coroutine.Start(coroutine.Spawn{Fn: mustNot})
			return err
		},
	}
	ends := map[string]func(){
		"Start and Shutdown": func() {
			testenv.OK(t, netco.Start(netco.Options{Processors: 1}))
			testrun.Shutdown(t)
		},
		"Run and Shutdown": func() {
			testenv.OK(t, netco.Run(func() {}))
			testrun.Shutdown(t)
		},
		"EventLoop": func() {
			testenv.OK(t, netco.EventLoop(netco.Options{}, func() bool { return false }))
		},
	}
	for end, f := range ends {
		f()
		for name, call := range calls {
			testenv.Fails(t, call(), netco.ErrShutdown, name, "after", end)
		}
		fired := make(chan bool)
		netco.AfterFunc(0, func() { fired <- netco.Self().ID() != 0 })
		if <-fired {
			t.Errorf("AfterFunc after %s: called in a coroutine", end)
		}
		if s, err := netco.Default(); err == nil {
			t.Fatalf("after %s: %d Processors run", end, s.Processors())
		}
	}
	netco.ForgetShutdown() // the other tests start where they find it
}
