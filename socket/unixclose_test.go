package socket_test

import (
	"errors"
	"net"
	"testing"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/blocking"
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
	"github.com/netco-go/netco/socket"
)

// TestUnixBesideBlocking: listening on a Unix socket and closing that do not
// wait behind the program's own blocking calls. Close did, and Listen: with a
// full pool whose calls wait for a client of that very socket they never
// returned.
func TestUnixBesideBlocking(t *testing.T) {
	start(t, 2)
	testenv.OK(t, blocking.SetLimit(1))
	defer blocking.SetLimit(blocking.DefaultLimit)
	begun, let := make(chan struct{}), make(chan struct{})
	user := testrun.Second.Go(func() {
		blocking.Do(func() {
			close(begun)
			<-let
		})
	})
	testenv.Await(t, begun, "the user's call")
	testrun.First.Do(t, func() {
		for _, network := range []string{"unix", "unixpacket"} {
			path := unixName(t, "s")
			l, err := socket.Listen(network, path)
			if err != nil {
				t.Error(err)
				return
			}
			if err := l.Close(); err != nil {
				t.Error(err)
			}
			if exists(path) {
				t.Errorf("%s: the file is still there after Close", network)
			}
		}
		c, err := socket.ListenPacket("unixgram", unixName(t, "g"))
		if err != nil {
			t.Error(err)
			return
		}
		c.Close()
	})
	close(let)
	user.Wait(t)
}

// TestUnixCloseStopped: a coroutine that is ended by force and closes its
// listener on the way out removes the file. It left it behind: what was to do
// that was refused, since it could not be waited for.
func TestUnixCloseStopped(t *testing.T) {
	start(t, 1)
	path := unixName(t, "s")
	l := testenv.Must(socket.Listen("unix", path))
	k := testrun.First.Go(func() {
		defer l.Close()
		if _, err := l.Accept(); !errors.Is(err, netco.ErrShutdown) {
			t.Errorf("Accept: %v", err)
		}
	})
	k.UntilParked(t, coroutine.ReasonAccept)
	k.Co.Handle().Stop()
	k.Wait(t)
	if exists(path) {
		t.Error("the file is still there")
	}
	if err := l.Close(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("a second Close: %v", err)
	}
}
